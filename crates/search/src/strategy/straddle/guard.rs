//! What keeps a search short where the model of the curve is wrong: an account of time that gained nothing, and a plain
//! search that takes over once it is overdrawn.
//!
//! The model may promise a verdict a little further down again and again, or hop between loads without finishing any.
//! So every goal is charged for attempts at lower bounds that failed and for lower bounds that a higher one replaced.
//! Where several trials decide, bounds that creep make the steps double before that, many moves end in plain bisection,
//! and time without a moved bound ends in measuring one load to its verdict.
//!
//! The bound, in units of V, the time that a load takes to its verdict, with n widths between the limits: while the
//! model chooses, the goal is charged with what the account allows and one attempt more, twice, the second time half of
//! it. The plain search goes down from the upper bound in steps that double until an attempt holds, log2(n) loads at
//! most. Then the model has its second chance. The second plain search also halves what is left, log2(n) loads more.
//! Nothing here asks how much was lost. But time in which no bound moves is not charged, so this bounds failed attempts
//! and not the whole search.

use brimful_trial::{Load, TrialInput, TrialResult};

use super::probe;
use super::target::Target;
use crate::{Problem, TrialLog, Verdict};

/// What may be charged before the plain search, in lower bounds: about what bisection takes where half of its loads
/// hold, and the others fail at once, or as late. Fitted on draws 1 to 500 of the random family.
const PRICE_STRICT: f64 = 4.0;
const PRICE: f64 = 8.0;
/// So many attempts may fail in a row, however cheap they are. Fitted on the same draws.
const FAILED_IN_ROW: usize = 15;
/// The second time it is half as much of both.
const SECOND_TIME: f64 = 0.5;
/// Bounds that several trials decide may move by a single width so often in a row on one side, and so often altogether.
const PATIENCE: (f64, f64) = (2.0, 8.0);
const MOST_DOUBLINGS: f64 = 40.0;
/// The share of a move that counts at least.
const CHEAPEST: f64 = 0.04;
/// Loads that could have been measured to their verdicts since a bound has moved.
const IDLE_LOADS: f64 = 3.0;
/// Attempts in a row that end after about as many clean trials before the plain search: chance would end them anywhere,
/// so losses are periodic or the capacity falls. Fewer would often be chance.
const IN_STEP: usize = 3;
/// Clean trials of such attempts, at least: those that end sooner met a limit.
const STEP_FROM: usize = 2;
/// Widths to the first load of a plain search.
const FIRST_STEP: f64 = 2.0;
/// Trials at one load, as a multiple of what forces a verdict, before a goal is given up.
const EXCESS: f64 = 4.0;

/// The history of one goal's bounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    lower: Option<Load>,
    upper: Option<Load>,
    /// Seconds of trials for the goal since a bound of it has moved.
    pending_s: f64,
    /// The same at the lower bound.
    held_s: f64,
    charged_s: f64,
    /// Moves of a bound in a row on one side, and altogether; cheap ones count less.
    lower_in_row: f64,
    upper_in_row: f64,
    moves: f64,
    /// Seconds of all trials since a bound has moved.
    idle_s: f64,
    committed: Option<Load>,
    /// Clean trials of the attempts since the lower bound has moved, each ended by a lower upper bound.
    failed: Vec<usize>,
    plain: Option<PlainSearch>,
    is_second_time: bool,
    is_given_up: bool,
}

#[derive(Clone, Debug)]
struct PlainSearch {
    /// Widths from the upper bound to the next attempt.
    widths: f64,
    halves: bool,
    at: Option<Load>,
}

impl Watch {
    /// Takes notice of a trial and whether it was made for this goal.
    pub(super) fn spend(&mut self, result: &TrialResult, is_own: bool) {
        self.idle_s += result.effective_duration().as_seconds();
        if is_own {
            self.pending_s += run_seconds(result);
        }
    }

    /// Takes notice of the bounds as they are now.
    pub(super) fn follow(&mut self, log: &TrialLog, target: &Target) {
        let holds = self.lower != target.lower;
        if holds || self.upper != target.upper {
            self.creep(target, holds);
            (self.lower, self.upper) = (target.lower, target.upper);
            let attempt_s = std::mem::take(&mut self.pending_s);
            if holds {
                // The lower bound before was in vain.
                self.charged_s += std::mem::replace(&mut self.held_s, attempt_s);
                self.failed.clear();
            } else {
                self.charged_s += attempt_s;
                let trials = target.upper.map_or(0, |upper| log.trials_at(upper).len());
                self.failed.push(trials.saturating_sub(1));
            }
            self.go_on(target, holds);
        }
        if self.plain.is_none() && self.is_overdrawn(target) {
            self.plain = Some(PlainSearch::default());
        }
    }

    /// Counts a move. One for the price of a single trial hardly counts, unless a verdict takes no more.
    fn creep(&mut self, target: &Target, is_lower: bool) {
        let whole = if is_lower {
            target.odds.fresh_low()
        } else {
            target.odds.unanimous_trials()
        };
        let price = (self.idle_s / (whole * target.effective.low)).clamp(CHEAPEST, 1.0);
        (self.lower_in_row, self.upper_in_row) = if is_lower {
            (self.lower_in_row + price, 0.0)
        } else {
            (0.0, self.upper_in_row + price)
        };
        self.moves += price;
        self.idle_s = 0.0;
        self.committed = None;
    }

    /// After an attempt of the plain search.
    fn go_on(&mut self, target: &Target, holds: bool) {
        match &mut self.plain {
            None => {}
            Some(plain) if !holds => plain.widths *= 2.0,
            Some(plain) if self.is_second_time || !target.is_strict => plain.halves = true,
            Some(_) => {
                self.plain = None;
                self.is_second_time = true;
                self.charged_s = 0.0;
            }
        }
    }

    fn is_overdrawn(&self, target: &Target) -> bool {
        let price = if target.is_strict { PRICE_STRICT } else { PRICE };
        let price_s = price * target.odds.fresh_low() * target.effective.low;
        let share = if self.is_second_time { SECOND_TIME } else { 1.0 };
        self.charged_s > share * price_s
            || self.failed.len() as f64 >= share * FAILED_IN_ROW as f64
            || target.is_strict && self.is_in_step()
    }

    /// Whether the last attempts ended after about as many clean trials: losses come in step, or the capacity falls.
    fn is_in_step(&self) -> bool {
        let Some(last) = self
            .failed
            .len()
            .checked_sub(IN_STEP)
            .map(|first| &self.failed[first..])
        else {
            return false;
        };
        let (shortest, longest) = (last.iter().min(), last.iter().max());
        shortest
            .zip(longest)
            .is_some_and(|(&a, &b)| a >= STEP_FROM && b - a <= 1 + a / 10)
    }

    /// How many widths the next load has to stay away from the lower and the upper bound: where several trials decide,
    /// bounds that creep on one side make the steps double.
    pub(super) fn distances(&self, target: &Target) -> (i64, i64) {
        if target.is_strict {
            return (1, 1);
        }
        let always = (self.moves - PATIENCE.1) / 2.0;
        let widths = |in_row: f64| {
            let doublings = always.max(in_row - PATIENCE.0).clamp(0.0, MOST_DOUBLINGS);
            doublings.exp2() as i64
        };
        (widths(self.lower_in_row), widths(self.upper_in_row))
    }

    /// The next trial, where too much was charged to go on choosing by the model.
    pub(super) fn plain_trial(&mut self, problem: &Problem, log: &TrialLog, target: &Target) -> Option<TrialInput> {
        let plain = self.plain.as_mut()?;
        Some(plain.next(problem, log, target))
    }

    /// Whether the goal has to do without an answer: its Measurer gives no trials that count.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// The load to stay at until its verdict is known, once nothing has moved for long.
    pub(super) fn commitment(
        &mut self,
        log: &TrialLog,
        target: &Target,
        open_goals: usize,
        planned: Load,
    ) -> Option<Load> {
        let verdict_s = target.odds.fresh_trials() * target.effective.low.max(target.effective.high);
        if self.idle_s < IDLE_LOADS * verdict_s * open_goals as f64 {
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

impl Default for PlainSearch {
    fn default() -> Self {
        Self {
            widths: FIRST_STEP,
            halves: false,
            at: None,
        }
    }
}

impl PlainSearch {
    /// The next trial: one load is measured to its verdict.
    fn next(&mut self, problem: &Problem, log: &TrialLog, target: &Target) -> TrialInput {
        let is_open = |load: &Load| log.verdict(*load, target.goal) == Verdict::Undecided;
        let load = self.at.filter(is_open).unwrap_or_else(|| self.load(problem, target));
        self.at = Some(load);
        let looked_at = !log.trials_at(load).is_empty();
        let duration = if looked_at {
            target.duration
        } else {
            target.exploring_duration()
        };
        probe::shorter_first(problem, log, target, TrialInput { load, duration })
    }

    /// So many widths below the upper bound, but no farther than the middle, and the middle once an attempt has held.
    fn load(&self, problem: &Problem, target: &Target) -> Load {
        let Some(upper) = target.upper else {
            return problem.max_load();
        };
        // A little less than the width, whatever the rounding.
        let width = problem.goals()[target.goal].target_width() * (1.0 - 1e-9);
        let below = upper.per_second() * (1.0 - width).powf(self.widths);
        let middle = target
            .lower
            .map(|lower| (lower.per_second() * upper.per_second()).sqrt());
        let per_second = match middle {
            Some(middle) if self.halves || !target.is_strict => middle,
            Some(middle) => middle.max(below),
            None => below,
        };
        Load::new(per_second).map_or(problem.min_load(), |load| load.max(problem.min_load()))
    }
}

/// How long a trial took: one that was stopped early, less than it counts.
fn run_seconds(result: &TrialResult) -> f64 {
    let counted = result.effective_duration().as_seconds();
    if !result.output.stopped_early {
        return counted;
    }
    counted.min(result.output.counts.sent() as f64 / result.input.load.per_second())
}

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::{Case, half, load};

    #[test]
    fn lower_bounds_that_creep_by_one_long_trial_each_make_the_steps_double() {
        let mut case = Case::new(half(), 60.0);
        let mut watch = Watch::default();
        let distances = (0..5).map(|step| {
            let at = 9e5 + 5e3 * f64::from(step);
            case.add_long(at, 0);
            for trial in case.log.trials_at(load(at)) {
                watch.spend(trial, false);
            }
            watch.follow(&case.log, &case.target);
            watch.distances(&case.target).0
        });
        assert_eq!(distances.collect::<Vec<_>>(), [1, 1, 2, 4, 8]);
    }

    /// Whether the plain search has begun after attempts of so many clean trials, each ended by a lossy one.
    fn is_plain_after(clean_trials: &[usize]) -> bool {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut watch = Watch::default();
        for (index, &clean) in clean_trials.iter().enumerate() {
            let at = 9e5 - 5e3 * index as f64;
            case.add(&vec![(at, 0); clean]);
            case.add(&[(at, 7)]);
            watch.follow(&case.log, &case.target);
        }
        watch.plain_trial(&case.problem, &case.log, &case.target).is_some()
    }

    #[test]
    fn attempts_that_end_in_step_make_the_plain_search_begin() {
        assert!(is_plain_after(&[6, 6, 6]));
        assert!(is_plain_after(&[1, 40, 42, 43]));
        assert!(!is_plain_after(&[6, 6]));
        assert!(!is_plain_after(&[6, 6, 9]));
        // What ended them at once was a limit.
        assert!(!is_plain_after(&[1, 1, 1]));
    }
}
