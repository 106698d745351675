//! The OpenFlow pipeline: flow tables, groups and meters, how they change, and what they do to frames.
//!
//! [`Pipeline`] is the state, owned by one thread. Every change of it is reported as [`Change`]s, from which a faster
//! data plane keeps its own form. [`run_instructions`] and [`finish`] are what entries do: the interpreter
//! ([`Pipeline::process`]) and compiled code both use them, so that there is one meaning.
//!
//! Frames shorter than Ethernet's smallest are padded by the port that sends them, not here.

mod check;
mod checkpoint;
mod choice;
mod counters;
mod describe;
mod entry;
mod execute;
mod expire;
mod group;
mod interpret;
mod meter;
mod mods;
mod passage;
mod prepare;
mod selection;
mod shared;
mod table;
mod tables;
mod timeouts;
mod view;

pub use check::check_packet_out;
pub use checkpoint::Checkpoint;
pub use choice::flow_hash;
pub use counters::{Count, CounterBlock, CounterCell, CounterId, Counters, MOST_COUNTERS};
pub use entry::{Demands, FlowEntry, Instructions, demands_of};
pub use execute::{Next, finish, run_actions, run_instructions};
pub use group::GroupEntry;
pub use interpret::Step;
pub use meter::MeterEntry;
pub use mods::delete_everything;
pub use passage::{ActionSet, Environment, Normal, Outputs, PacketIn, Passage, Reason};
pub use prepare::{PreparedFlowMod, Preparer};
pub use shared::Shared;
pub use tables::{Change, Limits, Pipeline, Removal};
pub use view::{Floods, View};
