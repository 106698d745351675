//! One connection to a controller, without its socket: bytes in, messages out. It greets, agrees on a version, and asks
//! for signs of life.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use brimful_openflow::wire::{Data, ErrorBody, HEADER_BYTES, Header, Hello, Message, Version};
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::begun::{Begun, end_of_whole};
use super::transport::Outgoing;

/// Nanoseconds without a word from the controller before it is asked for one, and after that before it is given up.
pub(super) const PATIENCE_NS: u64 = 5_000_000_000;
/// `OFPT_HELLO`.
const HELLO: u8 = 0;
/// Bytes of an offending message that an error carries (OF 1.3.5 section 7.4.4: at least 64).
const ERROR_BYTES: usize = 64;

/// Whole messages that came together, one behind the other. Whatever is about one of them knows it by its place.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    bytes: Arc<Vec<u8>>,
    /// The version that they are of.
    pub(super) version: Version,
}

impl Messages {
    /// The message at a place; the next one stands behind it. `None` at the end.
    pub(super) fn at(&self, place: usize) -> Option<&[u8]> {
        let rest = &self.bytes[place..];
        let header = Header::parse(rest)?;
        rest.get(..usize::from(header.length))
    }

    /// What is known of the message at a place, which has to be one.
    pub(super) fn head(&self, place: usize) -> RequestHead {
        RequestHead::of(self.at(place).unwrap_or_default())
    }
}

/// What is known of a message once it has been taken apart: enough for its error.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHead {
    /// Its transaction id.
    pub(super) transaction: u32,
    /// Its first bytes.
    start: [u8; ERROR_BYTES],
    len: u8,
}

impl RequestHead {
    /// Of the bytes of a message.
    pub(super) fn of(message: &[u8]) -> Self {
        let transaction = Header::parse(message).map_or(0, |header| header.transaction);
        let len = message.len().min(ERROR_BYTES);
        let mut start = [0; ERROR_BYTES];
        start[..len].copy_from_slice(&message[..len]);
        Self {
            transaction,
            start,
            len: len as u8,
        }
    }

    /// The same transaction, about the first bytes of another message.
    pub(super) fn about(self, message: &[u8]) -> Self {
        Self {
            transaction: self.transaction,
            ..Self::of(message)
        }
    }

    fn start(&self) -> &[u8] {
        &self.start[..usize::from(self.len)]
    }
}

/// What is known of many messages.
#[derive(Debug, Default)]
pub(super) struct Heads {
    starts: Vec<u8>,
    ends: Vec<usize>,
}

impl Heads {
    /// One more.
    pub(super) fn push(&mut self, message: &[u8]) {
        self.starts
            .extend_from_slice(&message[..message.len().min(ERROR_BYTES)]);
        self.ends.push(self.starts.len());
    }

    /// That of the message with an index.
    pub(super) fn get(&self, index: usize) -> RequestHead {
        let first = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        RequestHead::of(&self.starts[first..self.ends[index]])
    }
}

/// How far a connection is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// The controller has not said hello yet.
    Greeting,
    /// Both sides speak this version.
    Established(Version),
    /// It is to be closed once what waits has been sent; this is why.
    Closing(String),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    state: State,
    /// The versions that we speak here, ascending.
    versions: Arc<[Version]>,
    /// What is whole by now, and what the message behind that begins with.
    received: Vec<u8>,
    begun: Begun,
    outgoing: Outgoing,
    /// When the bytes that were taken last came.
    received_at: u64,
    /// When the last whole message came: parts of one are no sign of life, however long they go on.
    heard_at: u64,
    asked_at: Option<u64>,
    next_transaction: u32,
}

impl Connection {
    /// One that has just been made: our hello waits to be sent. It is of the highest version that we speak.
    pub(super) fn new(versions: &Arc<[Version]>, now: u64) -> Self {
        let mut outgoing = Outgoing::default();
        if let Some(highest) = versions.last() {
            outgoing.extend(&Message::Hello(Hello::offering(versions)).encode(0, *highest));
        }
        Self {
            state: State::Greeting,
            versions: Arc::clone(versions),
            received: Vec::new(),
            begun: Begun::default(),
            outgoing,
            received_at: now,
            heard_at: now,
            asked_at: None,
            next_transaction: 1,
        }
    }

    /// Takes bytes of the socket.
    pub(super) fn receive(&mut self, bytes: &[u8], now: u64) {
        self.received_at = now;
        let mut left = bytes;
        while !self.begun.is_empty() && !left.is_empty() {
            let (more, rest) = left.split_at(self.begun.missing().min(left.len()));
            self.begun.extend(more);
            left = rest;
            if self.begun.missing() == 0 {
                self.begun.move_to(&mut self.received);
            }
        }
        let (whole, rest) = left.split_at(end_of_whole(left));
        self.received.extend_from_slice(whole);
        self.begun.extend(rest);
    }

    /// The controller has shown at a moment that it is there.
    pub(super) fn hear(&mut self, now: u64) {
        self.heard_at = now;
        self.asked_at = None;
    }

    /// The messages that are whole by now, to be answered.
    pub(super) fn take_messages(&mut self) -> Messages {
        let mut received = std::mem::take(&mut self.received);
        let mut version = Version::V13;
        let mut end = 0;
        while let (Some(header), false) = (Header::parse(&received[end..]), self.is_closing()) {
            let length = usize::from(header.length);
            if length < HEADER_BYTES {
                // Where the next message begins is not known.
                let error = ErrorCode::BAD_LENGTH.because(format!("a message of {length} bytes"));
                self.refuse(&RequestHead::of(&received[end..end + HEADER_BYTES]), &error);
                self.close(error.detail);
                break;
            }
            let Some(message) = received.get(end..end + length) else {
                break;
            };
            if self
                .version()
                .is_none_or(|agreed| header.kind == HELLO && header.version != agreed as u8)
            {
                self.greet(header, message);
            }
            if let Some(agreed) = self.version() {
                version = agreed;
                end += length;
            }
        }
        if end > 0 {
            self.hear(self.received_at);
        }
        received.truncate(end);
        Messages {
            bytes: Arc::new(received),
            version,
        }
    }

    /// Sends a message that answers another one.
    pub(super) fn send(&mut self, transaction: u32, message: &Message) {
        if let State::Established(version) = self.state {
            self.outgoing.extend(&message.encode(transaction, version));
        }
    }

    /// Sends a message of our own.
    pub(super) fn tell(&mut self, message: &Message) {
        let transaction = self.next_transaction;
        self.next_transaction = transaction.wrapping_add(1);
        self.send(transaction, message);
    }

    /// Sends an error with the first bytes of what it is about.
    pub(super) fn refuse(&mut self, request: &RequestHead, error: &ErrorMessage) {
        let version = self.version().unwrap_or(Version::V13);
        let data = Data(request.start().to_vec());
        let (kind, code) = (error.kind, error.code);
        let message = Message::Error(ErrorBody { kind, code, data });
        self.outgoing.extend(&message.encode(request.transaction, version));
    }

    /// Asks for a sign of life when there has been none for long, and gives up when there is none after that.
    pub(super) fn tick(&mut self, now: u64) {
        let has_passed = |since: u64| now.saturating_sub(since) >= PATIENCE_NS;
        match (&self.state, self.asked_at) {
            (State::Greeting, _) if has_passed(self.heard_at) => self.close("no hello came"),
            (State::Established(_), Some(asked_at)) if has_passed(asked_at) => self.close("no echo came"),
            (State::Established(_), None) if has_passed(self.heard_at) => {
                self.asked_at = Some(now);
                self.tell(&Message::EchoRequest(Data::default()));
            }
            _ => {}
        }
    }

    /// How far it is.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// The version that was agreed.
    pub(super) fn version(&self) -> Option<Version> {
        match self.state {
            State::Established(version) => Some(version),
            _ => None,
        }
    }

    /// Bytes for the socket.
    pub(super) fn outgoing(&mut self) -> &mut Outgoing {
        &mut self.outgoing
    }

    pub(super) fn close(&mut self, reason: impl Into<String>) {
        self.state = State::Closing(reason.into());
    }

    fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing(_))
    }

    fn greet(&mut self, header: Header, bytes: &[u8]) {
        let hello = match Message::decode(bytes, Version::V13) {
            Ok(Message::Hello(hello)) => Some(hello),
            _ => None,
        };
        let agreed = hello.and_then(|hello| hello.negotiate(header.version, &self.versions));
        if let Some(version) = agreed {
            // A hello that comes later changes nothing, unless it leaves no version in common (OF 1.3.5 section 6.3.1).
            if self.state == State::Greeting {
                self.state = State::Established(version);
            }
            return;
        }
        let spoken: Vec<_> = self.versions.iter().map(|version| version.name()).collect();
        let detail = format!("no version in common: OpenFlow {} here", spoken.join(" and "));
        let data = Data(detail.clone().into_bytes());
        let ErrorCode(kind, code) = ErrorCode::HELLO_INCOMPATIBLE;
        let message = Message::Error(ErrorBody { kind, code, data });
        self.outgoing.extend(&message.encode(header.transaction, Version::V13));
        self.close(detail);
    }
}
