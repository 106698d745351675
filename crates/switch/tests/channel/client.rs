//! A controller for tests, and a switch without ports for it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use brimful_openflow::wire::{Data, ErrorBody, HEADER_BYTES, Header, Hello, Message, Part, Reply, Request, Version};
use brimful_openflow::{ErrorCode, FieldMatch, FlowMod, Match, MatchField};
use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::channel::{self, Channel, Endpoint, Peers};
use brimful_switch::control::{Running, Switch};
use brimful_switch::plane::{Interpreter, SharedPipeline};
use brimful_switch::ports::Ports;

const PATIENCE: Duration = Duration::from_secs(20);

/// A switch, and where it listens.
pub(crate) struct Bench {
    pub(crate) running: Running,
    pub(crate) channel: Channel,
}

impl Bench {
    pub(crate) fn new(entries: usize, peers: Peers) -> Self {
        let limits = Limits {
            entries,
            ..Limits::default()
        };
        let pipeline = SharedPipeline::new(Pipeline::new(limits));
        let plane = Box::new(Interpreter::new(pipeline.clone()));
        let switch = Switch::new("test".to_owned(), 5, Ports::new([]), pipeline, plane);
        let running = switch.start(Vec::new());
        let channel = channel::start(peers, &running.handle).unwrap();
        Self { running, channel }
    }

    pub(crate) fn listening(entries: usize) -> Self {
        let endpoints = vec![Endpoint::read("ptcp:0").unwrap()];
        Self::new(
            entries,
            Peers {
                endpoints,
                ..Peers::default()
            },
        )
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.channel.addresses()[0]
    }

    pub(crate) fn controller(&self, version: Version) -> Client<TcpStream> {
        Client::greeting(connected(self.address()), version)
    }

    pub(crate) fn end(self) {
        self.channel.stop();
        self.running.stop();
    }
}

pub(crate) fn connected(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

pub(crate) struct Client<S> {
    pub(crate) stream: S,
    version: Version,
    received: Vec<u8>,
    transaction: u32,
}

impl<S: Read + Write> Client<S> {
    /// Says hello, and waits for the other's.
    pub(crate) fn greeting(stream: S, version: Version) -> Self {
        let mut client = Self {
            stream,
            version,
            received: Vec::new(),
            transaction: 100,
        };
        client.send(&Message::Hello(Hello::offering(&[version])));
        assert!(matches!(client.message().1, Message::Hello(_)));
        client
    }

    pub(crate) fn send(&mut self, message: &Message) -> u32 {
        self.transaction += 1;
        let bytes = message.encode(self.transaction, self.version);
        self.stream.write_all(&bytes).unwrap();
        self.transaction
    }

    /// The transaction that the next message will have.
    pub(crate) fn next_transaction(&self) -> u32 {
        self.transaction + 1
    }

    /// The next message; echoes are answered.
    pub(crate) fn message(&mut self) -> (u32, Message) {
        self.try_message().expect("the connection stays")
    }

    /// The next message, or `None` at the end of the connection.
    pub(crate) fn try_message(&mut self) -> Option<(u32, Message)> {
        loop {
            if let Some(header) = Header::parse(&self.received)
                && self.received.len() >= usize::from(header.length)
            {
                assert!(usize::from(header.length) >= HEADER_BYTES);
                let bytes: Vec<u8> = self.received.drain(..usize::from(header.length)).collect();
                match Message::decode(&bytes, self.version).unwrap() {
                    Message::EchoRequest(data) => {
                        let reply = Message::EchoReply(data).encode(header.transaction, self.version);
                        self.stream.write_all(&reply).unwrap();
                    }
                    message => return Some((header.transaction, message)),
                }
                continue;
            }
            let mut bytes = vec![0; 65536];
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// What comes until everything that was sent has been done.
    pub(crate) fn until_barrier(&mut self) -> Vec<(u32, Message)> {
        let transaction = self.send(&Message::BarrierRequest);
        let mut before = Vec::new();
        loop {
            match self.message() {
                (its, Message::BarrierReply) if its == transaction => return before,
                other => before.push(other),
            }
        }
    }

    /// Does something that has no answer.
    pub(crate) fn does(&mut self, message: &Message) {
        self.send(message);
        assert_eq!(self.until_barrier(), []);
    }

    /// The code of the only answer, an error.
    pub(crate) fn refused(&mut self, message: &Message) -> ErrorCode {
        let transaction = self.send(message);
        match &self.until_barrier()[..] {
            [(its, Message::Error(ErrorBody { kind, code, .. }))] if *its == transaction => ErrorCode(*kind, *code),
            other => panic!("{message} has the answers {other:?}"),
        }
    }

    /// The only answer.
    pub(crate) fn ask(&mut self, message: &Message) -> Message {
        let transaction = self.send(message);
        match self.until_barrier().pop() {
            Some((its, answer)) if its == transaction => answer,
            other => panic!("{message} has the answer {other:?}"),
        }
    }

    pub(crate) fn multipart(&mut self, request: Request) -> Reply {
        match self.ask(&Message::MultipartRequest(Part {
            flags: 0,
            content: request,
        })) {
            Message::MultipartReply(part) => part.content,
            other => panic!("{other}"),
        }
    }
}

/// An entry for a port.
pub(crate) fn flow(number: u32, priority: u16) -> FlowMod {
    let field = FieldMatch {
        field: MatchField::InPort,
        value: number.into(),
        mask: None,
    };
    FlowMod::add(0, priority, Match { fields: vec![field] }, Vec::new())
}

pub(crate) fn no_data() -> Data {
    Data::default()
}
