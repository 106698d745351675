//! Ports from their settings.

use std::sync::Arc;

use brimful_netdev::{BackEnd, OpenError, PacketPortOptions, hardware_address};

use crate::notice::say;
use crate::ports::{Input, SwitchPort, TAG_LEN};
use crate::settings::port::PortSettings;

/// The kernel puts frames into one chunk after the other: the more there are, the more often is each out of all caches
/// when its turn comes. On veth, 4096 chunks let a processor pass a half more frames than 16384.
const XDP_RING_BYTES: usize = 8 << 20;

/// A port, and what is to be received of it.
pub(crate) struct OpenedPort {
    pub(crate) port: Arc<SwitchPort>,
    pub(crate) inputs: Vec<Input>,
}

/// Opens an interface, with receive queues for as many threads as it has some for.
pub(crate) fn open(settings: &PortSettings, threads: usize) -> Result<OpenedPort, String> {
    let usual = PacketPortOptions {
        has_vlan_tag: true,
        takes_offloads: true,
        ..PacketPortOptions::new(settings.max_frame_len + TAG_LEN)
    };
    let (back_ends, interface) = (settings.back_ends()?, settings.interface.clone());
    let open = move || {
        let open = |back_end: BackEnd| {
            let ring_bytes = match back_end {
                BackEnd::Xdp(_) => XDP_RING_BYTES,
                _ => usual.ring_bytes,
            };
            let opened = back_end.open_queues(&interface, PacketPortOptions { ring_bytes, ..usual }, threads)?;
            if let Some(shortcoming) = back_end.shortcoming(&interface) {
                say(format_args!("{interface} by {back_end}: {shortcoming}"));
            }
            Ok(opened)
        };
        let opened = back_ends[1..]
            .iter()
            .fold(open(back_ends[0]), |opened, next| opened.or_else(|_| open(*next)));
        opened.map_err(|error: OpenError| error.to_string())
    };
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
