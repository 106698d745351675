//! What trials weigh beyond their duration. A tester that waits for missing units takes longer where some are missing.

use brimful_trial::TrialResult;

/// A change by more than this share of a trial is taken up.
const CHANGE: f64 = 0.05;
/// So many trials make a mean; older ones fade.
const MEMORY: f64 = 10.0;

/// Seconds beyond the duration of a trial, by whether anything was lost; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Overhead {
    pub(super) clean: f64,
    pub(super) lossy: f64,
}

/// The means of the last trials, and what was last taken from them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overheads {
    clean: Mean,
    lossy: Mean,
    taken: Overhead,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    value: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count = (self.count + 1.0).min(MEMORY);
        self.value += (value - self.value) / self.count;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0.0).then_some(self.value)
    }
}

impl Overheads {
    pub(super) fn get(&self) -> Overhead {
        self.taken
    }

    /// Learns from a trial, and tells whether anything has changed.
    pub(super) fn observe(&mut self, result: &TrialResult) -> bool {
        let duration = result.input.duration.as_seconds();
        let is_lossy = result.output.counts.missing() > 0;
        let mean = if is_lossy { &mut self.lossy } else { &mut self.clean };
        mean.add(result.effective_duration().as_seconds() - duration);
        // What was never seen is like the other.
        let [clean, lossy] = [self.clean, self.lossy].map(Mean::get);
        let now = Overhead {
            clean: clean.or(lossy).unwrap_or_default(),
            lossy: lossy.or(clean).unwrap_or_default(),
        };
        let change = (now.clean - self.taken.clean)
            .abs()
            .max((now.lossy - self.taken.lossy).abs());
        let is_new = change > CHANGE * duration;
        if is_new {
            self.taken = now;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, Load, Nanoseconds, TrialInput, TrialOutput};

    use super::*;

    fn trial(lost: u64, effective_s: f64) -> TrialResult {
        TrialResult {
            input: TrialInput {
                load: Load::new(1e5).unwrap(),
                duration: Nanoseconds(1_000_000_000),
            },
            output: TrialOutput {
                counts: Counts::new(100_000, 100_000, lost).unwrap(),
                effective_duration: Nanoseconds::from_seconds(effective_s).ok(),
                delay_p99: None,
                stopped_early: false,
            },
        }
    }

    #[test]
    fn clean_and_lossy_trials_have_their_own_overhead_and_small_changes_are_no_news() {
        let mut overheads = Overheads::default();
        assert!(overheads.observe(&trial(7, 1.5)));
        assert_eq!(overheads.get(), Overhead { clean: 0.5, lossy: 0.5 });
        assert!(overheads.observe(&trial(0, 1.25)));
        assert!(!overheads.observe(&trial(9, 1.5)));
        assert!(!overheads.observe(&trial(0, 1.25 + 0.0625)));
        assert_eq!(
            overheads.get(),
            Overhead {
                clean: 0.25,
                lossy: 0.5
            }
        );
    }

    #[test]
    fn old_overheads_fade() {
        let mut overheads = Overheads::default();
        for effective_s in [[1.25; 100], [2.25; 100]].concat() {
            overheads.observe(&trial(0, effective_s));
        }
        assert!((overheads.get().clean - 1.25).abs() < 2.0 * CHANGE, "{overheads:?}");
    }
}
