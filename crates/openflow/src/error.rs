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

            /// What it is called here; nothing for what neither version has.
            pub fn name(self) -> Option<&'static str> {
                match (self.0, self.1) {
                    $(($kind, $code) => Some(stringify!($name)),)*
                    _ => None,
                }
            }
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
    PORT_UNKNOWN = 7 / 0,
    PORT_ADDRESS = 7 / 1,
    PORT_CONFIG = 7 / 2,
    PORT_ADVERTISE = 7 / 3,
    PORT_PERMISSIONS = 7 / 4,
    TABLE_UNKNOWN = 8 / 0,
    TABLE_CONFIG = 8 / 1,
    TABLE_PERMISSIONS = 8 / 2,
    QUEUE_PORT = 9 / 0,
    QUEUE_UNKNOWN = 9 / 1,
    QUEUE_PERMISSIONS = 9 / 2,
    CONFIG_FLAGS = 10 / 0,
    CONFIG_LENGTH = 10 / 1,
    CONFIG_PERMISSIONS = 10 / 2,
    ROLE_STALE = 11 / 0,
    ROLE_UNSUPPORTED = 11 / 1,
    ROLE_UNKNOWN = 11 / 2,
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
    TABLE_FEATURES_TABLE = 13 / 0,
    TABLE_FEATURES_METADATA = 13 / 1,
    TABLE_FEATURES_TYPE = 13 / 2,
    TABLE_FEATURES_LENGTH = 13 / 3,
    TABLE_FEATURES_ARGUMENT = 13 / 4,
    TABLE_FEATURES_PERMISSIONS = 13 / 5,
    PROPERTY_TYPE = 14 / 0,
    PROPERTY_LENGTH = 14 / 1,
    PROPERTY_VALUE = 14 / 2,
    PROPERTY_TOO_MANY = 14 / 3,
    PROPERTY_DUPLICATE = 14 / 4,
    ASYNC_INVALID = 15 / 0,
    ASYNC_UNSUPPORTED = 15 / 1,
    ASYNC_PERMISSIONS = 15 / 2,
    MONITOR_UNKNOWN = 16 / 0,
    MONITOR_EXISTS = 16 / 1,
    MONITOR_INVALID = 16 / 2,
    MONITOR_COMMAND = 16 / 3,
    MONITOR_FLAGS = 16 / 4,
    MONITOR_TABLE = 16 / 5,
    MONITOR_OUT = 16 / 6,
    BUNDLE_UNKNOWN = 17 / 0,
    BUNDLE_PERMISSIONS = 17 / 1,
    BUNDLE_BAD_ID = 17 / 2,
    BUNDLE_EXISTS = 17 / 3,
    BUNDLE_CLOSED = 17 / 4,
    BUNDLE_TOO_MANY = 17 / 5,
    BUNDLE_TYPE = 17 / 6,
    BUNDLE_FLAGS = 17 / 7,
    BUNDLE_MESSAGE_LENGTH = 17 / 8,
    BUNDLE_MESSAGE_TRANSACTION = 17 / 9,
    BUNDLE_MESSAGE_UNSUPPORTED = 17 / 10,
    BUNDLE_MESSAGE_CONFLICT = 17 / 11,
    BUNDLE_MESSAGE_TOO_MANY = 17 / 12,
    BUNDLE_MESSAGE_FAILED = 17 / 13,
    BUNDLE_TIMEOUT = 17 / 14,
    BUNDLE_IN_PROGRESS = 17 / 15,
}
