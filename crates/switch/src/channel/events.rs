//! What controllers are told without having asked.

use brimful_openflow::wire::{Age, Data, FlowRemoved, Message, PacketIn, PortStatus};
use brimful_openflow::{FieldMatch, Match, MatchField, NO_BUFFER};
use brimful_pipeline::{Reason, Removal};

use super::controllers::Controllers;
use super::multipart::port_description;
use super::session::Topic;
use crate::control::{Ended, Handle};
use crate::events::{Event, PacketInEvent, RemovedEvent};
use crate::ports::SMALLEST_FRAME_LEN;

/// Something about a port has changed (OF 1.3.5 section 7.4.3).
const MODIFIED: u8 = 2;

/// Tells every controller that wants to know.
///
/// # Errors
/// When the switch has ended.
pub(super) fn tell(event: Event, controllers: &Controllers, handle: &Handle) -> Result<(), Ended> {
    match event {
        Event::PacketIn(packet) => {
            let reason = packet_in_reason(packet.reason);
            let message = Message::PacketIn(packet_in(packet, reason));
            controllers.tell(Topic::PacketIn, reason, &message);
        }
        Event::Removed(removed) => {
            let message = flow_removed(&removed);
            controllers.tell(
                Topic::FlowRemoved,
                message.reason,
                &Message::FlowRemoved(message.clone()),
            );
        }
        Event::Port(number) => {
            let port = handle.call(move |switch| switch.ports.get(number).map(port_description))?;
            if let Some(port) = port {
                let message = Message::PortStatus(PortStatus { reason: MODIFIED, port });
                controllers.tell(Topic::PortStatus, MODIFIED, &message);
            }
        }
    }
    Ok(())
}

/// The reasons of 1.3: what an action set or a group sends counts as sent by an action.
fn packet_in_reason(reason: Reason) -> u8 {
    match reason {
        Reason::NoMatch => 0,
        Reason::Action | Reason::ActionSet | Reason::Group => 1,
        Reason::InvalidTtl => 2,
    }
}

/// Nothing is buffered, so that all of the frame goes, padded as a port would.
fn packet_in(packet: PacketInEvent, reason: u8) -> PacketIn {
    let exact = |field, value| FieldMatch {
        field,
        value,
        mask: None,
    };
    let mut fields = vec![exact(MatchField::InPort, packet.in_port.into())];
    if packet.in_phy_port != packet.in_port {
        fields.push(exact(MatchField::InPhyPort, packet.in_phy_port.into()));
    }
    if packet.metadata != 0 {
        fields.push(exact(MatchField::Metadata, packet.metadata.into()));
    }
    if packet.tunnel_id != 0 {
        fields.push(exact(MatchField::TunnelId, packet.tunnel_id.into()));
    }
    let mut frame = packet.frame;
    frame.resize(frame.len().max(SMALLEST_FRAME_LEN), 0);
    PacketIn {
        buffer: NO_BUFFER,
        total_len: frame.len() as u16,
        reason,
        table: packet.table,
        cookie: packet.cookie,
        matching: Match { fields },
        data: Data(frame),
    }
}

fn flow_removed(removed: &RemovedEvent) -> FlowRemoved {
    let entry = &removed.entry;
    FlowRemoved {
        cookie: entry.cookie,
        priority: entry.priority,
        reason: match removed.reason {
            Removal::IdleTimeout => 0,
            Removal::HardTimeout => 1,
            // Meters and eviction have reasons of their own from 1.4 on.
            Removal::Delete | Removal::MeterDelete | Removal::Eviction => 2,
            Removal::GroupDelete => 3,
        },
        table: entry.table,
        age: Age {
            seconds: (removed.age_ns / 1_000_000_000) as u32,
            nanoseconds: (removed.age_ns % 1_000_000_000) as u32,
        },
        idle_timeout_s: entry.idle_timeout_s,
        hard_timeout_s: entry.hard_timeout_s,
        packets: removed.count.packets,
        bytes: removed.count.bytes,
        matching: entry.matching.clone(),
    }
}
