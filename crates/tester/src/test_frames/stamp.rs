use brimful_frame::{Checksum, Malformed, check_len, u16_at};

const FORMAT: &str = "test stamp";
/// Chosen at random; together with checksums it keeps foreign datagrams out of the counts.
const MAGIC: u16 = 0xb4f7;

/// The bits of a transmit timestamp that a stamp keeps: nanoseconds modulo 2^40, about 18 minutes.
pub const TIMESTAMP_MASK: u64 = (1 << 40) - 1;
/// The bits of a sequence number that a stamp keeps: at ten million frames a second enough for 325 days.
pub const SEQUENCE_MASK: u64 = (1 << 48) - 1;

/// What a test frame says of itself, at the start or at the end of its payload.
///
/// It takes exactly the room that a 64-byte frame leaves after Ethernet, IPv4 and UDP:
///
/// | Bytes | Field |
/// |---|---|
/// | 0-1 | magic number |
/// | 2-3 | trial |
/// | 4 | stream |
/// | 5-9 | timestamp |
/// | 10-15 | sequence |
/// | 16-17 | check: makes the sum (RFC 1071) of the whole payload, stamp included, all ones |
///
/// All numbers are in network order. At the end of a payload of odd length one byte follows the stamp, so that its
/// words are those of the payload. Because of the check the payload adds nothing to a checksum of UDP, TCP or ICMP,
/// which depends on the headers alone; where there is no such checksum, the check shows damage.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stamp {
    /// Which trial it belongs to, so that a frame of an earlier one does not count.
    pub trial: u16,
    /// Which stream or direction it belongs to.
    pub stream: u8,
    /// When it was sent: nanoseconds of the sender's clock; 40 bits survive.
    pub timestamp: u64,
    /// Its place in the stream, from 0; 48 bits survive.
    pub sequence: u64,
}

impl Stamp {
    /// Bytes that it takes.
    pub const LEN: usize = 18;

    /// Reads it from the start of a payload; the check is left to the caller, who has all of the payload.
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
        let mut sequence = [0; 8];
        sequence[2..].copy_from_slice(&bytes[10..16]);
        Ok(Self {
            trial: u16_at(bytes, 2),
            stream: bytes[4],
            timestamp: u64::from_be_bytes(timestamp),
            sequence: u64::from_be_bytes(sequence),
        })
    }

    /// Where in a payload of this length a stamp at its end begins; `None` where there is no room for one.
    pub(crate) fn offset_at_end(payload_len: usize) -> Option<usize> {
        Some(payload_len.checked_sub(Self::LEN)? & !1)
    }

    /// Its bytes, given the sum of the rest of the payload.
    pub(crate) fn to_bytes(self, rest: Checksum) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.trial.to_be_bytes());
        bytes[4] = self.stream;
        bytes[5..10].copy_from_slice(&self.timestamp.to_be_bytes()[3..]);
        bytes[10..16].copy_from_slice(&self.sequence.to_be_bytes()[2..]);
        let check = rest.with_bytes(&bytes[..16]).finish();
        bytes[16..18].copy_from_slice(&check.to_be_bytes());
        bytes
    }
}

/// Whether a payload begins like one with a stamp.
pub(crate) fn begins_with_magic(payload: &[u8]) -> bool {
    payload.starts_with(&MAGIC.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(trial: u16, stream: u8, timestamp in 0..=TIMESTAMP_MASK, sequence in 0..=SEQUENCE_MASK) {
            let stamp = Stamp { trial, stream, timestamp, sequence };
            prop_assert_eq!(Stamp::parse(&stamp.to_bytes(Checksum::new())), Ok(stamp));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = Stamp::parse(&bytes);
        }
    }
}
