//! Attempts that end alike: after the same time, or with the same loss in time.

use brimful_trial::TrialResult;

use super::run_seconds;
use crate::strategy::straddle::goals::GoalFacts;

/// The least length of attempts that end after the same time, in short trials: those that end sooner met a limit.
const STEP_FROM: f64 = 3.0;
/// Losses of attempts are taken for stalls of one length if none is farther off than this, two at a time, or than its
/// square root, three at a time. By chance they are that close in 0.2 and 0.4 % of the cases. Chosen on seeds 1-800 of
/// `examples/search_time/drawn.rs`.
const AGREEMENT: f64 = 0.001;

/// An attempt that ended with a high-loss trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    seconds: f64,
    /// Units that the last trial lost.
    units: f64,
    /// The time in which those were offered.
    lost_s: f64,
    /// Whether the first trial was the last one.
    is_first: bool,
}

impl Failed {
    pub(super) fn new(trials: &[TrialResult]) -> Option<Self> {
        let last = trials.last()?;
        let units = last.output.counts.missing() as f64;
        Some(Self {
            seconds: trials.iter().map(run_seconds).sum(),
            units,
            lost_s: units / last.input.load.per_second(),
            is_first: trials.len() == 1,
        })
    }
}

/// Whether the last attempts ended after the same time, or with the same loss in time at other loads.
pub(super) fn end_alike(failed: &[Failed], goal: &GoalFacts) -> bool {
    let trial_s = goal.exploring_duration().as_seconds();
    ends_in_step(failed, trial_s, goal.lower_bound_s()) || (2..=3).any(|count| loses_alike(failed, count))
}

/// Whether the last three attempts ended after about the same time: chance would end them anywhere, so losses are
/// periodic or the capacity falls. Two would often be chance, and so would any that took as long as a lower bound.
fn ends_in_step(failed: &[Failed], trial_s: f64, lower_bound_s: f64) -> bool {
    let Some(last) = failed.last_chunk::<3>() else {
        return false;
    };
    let shortest = last.iter().map(|failed| failed.seconds).fold(f64::INFINITY, f64::min);
    let longest = last.iter().map(|failed| failed.seconds).fold(0.0, f64::max);
    shortest >= STEP_FROM * trial_s && longest <= (shortest + trial_s).min(lower_bound_s)
}

/// Whether the last attempts began well, and lost as much time as one of them or a multiple, more closely than by
/// chance: stalls of one length. Overload would lose less at lower loads.
fn loses_alike(failed: &[Failed], count: usize) -> bool {
    let Some(first) = failed.len().checked_sub(count) else {
        return false;
    };
    let last = &failed[first..];
    let shortest = last.iter().map(|failed| failed.lost_s).fold(f64::INFINITY, f64::min);
    let off = |failed: &Failed| {
        let stalls = failed.lost_s / shortest;
        (stalls - stalls.round()).abs().max(1.0 / failed.units)
    };
    let most = last.iter().map(off).fold(0.0, f64::max);
    last.iter().all(|failed| !failed.is_first) && most.powf(count as f64 - 1.0) <= AGREEMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_last_as_long_as_a_lower_bound_are_in_no_step() {
        let failed = |seconds| Failed {
            seconds,
            units: 7.0,
            lost_s: 0.1,
            is_first: false,
        };
        // Two short trials and a medium one, or the long one that is the whole lower bound as well.
        assert!(ends_in_step(&[failed(9.5); 3], 1.0, 60.0));
        assert!(!ends_in_step(&[failed(69.5); 3], 1.0, 60.0));
    }
}
