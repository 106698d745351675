//! What controllers are sent without having asked.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{
    Age, Data, FlowRemoved, HEADER_BYTES, Message, PacketIn, PortStatus, TableStatus, Version, WithLength, encoded_len,
};
use brimful_openflow::{FieldMatch, MAX_LEN_NO_BUFFER, Match, MatchField, NO_BUFFER};
use brimful_pipeline::{Change, Pipeline, Reason};

use super::buffers::Buffered;
use super::controllers::Controllers;
use super::multipart::port_description;
use super::reasons::{packet_in_reason, removal_reason};
use super::session::Topic;
use super::table_config::table_description;
use crate::batch::SMALLEST_FRAME_LEN;
use crate::events::{PacketInEvent, RemovedEvent};
use crate::ports::SwitchPort;
use crate::vacancy::{Crossing, Vacancies};
use crate::watch::{Authored, PortEvent, Watcher};

impl Watcher for Controllers {
    fn follows_flows(&self) -> bool {
        self.monitoring.load(Relaxed) > 0
    }

    fn flows_changed(&self, changes: &[Change], authors: &[Authored]) {
        self.for_each(|peer, session| {
            let follows = session.follows();
            let events = session.monitors.events(changes, authors, peer.number, follows);
            session.tell_of_flows(events);
        });
    }

    fn removed(&self, events: &[RemovedEvent]) {
        self.for_each(|_, session| {
            for event in events {
                let Some(version) = session.version() else {
                    return;
                };
                let message = flow_removed(event, version);
                if session.wants(Topic::FlowRemoved, message.reason) {
                    session.tell(&Message::FlowRemoved(message));
                }
            }
        });
    }

    fn port_changed(&self, port: &Arc<SwitchPort>, event: PortEvent) {
        let reason = event as u8;
        let message = Message::PortStatus(PortStatus {
            reason,
            port: port_description(port),
        });
        self.tell(Topic::PortStatus, reason, &message);
    }

    fn controllers(&self) -> usize {
        self.established()
    }

    fn table_crossed(&self, tables: &Pipeline, vacancies: &Vacancies, table: u8, crossing: Crossing) {
        let reason = match crossing {
            Crossing::Down => 3,
            Crossing::Up => 4,
        };
        let table = WithLength(table_description(tables, vacancies, table));
        self.tell(
            Topic::TableStatus,
            reason,
            &Message::TableStatus(TableStatus { reason, table }),
        );
    }
}

/// Sends packets to every controller that wants them. Where a controller wants the beginning only, the rest waits here
/// for its decision.
pub(super) fn tell_packets(packets: Vec<PacketInEvent>, controllers: &Controllers) {
    let now = MonotonicTime::now().0;
    let mut packets: Vec<(PacketInEvent, Option<u32>)> = packets.into_iter().map(|packet| (packet, None)).collect();
    for (packet, _) in &mut packets {
        // As long as a port would have sent it.
        packet.frame.resize(packet.frame.len().max(SMALLEST_FRAME_LEN), 0);
    }
    controllers.for_each(|_, session| {
        for (packet, buffer) in &mut packets {
            let Some(version) = session.version().filter(|_| session.follows()) else {
                return;
            };
            let reason = packet_in_reason(packet.reason, version);
            if !session.wants(Topic::PacketIn, reason) {
                continue;
            }
            let wanted = match packet.reason {
                Reason::InvalidTtl => session.configuration.miss_send_len,
                _ => packet.max_len,
            };
            let is_whole = wanted == MAX_LEN_NO_BUFFER || packet.frame.len() <= usize::from(wanted);
            if !is_whole && buffer.is_none() {
                let kept = Buffered {
                    frame: packet.frame.clone(),
                    in_port: packet.in_port,
                };
                let mut buffers = controllers.buffers.lock().unwrap_or_else(PoisonError::into_inner);
                *buffer = buffers.keep(kept, now);
            }
            let message = match *buffer {
                Some(buffer) if !is_whole => packet_in(packet, reason, buffer, usize::from(wanted)),
                _ => packet_in(packet, reason, NO_BUFFER, packet.frame.len()),
            };
            session.tell(&Message::PacketIn(message));
        }
    });
}

fn packet_in(packet: &PacketInEvent, reason: u8, buffer: u32, len: usize) -> PacketIn {
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
    let mut message = PacketIn {
        buffer,
        total_len: packet.frame.len().try_into().unwrap_or(u16::MAX),
        reason,
        table: packet.table,
        cookie: packet.cookie,
        matching: Match { fields },
        data: Data::default(),
    };
    // What a message has no room for is missing: its length is given.
    let head = HEADER_BYTES + encoded_len(&message, Version::V14).unwrap_or_default();
    let len = len.min(usize::from(u16::MAX) - head);
    message.data = Data(packet.frame[..len].to_vec());
    message
}

fn flow_removed(removed: &RemovedEvent, version: Version) -> FlowRemoved {
    let entry = &removed.entry;
    FlowRemoved {
        cookie: entry.cookie,
        priority: entry.priority,
        reason: removal_reason(removed.reason, version),
        table: entry.table,
        age: Age {
            seconds: (removed.age_ns / 1_000_000_000) as u32,
            nanoseconds: (removed.age_ns % 1_000_000_000) as u32,
        },
        idle_timeout_s: entry.idle_timeout_s,
        hard_timeout_s: entry.hard_timeout_s,
        packets: removed.count.packets,
        bytes: removed.count.bytes,
        matching: entry.matching(),
    }
}
