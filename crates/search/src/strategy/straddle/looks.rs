//! Trials that come before the one that was picked: looks that may make an attempt needless.

use std::collections::BTreeSet;

use brimful_trial::{Load, Nanoseconds, TrialInput};

use super::goals::{GoalFacts, Standing};
use super::{Pick, View};
use crate::Verdict;

/// Widths between a clean load and the next one with high loss that are too many to settle below by a long trial.
const WIDE_GAP: f64 = 4.0;
/// Loads tried in a row without a low-loss trial, before the lowest is tried. Chosen on seeds 1-400 of
/// `examples/search_time/drawn.rs`.
const IN_VAIN: usize = 4;
/// How much longer than those trials one of the lowest load may take. Chosen on seeds 1-300 of
/// `examples/search_time/drawn.rs`, where 2 to 8 were alike.
const LONGER: f64 = 4.0;
/// A long trial that one high-loss trial makes needless waits for one of this share of its length. Chosen on seeds 1-500
/// of `examples/search_time/drawn.rs`.
const MEDIUM_SHARE: u64 = 8;

/// The trial to make before the one that was picked, if not that itself.
pub(super) fn look_first(view: &View, pick: Pick) -> Pick {
    let mut open = view.open.iter();
    let standing = open.find(|standing| standing.goal.index == pick.goal);
    // While nothing was lost, there is nothing to look for.
    let Some(standing) = standing.filter(|_| !view.belief.is_unbounded()) else {
        return pick;
    };
    let next = lowest(view, standing).or_else(|| middle(view, standing, pick.input));
    let next = next.unwrap_or(pick.input);
    Pick {
        input: shorter_first(view, standing.goal, next),
        ..pick
    }
}

/// The length of a trial that comes before a long one at a load, as it may show the same for less: the shortest, then one
/// of medium length. Where trials are stopped early, a long one that fails is short itself: only the shortest costs less.
pub(super) fn shorter(view: &View, goal: &GoalFacts, load: Load) -> Option<Nanoseconds> {
    let medium = Nanoseconds(goal.duration.0 / MEDIUM_SHARE);
    let short = goal.short.filter(|&short| goal.is_strict && short < medium)?;
    let medium = Some(medium).filter(|_| !view.problem.has_early_termination());
    let before = view.log.trials_at(load).iter();
    let longest = before.map(|trial| trial.input.duration).max().unwrap_or_default();
    let mut lengths = [short].into_iter().chain(medium);
    lengths.find(|&length| length > longest)
}

/// This trial, or a shorter one at its load.
fn shorter_first(view: &View, goal: &GoalFacts, TrialInput { load, duration }: TrialInput) -> TrialInput {
    let shorter = shorter(view, goal, load).filter(|&shorter| shorter < duration);
    TrialInput {
        load,
        duration: shorter.unwrap_or(duration),
    }
}

/// The middle between a clean load and the next one with high loss, before a long trial far below it. Plans weigh whole
/// attempts, and may settle far below loads that were never tried, or lost nothing. A short look costs little beside.
fn middle(view: &View, standing: &Standing, planned: TrialInput) -> Option<TrialInput> {
    let (goal, grid) = (standing.goal, &view.loads.grid);
    let duration = goal.short.filter(|&short| planned.duration > short)?;
    let is_lossy = |load: &Load| {
        let sums = view.log.sums(*load, goal.index);
        *load > planned.load && sums.full_high.max(sums.short_high) > Nanoseconds::ZERO
    };
    let lossy = view.log.loads().find(is_lossy)?;
    let position = |load: Load| grid.position(load.per_second());
    // Below this, the buffer takes what is too much for so short a time.
    let blind = position(planned.load) + view.belief.shift(duration);
    let below = view.log.loads().filter(|&load| load < lossy).last();
    let (low, high) = (below.map_or(blind, position).max(blind), position(lossy));
    let is_wide = high - low > WIDE_GAP * goal.steps as f64;
    let load = grid.load(f64::midpoint(low, high).round() as i64);
    is_wide.then_some(TrialInput { load, duration })
}

/// The lowest load, where the last trials lost a little at several loads, too much for the goal: it shows soonest
/// whether any load can be an answer. It is not to take much longer than those trials. What loses more says itself how
/// far away the answer is.
fn lowest(view: &View, standing: &Standing) -> Option<TrialInput> {
    let (goal, load) = (standing.goal, view.problem.min_load());
    let is_open = standing.lower.is_none() && view.log.verdict(load, goal.index) == Verdict::Undecided;
    let in_vain = view.belief.seen().iter().rev();
    let in_vain = in_vain.take_while(|seen| goal.is_high_loss(seen));
    let little = in_vain.filter(|seen| !seen.lost_much());
    let loads: BTreeSet<Load> = little.clone().map(|seen| seen.load).collect();
    let duration = if view.log.trials_at(load).is_empty() {
        goal.exploring_duration()
    } else {
        goal.duration
    };
    let lowest = shorter_first(view, goal, TrialInput { load, duration });
    // One that was stopped early would have been a short one at least.
    let short_s = goal.exploring_duration().as_seconds();
    let tried_s: f64 = little.map(|seen| seen.duration.max(short_s)).sum();
    let is_due = is_open && loads.len() >= IN_VAIN;
    (is_due && lowest.duration.as_seconds() <= LONGER * tried_s).then_some(lowest)
}

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::account::Account;
    use crate::strategy::straddle::case::{Case, half, seconds};

    fn looked_at(case: &Case) -> Option<TrialInput> {
        case.with_view(&Account::default(), |view| lowest(view, &view.open[0]))
    }

    #[test]
    fn the_lowest_load_is_tried_once_many_were_tried_in_vain() {
        let lossy: Vec<(f64, u64)> = (0..IN_VAIN).map(|index| (9e5 - 1e5 * index as f64, 7)).collect();
        let tried = |trials: &[(f64, u64)]| {
            let mut case = Case::new(half(), 1.0);
            case.add(trials);
            looked_at(&case).map(|input| input.load.per_second())
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
            looked_at(&case).map(|input| input.duration)
        };
        assert_eq!(duration_after(14), None);
        assert_eq!(duration_after(15), Some(seconds(60.0)));
    }
}
