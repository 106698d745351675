use brimful_trial::Nanoseconds;
use serde::Serialize;

use crate::test_frames::{Stamp, TIMESTAMP_MASK};

/// What one port received of one sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    /// Different frames.
    pub frames: u64,
    /// Further copies of them.
    pub copies: u64,
    /// Bytes of the shortest and of the longest, without check sequence; 0 where none arrived.
    pub shortest: usize,
    /// See `shortest`.
    pub longest: usize,
    /// The shortest time from sending to the look that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_min_s: Option<f64>,
    /// The mean of these times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_mean_s: Option<f64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_max_s: Option<f64>,
}

/// What one port receives of one sequence, as it arrives.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// A bit for each frame of the sequence; empty until one arrives.
    seen: Vec<u64>,
    count: u64,
    received: Received,
    delay_sum: u64,
    delay_min: u64,
    delay_max: u64,
}

impl Arrivals {
    /// Of a sequence of this many frames.
    pub(super) fn new(count: u64) -> Self {
        Self {
            seen: Vec::new(),
            count,
            received: Received::default(),
            delay_sum: 0,
            delay_min: u64::MAX,
            delay_max: 0,
        }
    }

    /// Notes a frame; false where the sequence has none of that number.
    pub(super) fn note(&mut self, stamp: Stamp, len: usize, now: Nanoseconds) -> bool {
        if stamp.sequence >= self.count {
            return false;
        }
        if self.seen.is_empty() {
            self.seen = vec![0; self.count.div_ceil(64) as usize];
            self.received.shortest = len;
        }
        let (word, bit) = ((stamp.sequence / 64) as usize, 1 << (stamp.sequence % 64));
        if self.seen[word] & bit != 0 {
            self.received.copies += 1;
            return true;
        }
        self.seen[word] |= bit;
        let received = &mut self.received;
        received.frames += 1;
        received.shortest = received.shortest.min(len);
        received.longest = received.longest.max(len);
        let delay = now.0.wrapping_sub(stamp.timestamp) & TIMESTAMP_MASK;
        self.delay_sum += delay;
        self.delay_min = self.delay_min.min(delay);
        self.delay_max = self.delay_max.max(delay);
        true
    }

    pub(super) fn received(&self) -> Received {
        let frames = self.received.frames;
        let known = |delay: u64| (frames > 0).then(|| Nanoseconds(delay).as_seconds());
        Received {
            delay_min_s: known(self.delay_min),
            delay_mean_s: known(self.delay_sum.checked_div(frames).unwrap_or(0)),
            delay_max_s: known(self.delay_max),
            ..self.received
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_the_naive_twin(count in 1..200_u64, sequences in proptest::collection::vec(0..250_u64, 0..300)) {
            let mut arrivals = Arrivals::new(count);
            let mut first = BTreeSet::new();
            let mut copies = 0;
            for &sequence in &sequences {
                let stamp = Stamp { trial: 1, stream: 0, timestamp: 5, sequence };
                let is_known = arrivals.note(stamp, 60, Nanoseconds(8));
                prop_assert_eq!(is_known, sequence < count);
                copies += u64::from(is_known && !first.insert(sequence));
            }
            let received = arrivals.received();
            prop_assert_eq!((received.frames, received.copies), (first.len() as u64, copies));
            prop_assert_eq!(received.delay_mean_s, (!first.is_empty()).then_some(3e-9));
        }
    }
}
