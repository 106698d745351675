//! What failed attempts at lower bounds tell of the next ones, where a single high-loss trial ends them.
//!
//! On a system with rare losses chance ends attempts, and the next one is as good one width further down as anywhere:
//! there it is next to an upper bound. But where losses come so often that hardly any attempt will ever last, only a load
//! that most of them do not reach helps.

use super::observation::Observation;
use super::target::Target;

/// So many failed attempts in a row tell something, and so many of the last ones are looked at.
const FEWEST: usize = 4;
const LATEST: usize = 8;
/// Attempts at lower bounds of fewer trials are too short to tell anything.
const SHORTEST_BOUND: f64 = 8.0;
/// Attempts with fewer clean trials in the mean met a limit, not chance.
const CLEAN_BY_CHANCE: f64 = 2.0;
/// Attempts that ended after about as many clean trials, within this factor, were ended by time: the capacity falls.
/// Chance ends them anywhere. Shorter ones do not tell.
const STEADY_WITHIN: f64 = 1.5;
const STEADY_FROM: f64 = 4.0;
/// High-loss trials usually expected in as many as a lower bound takes, and how many seen ones that outweighs.
const USUAL: f64 = 1.5;
const USUAL_WEIGHT: f64 = 2.0;
/// When so many are expected, one attempt in thirty lasts ...
const HOPELESS: f64 = 3.5;
/// ... and with so many one in twelve.
const BEARABLE: f64 = 2.5;
/// A bearable load is looked for so many widths down.
const FARTHEST: i64 = 60;

/// How the next attempts will end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Prognosis {
    /// There is nothing to tell it from.
    Open,
    /// By chance, but so late that one of the next will last.
    Bearable,
    /// By chance, and so early that hardly any will last.
    Hopeless,
}

/// Clean trials of the attempts since the lower bound has moved, each ended by a lower upper bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts(Vec<f64>);

impl Attempts {
    pub(super) fn push(&mut self, clean_trials: f64) {
        self.0.push(clean_trials);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn prognosis(&self, target: &Target) -> Prognosis {
        let last = &self.0[self.0.len().saturating_sub(LATEST)..];
        let (failed, clean) = (last.len() as f64, last.iter().sum::<f64>());
        if !self.tell(target) || clean < CLEAN_BY_CHANCE * failed {
            Prognosis::Open
        } else if expected_failures(failed, failed + clean, target) > HOPELESS {
            Prognosis::Hopeless
        } else {
            Prognosis::Bearable
        }
    }

    /// How many widths the capacity falls while one load is measured to its verdict.
    pub(super) fn widths_lost_in_time(&self, target: &Target) -> i64 {
        if !self.tell(target) {
            return 1;
        }
        let last = &self.0[self.0.len() - FEWEST..];
        let [shortest, longest] = [f64::min, f64::max].map(|of| last.iter().copied().reduce(of).unwrap_or(0.0));
        let is_steady = shortest >= STEADY_FROM && longest <= STEADY_WITHIN * shortest;
        if is_steady {
            (target.odds.fresh_low() / shortest).ceil() as i64
        } else {
            1
        }
    }

    fn tell(&self, target: &Target) -> bool {
        target.is_strict && target.odds.fresh_low() >= SHORTEST_BOUND && self.0.len() >= FEWEST
    }
}

/// How many widths below an upper bound, at a position, attempts are bearable, going by how far down the losses seen so
/// far would have reached; 1 where those just below it are not hopeless, or none are better.
pub(super) fn widths_to_bearable(target: &Target, upper: f64, seen: &[Observation]) -> i64 {
    let expected = |widths: i64| {
        let position = upper - (widths * target.steps) as f64;
        let (failed, all) = as_if_at(position, target, seen);
        expected_failures(failed, all, target)
    };
    let is_hopeless = expected(1) > HOPELESS;
    let bearable = || (2..=FARTHEST).find(|&widths| expected(widths) <= BEARABLE);
    is_hopeless.then(bearable).flatten().unwrap_or(1)
}

/// High-loss trials expected in as many as a lower bound takes.
fn expected_failures(failed: f64, all: f64, target: &Target) -> f64 {
    let needed = target.odds.fresh_low();
    (failed + USUAL_WEIGHT) / (all + USUAL_WEIGHT / USUAL * needed) * needed
}

/// Of the trials at or above a position, those that would have been high-loss at it too, as each loses what exceeds the
/// capacity that it meets; and all.
fn as_if_at(position: f64, target: &Target, seen: &[Observation]) -> (f64, f64) {
    let (mut failed, mut all) = (0.0, 0.0);
    for trial in seen.iter().filter(|trial| trial.position >= position) {
        let fails = trial.overload - target.limit > trial.position - position;
        if fails {
            failed += 1.0;
        }
        if fails || trial.duration >= target.duration_s {
            all += 1.0;
        }
    }
    (failed, all)
}
