/// Frames that a tracker looks back over at most: 2 MiB of memory, and 16 s at a million frames a second.
const LARGEST_WINDOW: u64 = 1 << 24;
const WORD_BITS: u64 = 64;

/// What an arrived frame was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    /// The first copy, no later frame before it.
    InOrder,
    /// The first copy, a later frame came before it: its sequence number is below the next expected (RFC 4737
    /// section 3.3), which is one above the highest that arrived.
    Reordered,
    /// Another copy.
    Duplicate,
    /// So far behind the newest frame that it is not known any more: it counts as lost.
    Late,
}

/// Keeps by sequence number which frames of one direction arrived, in memory that does not grow with the trial.
///
/// One bit a frame in a window that slides with the newest frame. A trial that fits the window (16.7 million frames)
/// is counted exactly; in a longer one, a frame further behind than the window is late.
#[derive(Clone, Debug)]
pub struct Tracker {
    words: Vec<u64>,
    /// First sequence number of the window, a multiple of the word size.
    base: u64,
    highest: Option<u64>,
    received: u64,
    duplicated: u64,
    reordered: u64,
    late: u64,
    settled: Settled,
}

/// First copies among the sequence numbers below a bound.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    bound: u64,
    received: u64,
}

impl Tracker {
    /// For a direction that will send up to `count` frames.
    pub fn new(count: u64) -> Self {
        Self::with_window(count.clamp(1, LARGEST_WINDOW))
    }

    fn with_window(frames: u64) -> Self {
        let words = frames.div_ceil(WORD_BITS).next_power_of_two() as usize;
        Self {
            words: vec![0; words],
            base: 0,
            highest: None,
            received: 0,
            duplicated: 0,
            reordered: 0,
            late: 0,
            settled: Settled::default(),
        }
    }

    /// Counts one arrived frame.
    pub fn record(&mut self, sequence: u64) -> Arrival {
        if sequence < self.base {
            self.late += 1;
            return Arrival::Late;
        }
        if sequence >= self.window_end() {
            self.slide_to(sequence);
        }
        let bit = 1 << (sequence % WORD_BITS);
        let word = self.word_mut(sequence);
        if *word & bit != 0 {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        *word |= bit;
        self.received += 1;
        self.settled.received += u64::from(sequence < self.settled.bound);
        if self.highest.is_some_and(|highest| sequence < highest) {
            self.reordered += 1;
            return Arrival::Reordered;
        }
        self.highest = Some(sequence);
        Arrival::InOrder
    }

    /// Frames missing among those below a sequence number. The bound never moves back.
    pub fn missing_below(&mut self, bound: u64) -> u64 {
        self.settle(bound.min(self.window_end()));
        self.settled.bound - self.settled.received
    }

    /// The newest frame that arrived.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Frames that arrived, each counted once.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Further copies.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// Frames that arrived after a later one.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Frames that arrived too far behind to be recognised.
    pub fn late(&self) -> u64 {
        self.late
    }

    fn window_end(&self) -> u64 {
        self.base + self.words.len() as u64 * WORD_BITS
    }

    fn word_mut(&mut self, sequence: u64) -> &mut u64 {
        let index = (sequence / WORD_BITS) as usize & (self.words.len() - 1);
        &mut self.words[index]
    }

    fn slide_to(&mut self, sequence: u64) {
        let window = self.words.len() as u64 * WORD_BITS;
        let base = (sequence / WORD_BITS + 1) * WORD_BITS - window;
        self.settle(base.min(self.window_end()));
        if base >= self.window_end() {
            self.words.fill(0);
            self.settled.bound = base;
        } else {
            for first in (self.base..base).step_by(WORD_BITS as usize) {
                *self.word_mut(first) = 0;
            }
        }
        self.base = base;
    }

    fn settle(&mut self, bound: u64) {
        while self.settled.bound < bound {
            let start = self.settled.bound;
            let end = bound.min((start / WORD_BITS + 1) * WORD_BITS);
            let bits = *self.word_mut(start) >> (start % WORD_BITS);
            let len = end - start;
            let mask = if len == WORD_BITS { u64::MAX } else { (1 << len) - 1 };
            self.settled.received += u64::from((bits & mask).count_ones());
            self.settled.bound = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Remembers everything.
    #[derive(Default)]
    struct Naive {
        seen: BTreeSet<u64>,
        duplicated: u64,
        reordered: u64,
    }

    impl Naive {
        fn record(&mut self, sequence: u64) -> Arrival {
            let highest = self.seen.last().copied();
            if !self.seen.insert(sequence) {
                self.duplicated += 1;
                Arrival::Duplicate
            } else if highest > Some(sequence) {
                self.reordered += 1;
                Arrival::Reordered
            } else {
                Arrival::InOrder
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin_within_the_window(
            arrivals in proptest::collection::vec(0..3000_u64, 0..2000),
            bounds in proptest::collection::vec(0..3000_u64, 0..5),
        ) {
            let (mut tracker, mut naive) = (Tracker::new(3000), Naive::default());
            let mut bounds = bounds;
            bounds.sort_unstable();
            for chunk in arrivals.chunks(500) {
                for &sequence in chunk {
                    prop_assert_eq!(tracker.record(sequence), naive.record(sequence));
                }
                if let Some(bound) = bounds.pop() {
                    bounds.clear();
                    let missing = bound - naive.seen.range(..bound).count() as u64;
                    prop_assert_eq!(tracker.missing_below(bound), missing);
                }
            }
            prop_assert_eq!(tracker.received(), naive.seen.len() as u64);
            prop_assert_eq!(tracker.duplicated(), naive.duplicated);
            prop_assert_eq!(tracker.reordered(), naive.reordered);
            prop_assert_eq!(tracker.highest(), naive.seen.last().copied());
            prop_assert_eq!(tracker.late(), 0);
        }

        #[test]
        fn a_small_window_is_exact_but_for_what_it_calls_late(
            steps in proptest::collection::vec((0..300_u64, 0..200_u64), 1..400),
        ) {
            let (mut tracker, mut naive) = (Tracker::with_window(128), Naive::default());
            let (mut newest, mut late) = (0, 0);
            for (forward, back) in steps {
                newest += forward;
                let sequence = newest.saturating_sub(back);
                match tracker.record(sequence) {
                    Arrival::Late => late += 1,
                    arrival => prop_assert_eq!(arrival, naive.record(sequence)),
                }
                if naive.seen.last() >= Some(&sequence) && naive.seen.last().unwrap() - sequence < 64 {
                    prop_assert!(naive.seen.contains(&sequence));
                }
            }
            prop_assert_eq!(tracker.late(), late);
            prop_assert_eq!(tracker.received(), naive.seen.len() as u64);
            let bound = tracker.base + 40;
            let missing = bound - naive.seen.range(..bound).count() as u64;
            prop_assert_eq!(tracker.missing_below(bound), missing);
        }
    }

    #[test]
    fn far_behind_is_late() {
        let mut tracker = Tracker::with_window(128);
        assert_eq!(tracker.record(1_000_000), Arrival::InOrder);
        assert_eq!(tracker.record(3), Arrival::Late);
        assert_eq!(tracker.record(999_950), Arrival::Reordered);
        assert_eq!(tracker.received(), 2);
    }
}
