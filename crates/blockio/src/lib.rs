//! The disk tester: offers IOs to a block device on schedule, whatever became of the ones before, and counts what was
//! not done by its deadline.
//!
//! What decides is pure and knows no device: [`Workload`] (what is asked), [`Schedule`] (when), [`Engine`] (what was
//! lost, and by whom), over any [`Queue`] and any [`Clock`]. [`Ring`] is the kernel's queue, [`Device`] what is opened,
//! and [`Service`] puts the measurer protocol around it all.
//!
//! # Safety
//!
//! All `unsafe` is in `memory` and `ring`: buffers that the kernel reads and writes while a slot is busy, which the ring
//! checks. Every block says what it relies on.

mod admission;
mod arrivals;
mod ceiling;
mod clock;
mod engine;
mod in_flight;
mod io;
#[allow(unsafe_code)]
mod memory;
mod pacing;
mod prepare;
mod protocol;
mod queue;
#[allow(unsafe_code)]
mod ring;
mod service;
mod tally;
mod workload;

pub use admission::{Access, Device, Facts, MARK_LEN, Mark, Refusal, create_file};
pub use arrivals::{Arrivals, Schedule};
pub use clock::{Clock, MonotonicClock};
pub use engine::{Engine, Fault, Finished, Pause, Plan};
pub use io::{Direction, Io};
pub use pacing::{PacingReport, Punctuality};
pub use prepare::{find_steady_state, is_steady, write_once};
pub use protocol::{Reply, SideReport, Warning, side_reports};
pub use queue::{Completion, Queue};
pub use ring::{IoSink, Ring};
pub use service::{Service, Settings};
pub use workload::{Area, IoStream, Order, Pattern, Sizes, Trace, TracedDevice, Workload, WorkloadFile, parse_bytes};
