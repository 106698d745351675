//! Captures of what passes a port: data-plane threads leave copies, within a bound, and another thread writes them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brimful_frame::Headers;
use brimful_netdev::{CaptureBlocks, CapturedWay};
use brimful_openflow::{FieldMatch, Match, Source};

use crate::counts::Way;

/// Bytes that wait to be written at most; as many may be about to be.
const MOST_WAITING: usize = 8 << 20;

/// A capture, as data-plane threads see it.
#[derive(Debug)]
pub(crate) struct Tap {
    filter: Filter,
    /// Frames that are wanted.
    most: u64,
    waiting: Mutex<Waiting>,
}

/// Which frames are wanted.
#[derive(Debug, Default)]
pub(crate) struct Filter(Match);

#[derive(Debug, Default)]
struct Waiting {
    blocks: CaptureBlocks,
    taken: u64,
    lost: u64,
    has_ended: bool,
}

/// What a capture has taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Taken {
    /// Frames that are or will be written.
    pub(crate) frames: u64,
    /// Frames that there was no room for.
    pub(crate) lost: u64,
    /// No more will come.
    pub(crate) has_ended: bool,
}

impl Filter {
    /// Of a match of what a frame holds itself.
    ///
    /// # Errors
    /// When it asks for what accompanies a frame through the tables.
    pub(crate) fn new(matching: Match) -> Result<Self, String> {
        let is_in_frame = |one: &&FieldMatch| matches!(one.field.info().source, Source::Frame(_));
        match matching.fields.iter().find(|one| !is_in_frame(one)) {
            Some(other) => Err(format!("{} is not in a frame: a filter cannot ask for it", other.field)),
            None => Ok(Self(matching)),
        }
    }

    fn admits(&self, frame: &[u8]) -> bool {
        if self.0.fields.is_empty() {
            return true;
        }
        let headers = Headers::parse(frame);
        self.0.fields.iter().all(|FieldMatch { field, value, mask }| {
            let mask = mask.unwrap_or(u128::MAX);
            let Source::Frame(place) = field.info().source else {
                return false;
            };
            place
                .read(frame, &headers)
                .is_some_and(|found| found & mask == value & mask)
        })
    }
}

impl Tap {
    /// For a number of frames at most.
    pub(crate) fn new(interface: &str, filter: Filter, most: u64) -> Self {
        let waiting = Waiting {
            blocks: CaptureBlocks::of(interface),
            ..Waiting::default()
        };
        Self {
            filter,
            most,
            waiting: Mutex::new(waiting),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a copy of a frame if it is wanted.
    pub(crate) fn take(&self, way: Way, frame: &[u8]) {
        if !self.filter.admits(frame) {
            return;
        }
        let way = match way {
            Way::In => CapturedWay::In,
            Way::Out => CapturedWay::Out,
        };
        let mut waiting = self.waiting();
        if waiting.has_ended {
            return;
        }
        if waiting.blocks.bytes.len() + frame.len() > MOST_WAITING {
            waiting.lost += 1;
            return;
        }
        waiting.blocks.frame(unix_time(), way, frame);
        waiting.taken += 1;
        waiting.has_ended = waiting.taken >= self.most;
    }

    /// Takes no more.
    pub(crate) fn end(&self) {
        self.waiting().has_ended = true;
    }

    /// Gives what is to be written, in the place of `written`, and what has been taken so far.
    pub(crate) fn collect(&self, written: &mut Vec<u8>) -> Taken {
        written.clear();
        let mut waiting = self.waiting();
        std::mem::swap(&mut waiting.blocks.bytes, written);
        Taken {
            frames: waiting.taken,
            lost: waiting.lost,
            has_ended: waiting.has_ended,
        }
    }
}

/// The last block of a capture.
pub(crate) fn last_block(taken: Taken) -> Vec<u8> {
    let mut blocks = CaptureBlocks::default();
    blocks.end(unix_time(), taken.frames + taken.lost, taken.lost);
    blocks.bytes
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tables::ovs::read_match;

    fn filter(text: &str) -> Filter {
        Filter::new(read_match(text, &BTreeMap::new()).unwrap()).unwrap()
    }

    /// An IPv4 frame of a protocol to an address.
    fn frame(protocol: u8, last: u8) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
        frame[23] = protocol;
        frame[30..34].copy_from_slice(&[10, 0, 0, last]);
        frame
    }

    #[test]
    fn a_filter_is_a_match_of_what_a_frame_holds() {
        assert!(filter("").admits(&[0; 60]));
        assert!(filter("tcp,nw_dst=10.0.0.0/31").admits(&frame(6, 1)));
        assert!(!filter("tcp,nw_dst=10.0.0.0/31").admits(&frame(6, 2)));
        assert!(!filter("tcp").admits(&frame(17, 1)));
        let matching = read_match("in_port=1,tcp", &BTreeMap::new()).unwrap();
        let error = Filter::new(matching).unwrap_err();
        assert_eq!(error, "in_port is not in a frame: a filter cannot ask for it");
    }

    #[test]
    fn what_finds_no_room_is_counted_and_room_comes_back_with_the_writer() {
        let tap = Tap::new("eth1", Filter::default(), u64::MAX);
        let large = vec![0; 1 << 20];
        (0..9).for_each(|_| tap.take(Way::In, &large));
        let mut written = Vec::new();
        let taken = tap.collect(&mut written);
        assert_eq!((taken.frames, taken.lost), (7, 2));
        assert!(written.len() <= MOST_WAITING);
        tap.take(Way::Out, &large);
        let taken = tap.collect(&mut written);
        assert_eq!((taken.frames, taken.lost, taken.has_ended), (8, 2, false));
    }

    #[test]
    fn no_more_frames_are_taken_than_are_wanted() {
        let tap = Tap::new("eth1", filter("udp"), 2);
        for protocol in [6, 17, 17, 17] {
            tap.take(Way::In, &frame(protocol, 1));
        }
        let taken = tap.collect(&mut Vec::new());
        assert_eq!((taken.frames, taken.lost, taken.has_ended), (2, 0, true));
    }
}
