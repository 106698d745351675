//! What keeps a search short where the model of the curve is wrong.
//!
//! The model may promise a verdict a little further down again and again, or hop between loads without finishing any.
//! So every goal is watched: bounds that creep make the steps to the next load double, unless chance ends the attempts
//! there, many moved bounds end in plain bisection, time without a moved bound ends in measuring one load to its verdict,
//! and attempts that time ends, or that hardly ever last, make the next one start lower. Behind all of it stands an
//! account of what failed attempts have cost, and a plain search.

use brimful_trial::{Load, TrialInput, TrialResult};

use super::account::Account;
use super::attempts::{Attempts, Prognosis, widths_to_bearable};
use super::observation::Observation;
use super::target::Target;
use crate::grid::LoadGrid;
use crate::{Problem, TrialLog, Verdict};

/// A bound may move by a single width so often in a row on one side, and so often altogether.
const PATIENCE: (f64, f64) = (2.0, 8.0);
/// The same for goals that one high-loss trial ends.
const PATIENCE_STRICT: (f64, f64) = (4.0, 12.0);
/// The same on one side for attempts of which hardly any will last.
const PATIENCE_HOPELESS: f64 = 1.5;
const MOST_DOUBLINGS: f64 = 40.0;
/// The share of a move that counts at least.
const CHEAPEST: f64 = 0.04;
/// Loads that could have been measured to their verdicts since a bound has moved.
const IDLE_LOADS: f64 = 3.0;
/// Trials at one load, as a multiple of what forces a verdict, before a goal is given up.
const EXCESS: f64 = 4.0;

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
    attempts: Attempts,
    account: Account,
    is_given_up: bool,
}

impl Watch {
    /// Takes notice of the bounds as they are now.
    pub(super) fn follow(&mut self, log: &TrialLog, target: &Target) {
        let (is_lower_new, is_upper_new) = (self.lower != target.lower, self.upper != target.upper);
        // A bound that moved for the price of a single trial hardly counts, unless it takes no more.
        let whole = if is_lower_new {
            target.odds.fresh_low()
        } else {
            target.odds.unanimous_trials()
        };
        let price = (self.idle_seconds / (whole * target.effective.low)).clamp(CHEAPEST, 1.0);
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
            self.account.settle(target, is_lower_new);
            self.moves += price;
            self.idle_seconds = 0.0;
            self.committed = None;
            (self.lower, self.upper) = (target.lower, target.upper);
        }
    }

    /// Takes notice of a trial and whether it was made for this goal.
    pub(super) fn spend(&mut self, result: &TrialResult, is_own: bool) {
        self.idle_seconds += result.effective_duration().as_seconds();
        if is_own {
            self.account.spend(result);
        }
    }

    /// The next trial, where failed attempts have cost too much to go on choosing by the model.
    pub(super) fn plain_trial(&mut self, problem: &Problem, log: &TrialLog, target: &Target) -> Option<TrialInput> {
        let plain = self.account.plain_search()?;
        Some(plain.next(problem, log, target))
    }

    /// Whether the goal has to do without an answer: its Measurer gives no trials that count.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// How many widths the next load has to stay away from the lower and the upper bound.
    pub(super) fn distances(&self, target: &Target, scale: &LoadGrid, seen: &[Observation]) -> (i64, i64) {
        let (one_side, altogether) = if target.is_strict { PATIENCE_STRICT } else { PATIENCE };
        let always = (self.moves - altogether) / 2.0;
        let widths = |in_row: f64, patience: f64| {
            let doublings = always.max(in_row - patience).clamp(0.0, MOST_DOUBLINGS);
            doublings.exp2() as i64
        };
        let below = match self.attempts.prognosis(target) {
            Prognosis::Open => widths(self.upper_in_row, one_side),
            Prognosis::Bearable => 1,
            Prognosis::Hopeless => {
                let upper = target.upper.map(|upper| scale.position(upper.per_second()));
                let bearable = upper.map_or(1, |upper| widths_to_bearable(target, upper, seen));
                widths(self.upper_in_row, PATIENCE_HOPELESS).max(bearable)
            }
        };
        let below = below.max(self.attempts.widths_lost_in_time(target));
        (widths(self.lower_in_row, one_side), below)
    }

    /// The load to stay at until its verdict is known, once nothing has moved for long.
    pub(super) fn commitment(
        &mut self,
        log: &TrialLog,
        target: &Target,
        open_goals: usize,
        planned: Load,
    ) -> Option<Load> {
        let verdict_seconds = target.odds.fresh_trials() * target.effective.low.max(target.effective.high);
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

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::{Case, half, load};

    /// Enters all trials at a load, made for another goal: the account stays as it is.
    fn spend(watch: &mut Watch, case: &Case, at: f64) {
        for trial in case.log.trials_at(load(at)) {
            watch.spend(trial, false);
        }
    }

    #[test]
    fn lower_bounds_that_creep_by_one_long_trial_each_make_the_steps_double() {
        let mut case = Case::new(half(), 60.0);
        let mut watch = Watch::default();
        let distances = (0..5).map(|step| {
            let at = 9e5 + 5e3 * f64::from(step);
            case.add_long(at, 0);
            spend(&mut watch, &case, at);
            watch.follow(&case.log, &case.target);
            watch.distances(&case.target, &case.grid, &case.seen).0
        });
        assert_eq!(distances.collect::<Vec<_>>(), [1, 1, 2, 4, 8]);
    }

    /// How far from the upper bound the next load stays after attempts of so many clean trials, each ended by a trial
    /// that lost a share of what it sent.
    fn distance_after(final_trial_s: f64, clean_trials: &[usize], lost: f64) -> i64 {
        let mut case = Case::new(Ratio::ZERO, final_trial_s);
        let mut watch = Watch::default();
        for (index, &clean) in clean_trials.iter().enumerate() {
            let at = 9e5 - 5e3 * index as f64;
            case.add(&vec![(at, 0); clean]);
            case.add(&[(at, (at * lost) as u64)]);
            spend(&mut watch, &case, at);
            watch.follow(&case.log, &case.target);
        }
        watch.distances(&case.target, &case.grid, &case.seen).1
    }

    /// Not so steady that the capacity seems to fall.
    fn attempts(clean: usize) -> Vec<usize> {
        (0..24).map(|index| clean * (1 + index % 4)).collect()
    }

    #[test]
    fn attempts_that_chance_ends_late_leave_the_steps_single() {
        // Of 60 trials, 20 and 7 in the mean.
        assert_eq!(distance_after(1.0, &attempts(8), 1e-4), 1);
        assert!(distance_after(1.0, &attempts(3), 1e-4) > 1);
        // A lower bound of one long trial: the short ones before it tell nothing.
        assert!(distance_after(60.0, &attempts(8), 1e-4) > 1);
    }

    #[test]
    fn after_hopeless_attempts_the_next_one_stays_below_most_losses_seen() {
        let few = [3, 1, 4, 2];
        assert_eq!(distance_after(1.0, &few, 1e-4), 1);
        // 20 % are some 44 widths, of which the upper bound has gone three.
        let far = distance_after(1.0, &few, 0.2);
        assert!((35..=45).contains(&far), "{far}");
        // Single losses so deep say little where attempts mostly last.
        assert_eq!(distance_after(1.0, &[20, 35, 28, 15], 0.2), 1);
    }

    #[test]
    fn attempts_that_time_ends_make_the_next_one_start_lower() {
        let distance = |clean_trials: [usize; 4]| distance_after(1.0, &clean_trials, 1e-4);
        assert_eq!(distance([10, 11, 12, 10]), 6);
        assert_eq!(distance([10, 11, 12, 30]), 1);
        assert_eq!(distance([1, 1, 1, 1]), 1);
    }
}
