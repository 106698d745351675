//! How long messages will be: one that is too long for OpenFlow is refused before it is written.

use brimful_openflow::wire::{HEADER_BYTES, Message, Version, Wire, Writer};
use brimful_openflow::{FlowMod, Instruction};

use super::OfctlError;
use super::lines::Planned;

const MOST_BYTES: usize = u16::MAX as usize;
/// What a bundle puts before a message.
const BUNDLE_ADD: usize = HEADER_BYTES + 8;
/// Instructions with actions, group-mods, buckets and packet-outs before what they hold.
const INSTRUCTION: usize = 8;
const GROUP: usize = HEADER_BYTES + 8;
const BUCKET: usize = 16;
const PACKET_OUT: usize = HEADER_BYTES + 16;
/// Meter-mods and their bands.
const METER: usize = HEADER_BYTES + 8;
const BAND: usize = 16;

/// Whether all changes fit into messages.
pub(super) fn check(changes: &[Planned]) -> Result<(), OfctlError> {
    let lengths = changes
        .iter()
        .map(|planned| (planned, BUNDLE_ADD + length(&planned.message)));
    let Some((planned, _)) = lengths.into_iter().find(|(_, length)| *length > MOST_BYTES) else {
        return Ok(());
    };
    let most = MOST_BYTES - BUNDLE_ADD;
    let text = format!(
        "{}this is longer than a message of OpenFlow, {most} bytes",
        planned.origin
    );
    Err(OfctlError::Usage(text))
}

/// Of a message that ofctl changes something with.
fn length(message: &Message) -> usize {
    match message {
        Message::FlowMod(flow) => flow_length(flow),
        Message::GroupMod(group) => {
            let buckets = group.buckets.iter().map(|bucket| BUCKET + encoded(&bucket.actions));
            GROUP + buckets.sum::<usize>()
        }
        Message::MeterMod(meter) => METER + BAND * meter.bands.len(),
        Message::PacketOut(packet) => PACKET_OUT + encoded(&packet.actions) + packet.data.len(),
        _ => 0,
    }
}

fn flow_length(flow: &FlowMod) -> usize {
    let bare = FlowMod {
        instructions: Vec::new(),
        ..flow.clone()
    };
    let instructions = flow.instructions.iter().map(|instruction| match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => INSTRUCTION + encoded(actions),
        other => encoded(other),
    });
    HEADER_BYTES + encoded(&bare) + instructions.sum::<usize>()
}

/// Of what has no long structure in it.
fn encoded(part: &impl Wire) -> usize {
    let mut writer = Writer::new(Version::V13);
    part.encode(&mut writer);
    writer.bytes.len()
}

#[cfg(test)]
mod tests {
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
    fn lengths_are_those_of_the_wire() {
        for text in [
            "actions=drop",
            "tcp,nw_dst=10.0.0.0/8,tp_dst=80,actions=meter:1,output:1,set_field:::1->ipv6_src,write_actions(group:1),goto_table:3",
            "delete in_port=1",
            "group_id=1,type=all,bucket=output:1,bucket=set_field:5->vlan_vid,output:2",
            "meter=1,kbps,bands=type=drop,rate=1,type=dscp_remark,rate=2,prec_level=1",
            "packet=0102030405,actions=output:1,output:2",
        ] {
            let message = message(text);
            assert_eq!(length(&message), message.encode(1, Version::V13).len(), "{text}");
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
