use std::io::{self, Read};
use std::time::{Duration, Instant};

use brimful_openflow::wire::{ErrorBody, HEADER_BYTES, Header, Hello, MORE, Message, Version};
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::OfctlError;
use super::stream::{Place, Stream};

const VERSION: Version = Version::V13;
/// `OFPT_MULTIPART_REPLY`.
const MULTIPART_REPLY: u8 = 19;
/// How long a switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of one answer at most: those about some million flows.
const MOST_ANSWER_BYTES: usize = 1 << 30;

/// A controller's side of a connection.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    version: Version,
    transaction: u32,
    /// What is to be sent together.
    queued: Vec<u8>,
    /// When what is waited for has to be there: signs of life alone do not put it off.
    due: Instant,
}

/// A message that came in whole.
pub(super) struct Received {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
    pub(super) message: Result<Message, ErrorMessage>,
}

impl Connection {
    /// Connects, and agrees on one of some versions.
    pub(super) fn open(place: &Place, versions: &[Version]) -> Result<Self, OfctlError> {
        let stream = place.open()?;
        let mut connection = Self {
            stream,
            version: versions.iter().copied().max().unwrap_or(VERSION),
            transaction: 0,
            queued: Vec::new(),
            due: Instant::now() + PATIENCE,
        };
        connection
            .stream
            .set_write_patience(PATIENCE)
            .map_err(|error| ended(&error))?;
        connection.send(&Message::Hello(Hello::offering(versions)))?;
        let hello = connection.receive()?;
        let agreed = match &hello.message {
            Ok(Message::Hello(hello_of_switch)) => hello_of_switch.negotiate(hello.header.version, versions),
            _ => None,
        };
        connection.version = agreed.ok_or_else(|| {
            let offered: Vec<_> = versions.iter().map(|version| version.name()).collect();
            let text = format!(
                "the switch does not speak OpenFlow {}: its hello is of version {}",
                offered.join(" or "),
                hello.header.version
            );
            OfctlError::Failed(text)
        })?;
        Ok(connection)
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<u32, OfctlError> {
        let transaction = self.queue(message);
        let bytes = std::mem::take(&mut self.queued);
        self.stream.write_all(&bytes).map_err(|error| ended(&error))?;
        self.due = Instant::now() + PATIENCE;
        Ok(transaction)
    }

    /// Sends a message together with the next one that is sent.
    pub(super) fn queue(&mut self, message: &Message) -> u32 {
        self.transaction += 1;
        self.queued.extend(message.encode(self.transaction, self.version));
        self.transaction
    }

    /// Bytes that wait for the next message.
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued.len()
    }

    /// Gives the answer to a request.
    pub(super) fn ask(&mut self, request: &Message) -> Result<Message, OfctlError> {
        let transaction = self.send(request)?;
        self.answer_to(transaction)
    }

    /// Takes the parts of the answer to a request as they come.
    pub(super) fn ask_in_parts(
        &mut self,
        request: &Message,
        mut take: impl FnMut(&Received) -> Result<(), OfctlError>,
    ) -> Result<(), OfctlError> {
        let transaction = self.send(request)?;
        let mut bytes = 0;
        loop {
            let part = self.reply_to(transaction)?;
            take(&part)?;
            bytes += part.bytes.len();
            if !part.has_more() {
                return Ok(());
            }
            if bytes > MOST_ANSWER_BYTES {
                let text = format!("the answer does not end within {MOST_ANSWER_BYTES} bytes");
                return Err(OfctlError::Failed(text));
            }
            self.due = Instant::now() + PATIENCE;
        }
    }

    /// The transaction of the next message.
    pub(super) fn next_transaction(&self) -> u32 {
        self.transaction + 1
    }

    /// Waits for the reply to the last message. Gives the first error about messages from a transaction on, if there is
    /// one: its transaction, and a line.
    pub(super) fn settle(&mut self, first: u32) -> Result<Option<(u32, String)>, OfctlError> {
        let last = self.transaction;
        let mut refused = None;
        loop {
            let received = self.receive()?;
            let transaction = received.header.transaction;
            let is_last = transaction == last;
            match received.message {
                Ok(Message::BarrierReply | Message::BundleControl(_)) if is_last => return Ok(refused),
                Ok(Message::Error(error)) if (first..=last).contains(&transaction) => {
                    refused.get_or_insert_with(|| (transaction, refusal(&error)));
                    if is_last {
                        return Ok(refused);
                    }
                }
                _ => {}
            }
        }
    }

    /// The next message that is no part of keeping the connection, as text; nothing when the connection ends.
    pub(super) fn next_event(&mut self) -> Result<Option<String>, OfctlError> {
        self.stream.set_patience(None).map_err(|error| ended(&error))?;
        loop {
            match read_message(&mut *self.stream).map_err(|error| ended(&error))? {
                None => return Ok(None),
                Some(received) if self.keeps_alive(&received)? => {}
                Some(received) => return Ok(Some(line(&received))),
            }
        }
    }

    /// The answer to a request, which may be one that cannot be read as a whole.
    fn reply_to(&mut self, transaction: u32) -> Result<Received, OfctlError> {
        loop {
            let received = self.receive()?;
            if received.header.transaction != transaction {
                continue;
            }
            return match received.message {
                Ok(Message::Error(error)) => Err(OfctlError::Failed(refusal(&error))),
                _ => Ok(received),
            };
        }
    }

    fn answer_to(&mut self, transaction: u32) -> Result<Message, OfctlError> {
        self.reply_to(transaction)?.message.map_err(|error| unreadable(&error))
    }

    fn receive(&mut self) -> Result<Received, OfctlError> {
        loop {
            let until = Until {
                stream: &mut *self.stream,
                due: self.due,
            };
            let received = read_message(until).map_err(|error| ended(&error))?;
            let received = received.ok_or_else(|| OfctlError::Failed("the switch closed the connection".to_owned()))?;
            if !self.keeps_alive(&received)? {
                return Ok(received);
            }
        }
    }

    /// Answers an echo request.
    fn keeps_alive(&mut self, received: &Received) -> Result<bool, OfctlError> {
        let Ok(Message::EchoRequest(data)) = &received.message else {
            return Ok(false);
        };
        let reply = Message::EchoReply(data.clone()).encode(received.header.transaction, self.version);
        self.stream.write_all(&reply).map_err(|error| ended(&error))?;
        Ok(true)
    }
}

/// A stream that is read until a moment.
struct Until<'s> {
    stream: &'s mut dyn Stream,
    due: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_patience(Some(left))?;
        self.stream.read(bytes)
    }
}

/// Reads one message; nothing at the end of the connection.
pub(super) fn read_message(mut stream: impl Read) -> io::Result<Option<Received>> {
    let mut bytes = vec![0; HEADER_BYTES];
    if stream.read(&mut bytes[..1])? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut bytes[1..])?;
    let header = Header::parse(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let length = usize::from(header.length);
    if length < HEADER_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {length} bytes"),
        ));
    }
    bytes.resize(length, 0);
    stream.read_exact(&mut bytes[HEADER_BYTES..])?;
    // Hellos are read whatever their version.
    let version = Version::from_number(header.version).unwrap_or(VERSION);
    let message = Message::decode(&bytes, version);
    Ok(Some(Received { header, bytes, message }))
}

/// A message as a line.
pub(super) fn line(received: &Received) -> String {
    let transaction = received.header.transaction;
    match &received.message {
        Ok(message) => format!("xid={transaction:#x} {message}"),
        Err(error) => format!(
            "xid={transaction:#x} type {} of version {}: {}",
            received.header.kind, received.header.version, error.detail
        ),
    }
}

/// That an answer makes no sense.
pub(super) fn unreadable(error: &ErrorMessage) -> OfctlError {
    OfctlError::Failed(format!("what the switch answers cannot be read: {}", error.detail))
}

impl Received {
    /// Whether it is a part of an answer that others follow, also where the rest of it cannot be read.
    fn has_more(&self) -> bool {
        let flags = self.bytes.get(HEADER_BYTES + 2..HEADER_BYTES + 4);
        let flags = flags.map_or(0, |flags| u16::from_be_bytes([flags[0], flags[1]]));
        self.header.kind == MULTIPART_REPLY && flags & MORE != 0
    }
}

fn refusal(error: &ErrorBody) -> String {
    let name = ErrorCode(error.kind, error.code).name().unwrap_or("no code of 1.4");
    format!(
        "the switch refuses: OpenFlow error {}/{} ({name})",
        error.kind, error.code
    )
}

fn ended(error: &io::Error) -> OfctlError {
    let is_late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    let text = if is_late {
        format!("the switch has not answered within {} s", PATIENCE.as_secs())
    } else {
        format!("the connection to the switch has ended: {error}")
    };
    OfctlError::Failed(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use brimful_openflow::wire::{Data, Part, Reply};

    use super::*;

    /// A connection to a switch that says something again and again, as long as somebody listens.
    fn beside(says: Message) -> (Connection, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = Place::read(&format!("tcp:{}", listener.local_addr().unwrap()), "").unwrap();
        let switch = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let hello = Message::Hello(Hello::offering(&[VERSION])).encode(1, VERSION);
            stream.write_all(&hello).unwrap();
            // The first request is the second message.
            let bytes = says.encode(2, VERSION);
            while stream.write_all(&bytes).is_ok() {}
        });
        (Connection::open(&place, &[VERSION]).unwrap(), switch)
    }

    #[test]
    fn signs_of_life_are_no_answer() {
        let (mut connection, switch) = beside(Message::EchoRequest(Data::default()));
        let transaction = connection.send(&Message::FeaturesRequest).unwrap();
        connection.due = Instant::now() + Duration::from_millis(300);
        let error = connection.answer_to(transaction).unwrap_err();
        assert!(error.to_string().contains("has not answered within"), "{error}");
        drop(connection);
        switch.join().unwrap();
    }

    #[test]
    fn parts_of_an_answer_are_taken_as_they_come() {
        let part = Part {
            flags: MORE,
            content: Reply::Table(Vec::new()),
        };
        let (mut connection, switch) = beside(Message::MultipartReply(part));
        let mut parts = 0;
        let done = connection.ask_in_parts(&Message::FeaturesRequest, |_| {
            parts += 1;
            if parts < 1000 {
                Ok(())
            } else {
                Err(OfctlError::Failed("enough".to_owned()))
            }
        });
        assert_eq!(done.unwrap_err().to_string(), "enough");
        drop(connection);
        switch.join().unwrap();
    }
}
