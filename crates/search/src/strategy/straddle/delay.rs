//! For one delay limit, a load above which trials are too slow. The curve knows loss only: a trial that was too slow
//! tells it nothing of how far the load is above the answer, so its amount of delay is not asked for either.

use brimful_trial::Nanoseconds;

use super::observation::Observation;
use super::threshold::{Outcome, Threshold};

/// Delay grows with the inverse of the distance from the capacity, at which the curve is centred. So the threshold is
/// as likely 1 to 2 % below it as 10 to 20 %; nearer than so many steps all positions are alike.
const NEAREST: f64 = 4.0;

pub(super) struct DelayThreshold {
    limit: Nanoseconds,
    threshold: Threshold,
}

impl DelayThreshold {
    pub(super) fn new(limit: Nanoseconds, centre: f64, range: (f64, f64)) -> Self {
        Self {
            limit,
            threshold: Threshold::new(centre, range, |offset| 1.0 / (NEAREST + offset.abs())),
        }
    }

    pub(super) fn limit(&self) -> Nanoseconds {
        self.limit
    }

    pub(super) fn threshold(&self) -> &Threshold {
        &self.threshold
    }

    pub(super) fn observe(&mut self, seen: &Observation) {
        let outcome = if seen.output.delay_exceeds(self.limit) {
            Outcome::High
        } else {
            Outcome::Low
        };
        self.threshold.observe(seen.position, outcome);
    }
}
