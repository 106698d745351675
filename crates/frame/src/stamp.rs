use crate::Malformed;
use crate::error::{array_at, check_len, u16_at};

const FORMAT: &str = "test stamp";
/// Chosen at random; together with the UDP checksum it keeps foreign datagrams out of the counts.
const MAGIC: u16 = 0xb4f7;

/// The bits of a transmit timestamp that a stamp keeps: nanoseconds modulo 2^40, about 18 minutes.
pub const TIMESTAMP_MASK: u64 = (1 << 40) - 1;

/// What a test frame says of itself, in the first bytes of its UDP payload.
///
/// It takes exactly the room that a 64-byte frame leaves after Ethernet, IPv4 and UDP.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stamp {
    /// Which trial it belongs to, so that a frame of an earlier one does not count.
    pub trial: u16,
    /// Which stream or direction it belongs to.
    pub stream: u8,
    /// When it was sent: nanoseconds of the sender's clock; 40 bits survive.
    pub timestamp: u64,
    /// Its place in the stream, from 0.
    pub sequence: u64,
}

impl Stamp {
    /// Bytes that it takes.
    pub const LEN: usize = 18;

    /// Reads it from the start of a UDP payload.
    ///
    /// # Errors
    /// When the payload is too short or has another magic number.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, Self::LEN)?;
        if u16_at(bytes, 0) != MAGIC {
            return Err(Malformed::Field {
                format: FORMAT,
                field: "magic",
                value: u32::from(u16_at(bytes, 0)),
            });
        }
        let mut timestamp = [0; 8];
        timestamp[3..].copy_from_slice(&bytes[5..10]);
        Ok(Self {
            trial: u16_at(bytes, 2),
            stream: bytes[4],
            timestamp: u64::from_be_bytes(timestamp),
            sequence: u64::from_be_bytes(array_at(bytes, 10)),
        })
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.trial.to_be_bytes());
        bytes[4] = self.stream;
        bytes[5..10].copy_from_slice(&self.timestamp.to_be_bytes()[3..]);
        bytes[10..18].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(trial: u16, stream: u8, timestamp in 0..=TIMESTAMP_MASK, sequence: u64) {
            let stamp = Stamp { trial, stream, timestamp, sequence };
            prop_assert_eq!(Stamp::parse(&stamp.to_bytes()), Ok(stamp));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = Stamp::parse(&bytes);
        }
    }
}
