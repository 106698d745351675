//! The OpenFlow channel: controllers that the switch connects to, and those that connect to it.
//!
//! Each connection has a thread that reads and answers, in the order of the messages; it never waits to write: what a
//! controller does not take stays with its connection, within bounds. One more thread sends packets to controllers;
//! what else happens, the control thread reports it to them. A `connection` is a state machine of bytes and messages
//! without a socket. Changes of tables that come together are done together, and a barrier is answered when every
//! data-plane thread runs them.

mod answer;
mod begun;
mod buffers;
mod bundles;
mod commit;
mod connection;
mod controllers;
mod conversation;
mod endpoint;
mod events;
mod hub;
mod listener;
mod monitors;
mod multipart;
mod port_config;
mod queue_config;
mod reasons;
mod requests;
mod serve;
mod session;
mod standalone;
mod table_config;
mod table_features;
mod tls;
mod transport;
mod waiting;

pub use endpoint::{Endpoint, Protocol};
pub use serve::{Channel, Peers, start};
pub use tls::{Credentials, TlsFiles};
