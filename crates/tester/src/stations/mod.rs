//! Sequences of frames from and to many stations, on any number of ports: what tests of switches send (RFC 2889).
//!
//! A [`Request`] says which frames each port sends; the [`Reply`] says of each sequence what came of it at every port,
//! by the signature in the frames, so that frames of anybody else never count. Apart from paced trials: nothing here
//! knows of loads, directions or two ports.

mod arrivals;
mod frame;
mod request;
mod sequence;
mod switchboard;

pub use arrivals::Received;
pub use request::{MacList, Reply, Request, SendRequest, SequenceReply, SequenceRequest};
pub use switchboard::Switchboard;
