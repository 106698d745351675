//! Where between two loads of the grid a capacity is to be.

use super::observation::Observation;

/// The part of a step between the capacity that the first loss shows and the next load above. The rest is below, and
/// is to be the larger part, as lower bounds cost more than upper ones.
pub(super) const SPARE_ABOVE: f64 = 0.45;
/// The same at the knee of a steep system for a lower bound of a second, where one high-loss trial makes an upper bound, so
/// that goals with and without loss may share both loads, and how much less it is for each factor of e that the lower
/// bound takes longer: the longer the load below has to stay clean, the more it needs of the step.
const STRICT_SPARE: f64 = 0.72;
const STRICT_SPARE_LESS: f64 = 0.075;
const STRICT_SPARE_LIMITS: (f64, f64) = (0.3, 0.6);
/// How far the grid may be from where a knee wants it, in steps ...
const ALIGNED: f64 = 0.15;
/// ... and in steps times the seconds of such a lower bound: a longer one is worth more care.
const ALIGNED_SECONDS: f64 = 6.0;
/// How far below a load that failed although the knee is above it the next lower bound is tried, in steps. A whole step
/// below it would be too far from an upper bound of the goals with loss, and they would need a lower bound of their own.
const BELOW_FAILURE: f64 = 0.15;
/// How far below the next lower bound such a load may be, in steps.
const NEAR_FAILURE: f64 = 0.5;
/// Clean trials at the load below the knee from which on the grid stays: they would be lost.
const BEGUN: usize = 2;
/// A load that loses after this share of its lower bound is worth finishing for the goals with loss.
const NEARLY_DONE: f64 = 0.6;
/// What trials at one load may differ by, in steps.
const SAME_LOAD: f64 = 1e-6;

/// Steps from the knee of a steep system to the next load above. `strict_seconds` is what a lower bound takes where
/// one high-loss trial makes an upper one.
pub(super) fn spare_above_knee(seen: &[Observation], knee: f64, strict_seconds: Option<f64>) -> f64 {
    let Some(seconds) = strict_seconds else {
        return SPARE_ABOVE;
    };
    let (least, most) = STRICT_SPARE_LIMITS;
    let spare = (STRICT_SPARE - STRICT_SPARE_LESS * seconds.ln()).clamp(least, most);
    let lossy = seen.iter().filter(|seen| seen.overload > 0.0).map(|seen| seen.position);
    let failed = lossy.filter(|&position| position < knee && position > knee + spare - 1.0 - NEAR_FAILURE);
    failed
        .map(|position| position - BELOW_FAILURE + 1.0 - knee)
        .fold(spare, f64::min)
}

/// Whether the grid is to stay although it is `off` steps from where a knee wants it. `below` is the position of the
/// load below the knee.
pub(super) fn is_settled(seen: &[Observation], below: f64, off: f64, strict_seconds: Option<f64>) -> bool {
    let Some(seconds) = strict_seconds else {
        return off < ALIGNED;
    };
    let there = seen.iter().filter(|seen| (seen.position - below).abs() < SAME_LOAD);
    let (clean, lossy): (Vec<&Observation>, Vec<&Observation>) = there.partition(|seen| seen.overload <= 0.0);
    let has_begun = lossy.is_empty() && clean.len() >= BEGUN;
    let is_nearly_done =
        !lossy.is_empty() && clean.iter().map(|seen| seen.duration).sum::<f64>() > NEARLY_DONE * seconds;
    has_begun || is_nearly_done || off < ALIGNED.min(ALIGNED_SECONDS / seconds)
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, TrialOutput};

    use super::*;

    fn trials(position: f64, overload: f64, count: usize) -> Vec<Observation> {
        let output = TrialOutput {
            counts: Counts::new(1, 1, 0).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        let one = Observation {
            position,
            units_per_step: 1e4,
            duration: 1.0,
            overload,
            is_repeated: false,
            output,
        };
        vec![one; count]
    }

    #[test]
    fn a_longer_lower_bound_gets_more_of_the_step() {
        let spare = |strict_seconds| spare_above_knee(&[], 7.0, strict_seconds);
        assert!(spare(Some(60.0)) < spare(Some(21.0)));
        assert!((spare(None) - SPARE_ABOVE).abs() < 1e-12);
    }

    #[test]
    fn the_next_lower_bound_is_below_one_that_failed_under_the_knee() {
        let below = |lossy: f64| {
            let seen = trials(lossy, 0.1, 1);
            7.0 + spare_above_knee(&seen, 7.0, Some(60.0)) - 1.0
        };
        let usual = below(7.2);
        assert!((below(usual + 0.05) - (usual - 0.1)).abs() < 1e-9);
        assert!((below(usual + BELOW_FAILURE + 0.1) - usual).abs() < 1e-9);
        assert!((below(usual - NEAR_FAILURE - 0.1) - usual).abs() < 1e-9);
    }

    #[test]
    fn the_grid_stays_where_a_lower_bound_has_begun_and_moves_once_it_fails() {
        let begun = trials(7.0, 0.0, 2);
        assert!(is_settled(&begun, 7.0, 0.3, Some(60.0)));
        assert!(!is_settled(&begun, 6.0, 0.3, Some(60.0)));
        assert!(!is_settled(&begun, 7.0, 0.3, None));
        let failed = [begun, trials(7.0, 0.1, 1)].concat();
        assert!(!is_settled(&failed, 7.0, 0.3, Some(60.0)));
        let failed_late = [failed, trials(7.0, 0.0, 40)].concat();
        assert!(is_settled(&failed_late, 7.0, 0.3, Some(60.0)));
    }
}
