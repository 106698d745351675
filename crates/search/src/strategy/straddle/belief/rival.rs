//! The rival of the curve: for one loss ratio, a load above which trials are high-loss. It takes over from the curve as
//! far as it foretells better.

use super::observation::Observation;
use super::threshold::{Limit, Outcome, SampledThreshold, Threshold};

/// Odds against the rival before anything is measured.
const PRIOR_ODDS: f64 = 4.0;
/// The same where trials of different lengths are made, of which only the curve knows how they compare.
const PRIOR_ODDS_SHORT: f64 = 50.0;
/// What a single trial may say for or against it.
const LARGEST_VOTE: f64 = 2.0;
/// How fast old votes fade.
const MEMORY: f64 = 0.97;

pub(super) struct Rival {
    limit: Limit,
    threshold: Threshold,
    /// Logarithm of how much better than the curve it has foretold.
    score: f64,
}

impl Rival {
    pub(super) fn new(limit: Limit, centre: f64, range: (f64, f64)) -> Self {
        Self {
            limit,
            threshold: Threshold::new(centre, range, |_| 1.0),
            score: 0.0,
        }
    }

    /// Evenly drawn thresholds.
    pub(super) fn draw(&self, count: usize) -> Vec<SampledThreshold> {
        self.threshold.draw(count)
    }

    /// How much it is to be believed instead of the curve.
    pub(super) fn belief(&self) -> f64 {
        let against = if self.limit.has_short {
            PRIOR_ODDS_SHORT
        } else {
            PRIOR_ODDS
        };
        1.0 / (1.0 + against * (-self.score).exp())
    }

    /// Learns from a trial for which the curve saw this chance of high loss. That a short trial was clean says little of
    /// longer ones: it may speak against the curve, but not for it.
    pub(super) fn observe(&mut self, seen: &Observation, curve_high: f64) {
        let is_high = seen.overload > self.limit.overload;
        let outcome = match is_high {
            true => Outcome::High,
            false if seen.duration < self.limit.full_s => Outcome::ShortLow,
            false => Outcome::Low,
        };
        let high = self.threshold.observe(seen.position, outcome);
        let chance = |high: f64| if is_high { high } else { 1.0 - high }.max(1e-3);
        let vote = chance(high).ln() - chance(curve_high).ln();
        if !matches!(outcome, Outcome::ShortLow) || vote > 0.0 {
            self.score = MEMORY * self.score + vote.clamp(-LARGEST_VOTE, LARGEST_VOTE);
        }
    }
}
