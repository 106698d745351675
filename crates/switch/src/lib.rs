//! The OpenFlow switch `brimful-switchd`: flow tables from files, ports, queues, counters and statistics.
//!
//! One control thread for each logical switch changes its tables ([`control`]); data-plane threads run frames through them
//! by what [`plane`] gives them.
// A log that cannot be written must not end the switch: see `notice`.
#![warn(clippy::print_stderr)]

mod batch;
pub mod capture;
mod change;
pub mod channel;
mod check;
mod closing;
pub mod compiled;
pub mod control;
pub mod counts;
pub mod daemon;
pub mod dump;
pub mod events;
pub mod files;
pub mod learned;
mod links;
pub mod local;
mod membership;
pub mod metrics;
mod mirror;
mod notice;
pub mod ofctl;
mod opening;
mod packet_out;
pub mod plane;
pub mod ports;
pub mod queues;
mod reload;
pub mod settings;
mod shown;
mod socket;
mod state;
pub mod status;
pub mod supervisor;
pub mod tables;
mod tap;
pub mod telemetry;
pub mod trace;
mod vacancy;
pub mod watch;
mod worker;

pub use check::check;
