//! Where between two loads of the grid a capacity is to be.

use super::locate::Knee;
use super::observation::Observation;

/// The part of a step between the capacity that the first loss shows and the next load above. The rest is below, and
/// is to be the larger part, as lower bounds cost more than upper ones.
pub(super) const SPARE_ABOVE: f64 = 0.45;
/// How far the capacity of a steep system usually strays from second to second, as a share of it.
const USUAL_DEVIATION: f64 = 0.001;
/// How far above the load that is wanted next to a knee one may be that is an upper bound already, in steps.
const ALIGNED: f64 = 0.15;

/// The goals of which one high-loss trial makes an upper bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strict {
    /// What a lower bound takes.
    pub(super) seconds: f64,
    /// The highest loss ratio as overload in steps.
    pub(super) limit: f64,
}

/// Steps from the knee of a steep system to the next load above. The larger they are, the sooner the load above loses
/// enough to be a bound of all goals; the smaller, the likelier the load below never loses anything.
pub(super) fn spare_above_knee(knee: &Knee, log_step: f64, strict: Option<Strict>) -> f64 {
    let Some(strict) = strict else {
        return SPARE_ABOVE;
    };
    let usual = USUAL_DEVIATION / log_step;
    // With one more trial that strays as usual: half or twice as much is not believed of a few that agree by chance.
    let told = ((knee.squares + usual * usual) / (knee.trials + 1.0)).sqrt();
    if told < usual / 2.0 {
        let enough = (strict.limit / knee.slope).min(1.0);
        return f64::midpoint(enough, 1.0);
    }
    let deviation = if told > 2.0 * usual { told } else { usual };
    // So far the worst of so many seconds strays, from a knee that is not known better than by these trials.
    let worst = (2.0 * strict.seconds.max(1.0).ln()).sqrt() * deviation * (1.0 + 1.0 / knee.trials).sqrt();
    (1.0 - worst).max(SPARE_ABOVE)
}

/// Whether the grid is to stay although the knee is told anew: a load that is hardly above the one wanted next to it is
/// an upper bound of all goals already. The trial that makes it one tells the knee lower.
pub(super) fn is_settled(seen: &[Observation], wanted: f64, strict: Option<Strict>) -> bool {
    let limit = strict.map_or(0.0, |strict| strict.limit);
    seen.iter()
        .any(|seen| seen.overload > limit && seen.position < wanted + ALIGNED)
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, TrialOutput};

    use super::*;

    const LIMIT: f64 = 1.0;
    const SLOPE: f64 = 1.5;
    const LOG_STEP: f64 = 0.005;

    fn strict(seconds: f64) -> Strict {
        Strict { seconds, limit: LIMIT }
    }

    /// A knee that many trials told, which strays by so many steps.
    fn knee(deviation: f64) -> Knee {
        let trials = 100.0;
        Knee {
            position: 7.0,
            slope: SLOPE,
            trials,
            squares: trials * deviation * deviation,
        }
    }

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
    fn a_longer_lower_bound_gets_more_of_the_step() {
        let spare = |strict| spare_above_knee(&knee(0.2), LOG_STEP, strict);
        assert!(spare(Some(strict(60.0))) < spare(Some(strict(21.0))));
        assert!((spare(None) - SPARE_ABOVE).abs() < 1e-12);
    }

    #[test]
    fn both_loads_around_a_knee_that_strays_little_are_to_be_bounds_of_all_goals() {
        let spare = |knee: &Knee| spare_above_knee(knee, LOG_STEP, Some(strict(60.0)));
        // From here on more than the limit is lost.
        let enough = LIMIT / SLOPE;
        assert!(spare(&knee(0.01)) > enough + 0.05 && spare(&knee(0.01)) < 0.95);
        assert!(spare(&knee(0.2)) < enough);
        // A few trials say little of how far it strays: it may stray as usual.
        for trials in 1..4 {
            let few = Knee {
                trials: f64::from(trials),
                squares: 0.0,
                ..knee(0.0)
            };
            assert!(spare(&few) < enough);
        }
    }

    #[test]
    fn the_grid_follows_the_knee_until_the_load_above_is_an_upper_bound_of_all_goals() {
        let above = |overload: f64| trials(8.0, overload, 1);
        let strict = Some(strict(60.0));
        assert!(!is_settled(&above(LIMIT - 0.1), 8.0, strict));
        assert!(is_settled(&above(LIMIT + 0.1), 8.0, strict));
        assert!(is_settled(&above(LIMIT + 0.1), 8.4, strict));
        assert!(!is_settled(&above(LIMIT + 0.1), 8.0 - ALIGNED - 0.01, strict));
    }
}
