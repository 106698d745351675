//! Writing captures of live interfaces in the format that has the way of each frame:
//! <https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcapng>.

use std::time::Duration;

use super::capture::{LINK_TYPE_ETHERNET, MAX_RECORD_LEN};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const FRAME: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const MAJOR_VERSION: u16 = 1;
const MINOR_VERSION: u16 = 0;
/// Options: their end, the name of an interface, its unit of time, the way of a frame, frames that arrived and were lost.
const END: u16 = 0;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const ARRIVED: u16 = 4;
const LOST: u16 = 5;
/// Units of time are 10 to the minus 9 seconds.
const NANOSECONDS: u8 = 9;

/// Which way a captured frame went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum CapturedWay {
    /// Into the interface.
    In = 1,
    /// Out of it.
    Out = 2,
}

/// A capture of one interface, as blocks at the end of a buffer.
#[derive(Debug, Default)]
pub struct CaptureBlocks {
    /// What is still to be written.
    pub bytes: Vec<u8>,
}

impl CaptureBlocks {
    /// The begin of a file: that it is one, and whose frames it has.
    pub fn of(interface: &str) -> Self {
        let mut blocks = Self::default();
        blocks.block(SECTION, |body| {
            body.extend(BYTE_ORDER.to_le_bytes());
            body.extend(MAJOR_VERSION.to_le_bytes());
            body.extend(MINOR_VERSION.to_le_bytes());
            // The length of the section is not known yet.
            body.extend(u64::MAX.to_le_bytes());
        });
        blocks.block(INTERFACE, |body| {
            body.extend(LINK_TYPE_ETHERNET.to_le_bytes());
            body.extend(MAX_RECORD_LEN.to_le_bytes());
            option(body, NAME, interface.as_bytes());
            option(body, RESOLUTION, &[NANOSECONDS]);
            option(body, END, &[]);
        });
        blocks
    }

    /// Adds a frame, captured at a time since 1970.
    pub fn frame(&mut self, time: Duration, way: CapturedWay, frame: &[u8]) {
        self.block(FRAME, |body| {
            body.extend(0_u32.to_le_bytes());
            put_time(body, time);
            let len = frame.len() as u32;
            body.extend(len.to_le_bytes());
            body.extend(len.to_le_bytes());
            body.extend(frame);
            pad(body);
            option(body, FLAGS, &(way as u32).to_le_bytes());
            option(body, END, &[]);
        });
    }

    /// Ends the file: how many frames there were, and how many of them it has not.
    pub fn end(&mut self, time: Duration, seen: u64, lost: u64) {
        self.block(STATISTICS, |body| {
            body.extend(0_u32.to_le_bytes());
            put_time(body, time);
            option(body, ARRIVED, &seen.to_le_bytes());
            option(body, LOST, &lost.to_le_bytes());
            option(body, END, &[]);
        });
    }

    /// A block has its length in front and behind.
    fn block(&mut self, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend([0; 4]);
        write(&mut self.bytes);
        let len = ((self.bytes.len() - start + 4) as u32).to_le_bytes();
        self.bytes.extend(len);
        self.bytes[start + 4..start + 8].copy_from_slice(&len);
    }
}

/// Upper half first.
fn put_time(body: &mut Vec<u8>, time: Duration) {
    let nanoseconds = time.as_nanos() as u64;
    body.extend(((nanoseconds >> 32) as u32).to_le_bytes());
    body.extend((nanoseconds as u32).to_le_bytes());
}

fn option(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(kind.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// To 32 bits: all blocks before are whole ones.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader of the draft finds: the kind of each block, and its body.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let len = word(4) as usize;
            assert_eq!((len % 4, word(len - 4) as usize), (0, len));
            found.push((word(0), bytes[8..len - 4].to_vec()));
            bytes = &bytes[len..];
        }
        found
    }

    #[test]
    fn a_file_has_its_interface_its_frames_with_time_and_way_and_what_it_lacks() {
        let mut written = CaptureBlocks::of("eth1");
        written.frame(Duration::new(5, 9), CapturedWay::Out, &[7; 5]);
        written.end(Duration::new(6, 0), 3, 2);
        let found = blocks(&written.bytes);
        let kinds: Vec<u32> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, FRAME, STATISTICS]);
        assert_eq!(found[0].1[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
        assert_eq!(found[1].1[8..16], [2, 0, 4, 0, b'e', b't', b'h', b'1']);
        let nanoseconds: u64 = 5_000_000_009;
        let mut expected = vec![0, 0, 0, 0];
        expected.extend(((nanoseconds >> 32) as u32).to_le_bytes());
        expected.extend((nanoseconds as u32).to_le_bytes());
        expected.extend([5, 0, 0, 0, 5, 0, 0, 0, 7, 7, 7, 7, 7, 0, 0, 0]);
        expected.extend([2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(found[2].1, expected);
        assert_eq!(
            found[3].1[12..],
            [
                4, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
            ]
        );
    }
}
