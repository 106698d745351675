//! What a goal has spent on attempts that failed, and the plain search that takes over once it is too much.
//!
//! The bound, in units of V, the time that a load takes to its verdict, with n widths between the limits: while the model
//! chooses, attempts that fail cost what the account allows and one more, twice, the second time half of it. The plain
//! search goes down from the upper bound in steps that double until an attempt holds, log2(n) loads at most. Then the
//! model has its second chance. The second plain search also halves what is left, log2(n) loads more. Nothing here asks
//! what the losses were. But time that moves no bound is charged to nobody: a search that goes to and fro between loads
//! escapes the account, so this bounds failed attempts and not the whole search.

use brimful_trial::{Load, TrialInput, TrialResult};

use super::probe;
use super::target::Target;
use crate::{Problem, TrialLog, Verdict};

/// What may be spent on failed attempts before the plain search, in lower bounds: about what bisection takes where half
/// of its loads hold, and the others fail at once, or as late. Fitted on draws 1 to 500 of the random family.
const PRICE_STRICT: f64 = 4.0;
const PRICE: f64 = 8.0;
/// So many attempts may fail in a row, however cheap they are. Fitted on the same draws.
const FAILED_IN_ROW: f64 = 15.0;
/// The second time it is half as much of both.
const SECOND_TIME: f64 = 0.5;
/// Widths to the first load of a plain search.
const FIRST_STEP: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Since a bound of the goal has moved.
    pending_s: f64,
    /// At the lower bound.
    held_s: f64,
    failed_s: f64,
    failed_in_row: f64,
    plain: Option<PlainSearch>,
    is_second_time: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PlainSearch {
    /// Widths from the upper bound to the next attempt.
    widths: f64,
    halves: bool,
    at: Option<Load>,
}

impl Account {
    /// Enters a trial that was made for the goal.
    pub(super) fn spend(&mut self, result: &TrialResult) {
        self.pending_s += run_seconds(result);
    }

    /// Settles an attempt: the lower bound has moved, or the upper one.
    pub(super) fn settle(&mut self, target: &Target, holds: bool) {
        let attempt_s = std::mem::take(&mut self.pending_s);
        if holds {
            // The lower bound before was in vain.
            self.failed_s += std::mem::replace(&mut self.held_s, attempt_s);
            self.failed_in_row = 0.0;
        } else {
            self.failed_s += attempt_s;
            self.failed_in_row += 1.0;
        }
        match &mut self.plain {
            None => self.plain = self.is_overdrawn(target).then(PlainSearch::default),
            Some(plain) if !holds => plain.widths *= 2.0,
            Some(plain) if self.is_second_time || !target.is_strict => plain.halves = true,
            Some(_) => {
                *self = Self {
                    held_s: self.held_s,
                    is_second_time: true,
                    ..Self::default()
                };
            }
        }
    }

    /// The search that takes over from the model.
    pub(super) fn plain_search(&mut self) -> Option<&mut PlainSearch> {
        self.plain.as_mut()
    }

    fn is_overdrawn(&self, target: &Target) -> bool {
        let price = if target.is_strict { PRICE_STRICT } else { PRICE };
        let price_s = price * target.odds.fresh_low() * target.effective.low;
        let share = if self.is_second_time { SECOND_TIME } else { 1.0 };
        self.failed_s > share * price_s || self.failed_in_row >= share * FAILED_IN_ROW
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
    pub(super) fn next(&mut self, problem: &Problem, log: &TrialLog, target: &Target) -> TrialInput {
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
