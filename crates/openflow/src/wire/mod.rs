//! The wire format of OpenFlow 1.3.5 and 1.4.1.
//!
//! [`Message::decode`] takes untrusted bytes and answers with a message or with the error that the specification has for
//! them; [`Message::encode`] is its inverse. Structures are lists of fields in the order of the wire, from which a macro
//! makes the type, the reader, the writer and the text; only what the versions arrange differently is written by hand.

mod action;
mod buffer;
mod control;
mod describe;
mod matching;
mod message;
mod mods;
mod multipart;
mod port;
mod port_statistics;
mod statistics;

pub use action::{ACTION_NUMBERS, EXPERIMENTER};
pub use buffer::{Reader, Version, Writer};
pub use control::*;
pub use describe::{Data, EthernetAddress, Name, Wire, WithLength, encoded_len};
pub use message::{HEADER_BYTES, Header, Message};
pub use mods::Importance;
pub use multipart::{Content, FlowEvent, MORE, Part, Reply, Request};
pub use port::*;
pub use port_statistics::*;
pub use statistics::*;
