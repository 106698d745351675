//! What a supervisor such as systemd is sent (`sd_notify(3)`): one datagram to the socket that it names.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// The process does what it is for.
pub const READY: &str = "READY=1";
/// It has been asked to end, and is about to.
pub const STOPPING: &str = "STOPPING=1";

/// It still does.
pub const ALIVE: &str = "WATCHDOG=1";

/// When the supervisor is to be notified that the process is alive.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    every: Duration,
    next: Instant,
}

impl Watchdog {
    /// Of a supervisor that waits for this many microseconds, as it writes them; it is notified twice in that time.
    pub fn reading(microseconds: &str, now: Instant) -> Option<Self> {
        let patience = microseconds.parse().ok().filter(|microseconds| *microseconds > 0)?;
        Some(Self {
            every: Duration::from_micros(patience) / 2,
            next: now,
        })
    }

    /// Whether it is to be notified now.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.every;
        }
        is_due
    }
}

/// Sends it to the supervisor at a socket, which is abstract where its name begins with `@`.
///
/// # Errors
/// When there is no supervisor.
pub fn tell(socket: &OsStr, state: &str) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    sender.send_to_addr(state.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_is_told_twice_as_often_as_it_looks() {
        let start = Instant::now();
        let mut watchdog = Watchdog::reading("2000000", start).unwrap();
        let told = [0, 500, 1000, 1999, 2000].map(|millis| watchdog.is_due(start + Duration::from_millis(millis)));
        assert_eq!(told, [true, false, true, false, true]);
        for wrong in ["", "0", "x", "-1"] {
            assert!(Watchdog::reading(wrong, start).is_none(), "{wrong}");
        }
    }

    fn received(by: &UnixDatagram) -> String {
        let mut bytes = [0; 64];
        let length = by.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn a_supervisor_is_told_at_a_path_or_at_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        tell(path.as_os_str(), READY).unwrap();
        assert_eq!(received(&socket), "READY=1");

        let name = format!("brimful-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        tell(OsStr::new(&format!("@{name}")), STOPPING).unwrap();
        assert_eq!(received(&socket), "STOPPING=1");

        assert!(tell(directory.path().join("absent").as_os_str(), READY).is_err());
    }
}
