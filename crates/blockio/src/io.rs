use serde::Serialize;

/// Whether data come from the device or go to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// One request to the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Io {
    /// Read or write.
    pub direction: Direction,
    /// Byte of the device at which it begins.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}
