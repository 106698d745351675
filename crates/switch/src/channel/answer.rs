//! What becomes of the messages of a controller: changes of tables are gathered, all else is answered (`requests`).

use std::collections::VecDeque;
use std::sync::Arc;

use brimful_openflow::wire::{Data, Message, Part, Request, RequestForward, Version};
use brimful_openflow::{ErrorCode, ErrorMessage, FlowCommand, FlowMod, NO_BUFFER};

use super::connection::{Messages, RequestHead};
use super::controllers::Peer;
use super::hub::Hub;
use crate::control::{Ended, Pending, Switch};
use crate::watch::{Author, TableChange};

/// Reasons of forwarded requests (OF 1.4.1 section 7.4.6).
const GROUP_MOD: u8 = 0;
const METER_MOD: u8 = 1;
/// Lists of changes that the control thread has not answered yet, before more are read.
const MOST_PENDING: usize = 16;
/// Changes that a connection makes itself, if the control thread has nothing to do: waking it takes longer.
const FEW: usize = 4;

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
