//! How long messages will be: one that is too long for OpenFlow is refused before it is written.

use brimful_openflow::wire::{HEADER_BYTES, Version};

use super::OfctlError;
use super::lines::Planned;

/// What a message has room for behind what a bundle puts before it.
const MOST_BYTES: usize = u16::MAX as usize - HEADER_BYTES - 8;

/// Whether all changes fit into messages.
pub(super) fn check(changes: &[Planned]) -> Result<(), OfctlError> {
    let fits = |planned: &&Planned| {
        let length = planned.message.encoded_len(Version::V13);
        length.is_some_and(|length| length <= MOST_BYTES)
    };
    let Some(planned) = changes.iter().find(|planned| !fits(planned)) else {
        return Ok(());
    };
    let text = format!(
        "{}this is longer than a message of OpenFlow, {MOST_BYTES} bytes",
        planned.origin
    );
    Err(OfctlError::Usage(text))
}

#[cfg(test)]
mod tests {
    use brimful_openflow::wire::Message;

    use super::*;
    use crate::tables::Change;
    use crate::tables::ovs::{self, Known};

    fn message(text: &str) -> Message {
        if text.starts_with("packet") {
            return Message::PacketOut(ovs::read_packet_out(text, &Known::default()).unwrap());
        }
        match ovs::read("test", text).unwrap().changes.remove(0).value {
            Change::Flow(flow) => Message::FlowMod(*flow),
            Change::Group(group) => Message::GroupMod(group),
            Change::Meter(meter) => Message::MeterMod(meter),
        }
    }

    #[test]
    fn what_fits_into_no_message_is_refused() {
        let outputs = vec!["output:1"; 5000].join(",");
        let bands = "type=drop,rate=1,".repeat(5000);
        for text in [
            format!("actions={outputs}"),
            format!("group_id=1,type=all,bucket={outputs}"),
            format!("meter=1,kbps,bands={bands}"),
            format!("packet={},actions=output:1", "00".repeat(66_000)),
            // Room for itself alone.
            format!("packet={},actions=output:1", "00".repeat(65_500)),
        ] {
            let origin = "x:1: ".to_owned();
            let planned = Planned {
                message: message(&text),
                origin,
            };
            let error = check(&[planned]).unwrap_err().to_string();
            assert!(error.starts_with("x:1: this is longer than a message"), "{error}");
        }
    }
}
