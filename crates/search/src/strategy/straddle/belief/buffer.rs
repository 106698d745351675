//! A queue that takes what is above the capacity until it is full: the shorter a trial, the higher the capacity that it
//! shows.

use super::knee::steep_knee;
use super::observation::Observation;

/// Steps that tell the capacities of two trials apart.
const APART: f64 = 1.0;
/// Units lost for each one above the capacity: no system is taken for a steeper one.
const STEEPEST: f64 = 2.0;

/// What the queue of a system holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Buffer {
    /// The time that the system takes to forward it.
    seconds: f64,
    /// The longest trials: what they show is the capacity.
    longest_s: f64,
    log_step: f64,
}

impl Buffer {
    pub(super) fn none(longest_s: f64, log_step: f64) -> Self {
        Self {
            seconds: 0.0,
            longest_s,
            log_step,
        }
    }

    /// Steps by which a trial of this duration shows the capacity higher than the longest ones do.
    pub(super) fn shift(&self, duration: f64) -> f64 {
        self.above(duration) - self.above(self.longest_s)
    }

    /// Puts a trial where the longest ones would lose as much.
    pub(super) fn correct(&self, seen: &mut Observation) {
        seen.position = seen.place - self.shift(seen.duration);
    }

    /// The same compared with a trial without end.
    fn above(&self, duration: f64) -> f64 {
        (self.seconds / duration).ln_1p() / self.log_step
    }

    /// The buffer that follows from trials which lost more than shorter ones lead to expect: none if one contradicts.
    pub(super) fn estimate(&self, seen: &[Observation]) -> Self {
        let none = Self::none(self.longest_s, self.log_step);
        self.explain(seen).unwrap_or(none)
    }

    fn explain(&self, seen: &[Observation]) -> Option<Self> {
        let lossy = || seen.iter().filter(|seen| seen.is_lossy());
        let shortest = lossy().map(|seen| seen.duration).reduce(f64::min)?;
        let longer = || seen.iter().filter(|seen| seen.duration > shortest);
        longer().next()?;
        let short: Vec<Observation> = seen.iter().filter(|seen| seen.duration <= shortest).copied().collect();
        let slope = steep_knee(&short, self.log_step, true).map_or(1.0, |knee| knee.slope);
        let lost = |seen: &Observation| 1.0 - (-seen.overload * self.log_step).exp();
        let shown = |seen: &Observation| seen.place + (1.0 - lost(seen) / slope).ln() / self.log_step;
        let near = short.iter().filter(|seen| seen.is_lossy());
        let near = shown(near.min_by(|a, b| a.overload.total_cmp(&b.overload))?);
        // What a soft system or a stray event takes is little.
        let tells = |seen: &Observation| seen.is_lossy() && seen.place - shown(seen) >= (near - shown(seen)) / 2.0;
        let seconds = longer()
            .filter(|seen| tells(seen) && near - shown(seen) > APART)
            .filter_map(|seen| {
                let ratio = ((near - shown(seen)) * self.log_step).exp();
                let seconds = (ratio - 1.0) / (1.0 / shortest - ratio / seen.duration);
                (seconds > 0.0).then_some(seconds)
            });
        let estimate = Self {
            seconds: seconds.reduce(f64::min)?,
            ..*self
        };
        let capacity = near - estimate.above(shortest);
        let agrees = |seen: &Observation| {
            let distance = seen.place - capacity - estimate.above(seen.duration);
            let most = STEEPEST * distance.max(0.0) + APART;
            seen.overload >= distance - APART && (seen.overload <= most || !seen.lost_much())
        };
        longer().all(agrees).then_some(estimate)
    }
}

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::Case;

    const CAPACITY: f64 = 3e5;

    /// Trials on a system that has a queue of this many seconds, and loses `slope` units for each one above the capacity.
    fn seen(buffer_s: f64, slope: f64, trials: &[(f64, f64)]) -> Vec<Observation> {
        let mut case = Case::new(Ratio::ZERO, 60.0);
        for &(load, duration_s) in trials {
            let queued = CAPACITY * buffer_s;
            let lost = slope * ((load - CAPACITY) * duration_s - queued).max(0.0);
            case.add_long(load, lost.round() as u64, duration_s);
        }
        case.seen
    }

    /// Milliseconds.
    fn estimated_ms(seen: &[Observation]) -> i64 {
        let buffer = Buffer::none(60.0, Case::new(Ratio::ZERO, 60.0).log_step()).estimate(seen);
        (1e3 * buffer.seconds).round() as i64
    }

    #[test]
    fn trials_of_two_durations_tell_the_buffer() {
        for buffer_ms in [20, 100, 500] {
            let buffer_s = buffer_ms as f64 / 1e3;
            let above = CAPACITY * (1.001 + buffer_s);
            let below = above * 0.995;
            let trials = seen(buffer_s, 1.0, &[(9e5, 1.0), (above, 1.0), (below, 1.0), (below, 7.5)]);
            assert_eq!(estimated_ms(&trials[..3]), 0);
            assert!(
                (estimated_ms(&trials) - buffer_ms).abs() <= 1,
                "{buffer_ms}: {}",
                estimated_ms(&trials)
            );
        }
    }

    #[test]
    fn a_steep_system_loses_more_in_long_trials_without_a_larger_buffer() {
        let trials = seen(
            0.2,
            1.5,
            &[(5e5, 1.0), (4e5, 1.0), (3.62e5, 1.0), (3.5e5, 1.0), (3.6e5, 7.5)],
        );
        assert!(
            (195..=205).contains(&estimated_ms(&trials)),
            "{}",
            estimated_ms(&trials)
        );
    }

    #[test]
    fn the_longest_trials_show_the_capacity_and_others_a_higher_one() {
        let buffer = Buffer {
            seconds: 0.1,
            ..Buffer::none(60.0, 0.005)
        };
        assert!(buffer.shift(60.0).abs() < 1e-12);
        let steps = (1.1_f64 / (1.0 + 0.1 / 60.0)).ln() / 0.005;
        assert!((buffer.shift(1.0) - steps).abs() < 1e-9);
    }

    #[test]
    fn no_buffer_follows_from_what_it_does_not_explain() {
        let sharp = seen(0.0, 1.0, &[(9e5, 1.0), (3.01e5, 1.0), (2.99e5, 1.0), (3.01e5, 7.5)]);
        assert_eq!(estimated_ms(&sharp), 0);
        let with_long = |trials: &[(f64, u64, f64)]| {
            let mut case = Case::new(Ratio::ZERO, 60.0);
            case.add(&[(9e5, 600_000), (3.01e5, 1_000), (2.99e5, 0)]);
            for &(load, lost, duration_s) in trials {
                case.add_long(load, lost, duration_s);
            }
            estimated_ms(&case.seen)
        };
        // A few units, as a soft system loses them.
        assert_eq!(with_long(&[(2.9e5, 7, 7.5)]), 0);
        // Much, and as much again farther down, as stalls take it.
        assert!(with_long(&[(2.99e5, 100_000, 7.5)]) > 0);
        assert_eq!(with_long(&[(2.99e5, 100_000, 7.5), (2.8e5, 100_000, 7.5)]), 0);
        // Nothing where there should be loss, as the capacity has risen.
        assert_eq!(with_long(&[(2.99e5, 100_000, 7.5), (2.98e5, 0, 7.5)]), 0);
    }
}
