//! OpenFlow 1.3 and 1.4: match fields, actions, instructions and changes of tables, as values; [`wire`] has all messages as bytes.
//!
//! [`MATCH_FIELDS`] is the one table of match fields, from which matchers, writers, texts and messages are driven. The
//! places of fields within frames are those of `brimful-frame`.

mod error;
mod field;
mod flow;
pub mod wire;

pub use error::{ErrorCode, ErrorMessage};
pub use field::{MATCH_FIELDS, MatchField, MatchFieldInfo, Prerequisite, Source};
pub use flow::{
    Action, Band, BandType, Bucket, FieldMatch, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType,
    Instruction, MAX_LEN_NO_BUFFER, Match, MeterMod, ModCommand, NO_BUFFER, TABLE_ALL, flow_flag, meter_flag, port,
};
