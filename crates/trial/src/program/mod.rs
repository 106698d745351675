//! What programs that speak the measurer protocol are made of.

mod delay;
mod description;
mod histogram;
mod machine;
mod polls;
mod process;
mod request;
mod serve;
mod time;

pub use delay::{DelayDetail, DelayRecord, DelayReport};
pub use description::Description;
pub use histogram::TimeHistogram;
pub use machine::Machine;
pub use polls::Polls;
pub use process::{die_with_parent, raise_priority, stop_on_signals};
pub use request::{MeasureRequest, Request};
pub use serve::{Respond, serve};
pub use time::parse_time;
