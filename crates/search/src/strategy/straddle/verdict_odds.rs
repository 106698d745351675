//! From the odds that one trial is high-loss to the chances of a verdict and the trials that it takes.

use crate::{SearchGoal, Sums};

/// Odds are kept in steps of a factor of the square root of 2 ...
const BINS_PER_OCTAVE: f64 = 2.0;
/// ... from 2^-16 to 2^16: beyond, nothing changes any more within a search.
const OCTAVES: f64 = 16.0;
const LAST_BIN: i64 = (2.0 * OCTAVES * BINS_PER_OCTAVE) as i64;
const BINS: usize = (2.0 * OCTAVES * BINS_PER_OCTAVE) as usize + 1;
/// Trials are counted in groups where a table would have more rows than the square of this. A group counts as a single
/// trial, which makes a load look likelier to stay clean than it is: where one high-loss trial decides, a table has few
/// rows, and all trials are counted one by one.
const LARGEST_COUNT: usize = 40;

/// How many more trials of one length decide about a load: so many low-loss ones, or so many high-loss ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Needed {
    low: f64,
    high: f64,
}

/// Seconds that trials of a goal weigh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effective {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What is to be expected of a load at certain odds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outlook {
    /// Chance that it becomes a lower bound; otherwise it becomes an upper bound.
    pub(super) lower: f64,
    /// Trials until then.
    pub(super) trials: f64,
}

/// [`Outlook`]s by trials needed and odds, for one goal.
pub(super) struct VerdictOdds {
    low_counts: usize,
    high_counts: usize,
    /// How many trials count as one.
    group: f64,
    outlooks: Vec<Outlook>,
}

impl Needed {
    /// The trials that a load with these sums needs when each weighs so much.
    pub(super) fn new(goal: &SearchGoal, sums: &Sums, effective: Effective) -> Self {
        let exceed = goal.exceed_ratio.as_f64();
        let whole = goal.duration_sum.as_seconds();
        let coefficient = exceed / (1.0 - exceed);
        let low = sums.full_low.as_seconds();
        let excess = sums.short_high.as_seconds() - coefficient * sums.short_low.as_seconds();
        let high = sums.full_high.as_seconds() + excess.max(0.0);
        let low_wanted = if high <= 0.0 {
            (1.0 - exceed) * whole
        } else if exceed <= 0.0 {
            f64::INFINITY
        } else {
            ((1.0 - exceed) * whole).max(high / coefficient)
        };
        let high_wanted = (exceed * whole).max(coefficient * low);
        Self {
            low: ((low_wanted - low) / effective.low - ROUNDING).ceil().max(1.0),
            high: ((high_wanted - high) / effective.high + ROUNDING).floor().max(0.0) + 1.0,
        }
    }
}

/// Keeps `10.5 / 1.5` at 7 trials.
const ROUNDING: f64 = 1e-9;

impl VerdictOdds {
    /// A table for a goal whose trials weigh so much.
    pub(super) fn new(goal: &SearchGoal, effective: Effective) -> Self {
        let fresh = Needed::new(goal, &Sums::default(), effective);
        let largest = LARGEST_COUNT as f64;
        let group = ((fresh.low * fresh.high).sqrt() / largest).max(fresh.low.max(fresh.high) / largest.powi(2));
        let group = group.ceil().max(1.0);
        let low_counts = (fresh.low / group).ceil() as usize;
        let high_counts = (fresh.high / group).ceil() as usize;
        let mut table = Self {
            low_counts,
            high_counts,
            group,
            outlooks: vec![Outlook::default(); (low_counts + 1) * (high_counts + 1) * BINS],
        };
        table.fill();
        table
    }

    fn fill(&mut self) {
        for low in 0..=self.low_counts {
            for high in 0..=self.high_counts {
                for bin in 0..BINS {
                    let at = self.row(low, high) + bin;
                    self.outlooks[at] = match (low, high) {
                        (0, _) => Outlook {
                            lower: 1.0,
                            trials: 0.0,
                        },
                        (_, 0) => Outlook::default(),
                        _ => {
                            let high_loss = share_of_bin(bin);
                            let if_low = self.outlooks[self.row(low - 1, high) + bin];
                            let if_high = self.outlooks[self.row(low, high - 1) + bin];
                            let mean = |low: f64, high: f64| low + (high - low) * high_loss;
                            Outlook {
                                lower: mean(if_low.lower, if_high.lower),
                                trials: 1.0 + mean(if_low.trials, if_high.trials),
                            }
                        }
                    };
                }
            }
        }
    }

    fn row(&self, low: usize, high: usize) -> usize {
        (low * (self.high_counts + 1) + high) * BINS
    }

    /// The outlooks of a load that needs so many trials, by bin of [`bin_of_odds`], and what to multiply
    /// their trials by. `None` where a lower bound is out of reach.
    pub(super) fn outlooks(&self, needed: Needed) -> Option<(&[Outlook], f64)> {
        if !needed.low.is_finite() {
            return None;
        }
        let low = (needed.low / self.group).ceil();
        let high = (needed.high / self.group).ceil();
        let beyond = (low / self.low_counts as f64)
            .max(high / self.high_counts as f64)
            .max(1.0);
        let low = ((low / beyond).ceil() as usize).clamp(1, self.low_counts);
        let high = ((high / beyond).ceil() as usize).clamp(1, self.high_counts);
        let row = self.row(low, high);
        Some((&self.outlooks[row..row + BINS], self.group * beyond))
    }

    /// The outlooks of a load that was never measured.
    pub(super) fn fresh(&self) -> &[Outlook] {
        let row = self.row(self.low_counts, self.high_counts);
        &self.outlooks[row..row + BINS]
    }

    /// Low-loss trials that a fresh load needs.
    pub(super) fn fresh_low(&self) -> f64 {
        self.low_counts as f64 * self.group
    }
}

/// Which bin holds these odds. The exponent of a floating-point number is its logarithm.
pub(super) fn bin_of_odds(odds: f64) -> usize {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i64 = 1023;
    let half_octaves = (odds.to_bits() >> (MANTISSA_BITS - 1)).cast_signed() - 2 * BIAS;
    (half_octaves + (OCTAVES * BINS_PER_OCTAVE) as i64).clamp(0, LAST_BIN) as usize
}

/// The middle of a bin, as a share.
fn share_of_bin(bin: usize) -> f64 {
    let logarithm = (bin as f64 + 0.5) / BINS_PER_OCTAVE - OCTAVES;
    let odds = logarithm.exp2();
    odds / (1.0 + odds)
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Nanoseconds, Ratio};

    use super::*;
    use crate::strategy::straddle::case::{Case, half};

    #[test]
    fn a_load_that_one_trial_may_fail_stays_clean_as_often_as_independent_trials_do() {
        let seconds = |value: f64| Nanoseconds::from_seconds(value).unwrap();
        let mut goal = SearchGoal {
            name: "strict".to_owned(),
            loss_ratio: Ratio::ZERO,
            delay_limit: None,
            exceed_ratio: Ratio::ZERO,
            final_trial_duration: seconds(1.0),
            duration_sum: seconds(60.0),
            initial_trial_duration: seconds(1.0),
            width: None,
        };
        let high_loss: f64 = share_of_bin(bin_of_odds(0.03));
        let clean = |trials: i32| (1.0 - high_loss).powi(trials);
        for trials in [21, 60, 600] {
            goal.duration_sum = seconds(f64::from(trials));
            let found = VerdictOdds::new(&goal, Effective { low: 1.0, high: 1.0 }).fresh()[bin_of_odds(0.03)];
            assert!((found.lower - clean(trials)).abs() < 1e-9, "{trials}: {found:?}");
            assert!(
                (found.trials - (1.0 - clean(trials)) / high_loss).abs() < 1e-6,
                "{found:?}"
            );
        }
        goal.duration_sum = seconds(1e6);
        let table = VerdictOdds::new(&goal, Effective { low: 1.0, high: 1.0 });
        assert!(table.outlooks.len() < 4 * LARGEST_COUNT.pow(2) * BINS);
    }

    #[test]
    fn lossy_trials_that_weigh_more_are_fewer_for_an_upper_bound() {
        let goal = &Case::new(half(), 1.0).problem.goals()[0].clone();
        let counts = |high: f64| VerdictOdds::new(goal, Effective { low: 1.0, high }).high_counts;
        assert_eq!((counts(1.0), counts(1.5)), (31, 21));
    }
}
