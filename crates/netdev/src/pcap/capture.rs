//! Reading captures in the classic format: <https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcap>.

use std::ops::Range;
use std::time::Duration;

use thiserror::Error;

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(super) const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The block type at the start of a pcapng file, the same in either byte order.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
pub(super) const MAJOR_VERSION: u16 = 2;
pub(super) const LINK_TYPE_ETHERNET: u32 = 1;
/// Of the field of the link type: the type itself, whether a length of frame check sequences is given, and that length
/// in units of two bytes.
const LINK_TYPE_MASK: u32 = 0xffff;
const HAS_FRAME_CHECK_SEQUENCE: u32 = 1 << 26;
const FRAME_CHECK_SEQUENCE_SHIFT: u32 = 28;
/// `MAXIMUM_SNAPLEN` of libpcap: no program writes longer records.
pub(super) const MAX_RECORD_LEN: u32 = 262_144;

/// Frames from a capture file, in memory.
#[derive(Clone, Debug)]
pub struct Capture {
    bytes: Vec<u8>,
    frames: Vec<Captured>,
    truncated: u64,
}

#[derive(Clone, Debug)]
struct Captured {
    /// Since 1970.
    time: Duration,
    place: Range<usize>,
}

/// Why bytes are no capture that can be replayed.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("offset {offset}: {flaw}")]
pub struct CaptureError {
    /// Where, from the start of the file.
    pub offset: usize,
    /// What.
    pub flaw: CaptureFlaw,
}

/// What is wrong with a capture.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum CaptureFlaw {
    /// Some other file.
    #[error("this is no pcap file")]
    NoCapture,
    /// The successor of the format.
    #[error("this is a pcapng file; `editcap -F pcap IN OUT` makes a pcap file of it")]
    NextGeneration,
    /// Not written for twenty years.
    #[error("version {0} of the format, known is version 2")]
    Version(u16),
    /// No Ethernet frames.
    #[error("link type {0}, known is 1, Ethernet")]
    LinkType(u32),
    /// It was not written to the end, or is damaged.
    #[error("the file ends in the middle of a record")]
    EndOfFile,
    /// It is damaged.
    #[error("a record of {0} bytes, the longest are {MAX_RECORD_LEN}")]
    RecordTooLong(u32),
}

/// How the numbers in a file are written.
#[derive(Clone, Copy)]
struct Format {
    is_big_endian: bool,
    is_in_nanoseconds: bool,
    /// Bytes at the end of each whole frame.
    frame_check_sequence_len: usize,
}

impl Capture {
    /// Finds the frames of a file. Those that were not captured whole are left out and counted.
    ///
    /// # Errors
    /// When the file is damaged, or of another format or link type; the offset says where.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, CaptureError> {
        let format = Format::of(&bytes)?;
        let mut frames = Vec::new();
        let mut truncated = 0;
        let mut offset = FILE_HEADER_LEN;
        while offset < bytes.len() {
            let record = format.record(&bytes, offset)?;
            offset = record.end;
            match record.frame {
                Some(frame) => frames.push(frame),
                None => truncated += 1,
            }
        }
        Ok(Self {
            bytes,
            frames,
            truncated,
        })
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A frame, by its number from 0.
    pub fn frame(&self, index: usize) -> Option<&[u8]> {
        Some(&self.bytes[self.frames.get(index)?.place.clone()])
    }

    /// When a frame was captured, since 1970.
    pub fn time(&self, index: usize) -> Option<Duration> {
        Some(self.frames.get(index)?.time)
    }

    /// Frames that the file holds the beginning of only.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }
}

struct Record {
    frame: Option<Captured>,
    end: usize,
}

impl Format {
    fn of(bytes: &[u8]) -> Result<Self, CaptureError> {
        let at = |offset, flaw| CaptureError { offset, flaw };
        let Some(magic) = bytes.first_chunk() else {
            return Err(at(0, CaptureFlaw::NoCapture));
        };
        let [little, big] = [u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)];
        let (is_big_endian, is_in_nanoseconds) = match (little, big) {
            (MAGIC_MICROSECONDS, _) => (false, false),
            (MAGIC_NANOSECONDS, _) => (false, true),
            (_, MAGIC_MICROSECONDS) => (true, false),
            (_, MAGIC_NANOSECONDS) => (true, true),
            _ if *magic == PCAPNG => return Err(at(0, CaptureFlaw::NextGeneration)),
            _ => return Err(at(0, CaptureFlaw::NoCapture)),
        };
        let mut format = Self {
            is_big_endian,
            is_in_nanoseconds,
            frame_check_sequence_len: 0,
        };
        if bytes.len() < FILE_HEADER_LEN {
            return Err(at(bytes.len(), CaptureFlaw::EndOfFile));
        }
        // Of the two halves of this word the major version is the one that comes first in the file.
        let versions = format.word(bytes, 4)?;
        let major = if is_big_endian {
            versions >> 16
        } else {
            versions & 0xffff
        } as u16;
        if major != MAJOR_VERSION {
            return Err(at(4, CaptureFlaw::Version(major)));
        }
        let link = format.word(bytes, 20)?;
        if link & LINK_TYPE_MASK != LINK_TYPE_ETHERNET {
            return Err(at(20, CaptureFlaw::LinkType(link & LINK_TYPE_MASK)));
        }
        if link & HAS_FRAME_CHECK_SEQUENCE != 0 {
            format.frame_check_sequence_len = 2 * (link >> FRAME_CHECK_SEQUENCE_SHIFT) as usize;
        }
        Ok(format)
    }

    fn record(self, bytes: &[u8], offset: usize) -> Result<Record, CaptureError> {
        let error = |flaw| CaptureError { offset, flaw };
        let seconds = self.word(bytes, offset)?;
        let fraction = self.word(bytes, offset + 4)?;
        let captured = self.word(bytes, offset + 8)?;
        let original = self.word(bytes, offset + 12)?;
        if captured > MAX_RECORD_LEN {
            return Err(error(CaptureFlaw::RecordTooLong(captured)));
        }
        let start = offset + RECORD_HEADER_LEN;
        let end = start + captured as usize;
        if end > bytes.len() {
            return Err(error(CaptureFlaw::EndOfFile));
        }
        let nanoseconds = if self.is_in_nanoseconds { 1 } else { 1000 } * u64::from(fraction);
        let frame_end = end.saturating_sub(self.frame_check_sequence_len).max(start);
        let frame = Captured {
            time: Duration::from_secs(u64::from(seconds)) + Duration::from_nanos(nanoseconds),
            place: start..frame_end,
        };
        Ok(Record {
            frame: (captured >= original).then_some(frame),
            end,
        })
    }

    fn word(self, bytes: &[u8], offset: usize) -> Result<u32, CaptureError> {
        let Some(word) = bytes.get(offset..).and_then(|rest| rest.first_chunk()) else {
            let flaw = CaptureFlaw::EndOfFile;
            return Err(CaptureError { offset, flaw });
        };
        Ok(if self.is_big_endian {
            u32::from_be_bytes(*word)
        } else {
            u32::from_le_bytes(*word)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file of one whole frame and one cut one, its numbers written by `word`.
    fn file(word: fn(u32) -> [u8; 4], half: fn(u16) -> [u8; 2], magic: u32, link: u32) -> Vec<u8> {
        let mut bytes = word(magic).to_vec();
        bytes.extend(half(2));
        bytes.extend(half(4));
        for number in [0, 0, 65_535, link] {
            bytes.extend(word(number));
        }
        for (lengths, frame) in [([6, 6], b"whole!"), ([6, 60], b"cut..."), ([6, 6], b"second")] {
            for number in [7, 5, lengths[0], lengths[1]] {
                bytes.extend(word(number));
            }
            bytes.extend(frame);
        }
        bytes
    }

    fn little(link: u32) -> Vec<u8> {
        file(u32::to_le_bytes, u16::to_le_bytes, MAGIC_NANOSECONDS, link)
    }

    #[test]
    fn both_byte_orders_and_both_units_of_time_are_read() {
        for (magic, nanoseconds) in [(MAGIC_MICROSECONDS, 5000), (MAGIC_NANOSECONDS, 5)] {
            for bytes in [
                file(u32::to_le_bytes, u16::to_le_bytes, magic, 1),
                file(u32::to_be_bytes, u16::to_be_bytes, magic, 1),
            ] {
                let capture = Capture::parse(bytes).unwrap();
                assert_eq!((capture.len(), capture.truncated()), (2, 1));
                assert_eq!(capture.frame(0), Some(&b"whole!"[..]));
                assert_eq!(capture.frame(1), Some(&b"second"[..]));
                assert_eq!(capture.time(1), Some(Duration::new(7, nanoseconds)));
                assert_eq!(capture.frame(2), None);
            }
        }
    }

    #[test]
    fn frame_check_sequences_are_left_out() {
        let capture = Capture::parse(little(1 | HAS_FRAME_CHECK_SEQUENCE | 2 << FRAME_CHECK_SEQUENCE_SHIFT)).unwrap();
        assert_eq!(capture.frame(0), Some(&b"wh"[..]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_offset() {
        let whole = little(1);
        let changed = |at: usize, to: u8| {
            let mut bytes = whole.clone();
            bytes[at] = to;
            Capture::parse(bytes).unwrap_err().to_string()
        };
        assert_eq!(changed(0, 0), "offset 0: this is no pcap file");
        assert_eq!(changed(4, 9), "offset 4: version 9 of the format, known is version 2");
        assert_eq!(changed(20, 113), "offset 20: link type 113, known is 1, Ethernet");
        assert_eq!(
            changed(24 + 11, 1),
            "offset 24: a record of 16777222 bytes, the longest are 262144"
        );
        assert!(
            Capture::parse(PCAPNG.to_vec())
                .unwrap_err()
                .to_string()
                .contains("editcap")
        );
        for len in 0..whole.len() {
            let result = Capture::parse(whole[..len].to_vec());
            assert_eq!(result.is_ok(), (len.max(2) - 2) % 22 == 0 && len >= 24, "{len}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(start in 0..25_usize, noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = little(1)[..start].to_vec();
            bytes.extend(noise);
            let len = bytes.len();
            match Capture::parse(bytes) {
                Ok(capture) => prop_assert!((0..capture.len()).all(|index| capture.frame(index).is_some())),
                Err(error) => prop_assert!(error.offset <= len + RECORD_HEADER_LEN),
            }
        }
    }
}
