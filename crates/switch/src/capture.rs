//! Captures, asked for at the local socket: an answer in JSON, then the file itself, as it grows.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::control::{Handle, Switch};
use crate::tables::ovs;
use crate::tap::{Filter, Taken, Tap, last_block};

/// How often what has been captured is written.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// Captures of a port at once: each costs its data-plane threads a copy of every frame.
const MOST_TAPS: usize = 8;

/// What is to be captured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Which switch.
    pub switch: Option<String>,
    /// The port's number, or the name of its interface.
    pub port: String,
    /// A match that frames are to have.
    #[serde(default)]
    pub filter: String,
    /// Frames after which it ends.
    pub count: Option<u64>,
    /// Seconds after which it ends.
    pub seconds: Option<f64>,
}

/// A tap at a port, until this is dropped.
struct Attached<'h> {
    handle: &'h Handle,
    tap: Arc<Tap>,
    port: u32,
    interface: String,
}

/// Writes a capture to who has asked for it, until it is complete or nothing more is wanted: the other side says so by
/// closing its way to us.
///
/// # Errors
/// When the other side has gone.
pub(crate) fn serve(mut stream: &UnixStream, handle: &Handle, wanted: &Wanted) -> io::Result<()> {
    let end = match wanted.end(Instant::now()) {
        Ok(end) => end,
        Err(message) => return writeln!(stream, "{}", json!({ "error": message })),
    };
    let attached = match Attached::new(handle, wanted) {
        Ok(attached) => attached,
        Err(message) => return writeln!(stream, "{}", json!({ "error": message })),
    };
    let (port, interface) = (attached.port, &attached.interface);
    writeln!(stream, "{}", json!({ "port": port, "interface": interface }))?;
    let mut bytes = Vec::new();
    let is_wanted = || end.is_none_or(|end| Instant::now() < end);
    while is_wanted() && !is_closed(stream)? {
        let taken = attached.tap.collect(&mut bytes);
        stream.write_all(&bytes)?;
        if taken.has_ended {
            break;
        }
    }
    attached.tap.end();
    let taken: Taken = attached.tap.collect(&mut bytes);
    stream.write_all(&bytes)?;
    stream.write_all(&last_block(taken))
}

/// Waits for the other side to close, for a moment.
fn is_closed(stream: &UnixStream) -> io::Result<bool> {
    let mut waited = [PollFd::new(stream, PollFlags::IN)];
    poll(&mut waited, Some(&LOOK))?;
    if waited[0].revents().is_empty() {
        return Ok(false);
    }
    // Whatever else it says is of no account.
    let mut said = [0_u8; 64];
    Ok(recv(stream, &mut said, RecvFlags::empty())?.1 == 0)
}

impl Wanted {
    fn end(&self, now: Instant) -> Result<Option<Instant>, String> {
        let Some(seconds) = self.seconds else {
            return Ok(None);
        };
        let after = Duration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|after| now.checked_add(after));
        after
            .map(Some)
            .ok_or_else(|| format!("{seconds} s: use a number of seconds from 0"))
    }

    fn tap(&self, switch: &mut Switch) -> Result<(Arc<Tap>, u32, String), String> {
        let port = switch.find_port(&self.port)?;
        let matching = ovs::read_match(&self.filter, &switch.ports.names());
        let filter = Filter::new(matching.map_err(|error| error.to_string())?)?;
        let mut taps = port.taps().clone();
        if taps.len() >= MOST_TAPS {
            return Err(format!(
                "port {} has {MOST_TAPS} captures already: end one",
                port.number
            ));
        }
        let tap = Arc::new(Tap::new(&port.name, filter, self.count.unwrap_or(u64::MAX)));
        taps.push(Arc::clone(&tap));
        port.set_taps(taps);
        switch.ports.renew();
        Ok((tap, port.number, port.name.clone()))
    }
}

impl<'h> Attached<'h> {
    fn new(handle: &'h Handle, wanted: &Wanted) -> Result<Self, String> {
        let wanted = wanted.clone();
        let attached = handle.call(move |switch| wanted.tap(switch));
        let (tap, port, interface) = attached.map_err(|ended| ended.to_string())??;
        Ok(Self {
            handle,
            tap,
            port,
            interface,
        })
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        let (port, tap) = (self.port, Arc::clone(&self.tap));
        // A switch that has ended captures nothing.
        let _ = self.handle.call(move |switch| {
            if let Some(port) = switch.ports.get(port) {
                let mut taps = port.taps().clone();
                taps.retain(|other| !Arc::ptr_eq(other, &tap));
                port.set_taps(taps);
                switch.ports.renew();
            }
        });
    }
}
