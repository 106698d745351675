//! The tester: offers test frames on schedule on several ports, counts what came back, and says when a trial was spoiled.
//!
//! What decides is pure and knows no port and no clock: [`Profile`] (what to send), [`Schedule`] (when), [`Tracker`]
//! (what arrived), [`PacingRecord`] (was it on time), [`SentHistory`] (what is certainly lost). [`Tester`] drives them
//! over any ports and any [`Clock`]; [`Service`] puts the measurer protocol around it.

mod accounting;
mod attribution;
mod calibrate;
mod clock;
mod cost;
mod delay;
mod division;
mod early_stop;
mod exchange;
mod failure;
mod flows;
mod lane;
mod lots;
mod outcome;
mod pacing;

mod plan;
mod ports;
mod profile;
mod protocol;
mod question;
mod ramp_up;
mod receiving_lane;
mod receiving_side;
mod routes;
mod schedule;
mod sending_lane;
mod sending_side;
mod serve;
mod sharing;
mod station;
mod stations;
mod test_frames;
mod tester;
mod threads;
mod traffic_pattern;
mod trial;
mod turn;
mod warnings;

pub use accounting::{Arrival, Tracker};
pub use attribution::{Account, LostBy};
pub use calibrate::{Cabling, Calibration};
pub use clock::{Clock, MonotonicClock};
pub use cost::Cost;
pub use early_stop::{SentHistory, certainly_lost};
pub use flows::{FlowLoss, FlowsReport};
pub use lane::DirectionReport;
pub use outcome::{Outcome, PortsReport, TrialReport};
pub use pacing::{PacingBounds, PacingRecord, PacingReport, Spoiled};
pub use plan::{Timing, TrialPlan};
pub use ports::PortReport;
pub use profile::{
    Directions, FrameSizes, FrameSizesError, Genome, IpVersion, MAX_FLOWS, MAX_SIZE_PATTERN, Profile, ProfileFile,
    ProfileOptions, Stream, WeightedSize,
};
pub use protocol::Reply;
pub use routes::{Direction, Routes, SendingOrder};
pub use schedule::{CatchUp, LoadShape, Schedule};
pub use serve::Service;
pub use sharing::senders_of_a_port;
pub use stations::{
    MacList, Received, Reply as StationsReply, Request as StationsRequest, SendRequest, SequenceReply, SequenceRequest,
    Switchboard,
};
pub use test_frames::{
    Content, FieldPlace, FrameLayout, HeaderField, SEQUENCE_MASK, Stamp, TIMESTAMP_MASK, TemplateError, TestFrame,
    TestTemplate, Transport,
};
pub use tester::Tester;
pub use threads::{Threads, stay_on};
pub use traffic_pattern::{Flow, MOST_PORTS, Share, TrafficPattern};
pub use warnings::Warning;
