//! What the switch answers to the messages of a controller.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{
    Configuration, Data, Features, FlowMonitor, Message, PacketOut, Part, Request, RequestForward, Version,
};
use brimful_openflow::{Action, ErrorCode, ErrorMessage, FlowCommand, FlowMod, MAX_LEN_NO_BUFFER, NO_BUFFER, port};

use super::buffers::BUFFERS;
use super::connection::{Messages, RequestHead};
use super::controllers::Peer;
use super::hub::Hub;
use super::port_config::{change_port, check_port};
use super::session::RoleKind;
use super::{monitors, multipart, queue_config, table_config};
use crate::control::{Ended, Pending, Switch};
use crate::watch::{Author, TableChange};

/// What the switch can do (OF 1.3.5 section 7.3.1): statistics of flows, tables, ports, groups and queues.
const CAPABILITIES: u32 = 1 | 2 | 4 | 8 | 64;
/// Roles as requests name them (OF 1.3.5 section 7.3.9); 0 asks for the present one.
const EQUAL: u32 = 1;
const MASTER: u32 = 2;
const SLAVE: u32 = 3;
/// Reasons of forwarded requests (OF 1.4.1 section 7.4.6).
const GROUP_MOD: u8 = 0;
const METER_MOD: u8 = 1;
/// `OFPC_FRAG_DROP` (OF 1.3.5 section 7.3.2); with 0, fragments are treated as other packets.
const FRAGMENTS_DROP: u16 = 1;
/// Lists of changes that the control thread has not answered yet, before more are read.
const MOST_PENDING: usize = 16;
/// Changes that a connection makes itself, if the control thread has nothing to do: waking it takes longer.
const FEW: usize = 4;

/// An answer: messages, or the error for the request.
pub(super) type Answer = Result<Vec<Message>, ErrorMessage>;

/// Changes that the control thread has been given.
struct Given {
    errors: Pending<Vec<(usize, RequestHead, ErrorMessage)>>,
    /// What other controllers are to be notified of unless it has an error: its index, reason and message.
    forwards: Vec<(usize, u8, Data)>,
}

/// Answers the messages of one connection, one after the other. Changes of tables that come in a row are given to the
/// control thread together, and the next messages are read meanwhile; everything else waits for them.
pub(super) struct Answerer<'h> {
    pub(super) peer: &'h Arc<Peer>,
    pub(super) hub: &'h Hub,
    changes: Vec<TableChange>,
    /// The places of the messages of those changes.
    places: Vec<usize>,
    forwards: Vec<(usize, u8, Data)>,
    given: VecDeque<Given>,
    has_answered_barrier: bool,
    /// Whether anything has been sent since it was last seen that the controller takes it.
    has_sent: bool,
    /// Whether the last messages were changes of tables and bundles only, but for barriers and echoes.
    pub(super) has_changed_only: bool,
}

impl<'h> Answerer<'h> {
    /// Of a connection.
    pub(super) fn new(peer: &'h Arc<Peer>, hub: &'h Hub) -> Self {
        Self {
            peer,
            hub,
            changes: Vec::new(),
            places: Vec::new(),
            forwards: Vec::new(),
            given: VecDeque::new(),
            has_answered_barrier: false,
            has_sent: false,
            has_changed_only: true,
        }
    }

    /// Answers messages that came together, from a place on, as long as the controller takes the answers: a short request
    /// may have a long one. Gives the place of the first message that is left, if one is.
    ///
    /// # Errors
    /// When the switch has ended.
    pub(super) fn answer_all(&mut self, messages: &Messages, mut place: usize) -> Result<Option<usize>, Ended> {
        self.has_changed_only = true;
        while let Some(bytes) = messages.at(place) {
            if !self.follows() {
                self.give(messages)?;
                return Ok(Some(place));
            }
            match Message::decode(bytes, messages.version) {
                Ok(message) => self.answer_one(messages, place, bytes, message)?,
                Err(error) => self.refuse(&RequestHead::of(bytes), &error),
            }
            place += bytes.len();
        }
        self.give(messages)?;
        Ok(None)
    }

    /// Whether the controller takes what is sent to it.
    fn follows(&mut self) -> bool {
        if !std::mem::take(&mut self.has_sent) {
            return true;
        }
        let mut session = self.peer.session();
        // The end of the connection is seen elsewhere.
        let follows = session.follows() || session.flush().is_ok() && session.follows();
        self.has_sent = !follows;
        follows
    }

    fn send(&mut self, transaction: u32, message: &Message) {
        self.peer.send(transaction, message);
        self.has_sent = true;
    }

    fn refuse(&mut self, request: &RequestHead, error: &ErrorMessage) {
        self.peer.refuse(request, error);
        self.has_sent = true;
    }

    fn answer_one(&mut self, messages: &Messages, place: usize, bytes: &[u8], message: Message) -> Result<(), Ended> {
        let head = || RequestHead::of(bytes);
        if changes_state(&message) && self.peer.is_slave() {
            let error = ErrorCode::IS_SLAVE.because("a slave may not change anything");
            self.refuse(&head(), &error);
            return Ok(());
        }
        match message {
            Message::FlowMod(change) if change.buffer == NO_BUFFER || deletes(&change) => {
                match self.hub.preparer.prepare(change) {
                    Ok(change) => self.gather(place, TableChange::Prepared(change)),
                    Err(error) => self.refuse(&head(), &error),
                }
            }
            Message::GroupMod(change) => {
                self.forward(GROUP_MOD, || Message::GroupMod(change.clone()), &head());
                self.gather(place, TableChange::Group(change));
            }
            Message::MeterMod(change) => {
                self.forward(METER_MOD, || Message::MeterMod(change.clone()), &head());
                self.gather(place, TableChange::Meter(change));
            }
            Message::BundleAdd(add) => {
                let head = head();
                let done = self
                    .peer
                    .main()
                    .session()
                    .bundles
                    .add(&add, head.transaction, &self.hub.preparer);
                if let Err(error) = done {
                    self.settle(messages)?;
                    let is_of_bundle = error.kind == ErrorCode::BUNDLE_BAD_ID.0;
                    let about = if is_of_bundle { head } else { head.about(&add.message.0) };
                    self.refuse(&about, &error);
                }
            }
            // What has been given is done before it, so that one answer covers both.
            Message::BarrierRequest => {
                self.give(messages)?;
                self.hub.handle.call(Switch::settle)?;
                self.settle(messages)?;
                self.send(head().transaction, &Message::BarrierReply);
                self.has_answered_barrier = true;
            }
            Message::EchoRequest(data) => self.send(head().transaction, &Message::EchoReply(data)),
            Message::EchoReply(_) | Message::Hello(_) | Message::Error(_) => {}
            other => {
                self.has_changed_only = false;
                self.settle(messages)?;
                let head = head();
                match self.answer(&head, other)? {
                    Ok(replies) => replies.iter().for_each(|reply| self.send(head.transaction, reply)),
                    Err(error) => self.refuse(&head, &error),
                }
            }
        }
        Ok(())
    }

    /// Whether it has answered a barrier since this was asked for.
    pub(super) fn take_barrier(&mut self) -> bool {
        std::mem::take(&mut self.has_answered_barrier)
    }

    /// Sends errors that have come meanwhile.
    ///
    /// # Errors
    /// When the switch has ended.
    pub(super) fn look(&mut self) -> Result<(), Ended> {
        while let Some(given) = self.given.front() {
            let Some(errors) = given.errors.look()? else {
                return Ok(());
            };
            let given = self.given.pop_front();
            self.finish(&errors, given.map(|given| given.forwards).unwrap_or_default());
        }
        Ok(())
    }

    fn gather(&mut self, place: usize, change: TableChange) {
        // Made in its place: see `Pipeline::add`.
        self.changes.extend(std::iter::once_with(|| change));
        self.places.push(place);
    }

    fn forward(&mut self, reason: u8, message: impl Fn() -> Message, head: &RequestHead) {
        if self.hub.controllers.wants_forwards(self.peer, reason) {
            let message = Data(message().encode(head.transaction, Version::V14));
            self.forwards.push((self.changes.len(), reason, message));
        }
    }

    /// Does what has been gathered of messages, or gives it to the control thread.
    fn give(&mut self, messages: &Messages) -> Result<(), Ended> {
        if self.changes.is_empty() {
            return Ok(());
        }
        while self.given.len() >= MOST_PENDING {
            self.wait_for_one()?;
        }
        // The next ones will most likely be as many.
        let count = self.changes.len();
        let changes = std::mem::replace(&mut self.changes, Vec::with_capacity(count));
        let places = std::mem::replace(&mut self.places, Vec::with_capacity(count));
        let (peer, connection, messages) = (Arc::clone(self.peer), self.peer.main().number, messages.clone());
        // Many are done while this thread reads on, and what was given before is answered first.
        let is_done_here = count <= FEW && self.given.is_empty();
        let change = move |switch: &mut Switch| -> Vec<_> {
            let head = |index: usize| messages.head(places[index]);
            let author = |index: usize| Author {
                connection,
                transaction: head(index).transaction,
            };
            let errors = switch.change_all(changes, author).into_iter();
            errors.map(|(index, error)| (index, head(index), error)).collect()
        };
        let forwards = std::mem::take(&mut self.forwards);
        let change = if is_done_here {
            match self.hub.handle.now(change) {
                Ok(errors) => {
                    self.finish(&errors, forwards);
                    return Ok(());
                }
                Err(change) => change,
            }
        } else {
            change
        };
        let errors = self.hub.handle.begin(change, move || peer.wake())?;
        self.given.push_back(Given { errors, forwards });
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<(), Ended> {
        if let Some(given) = self.given.pop_front() {
            let errors = given.errors.wait()?;
            self.finish(&errors, given.forwards);
        }
        Ok(())
    }

    /// Waits until everything that has been gathered of messages is done.
    fn settle(&mut self, messages: &Messages) -> Result<(), Ended> {
        self.give(messages)?;
        while !self.given.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn finish(&mut self, errors: &[(usize, RequestHead, ErrorMessage)], forwards: Vec<(usize, u8, Data)>) {
        for (index, reason, request) in forwards {
            if !errors.iter().any(|(other, ..)| *other == index) {
                self.hub
                    .controllers
                    .forward(self.peer, reason, &RequestForward { request });
            }
        }
        for (_, head, error) in errors {
            self.refuse(head, error);
        }
    }

    fn answer(&mut self, head: &RequestHead, message: Message) -> Result<Answer, Ended> {
        let (peer, handle) = (self.peer, &self.hub.handle);
        Ok(match message {
            Message::FeaturesRequest => {
                let auxiliary = peer.auxiliary;
                handle.call(move |switch| Ok(vec![features(switch, auxiliary)]))?
            }
            Message::GetConfigRequest => {
                let drops = handle.call(|switch| switch.ports.view().drops_fragments)?;
                Ok(vec![Message::GetConfigReply(Configuration {
                    flags: if drops { FRAGMENTS_DROP } else { 0 },
                    ..peer.main().session().configuration.clone()
                })])
            }
            // Fragments go through the tables as other packets do, or are dropped; they are not put together.
            Message::SetConfig(configuration) if configuration.flags > FRAGMENTS_DROP => {
                let text = format!("flags {:#x}: fragments are not put together here", configuration.flags);
                Err(ErrorCode::CONFIG_FLAGS.because(text))
            }
            Message::SetConfig(configuration) => {
                let drops = configuration.flags == FRAGMENTS_DROP;
                handle.call(move |switch| switch.ports.drop_fragments(drops))?;
                peer.main().session().configuration = configuration;
                Ok(Vec::new())
            }
            Message::FlowMod(change) => self.change_with_buffer(head, change)?,
            Message::PacketOut(packet) => self.packet_out(packet)?,
            Message::PortMod(change) => handle
                .call(move |switch| check_port(switch, &change).map(|()| change_port(switch, &change)))?
                .map(|()| Vec::new()),
            Message::TableMod(change) => {
                let version = peer.session().version().unwrap_or(Version::V13);
                handle
                    .call(move |switch| table_config::change_table(switch, &change, version))?
                    .map(|()| Vec::new())
            }
            Message::MultipartRequest(part) => self.multipart_request(&part)?,
            Message::QueueGetConfigRequest(wanted) => {
                let port = wanted.port;
                handle.call(move |switch| queue_config::configuration(switch, port).map(|reply| vec![reply]))?
            }
            Message::RoleRequest(wanted) => role_kind(wanted.role)
                .and_then(|role| self.hub.controllers.change_role(peer, role, wanted.generation))
                .map(|role| vec![Message::RoleReply(role)]),
            Message::GetAsyncRequest => Ok(vec![Message::GetAsyncReply(peer.main().session().masks())]),
            Message::SetAsync(configuration) => peer.main().session().set_masks(&configuration).map(|()| Vec::new()),
            Message::BundleControl(control) => self.bundle(&control)?,
            Message::Experimenter(content) => {
                let text = format!("experimenter {:#x} is not known", content.experimenter);
                Err(ErrorCode::BAD_EXPERIMENTER.because(text))
            }
            other => {
                let text = format!("message type {} is no request to a switch", other.number());
                Err(ErrorCode::BAD_TYPE.because(text))
            }
        })
    }

    /// OF 1.3.5 section 7.3.4.2: as the flow-mod, followed by a packet-out of the buffer to the tables.
    fn change_with_buffer(&self, head: &RequestHead, change: FlowMod) -> Result<Answer, Ended> {
        let author = Author {
            connection: self.peer.main().number,
            transaction: head.transaction,
        };
        let buffer = change.buffer;
        let mut errors = self
            .hub
            .handle
            .call(move |switch| switch.change_all(vec![TableChange::Flow(Box::new(change))], |_| author))?;
        if let Some((_, error)) = errors.pop() {
            return Ok(Err(error));
        }
        self.packet_out(PacketOut {
            buffer,
            in_port: port::CONTROLLER,
            actions: vec![Action::Output {
                port: port::TABLE,
                max_len: MAX_LEN_NO_BUFFER,
            }],
            data: Vec::new(),
        })
    }

    fn packet_out(&self, packet: PacketOut) -> Result<Answer, Ended> {
        let PacketOut {
            buffer,
            mut in_port,
            actions,
            data,
        } = packet;
        let mut frame = data;
        if buffer != NO_BUFFER {
            let mut buffers = self
                .hub
                .controllers
                .buffers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            match buffers.take(buffer, MonotonicTime::now().0) {
                Ok(kept) => (frame, in_port) = (kept.frame, kept.in_port),
                Err(error) => return Ok(Err(error)),
            }
        }
        let handle = &self.hub.handle;
        let done = handle.call(move |switch| switch.packet_out(in_port, &actions, &frame))?;
        Ok(done.map(|()| Vec::new()))
    }

    fn multipart_request(&self, part: &Part<Request>) -> Result<Answer, Ended> {
        let mut session = self.peer.session();
        if let Some(refused) = session.gather(part) {
            return Ok(Err(refused));
        }
        if part.flags & brimful_openflow::wire::MORE != 0 {
            return Ok(Ok(Vec::new()));
        }
        let request = session.take_gathered().unwrap_or_else(|| part.content.clone());
        let version = session.version().unwrap_or(Version::V13);
        drop(session);
        if let Request::FlowMonitor(wanted) = request {
            return self.monitor(wanted);
        }
        self.hub
            .handle
            .call(move |switch| multipart::replies(switch, &request, version))
    }

    /// With the switch, so that no change comes between the entries that are there and those that come.
    fn monitor(&self, wanted: Vec<FlowMonitor>) -> Result<Answer, Ended> {
        let (peer, controllers) = (Arc::clone(self.peer), Arc::clone(&self.hub.controllers));
        self.hub.handle.call(move |switch| {
            let mut session = peer.main().session();
            let was_empty = session.monitors.is_empty();
            let done = session.monitors.change(&wanted, &switch.pipeline.read());
            match (was_empty, session.monitors.is_empty()) {
                (true, false) => controllers.monitoring.fetch_add(1, Relaxed),
                (false, true) => controllers.monitoring.fetch_sub(1, Relaxed),
                _ => 0,
            };
            Ok(monitors::messages(done?, 0))
        })
    }
}

fn deletes(change: &FlowMod) -> bool {
    matches!(change.command, FlowCommand::Delete | FlowCommand::DeleteStrict)
}

/// Whether only masters and equals may send it (OF 1.3.5 section 6.3.6).
fn changes_state(message: &Message) -> bool {
    matches!(
        message,
        Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::MeterMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::PacketOut(_)
            | Message::BundleControl(_)
            | Message::BundleAdd(_)
    ) || matches!(
        message,
        Message::MultipartRequest(Part { content: Request::TableFeatures(tables), .. }) if !tables.is_empty()
    )
}

fn role_kind(number: u32) -> Result<Option<RoleKind>, ErrorMessage> {
    match number {
        0 => Ok(None),
        EQUAL => Ok(Some(RoleKind::Equal)),
        MASTER => Ok(Some(RoleKind::Master)),
        SLAVE => Ok(Some(RoleKind::Slave)),
        other => Err(ErrorCode::ROLE_UNKNOWN.because(format!("there is no role {other}"))),
    }
}

fn features(switch: &Switch, auxiliary: u8) -> Message {
    Message::FeaturesReply(Features {
        datapath: switch.dpid,
        buffers: BUFFERS,
        tables: switch.pipeline.read().limits().tables,
        auxiliary,
        capabilities: CAPABILITIES,
    })
}
