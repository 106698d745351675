//! The OpenFlow switch `brimful-switchd`: flow tables from files, ports, queues, counters and statistics.
//!
//! One control thread for each logical switch owns its tables ([`control`]); data-plane threads run frames through them
//! by what [`plane`] gives them.

pub mod channel;
pub mod compiled;
pub mod control;
pub mod daemon;
pub mod dump;
pub mod events;
mod learned;
pub mod local;
pub mod metrics;
pub mod ofctl;
pub mod plane;
pub mod ports;
pub mod queues;
pub mod settings;
pub mod status;
pub mod tables;
pub mod telemetry;
pub mod trace;
mod worker;
