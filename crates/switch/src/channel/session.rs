//! One controller, as the switch sees it: its connection, its role, and what it wants to be notified of.

use std::io;
use std::sync::Arc;

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{
    AsyncConfiguration, Configuration, EventMask, FlowEvent, MORE, Message, Part, Request, Version,
};
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::bundles::Bundles;
use super::connection::{Connection, State};
use super::monitors::{Monitors, messages};
use super::transport::Transport;

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

/// What a controller may be notified of; twice the number is its property for slaves, one more that for others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Topic {
    /// Packets.
    PacketIn = 0,
    /// Ports.
    PortStatus = 1,
    /// Entries that went.
    FlowRemoved = 2,
    /// Its own role (1.4).
    RoleStatus = 3,
    /// Tables that have become full or empty enough (1.4).
    TableStatus = 4,
    /// Other controllers' changes of groups and meters (1.4).
    RequestForward = 5,
}

/// The reason of a packet-in that masters get only where they ask for it: an invalid TTL.
const INVALID_TTL: u32 = 1 << 2;
/// Kinds of events that have a mask, for slaves and for others.
const EVENTS: usize = 12;
/// The reasons that each kind of event may have (OF 1.4.1 section 7.3.10).
const KNOWN_REASONS: [u32; EVENTS / 2] = [0x3f, 0x7, 0x3f, 0x7, 0x18, 0x3];
/// The same of what 1.3 has (OF 1.3.5 sections 7.4.1 to 7.4.3).
const KNOWN_REASONS_13: [u32; EVENTS / 2] = [0x7, 0x7, 0xf, 0, 0, 0];
/// Tables that one request may be about.
const MOST_GATHERED: usize = 1024;
/// Bytes that wait for a controller before it is asked nothing more, and before packets for it are dropped.
pub(super) const MUCH_WAITING: usize = 1 << 20;
/// Bytes that wait for a controller before it is given up.
const MOST_WAITING: usize = 64 << 20;

/// One controller.
pub(super) struct Session {
    /// Its connection.
    pub(super) connection: Connection,
    /// What carries it.
    transport: Transport,
    /// Its role.
    pub(super) role: RoleKind,
    /// How it wants packets.
    pub(super) configuration: Configuration,
    /// Whether both sides ever agreed on a version.
    pub(super) was_established: bool,
    /// Changes that it gathers (1.4).
    pub(super) bundles: Bundles,
    /// Changes of entries that it wants to be notified of (1.4).
    pub(super) monitors: Monitors,
    masks: [u32; EVENTS],
    gathered: Option<Request>,
}

impl Session {
    /// One whose connection has just been made, and which versions may be spoken.
    pub(super) fn new(transport: Transport, versions: &Arc<[Version]>, now: u64) -> Self {
        let mut masks: [u32; EVENTS] = std::array::from_fn(|event| KNOWN_REASONS[event / 2]);
        masks[0] = 0;
        masks[1] &= !INVALID_TTL;
        masks[Topic::FlowRemoved as usize * 2] = 0;
        // OF 1.4.1 section 7.3.10: what 1.4 adds goes to those that have asked for it.
        for topic in [Topic::RoleStatus, Topic::TableStatus, Topic::RequestForward] {
            masks[topic as usize * 2] = 0;
            masks[topic as usize * 2 + 1] = 0;
        }
        Self {
            connection: Connection::new(versions, now),
            transport,
            role: RoleKind::Equal,
            configuration: Configuration {
                flags: 0,
                miss_send_len: 128,
            },
            was_established: false,
            bundles: Bundles::default(),
            monitors: Monitors::default(),
            masks,
            gathered: None,
        }
    }

    /// Takes what has come, as much as there is room for; gives how many bytes.
    ///
    /// # Errors
    /// When the connection has ended.
    pub(super) fn receive(&mut self, bytes: &mut [u8], now: u64) -> io::Result<usize> {
        let mut count = 0;
        while count < bytes.len() {
            match self.transport.read(&mut bytes[count..]) {
                Ok(0) if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) => break,
                Ok(more) => {
                    let is_short = more < bytes.len() - count;
                    count += more;
                    if is_short && self.transport.gives_all_there_is() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if count > 0 {
            self.connection.receive(&bytes[..count], now);
        }
        Ok(count)
    }

    /// Writes what waits, as much as there is room for.
    ///
    /// # Errors
    /// When the connection has ended.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let before = self.connection.outgoing().len();
        self.transport.write(self.connection.outgoing())?;
        if before >= MUCH_WAITING && self.connection.outgoing().len() < before {
            // Nothing of it is read meanwhile: what it takes shows that it is there.
            self.connection.hear(MonotonicTime::now().0);
        }
        Ok(())
    }

    /// Whether something waits to be written.
    pub(super) fn wants_to_write(&mut self) -> bool {
        !self.connection.outgoing().is_empty() || self.transport.wants_to_write()
    }

    /// Whether it takes what is sent to it.
    pub(super) fn follows(&mut self) -> bool {
        self.connection.outgoing().len() < MUCH_WAITING
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

    /// Changes what it is notified of, as far as the message says.
    ///
    /// # Errors
    /// When there is no such reason (1.4).
    pub(super) fn set_masks(&mut self, given: &AsyncConfiguration) -> Result<(), ErrorMessage> {
        let known = |one: &EventMask| KNOWN_REASONS.get(usize::from(one.event / 2)).copied().unwrap_or(0);
        let wrong = given.masks.iter().find(|one| one.mask & !known(one) != 0);
        if let (Some(Version::V14), Some(wrong)) = (self.version(), wrong) {
            let text = format!("mask {:#x} for event {}", wrong.mask, wrong.event);
            return Err(ErrorCode::ASYNC_INVALID.because(text));
        }
        for EventMask { event, mask } in &given.masks {
            if let Some(own) = self.masks.get_mut(usize::from(*event)) {
                *own = *mask;
            }
        }
        Ok(())
    }

    /// What it is notified of.
    pub(super) fn masks(&self) -> AsyncConfiguration {
        let known = match self.version() {
            Some(Version::V13) => KNOWN_REASONS_13,
            _ => KNOWN_REASONS,
        };
        let masks = self.masks.iter().zip(0..);
        let masks = masks.map(|(mask, event)| EventMask {
            event,
            mask: *mask & known[usize::from(event / 2)],
        });
        AsyncConfiguration { masks: masks.collect() }
    }

    /// Whether it wants to be notified of a topic for this reason.
    pub(super) fn wants(&self, topic: Topic, reason: u8) -> bool {
        let is_slave = self.role == RoleKind::Slave;
        let event = topic as usize * 2 + usize::from(!is_slave);
        let has_topic = match self.version() {
            None => false,
            Some(Version::V13) => (topic as u8) < Topic::RoleStatus as u8,
            Some(Version::V14) => true,
        };
        has_topic && self.masks[event] >> (reason & 31) & 1 == 1
    }

    /// Sends it a message of our own. It is given up when so much waits for it that it cannot be following.
    pub(super) fn tell(&mut self, message: &Message) {
        if self.connection.outgoing().len() < MOST_WAITING {
            self.connection.tell(message);
        } else {
            self.connection.close("it does not take what is sent to it");
        }
    }

    /// Notifies it of changes of entries, if there are any.
    pub(super) fn tell_of_flows(&mut self, events: Vec<FlowEvent>) {
        if events.is_empty() {
            return;
        }
        for message in messages(events, 0) {
            self.connection.send(0, &message);
        }
    }

    /// The version that it speaks, once it has greeted.
    pub(super) fn version(&self) -> Option<Version> {
        self.connection.version()
    }

    /// Whether it is to end.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.connection.state(), State::Closing(_))
    }
}
