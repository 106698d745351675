//! The OpenFlow switch `brimful-switchd`: flow tables from files, ports, queues, counters and statistics.
//!
//! One control thread for each logical switch changes its tables ([`control`]); data-plane threads run frames through them
//! by what [`plane`] gives them.

mod change;
pub mod channel;
mod check;
pub mod compiled;
pub mod control;
pub mod counts;
pub mod daemon;
pub mod dump;
pub mod events;
mod learned;
mod links;
pub mod local;
pub mod metrics;
pub mod ofctl;
pub mod plane;
pub mod ports;
pub mod queues;
pub mod settings;
mod shown;
mod state;
pub mod status;
pub mod supervisor;
pub mod tables;
pub mod telemetry;
pub mod trace;
mod vacancy;
pub mod watch;
mod worker;

pub use check::check;
