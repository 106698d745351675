//! From the odds that one trial is high-loss to the chance of a verdict and the trials that it takes.

use crate::{SearchGoal, Sums};

/// Keeps `10.5 / 1.5` at 7 trials.
const ROUNDING: f64 = 1e-9;
/// Beyond these odds nothing changes any more within a search.
const LARGEST_ODDS: f64 = 1e5;
/// Trials are counted in groups where more high-loss ones than this are needed.
const MOST_GROUPS: f64 = 40.0;

/// How many more full-length trials decide about a load: either low-loss ones or high-loss ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Needed {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A race for either verdict, ready to be run at any odds.
pub(super) struct Race {
    /// Trials that are taken for one ...
    group: f64,
    /// ... and how many of these are needed.
    low_needed: i32,
    high_needed: f64,
    /// By high-loss trials so far: how much likelier one more is, beside its own chance.
    ratios: Vec<f64>,
}

/// What is to be expected of a load at certain odds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Chance that it becomes a lower bound; otherwise it becomes an upper bound.
    pub(super) lower: f64,
    /// Trials until then.
    pub(super) trials: f64,
}

impl Needed {
    /// `None` where a lower bound is out of reach.
    pub(super) fn new(goal: &SearchGoal, sums: &Sums) -> Option<Self> {
        let trial_s = goal.final_trial_duration.as_seconds();
        let exceed = goal.exceed_ratio.as_f64();
        let whole = goal.duration_sum.as_seconds();
        let coefficient = exceed / (1.0 - exceed);
        let low = sums.full_low.as_seconds();
        let excess = sums.short_high.as_seconds() - coefficient * sums.short_low.as_seconds();
        let high = sums.full_high.as_seconds() + excess.max(0.0);
        if high > 0.0 && exceed <= 0.0 {
            return None;
        }
        let tolerated = if high > 0.0 { high / coefficient } else { 0.0 };
        let low_wanted = ((1.0 - exceed) * whole).max(tolerated);
        let high_wanted = (exceed * whole).max(coefficient * low);
        Some(Self {
            low: ((low_wanted - low) / trial_s - ROUNDING).ceil().max(1.0),
            high: ((high_wanted - high) / trial_s + ROUNDING).floor().max(0.0) + 1.0,
        })
    }

    /// What the odds of one trial do to it.
    pub(super) fn race(self) -> Race {
        let group = (self.high / MOST_GROUPS).max(1.0);
        let (low_needed, high_needed) = ((self.low / group).ceil(), (self.high / group).ceil());
        let ratio = |high: u32| (low_needed + f64::from(high)) / (f64::from(high) + 1.0);
        Race {
            group,
            low_needed: low_needed as i32,
            high_needed,
            ratios: (0..high_needed as u32).map(ratio).collect(),
        }
    }
}

impl Race {
    /// Trials follow a negative binomial distribution: the last one of a lower bound is low-loss.
    pub(super) fn outlook(&self, odds: f64) -> Outlook {
        let odds = odds.clamp(1.0 / LARGEST_ODDS, LARGEST_ODDS);
        let low_loss = 1.0 / (1.0 + odds);
        let high_loss = odds * low_loss;
        let mut chance = low_loss.powi(self.low_needed);
        let (mut lower, mut highs, mut high) = (0.0, 0.0, 0.0);
        for ratio in &self.ratios {
            lower += chance;
            highs += high * chance;
            chance *= high_loss * ratio;
            high += 1.0;
        }
        // Each trial is a high-loss one with the same chance, so that their mean numbers are in proportion.
        let trials = (highs + self.high_needed * (1.0 - lower)) / high_loss;
        Outlook {
            lower,
            trials: trials * self.group,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_high_loss_trial_ends_an_attempt_that_several_low_loss_ones_make() {
        let outlook = Needed { low: 21.0, high: 1.0 }.race().outlook(1.0 / 9.0);
        let clean = 0.9_f64.powi(21);
        assert!((outlook.lower - clean).abs() < 1e-12);
        assert!((outlook.trials - (1.0 - clean) / 0.1).abs() < 1e-9);
    }

    /// The same by trying both outcomes of each trial.
    fn one_by_one(low: u32, high: u32, high_loss: f64) -> (f64, f64) {
        if low == 0 || high == 0 {
            return (f64::from(u8::from(low == 0)), 0.0);
        }
        let (if_low, if_high) = (
            one_by_one(low - 1, high, high_loss),
            one_by_one(low, high - 1, high_loss),
        );
        let mean = |low: f64, high: f64| low + (high - low) * high_loss;
        (mean(if_low.0, if_high.0), 1.0 + mean(if_low.1, if_high.1))
    }

    #[test]
    fn the_sum_tells_what_trying_both_outcomes_of_each_trial_tells() {
        for (low, high) in [(1, 1), (7, 1), (1, 7), (6, 6), (9, 4)] {
            for high_loss in [0.001, 0.1, 0.5, 0.8, 0.999] {
                let needed = Needed {
                    low: f64::from(low),
                    high: f64::from(high),
                };
                let found = needed.race().outlook(high_loss / (1.0 - high_loss));
                let (lower, trials) = one_by_one(low, high, high_loss);
                assert!(
                    (found.lower - lower).abs() < 1e-9,
                    "{needed:?} {high_loss}: {found:?}, {lower}"
                );
                assert!(
                    (found.trials - trials).abs() < 1e-6,
                    "{needed:?} {high_loss}: {found:?}, {trials}"
                );
            }
        }
    }

    #[test]
    fn even_odds_make_a_race_of_equals() {
        let outlook = Needed { low: 2.0, high: 2.0 }.race().outlook(1.0);
        assert!((outlook.lower - 0.5).abs() < 1e-12);
        assert!((outlook.trials - 2.5).abs() < 1e-12);
        let long = Needed {
            low: 500.0,
            high: 500.0,
        }
        .race()
        .outlook(1.0);
        assert!(
            (long.lower - 0.5).abs() < 1e-9 && (900.0..1000.0).contains(&long.trials),
            "{long:?}"
        );
    }

    #[test]
    fn what_is_certain_takes_as_many_trials_as_are_needed() {
        let needed = Needed { low: 11.0, high: 7.0 };
        assert!((needed.race().outlook(0.0).trials - 11.0).abs() < 0.01);
        assert!((needed.race().outlook(1e9).trials - 7.0).abs() < 0.01);
    }
}
