use crate::Nanoseconds;

/// One for each number of bits that a time has; the last takes all longer ones, from half a minute on.
const LENGTHS: usize = 36;

/// The times between two looks at the ports: for as long may a frame that has arrived wait until its delay is taken.
#[derive(Clone, Debug)]
pub struct Polls {
    last: Option<Nanoseconds>,
    gaps: [(u64, Nanoseconds); LENGTHS],
}

impl Default for Polls {
    fn default() -> Self {
        Self::new()
    }
}

impl Polls {
    /// No look yet.
    pub fn new() -> Self {
        Self {
            last: None,
            gaps: [(0, Nanoseconds::ZERO); LENGTHS],
        }
    }

    /// The tester looks.
    pub fn poll(&mut self, now: Nanoseconds) {
        if let Some(last) = self.last {
            let gap = now.saturating_sub(last);
            let (number, sum) = &mut self.gaps[length(gap)];
            *number += 1;
            *sum += gap;
        }
        self.last = Some(now);
    }

    /// The tester looks, and the kernel has noted when each frame arrived: none waits for a look.
    pub fn poll_for_noted(&mut self) {
        self.gaps[0].0 += 1;
        self.last = None;
    }

    /// The tester goes to sleep: nothing is on its way, so that the time until the next look matters to no frame.
    pub fn rest(&mut self) {
        self.last = None;
    }

    /// How many times there were, and their sum in seconds, those with the same number of bits together.
    pub fn report(&self) -> Vec<(u64, f64)> {
        let seen = self.gaps.iter().filter(|(number, _)| *number > 0);
        seen.map(|(number, sum)| (*number, sum.as_seconds())).collect()
    }
}

fn length(gap: Nanoseconds) -> usize {
    let bits = u64::BITS - gap.0.leading_zeros();
    (bits as usize).min(LENGTHS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_gap_is_in_one_sum(gaps in proptest::collection::vec(0..1_u64 << 40, 0..50)) {
            let mut polls = Polls::new();
            let mut now = Nanoseconds(7);
            polls.poll(now);
            for &gap in &gaps {
                now += Nanoseconds(gap);
                polls.poll(now);
            }
            let report = polls.report();
            prop_assert_eq!(report.iter().map(|(number, _)| number).sum::<u64>(), gaps.len() as u64);
            let total: f64 = report.iter().map(|(_, seconds)| seconds).sum();
            prop_assert!((total - gaps.iter().sum::<u64>() as f64 / 1e9).abs() <= 1e-9 * total.max(1.0));
        }

        #[test]
        fn gaps_of_one_sum_differ_by_less_than_twice(one in 1..1_u64 << 34, other in 1..1_u64 << 34) {
            let alike = length(Nanoseconds(one)) == length(Nanoseconds(other));
            prop_assert!(!alike || one.max(other) < 2 * one.min(other));
        }
    }

    #[test]
    fn a_rest_is_no_gap() {
        let mut polls = Polls::new();
        polls.poll(Nanoseconds(10));
        polls.rest();
        polls.poll(Nanoseconds(1_000_000));
        polls.poll(Nanoseconds(1_000_003));
        assert_eq!(polls.report(), [(1, 3e-9)]);
    }
}
