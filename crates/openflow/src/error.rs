use thiserror::Error;

/// An error as a controller gets it: type and code of OF 1.3.5 section 7.4.4, and words for people.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{detail} (OpenFlow error {kind}/{code})")]
pub struct ErrorMessage {
    /// The type.
    pub kind: u16,
    /// The code within the type.
    pub code: u16,
    /// What is wrong, and with what.
    pub detail: String,
}

/// Type and code of an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ErrorCode(pub u16, pub u16);

impl ErrorCode {
    /// The message with this type and code.
    pub fn because(self, detail: impl Into<String>) -> ErrorMessage {
        ErrorMessage {
            kind: self.0,
            code: self.1,
            detail: detail.into(),
        }
    }
}

macro_rules! codes {
    ($($name:ident = $kind:literal / $code:literal,)*) => {
        #[allow(missing_docs, reason = "the names are the specification's")]
        impl ErrorCode {
            $(pub const $name: Self = Self($kind, $code);)*
        }
    };
}

codes! {
    HELLO_INCOMPATIBLE = 0 / 0,
    HELLO_PERMISSIONS = 0 / 1,
    BAD_VERSION = 1 / 0,
    BAD_TYPE = 1 / 1,
    BAD_MULTIPART = 1 / 2,
    BAD_EXPERIMENTER = 1 / 3,
    BAD_EXPERIMENTER_TYPE = 1 / 4,
    BAD_PERMISSIONS = 1 / 5,
    BAD_LENGTH = 1 / 6,
    BUFFER_EMPTY = 1 / 7,
    BUFFER_UNKNOWN = 1 / 8,
    BAD_TABLE = 1 / 9,
    IS_SLAVE = 1 / 10,
    BAD_PORT = 1 / 11,
    BAD_PACKET = 1 / 12,
    MULTIPART_OVERFLOW = 1 / 13,
    ACTION_TYPE = 2 / 0,
    ACTION_LENGTH = 2 / 1,
    ACTION_EXPERIMENTER = 2 / 2,
    ACTION_EXPERIMENTER_TYPE = 2 / 3,
    ACTION_OUT_PORT = 2 / 4,
    ACTION_ARGUMENT = 2 / 5,
    ACTION_PERMISSIONS = 2 / 6,
    ACTION_TOO_MANY = 2 / 7,
    ACTION_QUEUE = 2 / 8,
    ACTION_OUT_GROUP = 2 / 9,
    ACTION_MATCH_INCONSISTENT = 2 / 10,
    ACTION_UNSUPPORTED_ORDER = 2 / 11,
    ACTION_TAG = 2 / 12,
    ACTION_SET_TYPE = 2 / 13,
    ACTION_SET_LENGTH = 2 / 14,
    ACTION_SET_ARGUMENT = 2 / 15,
    INSTRUCTION_UNKNOWN = 3 / 0,
    INSTRUCTION_UNSUPPORTED = 3 / 1,
    INSTRUCTION_TABLE = 3 / 2,
    INSTRUCTION_METADATA = 3 / 3,
    INSTRUCTION_METADATA_MASK = 3 / 4,
    INSTRUCTION_EXPERIMENTER = 3 / 5,
    INSTRUCTION_EXPERIMENTER_TYPE = 3 / 6,
    INSTRUCTION_LENGTH = 3 / 7,
    INSTRUCTION_PERMISSIONS = 3 / 8,
    MATCH_TYPE = 4 / 0,
    MATCH_LENGTH = 4 / 1,
    MATCH_TAG = 4 / 2,
    MATCH_DATA_LINK_MASK = 4 / 3,
    MATCH_NETWORK_MASK = 4 / 4,
    MATCH_WILDCARDS = 4 / 5,
    MATCH_FIELD = 4 / 6,
    MATCH_VALUE = 4 / 7,
    MATCH_MASK = 4 / 8,
    MATCH_PREREQUISITE = 4 / 9,
    MATCH_DUPLICATE = 4 / 10,
    MATCH_PERMISSIONS = 4 / 11,
    FLOW_UNKNOWN = 5 / 0,
    FLOW_TABLE_FULL = 5 / 1,
    FLOW_TABLE = 5 / 2,
    FLOW_OVERLAP = 5 / 3,
    FLOW_PERMISSIONS = 5 / 4,
    FLOW_TIMEOUT = 5 / 5,
    FLOW_COMMAND = 5 / 6,
    FLOW_FLAGS = 5 / 7,
    GROUP_EXISTS = 6 / 0,
    GROUP_INVALID = 6 / 1,
    GROUP_WEIGHT = 6 / 2,
    GROUP_TOO_MANY = 6 / 3,
    GROUP_TOO_MANY_BUCKETS = 6 / 4,
    GROUP_CHAINING = 6 / 5,
    GROUP_WATCH_UNSUPPORTED = 6 / 6,
    GROUP_LOOP = 6 / 7,
    GROUP_UNKNOWN = 6 / 8,
    GROUP_CHAINED = 6 / 9,
    GROUP_TYPE = 6 / 10,
    GROUP_COMMAND = 6 / 11,
    GROUP_BUCKET = 6 / 12,
    GROUP_WATCH = 6 / 13,
    GROUP_PERMISSIONS = 6 / 14,
    METER_FAILED = 12 / 0,
    METER_EXISTS = 12 / 1,
    METER_INVALID = 12 / 2,
    METER_UNKNOWN = 12 / 3,
    METER_COMMAND = 12 / 4,
    METER_FLAGS = 12 / 5,
    METER_RATE = 12 / 6,
    METER_BURST = 12 / 7,
    METER_BAND = 12 / 8,
    METER_BAND_VALUE = 12 / 9,
    METER_TOO_MANY = 12 / 10,
    METER_TOO_MANY_BANDS = 12 / 11,
}
