//! One controller, as the switch sees it: its connection, its role, and what it wants to be told of.

use brimful_openflow::wire::{AsyncConfiguration, Configuration, EventMask, MORE, Message, Part, Request, Version};
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::connection::Connection;

/// The role of a controller (OF 1.3.5 section 6.3.6), with its number on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RoleKind {
    /// It may do everything, like others.
    Equal = 1,
    /// It alone may do everything.
    Master = 2,
    /// It may only look.
    Slave = 3,
}

/// What a controller may be told of; twice the number is its property for slaves, one more that for others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Topic {
    /// Packets.
    PacketIn = 0,
    /// Ports.
    PortStatus = 1,
    /// Entries that went.
    FlowRemoved = 2,
}

/// Reasons of packet-ins that masters are told of unless they say otherwise: all but an invalid TTL.
const PACKET_IN_BY_DEFAULT: u32 = 0x3f & !(1 << 2);
/// All reasons of another topic.
const ALL_REASONS: u32 = 0x3f;
/// Kinds of events that have a mask, for slaves and for others.
const EVENTS: usize = 12;
/// Tables that one request may be about.
const MOST_GATHERED: usize = 1024;
/// Bytes that wait for a controller before packets for it are dropped.
const MOST_WAITING: usize = 4 << 20;

/// One controller.
#[derive(Debug)]
pub(super) struct Session {
    /// Its connection.
    pub(super) connection: Connection,
    /// Its role.
    pub(super) role: RoleKind,
    /// How it wants packets.
    pub(super) configuration: Configuration,
    /// Whether both sides ever agreed on a version.
    pub(super) was_established: bool,
    masks: [u32; EVENTS],
    gathered: Option<Request>,
}

impl Session {
    /// One whose connection has just been made.
    pub(super) fn new(now: u64) -> Self {
        let mut masks = [ALL_REASONS; EVENTS];
        masks[0] = 0;
        masks[1] = PACKET_IN_BY_DEFAULT;
        masks[4] = 0;
        Self {
            connection: Connection::new(now),
            role: RoleKind::Equal,
            configuration: Configuration {
                flags: 0,
                miss_send_len: 128,
            },
            was_established: false,
            masks,
            gathered: None,
        }
    }

    /// Puts the parts of a request together; gives the error of one that cannot be (OF 1.3.5 section 7.3.5).
    pub(super) fn gather(&mut self, part: &Part<Request>) -> Option<ErrorMessage> {
        let has_more = part.flags & MORE != 0;
        match (&mut self.gathered, &part.content) {
            (None, _) if !has_more => return None,
            (None, Request::TableFeatures(tables)) => self.gathered = Some(Request::TableFeatures(tables.clone())),
            (Some(Request::TableFeatures(before)), Request::TableFeatures(tables)) if before.len() < MOST_GATHERED => {
                before.extend(tables.iter().cloned());
            }
            _ => {
                self.gathered = None;
                return Some(
                    ErrorCode::MULTIPART_OVERFLOW.because("requests in parts are taken for table features only"),
                );
            }
        }
        None
    }

    /// The request whose parts have all come.
    pub(super) fn take_gathered(&mut self) -> Option<Request> {
        self.gathered.take()
    }

    /// Changes what it is told of, as far as the message says.
    pub(super) fn set_masks(&mut self, given: &AsyncConfiguration) {
        for EventMask { event, mask } in &given.masks {
            if let Some(own) = self.masks.get_mut(usize::from(*event)) {
                *own = *mask;
            }
        }
    }

    /// What it is told of.
    pub(super) fn masks(&self) -> AsyncConfiguration {
        let masks = self.masks.iter().zip(0..);
        let masks = masks.map(|(mask, event)| EventMask { event, mask: *mask });
        AsyncConfiguration { masks: masks.collect() }
    }

    /// Whether it wants to be told of a topic for this reason.
    pub(super) fn wants(&self, topic: Topic, reason: u8) -> bool {
        let is_slave = self.role == RoleKind::Slave;
        let event = topic as usize * 2 + usize::from(!is_slave);
        self.version().is_some() && self.masks[event] >> (reason & 31) & 1 == 1
    }

    /// Sends it a packet, unless so much waits for it already that it cannot be following.
    pub(super) fn tell_packet(&mut self, message: &Message) {
        if self.connection.outgoing().len() < MOST_WAITING {
            self.connection.tell(message);
        }
    }

    /// The version that it speaks, once it has greeted.
    pub(super) fn version(&self) -> Option<Version> {
        self.connection.version()
    }
}
