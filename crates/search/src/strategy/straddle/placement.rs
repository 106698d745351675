//! Where between two loads of the grid a capacity is to be.

use super::locate::Knee;
use super::observation::Observation;

/// The part of a step between the capacity that the first loss shows and the next load above. The rest is below, and
/// is to be the larger part, as lower bounds cost more than upper ones.
const SPARE_ABOVE: f64 = 0.45;
/// The same where one high-loss trial ends an attempt at a lower bound: a second of slightly less capacity is enough,
/// while the load above at worst takes one more trial to lose something.
const SPARE_ABOVE_STRICT: f64 = 0.3;
/// What it may be at the knee of a steep system where one high-loss trial makes an upper bound, in hundredths of a step.
const STRICT_SPARES: std::ops::RangeInclusive<u8> = 20..=90;
/// How far the capacity of such a system may stray from second to second, as shares of it, and how likely that is at
/// first. The usual one is believed until several trials agree that it is another: a lower bound begun too high is lost,
/// while trials above the knee teach.
const DEVIATIONS: [(f64, f64); 6] = [
    (0.000_125, 0.001),
    (0.000_25, 0.001),
    (0.000_5, 0.001),
    (0.001, 0.995),
    (0.002, 0.001),
    (0.004, 0.001),
];
/// Chances below this one are as good as none.
const NO_CHANCE: f64 = 1e-9;
/// How far the grid may be from where a knee wants it, in steps, where several trials decide, and how far above it where
/// the load above is an upper bound of all goals already.
const ALIGNED: f64 = 0.15;
/// What trials at one load may differ by, in steps.
const SAME_LOAD: f64 = 1e-6;

/// The goals of which one high-loss trial makes an upper bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strict {
    /// What a lower bound takes, and a full-length trial.
    pub(super) seconds: f64,
    pub(super) trial_seconds: f64,
    /// The highest loss ratio as overload in steps.
    pub(super) limit: f64,
}

/// Steps from the capacity that the first loss shows to the next load above.
pub(super) fn spare_above_capacity(strict: Option<Strict>) -> f64 {
    strict.map_or(SPARE_ABOVE, |_| SPARE_ABOVE_STRICT)
}

/// Steps from the knee of a steep system to the next load above.
pub(super) fn spare_above_knee(knee: &Knee, log_step: f64, strict: Option<Strict>) -> f64 {
    strict.map_or(SPARE_ABOVE, |strict| cheapest_spare(knee, log_step, strict))
}

/// Where the loads on both sides of the knee become bounds of all goals soonest: the lower the grid, the longer the upper
/// load takes to lose enough; the higher, the likelier the lower one fails.
fn cheapest_spare(knee: &Knee, log_step: f64, strict: Strict) -> f64 {
    let spares = || STRICT_SPARES.step_by(2).map(|hundredths| f64::from(hundredths) / 100.0);
    let likelihoods = DEVIATIONS.map(|(share, _)| log_likelihood(knee, share / log_step));
    let likeliest = likelihoods.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let beliefs = std::array::from_fn::<_, { DEVIATIONS.len() }, _>(|index| {
        let (share, prior) = DEVIATIONS[index];
        let weight = prior * (likelihoods[index] - likeliest).exp();
        // The knee is not known better than this.
        let deviation = share / log_step * (1.0 + 1.0 / knee.trials).sqrt();
        let again = spares().map(|spare| Attempt::new(knee, spare, deviation, strict).until_success());
        (weight, deviation, again.fold(f64::INFINITY, f64::min))
    });
    let seconds = |spare: f64| -> f64 {
        let each = beliefs.map(|(weight, deviation, again)| {
            let attempt = Attempt::new(knee, spare, deviation, strict);
            weight * (attempt.seconds + (1.0 - attempt.holds) * again)
        });
        each.iter().sum()
    };
    let cheapest = spares()
        .map(|spare| (seconds(spare), spare))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    cheapest.map_or(SPARE_ABOVE, |(_, spare)| spare)
}

/// Of what the trials told about a knee, around its unknown position, if it strays by so many steps.
fn log_likelihood(knee: &Knee, deviation: f64) -> f64 {
    (1.0 - knee.trials) * deviation.ln() - knee.squares / (2.0 * deviation * deviation)
}

/// What it takes to make bounds of the two loads around a knee.
struct Attempt {
    seconds: f64,
    /// The chance that the lower load loses nothing.
    holds: f64,
}

impl Attempt {
    fn new(knee: &Knee, spare: f64, deviation: f64, strict: Strict) -> Self {
        let below = |steps: f64| (0.5 * libm::erfc(-steps / deviation / std::f64::consts::SQRT_2)).max(NO_CHANCE);
        let high_loss = below(spare - strict.limit / knee.slope);
        // Where the upper load never loses enough, the goals with loss need a lower bound of their own.
        let upper = (strict.trial_seconds * (1.0 - high_loss) / high_loss).min(strict.seconds);
        let loss_each_second = below(spare - 1.0);
        let holds = (1.0 - loss_each_second).powf(strict.seconds).max(NO_CHANCE);
        Self {
            seconds: upper + (1.0 - holds) / loss_each_second,
            holds,
        }
    }

    /// Seconds when what failed is attempted again in the same way.
    fn until_success(&self) -> f64 {
        self.seconds / self.holds
    }
}

/// Whether the grid is to stay although it is `off` steps above where a knee wants it. `above` is the position of the
/// load above the knee.
pub(super) fn is_settled(seen: &[Observation], above: f64, off: f64, strict: Option<Strict>) -> bool {
    let Some(Strict { limit, .. }) = strict else {
        return off.abs() < ALIGNED;
    };
    let is_upper_bound = |seen: &Observation| (seen.position - above).abs() < SAME_LOAD && seen.overload > limit;
    // The knee is told lower by the very trial that makes the upper bound.
    off < ALIGNED && seen.iter().any(is_upper_bound)
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, TrialOutput};

    use super::*;

    const LIMIT: f64 = 1.0;
    const SLOPE: f64 = 1.5;
    const LOG_STEP: f64 = 0.005;

    fn strict(seconds: f64) -> Strict {
        Strict {
            seconds,
            trial_seconds: 1.0,
            limit: LIMIT,
        }
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
        let spare = |deviation: f64| spare_above_knee(&knee(deviation), LOG_STEP, Some(strict(60.0)));
        // From here on more than the limit is lost.
        let enough = LIMIT / SLOPE;
        assert!(spare(0.01) > enough + 0.05 && spare(0.01) < 0.95, "{}", spare(0.01));
        assert!(spare(0.2) < enough, "{}", spare(0.2));
        // One trial says nothing of how far it strays: it may stray as usual.
        let once = Knee {
            trials: 1.0,
            squares: 0.0,
            ..knee(0.01)
        };
        assert!(spare_above_knee(&once, LOG_STEP, Some(strict(60.0))) < enough);
    }

    #[test]
    fn the_chosen_spare_costs_least_of_all_where_the_deviation_is_known() {
        let deviation = 0.2;
        let chosen = spare_above_knee(&knee(deviation), LOG_STEP, Some(strict(60.0)));
        let seconds = |spare: f64| Attempt::new(&knee(deviation), spare, deviation, strict(60.0)).until_success();
        for spare in STRICT_SPARES {
            let spare = f64::from(spare) / 100.0;
            assert!(seconds(chosen) < 1.02 * seconds(spare), "{chosen} {spare}");
        }
    }

    #[test]
    fn hundreds_of_trials_tell_how_far_a_knee_strays() {
        let spare = |deviation: f64| {
            let knee = Knee {
                trials: 500.0,
                squares: 500.0 * deviation * deviation,
                ..knee(0.2)
            };
            spare_above_knee(&knee, LOG_STEP, Some(strict(600.0)))
        };
        assert!(spare(0.0) > LIMIT / SLOPE && spare(0.2) < LIMIT / SLOPE);
    }

    #[test]
    fn the_grid_follows_the_knee_until_the_load_above_is_an_upper_bound_of_all_goals() {
        let above = |overload: f64| trials(8.0, overload, 1);
        assert!(!is_settled(&above(LIMIT - 0.1), 8.0, 0.01, Some(strict(60.0))));
        assert!(is_settled(&above(LIMIT + 0.1), 8.0, 0.01, Some(strict(60.0))));
        assert!(is_settled(&above(LIMIT + 0.1), 8.0, -0.4, Some(strict(60.0))));
        assert!(!is_settled(
            &above(LIMIT + 0.1),
            8.0,
            ALIGNED + 0.01,
            Some(strict(60.0))
        ));
        assert!(!is_settled(&above(LIMIT + 0.1), 7.5, 0.01, Some(strict(60.0))));
        assert!(is_settled(&[], 8.0, ALIGNED - 0.01, None));
    }
}
