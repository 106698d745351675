//! One connection to a controller, without its socket: bytes in, messages out. It greets, agrees on a version, and asks
//! for signs of life.

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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn hello(versions: &[Version]) -> Vec<u8> {
        Message::Hello(Hello::offering(versions)).encode(1, Version::V13)
    }

    fn new(versions: &[Version]) -> Connection {
        Connection::new(&versions.into(), 0)
    }

    fn established() -> Connection {
        let mut connection = new(&Version::ALL);
        connection.receive(&hello(&[Version::V13]), 0);
        connection.take_messages();
        assert_eq!(connection.state(), &State::Established(Version::V13));
        connection.outgoing().take_all();
        connection
    }

    /// What waits to be sent, message by message.
    fn sent(connection: &mut Connection) -> Vec<Message> {
        let bytes = connection.outgoing().take_all();
        let (mut at, mut messages) = (0, Vec::new());
        while let Some(header) = Header::parse(&bytes[at..]) {
            let end = at + usize::from(header.length);
            messages.push(Message::decode(&bytes[at..end], Version::V13).unwrap());
            at = end;
        }
        messages
    }

    #[test]
    fn messages_come_out_whole_however_the_bytes_are_cut() {
        let mut connection = established();
        let bytes = [
            Message::BarrierRequest.encode(5, Version::V13),
            Message::FeaturesRequest.encode(6, Version::V13),
        ]
        .concat();
        let mut taken = Vec::new();
        for byte in bytes {
            connection.receive(&[byte], 0);
            let messages = connection.take_messages();
            taken.extend(messages.at(0).map(|_| messages.head(0).transaction));
        }
        assert_eq!(taken, [5, 6]);
    }

    #[test]
    fn a_long_message_comes_out_whole_however_it_is_cut() {
        let long =
            Message::EchoRequest(Data((0..60_000).map(|place: u32| place as u8).collect())).encode(7, Version::V13);
        let bytes = [Message::BarrierRequest.encode(5, Version::V13), long.clone(), long].concat();
        for size in [7, 4096, 32_768, 60_007, bytes.len()] {
            let (mut connection, mut taken) = (established(), Vec::new());
            for part in bytes.chunks(size) {
                connection.receive(part, 0);
                taken.extend_from_slice(&connection.take_messages().bytes);
            }
            assert_eq!(taken, bytes, "in parts of {size}");
        }
    }

    #[test]
    fn without_a_common_version_it_says_so_and_closes() {
        let mut connection = new(&Version::ALL);
        connection.outgoing().take_all();
        connection.receive(&[1, 0, 0, 8, 0, 0, 0, 7], 0);
        connection.take_messages();
        assert!(matches!(connection.state(), State::Closing(_)));
        let messages = sent(&mut connection);
        assert!(matches!(
            &messages[..],
            [Message::Error(ErrorBody { kind: 0, code: 0, .. })]
        ));
    }

    #[test]
    fn a_later_hello_changes_nothing_unless_it_leaves_no_version() {
        let mut connection = established();
        connection.receive(&hello(&[Version::V13, Version::V14]), 0);
        connection.receive(&[5, 0, 0, 8, 0, 0, 0, 7], 0);
        connection.take_messages();
        assert_eq!(connection.state(), &State::Established(Version::V13));
        assert_eq!(sent(&mut connection), []);
        connection.receive(&[0, 0, 0, 8, 0, 0, 0, 7], 0);
        connection.take_messages();
        assert!(matches!(connection.state(), State::Closing(_)));
        assert!(matches!(
            &sent(&mut connection)[..],
            [Message::Error(ErrorBody { kind: 0, code: 0, .. })]
        ));
    }

    #[test]
    fn the_highest_common_version_is_spoken() {
        for (hello, expected) in [
            (hello(&[Version::V13, Version::V14]), Version::V14),
            (hello(&[Version::V13]), Version::V13),
            (vec![5, 0, 0, 8, 0, 0, 0, 1], Version::V14),
            (vec![6, 0, 0, 8, 0, 0, 0, 1], Version::V14),
            (vec![4, 0, 0, 8, 0, 0, 0, 1], Version::V13),
        ] {
            let mut connection = new(&Version::ALL);
            connection.receive(&hello, 0);
            connection.take_messages();
            assert_eq!(connection.version(), Some(expected));
        }
    }

    #[test]
    fn the_first_hello_and_what_is_agreed_are_of_the_versions_of_the_settings() {
        for (versions, expected) in [(&[Version::V13][..], Version::V13), (&Version::ALL, Version::V14)] {
            let mut connection = new(versions);
            assert_eq!(connection.outgoing().take_all()[0], expected as u8);
            connection.receive(&hello(&Version::ALL), 0);
            connection.take_messages();
            assert_eq!(connection.version(), Some(expected));
        }
        let mut connection = new(&[Version::V14]);
        connection.receive(&hello(&[Version::V13]), 0);
        connection.take_messages();
        let reason = "no version in common: OpenFlow 1.4 here".to_owned();
        assert_eq!(connection.state(), &State::Closing(reason));
    }

    #[test]
    fn a_length_below_the_header_ends_the_connection() {
        let mut connection = established();
        connection.receive(&[4, 20, 0, 3, 0, 0, 0, 3], 0);
        connection.take_messages();
        assert!(matches!(
            &sent(&mut connection)[..],
            [Message::Error(ErrorBody { kind: 1, code: 6, .. })]
        ));
        assert!(matches!(connection.state(), State::Closing(_)));
    }

    #[test]
    fn parts_of_messages_keep_no_connection() {
        let greeting = hello(&[Version::V13]);
        let mut connection = new(&Version::ALL);
        for (byte, second) in greeting.iter().zip([0, 4, 8]) {
            connection.receive(&[*byte], second * SECOND);
            connection.take_messages();
            connection.tick(second * SECOND);
        }
        assert_eq!(connection.state(), &State::Closing("no hello came".to_owned()));
        let mut connection = established();
        let request = Message::BarrierRequest.encode(5, Version::V13);
        for (byte, second) in request.iter().zip([0, 4, 8, 12, 16]) {
            connection.receive(&[*byte], second * SECOND);
            connection.take_messages();
            connection.tick(second * SECOND);
        }
        assert_eq!(connection.state(), &State::Closing("no echo came".to_owned()));
    }

    #[test]
    fn a_silent_controller_is_asked_and_then_given_up() {
        let mut connection = established();
        connection.tick(4 * SECOND);
        assert_eq!(sent(&mut connection), []);
        connection.tick(5 * SECOND);
        assert_eq!(sent(&mut connection), [Message::EchoRequest(Data::default())]);
        connection.tick(9 * SECOND);
        assert_eq!(connection.state(), &State::Established(Version::V13));
        connection.tick(10 * SECOND);
        assert!(matches!(connection.state(), State::Closing(_)));
    }
}
