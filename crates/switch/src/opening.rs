//! Ports from their settings.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use brimful_netdev::{BackEnd, Mark, OpenError, PacketPortOptions, hardware_address};

use crate::notice::say;
use crate::ports::{Input, SwitchPort, TAG_LEN};
use crate::settings::port::PortSettings;

/// The kernel puts frames into one chunk after the other: the more there are, the more often is each out of all caches
/// when its turn comes. On veth, 4096 chunks let a processor pass a half more frames than 16384.
const XDP_RING_BYTES: usize = 8 << 20;
/// Memory for arrived frames of all ports of a switch, while that leaves each ring the least: hundreds of ports must not
/// take the memory of the machine.
const ALL_RINGS_BYTES: usize = 1 << 30;
const LEAST_RING_BYTES: usize = 2 << 20;
/// How long another switch may take that is just ending, as when this one is its successor.
const LONGEST_END: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// A port, and what is to be received of it.
pub(crate) struct OpenedPort {
    pub(crate) port: Arc<SwitchPort>,
    pub(crate) inputs: Vec<Input>,
}

/// Opens an interface as one of a number of ports, with receive queues for as many threads as it has some for.
pub(crate) fn open(settings: &PortSettings, threads: usize, ports: usize) -> Result<OpenedPort, String> {
    let usual = PacketPortOptions {
        has_vlan_tag: true,
        takes_offloads: true,
        ..PacketPortOptions::new(settings.max_frame_len + TAG_LEN)
    };
    let share = ring_share(ports * threads);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    check_memory(&memory, share.min(usual.ring_bytes)).map_err(|error| format!("port {}: {error}", settings.number))?;
    let (back_ends, interface) = (settings.back_ends()?, settings.interface.clone());
    let mark = Mutex::new(None);
    let open = move || {
        let mut mark = mark.lock().unwrap_or_else(PoisonError::into_inner);
        // An interface that comes back from another network namespace has the index that it had.
        *mark = None;
        // At the other end of a TAP the kernel lets one program be.
        if back_ends != [BackEnd::Tap] {
            *mark = Some(Mark::of_switch(&interface).map_err(|error| error.to_string())?);
        }
        let open = |back_end: BackEnd| {
            let most = match back_end {
                BackEnd::Xdp(_) => XDP_RING_BYTES,
                _ => usual.ring_bytes,
            };
            let ring_bytes = most.min(share);
            let opened = back_end.open_queues(&interface, PacketPortOptions { ring_bytes, ..usual }, threads)?;
            for shortcoming in back_end.shortcomings(&interface) {
                say(format_args!("{interface} by {back_end}: {shortcoming}"));
            }
            Ok(opened)
        };
        let opened = back_ends[1..]
            .iter()
            .fold(open(back_ends[0]), |opened, next| opened.or_else(|_| open(*next)));
        opened.map_err(|error: OpenError| error.to_string())
    };
    await_predecessor(&settings.interface);
    let opened = open()?;
    let count = opened.len();
    let (mut senders, receivers): (Vec<_>, Vec<_>) =
        opened.into_iter().map(|port| (port.sender, port.receiver)).unzip();
    let first = senders.remove(0);
    let address = hardware_address(&settings.interface).unwrap_or_default();
    let port = SwitchPort::new(settings.number, address, first, None).with_more_senders(senders);
    let port = Arc::new(port.with_reopening(Box::new(open), count));
    port.set_queues(settings.speed_bps, settings.queues()?);
    let inputs = receivers.into_iter().enumerate();
    let inputs = inputs.map(|(place, receiver)| Input::new(Arc::clone(&port), receiver).in_place(place));
    let inputs = inputs.collect();
    Ok(OpenedPort { port, inputs })
}

/// Waits until an interface is no port of another switch, for some time.
fn await_predecessor(interface: &str) {
    let begun = Instant::now();
    while matches!(Mark::of_switch(interface), Err(OpenError::SwitchThere(_))) && begun.elapsed() < LONGEST_END {
        thread::sleep(LOOK);
    }
}

/// Memory for each of a number of rings.
fn ring_share(rings: usize) -> usize {
    (ALL_RINGS_BYTES / rings.max(1)).max(LEAST_RING_BYTES)
}

/// Whether a ring leaves the machine as much memory as it takes: where the kernel finds none, it ends processes.
fn check_memory(table: &str, ring_bytes: usize) -> Result<(), String> {
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let digits = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let available = digits
        .and_then(|digits| digits.parse::<usize>().ok())
        .map(|kib| kib >> 10);
    match (available, ring_bytes >> 20) {
        (Some(available), needed) if 2 * needed > available => Err(format!(
            "{needed} MiB for arrived frames are too many where {available} MiB are available: use fewer ports or threads"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rings_share_what_few_do_not_need() {
        assert_eq!(ring_share(0), ALL_RINGS_BYTES);
        assert_eq!(ring_share(128), 8 << 20);
        assert_eq!(ring_share(100_000), LEAST_RING_BYTES);
    }

    #[test]
    fn memory_that_is_not_there_is_not_taken() {
        let table = "MemTotal:        2048000 kB\nMemAvailable:     65536 kB\n";
        assert_eq!(check_memory(table, 32 << 20), Ok(()));
        let error = check_memory(table, 33 << 20).unwrap_err();
        assert!(
            error.starts_with("33 MiB for arrived frames are too many where 64 MiB"),
            "{error}"
        );
        // A kernel that does not say so is asked for it.
        assert_eq!(check_memory("", 1 << 40), Ok(()));
    }
}
