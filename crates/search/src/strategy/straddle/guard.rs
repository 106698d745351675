//! What keeps a search short where the model of the curve is wrong.
//!
//! The model may promise a verdict a little further down again and again, or hop between loads without finishing any.
//! So every goal is watched: bounds that creep make the steps to the next load double, many moved bounds end in plain
//! bisection, and time without a moved bound ends in measuring one load to its verdict. And before it settles far below
//! all loss, the loads between are probed.

use brimful_trial::{Load, Nanoseconds, TrialInput};

use super::target::Target;
use crate::grid::LoadGrid;
use crate::{Problem, TrialLog, Verdict};

/// A bound may move by a single width so often in a row on one side, and so often altogether.
const PATIENCE: (f64, f64) = (2.0, 8.0);
/// The same for goals that one high-loss trial ends: on a system with stray losses a lower bound is a lottery, and
/// the next ticket is as good one width further down as anywhere.
const PATIENCE_STRICT: (f64, f64) = (4.0, 12.0);
const MOST_DOUBLINGS: f64 = 40.0;
/// The share of a move that counts at least.
const CHEAPEST: f64 = 0.04;
/// Loads that could have been measured to their verdicts since a bound has moved.
const IDLE_LOADS: f64 = 3.0;
/// Trials at one load, as a multiple of what forces a verdict, before a goal is given up.
const EXCESS: f64 = 4.0;
/// Widths between a clean load and an upper bound that are too many to settle below, at a second trial and at a first
/// one that lasts as long as many probes.
const WIDE_GAP: f64 = 16.0;
const WIDE_GAP_LONG: f64 = 4.0;
/// Widths that a load may be below another one that lost nothing, and trials there before a long one is risked, as long
/// as no load that lost nothing at first has lost later.
const FAR_BELOW: f64 = 8.0;
const CLEAN_TRIALS: usize = 3;
/// Loads of which none had a low-loss trial, before the lowest is tried.
const IN_VAIN: usize = 8;
/// So many attempts that ended after about as many clean trials, within this factor, were ended by time: the capacity
/// falls. Chance ends them anywhere, and the shortest tell nothing.
const STEADY_ATTEMPTS: usize = 4;
const STEADY_WITHIN: f64 = 1.5;
const STEADY_LEAST: f64 = 4.0;

/// The history of one goal's bounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    lower: Option<Load>,
    upper: Option<Load>,
    lower_in_row: f64,
    upper_in_row: f64,
    moves: f64,
    idle_seconds: f64,
    committed: Option<Load>,
    /// Clean trials of the attempts since the lower bound has moved, each ended by a lower upper bound.
    attempts: Vec<f64>,
    is_given_up: bool,
}

impl Watch {
    /// Takes notice of the bounds as they are now.
    pub(super) fn follow(&mut self, log: &TrialLog, target: &Target) {
        let (is_lower_new, is_upper_new) = (self.lower != target.lower, self.upper != target.upper);
        // A bound that moved for the price of a single trial hardly counts.
        let price = (self.idle_seconds / (target.odds.unanimous_trials() * target.effective)).clamp(CHEAPEST, 1.0);
        if is_lower_new {
            (self.lower_in_row, self.upper_in_row) = (self.lower_in_row + price, 0.0);
        }
        if is_upper_new {
            (self.lower_in_row, self.upper_in_row) = (0.0, self.upper_in_row + price);
        }
        if is_lower_new {
            self.attempts.clear();
        } else if let Some(upper) = target.upper.filter(|_| is_upper_new) {
            self.attempts.push(log.trials_at(upper).len() as f64 - 1.0);
        }
        if is_lower_new || is_upper_new {
            self.moves += price;
            self.idle_seconds = 0.0;
            self.committed = None;
            (self.lower, self.upper) = (target.lower, target.upper);
        }
    }

    pub(super) fn spend(&mut self, seconds: f64) {
        self.idle_seconds += seconds;
    }

    /// Whether the goal has to do without an answer: its Measurer gives no trials that count.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// How many widths the next load has to stay away from the lower and the upper bound.
    pub(super) fn distances(&self, target: &Target) -> (i64, i64) {
        let (one_side, altogether) = if target.is_strict { PATIENCE_STRICT } else { PATIENCE };
        let always = (self.moves - altogether) / 2.0;
        let widths = |in_row: f64| {
            let doublings = always.max(in_row - one_side).clamp(0.0, MOST_DOUBLINGS);
            doublings.exp2() as i64
        };
        (
            widths(self.lower_in_row),
            widths(self.upper_in_row).max(self.widths_lost_in_time(target)),
        )
    }

    /// How many widths the capacity falls while one load is measured to its verdict.
    fn widths_lost_in_time(&self, target: &Target) -> i64 {
        let last = self.attempts.len().checked_sub(STEADY_ATTEMPTS);
        let Some(last) = last.filter(|_| target.is_strict).map(|first| &self.attempts[first..]) else {
            return 1;
        };
        let [shortest, longest] = [f64::min, f64::max].map(|of| last.iter().copied().reduce(of).unwrap_or(0.0));
        let is_steady = shortest >= STEADY_LEAST && longest <= STEADY_WITHIN * shortest;
        if is_steady {
            (target.odds.fresh_low() / shortest).ceil() as i64
        } else {
            1
        }
    }

    /// The load to stay at until its verdict is known, once nothing has moved for long.
    pub(super) fn commitment(
        &mut self,
        log: &TrialLog,
        target: &Target,
        open_goals: usize,
        planned: Load,
    ) -> Option<Load> {
        let verdict_seconds = target.odds.fresh_trials() * target.effective;
        if self.idle_seconds < IDLE_LOADS * verdict_seconds * open_goals as f64 {
            return None;
        }
        let is_open = |load: &Load| log.verdict(*load, target.goal) == Verdict::Undecided;
        let load = *self.committed.filter(is_open).get_or_insert(planned);
        self.committed = Some(load);
        Some(load)
    }

    /// Gives the goal up if this load should have had its verdict long ago.
    pub(super) fn lose_patience(&mut self, log: &TrialLog, target: &Target, load: Load) {
        let enough = EXCESS * target.odds.fresh_trials() + 100.0;
        let is_open = log.verdict(load, target.goal) == Verdict::Undecided;
        self.is_given_up |= is_open && log.trials_at(load).len() as f64 > enough;
    }
}

/// What to try before a load far below others that may do as well is measured to its verdict. Where one high-loss trial
/// ends an attempt, plans weigh whole attempts, and may settle far below loads that were never tried, or lost nothing.
/// A load that lost something says itself how far away the answer is.
pub(super) fn probe(log: &TrialLog, target: &Target, grid: &LoadGrid, planned: TrialInput) -> Option<TrialInput> {
    let is_long = target.short.is_some_and(|short| planned.duration > short);
    let is_second = !log.trials_at(planned.load).is_empty();
    let upper = target.upper.filter(|_| target.is_strict && (is_long || is_second))?;
    let highest_below = log.loads().filter(|&load| load < upper).last();
    let highest_below = highest_below.map_or(planned.load, |load| load.max(planned.load));
    let tried = log.trials_at(highest_below);
    if tried.iter().any(|trial| trial.output.counts.missing() > 0) {
        return None;
    }
    let [start, low, high] = [planned.load, highest_below, upper].map(|load| grid.position(load.per_second()));
    let widths = |from: f64, to: f64| (to - from) / target.steps as f64;
    if widths(low, high) > if is_long { WIDE_GAP_LONG } else { WIDE_GAP } {
        return Some(TrialInput {
            load: grid.load(f64::midpoint(low, high).round() as i64),
            duration: target.exploring_duration(),
        });
    }
    let has_misled = |load: Load| {
        let sums = log.sums(load, target.goal);
        let is_mixed = sums.full_low.max(sums.short_low) > Nanoseconds::ZERO && sums.full_high > Nanoseconds::ZERO;
        is_mixed && sums.short_high == Nanoseconds::ZERO
    };
    (widths(start, low) > FAR_BELOW && !log.loads().any(has_misled)).then(|| TrialInput {
        load: highest_below,
        duration: if tried.len() < CLEAN_TRIALS {
            target.exploring_duration()
        } else {
            planned.duration
        },
    })
}

/// The lowest load, where many were tried in vain: it tells at once whether any can be an answer.
pub(super) fn lowest(problem: &Problem, log: &TrialLog, target: &Target) -> Option<TrialInput> {
    let load = problem.min_load();
    let is_vain = |load: Load| {
        let sums = log.sums(load, target.goal);
        sums.full_low.max(sums.short_low) == Nanoseconds::ZERO
    };
    let is_due = log.trials_at(load).is_empty() && log.loads().count() >= IN_VAIN && log.loads().all(is_vain);
    is_due.then(|| TrialInput {
        load,
        duration: target.exploring_duration(),
    })
}

/// A trial for a goal for which the model has no candidate left: the middle of what is open.
pub(super) fn last_resort(problem: &Problem, target: &Target) -> Option<TrialInput> {
    let load = match (target.lower, target.upper) {
        (_, None) => problem.max_load(),
        (None, Some(_)) => problem.min_load(),
        (Some(lower), Some(upper)) => {
            let middle = (lower.per_second() * upper.per_second()).sqrt();
            Load::new(middle).ok().filter(|&load| load > lower && load < upper)?
        }
    };
    Some(TrialInput {
        load,
        duration: target.duration,
    })
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, Ratio, TrialOutput, TrialResult};

    use super::*;
    use crate::SearchGoal;

    /// A search for a load of which 60 seconds lose nothing, between 10 kpps and 1 Mpps, and its log.
    struct Case {
        problem: Problem,
        log: TrialLog,
        grid: LoadGrid,
        target: Target,
    }

    fn load(per_second: f64) -> Load {
        Load::new(per_second).unwrap()
    }

    fn half() -> Ratio {
        Ratio::new(1, 2).unwrap()
    }

    fn seconds(seconds: f64) -> Nanoseconds {
        Nanoseconds::from_seconds(seconds).unwrap()
    }

    impl Case {
        fn new(exceed_ratio: Ratio, final_trial_s: f64) -> Self {
            let goal = SearchGoal {
                name: "goal".to_owned(),
                loss_ratio: Ratio::ZERO,
                delay_limit: None,
                exceed_ratio,
                final_trial_duration: seconds(final_trial_s),
                duration_sum: seconds(60.0),
                initial_trial_duration: seconds(1.0),
                width: Ratio::new(1, 200).ok(),
            };
            let problem = Problem::new(vec![goal], load(1e4), load(1e6)).unwrap();
            let grid = LoadGrid::new(problem.min_load(), problem.max_load(), 0.005);
            Self {
                log: TrialLog::new(problem.goals().to_vec()),
                target: Target::new(&problem, &grid, 0, 0.0),
                problem,
                grid,
            }
        }

        /// Adds trials of a second: loads and how many frames they lost.
        fn add(&mut self, trials: &[(f64, u64)]) {
            for &(per_second, lost) in trials {
                self.add_one(per_second, lost, seconds(1.0));
            }
        }

        fn add_long(&mut self, per_second: f64, lost: u64) {
            self.add_one(per_second, lost, self.target.duration);
        }

        fn add_one(&mut self, per_second: f64, lost: u64, duration: Nanoseconds) {
            let sent = (per_second * duration.as_seconds()) as u64;
            self.log.add(TrialResult {
                input: TrialInput {
                    load: load(per_second),
                    duration,
                },
                output: TrialOutput {
                    counts: Counts::new(sent, sent, lost).unwrap(),
                    effective_duration: None,
                    delay_p99: None,
                    stopped_early: false,
                },
            });
            self.target.refresh(&self.log, &self.grid);
        }

        /// What is tried instead of a full-length trial at 400 kpps.
        fn probe(&self) -> Option<f64> {
            let planned = TrialInput {
                load: load(4e5),
                duration: self.target.duration,
            };
            let input = probe(&self.log, &self.target, &self.grid, planned)?;
            assert_eq!(input.duration, seconds(1.0));
            Some(input.load.per_second())
        }
    }

    #[test]
    fn the_middle_of_a_wide_gap_is_tried_before_a_load_below_it_is_measured_out() {
        let probed = |trials: &[(f64, u64)], exceed_ratio| {
            let mut case = Case::new(exceed_ratio, 1.0);
            case.add(trials);
            case.probe()
        };
        let far = [(4e5, 0), (9e5, 7)];
        let middle = probed(&far, Ratio::ZERO).unwrap();
        assert!((middle / 6e5 - 1.0).abs() < 0.005, "{middle}");
        assert_eq!(probed(&far, half()), None);
        assert_eq!(probed(&[(9e5, 7)], Ratio::ZERO), None);
        assert_eq!(probed(&[(4e5, 0), (3.9e5, 0), (4.1e5, 7)], Ratio::ZERO), None);
        assert_eq!(probed(&[(4e5, 0)], Ratio::ZERO), None);
    }

    #[test]
    fn a_long_trial_waits_for_short_ones_in_a_narrower_gap_too() {
        let mut case = Case::new(Ratio::ZERO, 60.0);
        case.add(&[(4.2e5, 7)]);
        let middle = case.probe().unwrap();
        assert!((middle / 4.1e5 - 1.0).abs() < 0.005, "{middle}");
        case.add(&[(4.13e5, 0)]);
        assert_eq!(case.probe(), None);
    }

    #[test]
    fn a_load_far_above_that_lost_nothing_comes_first() {
        let mut case = Case::new(Ratio::ZERO, 60.0);
        case.add(&[(9e5, 7), (8.9e5, 0)]);
        let planned = |case: &Case, load| {
            let duration = case.target.duration;
            let instead = probe(&case.log, &case.target, &case.grid, TrialInput { load, duration })?;
            Some((instead.load.per_second(), instead.duration))
        };
        assert_eq!(planned(&case, load(4e5)), Some((8.9e5, seconds(1.0))));
        assert_eq!(planned(&case, load(8.7e5)), None);
        case.add(&[(8.9e5, 0), (8.9e5, 0)]);
        assert_eq!(planned(&case, load(4e5)), Some((8.9e5, seconds(60.0))));
        case.add_long(8.95e5, 7);
        assert_eq!(planned(&case, load(4e5)), Some((8.9e5, seconds(60.0))));
        case.add_long(8.9e5, 7);
        case.add(&[(8.8e5, 0)]);
        assert_eq!(planned(&case, load(4e5)), None);
    }

    #[test]
    fn the_lowest_load_is_tried_once_many_were_tried_in_vain() {
        let lossy: Vec<(f64, u64)> = (0..IN_VAIN).map(|index| (9e5 - 1e5 * index as f64, 7)).collect();
        let tried = |trials: &[(f64, u64)]| {
            let mut case = Case::new(half(), 1.0);
            case.add(trials);
            lowest(&case.problem, &case.log, &case.target).map(|input| input.load.per_second())
        };
        assert_eq!(tried(&lossy), Some(1e4));
        assert_eq!(tried(&lossy[1..]), None);
        assert_eq!(tried(&[&lossy[..], &[(8.5e5, 0)]].concat()), None);
        assert_eq!(tried(&[&lossy[..], &[(1e4, 7)]].concat()), None);
    }

    #[test]
    fn attempts_that_time_ends_make_the_next_one_start_lower() {
        let distance = |clean_trials: [usize; STEADY_ATTEMPTS]| {
            let mut case = Case::new(Ratio::ZERO, 1.0);
            let mut watch = Watch::default();
            for (index, clean) in clean_trials.into_iter().enumerate() {
                let at = 9e5 - 1e4 * index as f64;
                case.add(&vec![(at, 0); clean]);
                case.add(&[(at, 7)]);
                watch.follow(&case.log, &case.target);
            }
            watch.distances(&case.target).1
        };
        assert_eq!(distance([10, 11, 12, 10]), 6);
        assert_eq!(distance([10, 11, 12, 30]), 1);
        assert_eq!(distance([1, 1, 1, 1]), 1);
    }
}
