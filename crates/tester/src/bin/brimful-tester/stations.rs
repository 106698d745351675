//! The mode `stations`: sequences of frames between any number of ports, one request and one reply a line.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use brimful_netdev::{AnyPort, BackEnd, Care, Claim, OpenError, PacketPortOptions, PacketRing, Port};
use brimful_tester::{Clock, MonotonicClock, StationsRequest, Switchboard};
use brimful_trial::program::{die_with_parent, raise_priority};
use clap::Args;
use serde_json::{Value, json};

use super::{arbitrary_trial_number, exit_code_of, fail};

/// What an interface is opened with, to be asked how long its frames may be.
const ANY_FRAME_LEN: usize = 60;
const TAG_LEN: usize = 4;
/// Memory for what arrives while this program sends.
const RING_BYTES: usize = 8 << 20;

/// Sends sequences of frames on any number of ports, and counts at each what came of them.
///
/// Requests and replies are JSON objects, one a line, on standard input and output.
#[derive(Args, Debug)]
#[command(max_term_width = 100)]
pub(crate) struct Options {
    /// An interface; give all that the device under test is joined to.
    #[arg(long = "port", value_name = "INTERFACE", required = true)]
    ports: Vec<String>,
    /// Accept interfaces in use.
    #[arg(long)]
    force: bool,
}

/// Runs the mode.
pub(crate) fn main(options: &Options) -> ExitCode {
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(exit_code_of(&*error), &error.to_string()),
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    die_with_parent()?;
    let care = if options.force { Care::TakeAll } else { Care::SpareUsed };
    let claims = options.ports.iter().map(|name| Claim::new(name, care));
    let claims: Vec<_> = claims.collect::<Result<_, _>>()?;
    claims.iter().try_for_each(Claim::await_carrier)?;
    let ports = options.ports.iter().map(|name| open(name)).collect::<Result<_, _>>()?;
    raise_priority();
    let clock = MonotonicClock::start();
    let mut switchboard = Switchboard::new(ports, clock, arbitrary_trial_number());
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let reply = answer(&mut switchboard, &line?);
        match writeln!(output, "{reply}").and_then(|()| output.flush()) {
            // The reader is gone: the same as the end of the input.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            result => result?,
        }
    }
    Ok(())
}

/// Opens an interface for the longest frames that it takes.
fn open(name: &str) -> Result<AnyPort, OpenError> {
    let back_end = BackEnd::Packet(PacketRing::Slots);
    let options = PacketPortOptions {
        ring_bytes: RING_BYTES,
        ..PacketPortOptions::new(ANY_FRAME_LEN)
    };
    let Port { sender, .. } = back_end.open(name, options)?;
    let longest = sender.longest_untagged().unwrap_or(ANY_FRAME_LEN);
    drop(sender);
    let options = PacketPortOptions {
        max_frame_len: longest + TAG_LEN,
        has_vlan_tag: true,
        ..options
    };
    back_end.open(name, options)
}

fn answer<C: Clock>(
    switchboard: &mut Switchboard<Box<dyn brimful_netdev::Sender>, Box<dyn brimful_netdev::Receiver>, C>,
    line: &str,
) -> Value {
    match serde_json::from_str(line) {
        Ok(StationsRequest::Describe) => describe(switchboard.ports()),
        Ok(StationsRequest::Send(request)) => {
            let reply = request.check(switchboard.ports().len()).and_then(|()| {
                let sent = switchboard.send(&request);
                sent.map_err(|error| format!("a port failed: {error}"))
            });
            match reply {
                Ok(reply) => json!(reply),
                Err(error) => json!({"id": request.id, "error": error}),
            }
        }
        Err(error) => json!({"error": format!("request not understood: {error}")}),
    }
}

fn describe(ports: &[AnyPort]) -> Value {
    let ports = ports.iter().map(|port| {
        let name = port.sender.name();
        json!({
            "interface": name,
            "longest_frame": port.sender.capabilities().max_frame_len,
            "speed_bps": brimful_netdev::link_speed(name),
        })
    });
    json!({"ports": ports.collect::<Vec<_>>()})
}
