//! Where between two loads of the grid a capacity is to be.

use super::observation::Observation;

/// The part of a step between the capacity that the first loss shows and the next load above. The rest is below, and
/// is to be the larger part, as lower bounds cost more than upper ones.
pub(super) const SPARE_ABOVE: f64 = 0.45;
/// How far above the load that is wanted next to a knee one may be that is an upper bound already, in steps.
const ALIGNED: f64 = 0.15;

/// Whether the grid is to stay although the knee is told anew: a load that is hardly above the one wanted next to it is
/// an upper bound of all goals already. The trial that makes it one tells the knee lower.
pub(super) fn is_settled(seen: &[Observation], wanted: f64, limit: Option<f64>) -> bool {
    let limit = limit.unwrap_or(0.0);
    seen.iter()
        .any(|seen| seen.overload > limit && seen.position < wanted + ALIGNED)
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, TrialOutput};

    use super::*;

    const LIMIT: f64 = 1.0;

    fn trials(position: f64, overload: f64, count: usize) -> Vec<Observation> {
        let output = TrialOutput {
            counts: Counts::new(1, 1, 0).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        let one = Observation {
            place: position,
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
    fn the_grid_follows_the_knee_until_the_load_above_is_an_upper_bound_of_all_goals() {
        let above = |overload: f64| trials(8.0, overload, 1);
        let strict = Some(LIMIT);
        assert!(!is_settled(&above(LIMIT - 0.1), 8.0, strict));
        assert!(is_settled(&above(LIMIT + 0.1), 8.0, strict));
        assert!(is_settled(&above(LIMIT + 0.1), 8.4, strict));
        assert!(!is_settled(&above(LIMIT + 0.1), 8.0 - ALIGNED - 0.01, strict));
    }
}
