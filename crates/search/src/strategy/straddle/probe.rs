//! Trials that the plan did not ask for: looks at loads that would make an attempt needless, and what to do where
//! nothing is planned.

use brimful_trial::{Nanoseconds, TrialInput};

use super::observation::Observation;
use super::target::Target;
use crate::{Problem, TrialLog, Verdict};

/// Loads tried in a row without a low-loss trial, before the lowest is tried. Fitted on draws 1 to 400 of the random
/// family.
const IN_VAIN: usize = 4;
/// How much longer than those trials one of the lowest load may take. Fitted on draws 1 to 300 of the random family, where
/// 2 to 8 were alike.
const LONGER: f64 = 4.0;

/// A long trial that one high-loss trial makes needless waits for one of this share of its length. Fitted on draws 1 to
/// 500 of the random family.
const MEDIUM_SHARE: u64 = 8;

/// The trial to make before the planned one, if not that itself.
pub(super) fn look_first(
    problem: &Problem,
    log: &TrialLog,
    target: &Target,
    seen: &[Observation],
    planned: TrialInput,
) -> TrialInput {
    let next = lowest(problem, log, target, seen).unwrap_or(planned);
    shorter_first(problem, log, target, next)
}

/// The planned trial, or a shorter one at its load that may show the same for less. Where trials are stopped early, the
/// long one itself is short.
fn shorter_first(problem: &Problem, log: &TrialLog, target: &Target, planned: TrialInput) -> TrialInput {
    let medium = Nanoseconds(target.duration.0 / MEDIUM_SHARE);
    let pays = target.is_strict && !problem.has_early_termination() && target.short.is_some_and(|short| short < medium);
    let mut before = log.trials_at(planned.load).iter();
    if !pays || planned.duration < target.duration || before.any(|trial| trial.input.duration >= medium) {
        return planned;
    }
    TrialInput {
        duration: medium,
        ..planned
    }
}

/// The lowest load, where the last trials lost a little at several loads, too much for the goal: it tells soonest
/// whether any load can be an answer. It is not to take much longer than those trials. What loses more says itself how
/// far away the answer is.
fn lowest(problem: &Problem, log: &TrialLog, target: &Target, seen: &[Observation]) -> Option<TrialInput> {
    let load = problem.min_load();
    let is_open = target.lower.is_none() && log.verdict(load, target.goal) == Verdict::Undecided;
    let in_vain = seen.iter().rev().take_while(|seen| target.is_high_loss(seen));
    let little = in_vain.filter(|seen| !seen.lost_much());
    let changes = little
        .clone()
        .zip(little.clone().skip(1))
        .filter(|(a, b)| !a.is_at(b.place));
    let is_due = is_open && changes.count() + 1 >= IN_VAIN;
    let duration = if log.trials_at(load).is_empty() {
        target.exploring_duration()
    } else {
        target.duration
    };
    let lowest = shorter_first(problem, log, target, TrialInput { load, duration });
    // One that was stopped early would have been a short one at least.
    let short_s = target.exploring_duration().as_seconds();
    let tried_s: f64 = little.map(|seen| seen.duration.max(short_s)).sum();
    (is_due && lowest.duration.as_seconds() <= LONGER * tried_s).then_some(lowest)
}

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::{Case, half, seconds};

    #[test]
    fn the_lowest_load_is_tried_once_many_were_tried_in_vain() {
        let lossy: Vec<(f64, u64)> = (0..IN_VAIN).map(|index| (9e5 - 1e5 * index as f64, 7)).collect();
        let tried = |trials: &[(f64, u64)]| {
            let mut case = Case::new(half(), 1.0);
            case.add(trials);
            lowest(&case.problem, &case.log, &case.target, &case.seen).map(|input| input.load.per_second())
        };
        assert_eq!(tried(&lossy), Some(1e4));
        assert_eq!(tried(&lossy[1..]), None);
        assert_eq!(tried(&[&lossy[1..], &lossy[IN_VAIN - 1..]].concat()), None);
        assert_eq!(tried(&[&lossy[..], &[(8.5e5, 0)]].concat()), None);
        assert_eq!(tried(&[&[(8.5e5, 0)], &lossy[..]].concat()), Some(1e4));
        assert_eq!(tried(&[&lossy[..], &[(1e4, 7); 30]].concat()), Some(1e4));
        assert_eq!(tried(&[&lossy[..], &[(1e4, 7); 31]].concat()), None);
    }

    #[test]
    fn a_long_trial_of_the_lowest_load_waits_until_as_much_was_tried_in_vain() {
        let duration_after = |losses: usize| {
            let mut case = Case::new(Ratio::ZERO, 60.0);
            case.add(&[(1e4, 0)]);
            case.add_long(1e4, 0, 7.5);
            let lossy: Vec<(f64, u64)> = (0..losses).map(|index| (9e5 - 1e4 * index as f64, 7)).collect();
            case.add(&lossy);
            lowest(&case.problem, &case.log, &case.target, &case.seen).map(|input| input.duration)
        };
        assert_eq!(duration_after(14), None);
        assert_eq!(duration_after(15), Some(seconds(60.0)));
    }
}
