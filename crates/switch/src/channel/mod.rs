//! The OpenFlow channel: controllers that the switch connects to, and those that connect to it.
//!
//! Each connection has a thread that reads and answers, in the order of the messages; one more thread tells controllers
//! what happens. A [`connection`] is a state machine of bytes and messages without a socket. Changes of tables that come
//! together are done together, and a barrier is answered when every data-plane thread runs them.

mod answer;
mod connection;
mod controllers;
mod endpoint;
mod events;
mod multipart;
mod serve;
mod session;
mod table_features;

pub use endpoint::Endpoint;
pub use serve::{Channel, start};
