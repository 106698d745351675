//! What a loss curve may look like around its position: how loss sets in there, and how steeply it grows.

use std::sync::LazyLock;

use super::observation::Observation;

/// Chance that a trial is clean although the curve says otherwise.
pub(super) const FLUKE: f64 = 0.001;
/// Values of softness in an octave, where it is likely.
const SOFT_PER_OCTAVE: i32 = 8;
/// An onset of less looks sharp, in steps; one of more looks like stray losses, in widths.
const LEAST_SOFTNESS: f64 = 0.1;
const MOST_SOFTNESS: f64 = 12.0;

/// What a trial tells of a shape.
pub(super) struct Learnt {
    /// Chance of any loss.
    pub(super) lossy: f64,
    /// How likely the outcome was by overload alone.
    pub(super) likelihood: f64,
    /// How likely it was with stray losses.
    pub(super) with_stray: f64,
}

/// How loss sets in around the position.
#[derive(Clone, Copy, Debug)]
enum Onset {
    /// At once, but where changes from trial to trial by about this many steps.
    Jitter(f64),
    /// By a factor of e in this many steps.
    Soft(f64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    onset: Onset,
    slope: f64,
    pub(super) prior: f64,
    log_step: f64,
}

/// What the curve says of a trial before it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedTrial {
    /// Where on the grid.
    pub(super) position: f64,
    /// Units lost by an overload of one step.
    pub(super) units_per_step: f64,
    /// The overload above which it is high-loss; 0 for a goal without loss.
    pub(super) limit: f64,
}

impl PlannedTrial {
    /// Another trial like one that was made.
    pub(super) fn of(seen: &Observation, limit: f64) -> Self {
        Self {
            position: seen.position,
            units_per_step: seen.units_per_step,
            limit,
        }
    }
}

impl Shape {
    /// Steps; `None` where loss sets in at once.
    pub(super) fn softness(&self) -> Option<f64> {
        match self.onset {
            Onset::Jitter(_) => None,
            Onset::Soft(softness) => Some(softness),
        }
    }

    /// Single units lost at a soft onset are lost by chance, and a capacity that strays this far is another one for
    /// each trial.
    pub(super) fn is_independent(&self, limit: f64) -> bool {
        match self.onset {
            Onset::Jitter(deviation) => deviation >= FAR_STEPS,
            Onset::Soft(_) => limit <= 0.0,
        }
    }

    /// Steps of overload of a load `distance` above the position.
    fn overload(&self, distance: f64) -> f64 {
        match self.onset {
            Onset::Jitter(_) => self.slope * distance.max(0.0),
            Onset::Soft(softness) => {
                // Loss falls off with the load itself below the position, not with its logarithm.
                let linear = if distance < 0.0 {
                    distance / (1.0 - 0.5 * self.log_step * distance)
                } else {
                    distance
                };
                self.slope * softness * softplus(linear / softness)
            }
        }
    }

    /// The odds that a trial is high-loss.
    pub(super) fn odds(&self, trial: &PlannedTrial, position: f64) -> f64 {
        let distance = trial.position - position;
        self.odds_at(trial, distance, self.overload(distance))
    }

    /// The odds that a trial is high-loss which is this far above the position and has this overload on average.
    fn odds_at(&self, trial: &PlannedTrial, distance: f64, overload: f64) -> f64 {
        match self.onset {
            Onset::Jitter(deviation) => heavy_odds((distance - trial.limit / self.slope) / deviation),
            Onset::Soft(_) if trial.limit > 0.0 => {
                heavy_odds((overload - trial.limit) / (SOFT_DEVIATION * (1.0 + trial.limit)))
            }
            Onset::Soft(_) => loss_odds(overload * trial.units_per_step),
        }
    }

    /// Compares a trial with this shape at a position. If it lost something, stray losses leave a chance to overload, and
    /// explain the loss with a density.
    #[inline]
    pub(super) fn learn(&self, position: f64, seen: &Observation, by_stray: Option<(f64, f64)>) -> Learnt {
        let distance = seen.position - position;
        let overload = self.overload(distance);
        let lossy = chance(self.odds_at(&PlannedTrial::of(seen, 0.0), distance, overload));
        let Some((left, density)) = by_stray else {
            let likelihood = 1.0 - lossy + FLUKE;
            return Learnt {
                lossy,
                likelihood,
                with_stray: likelihood,
            };
        };
        let rough = |deviation: f64| deviation + ROUGH * overload + LEAST_DEVIATION;
        let (deviation, excess) = match self.onset {
            Onset::Jitter(deviation) => (deviation, (distance - seen.overload / self.slope) / deviation),
            Onset::Soft(_) => {
                // Few lost units say little about the mean.
                let deviation = overload / (1.0 + overload * seen.units_per_step).sqrt();
                (deviation, (overload - seen.overload) / rough(deviation))
            }
        };
        let likelihood = lossy * self.density(seen, distance, overload, (deviation, rough(deviation)));
        Learnt {
            lossy,
            likelihood,
            // Overload takes no more than was lost.
            with_stray: left * likelihood + density * (1.0 - chance(heavy_odds(excess))),
        }
    }

    /// How likely it is to lose as much, by logarithm of the overload, if anything is lost. The overload strays by the
    /// deviation, and sometimes by a rough one.
    fn density(&self, seen: &Observation, distance: f64, overload: f64, (deviation, rough): (f64, f64)) -> f64 {
        if seen.is_repeated {
            return 1.0;
        }
        let missed = seen.overload - overload;
        let density = |deviation: f64| {
            seen.overload * deviation / (std::f64::consts::PI * (deviation * deviation + missed * missed))
        };
        let rough = if self.slope < 1.0 && (overload..distance).contains(&seen.overload) {
            // Farther up more and more queues are full: it may be anything up to the whole overload.
            1.0 / (1.0 / self.slope).ln()
        } else {
            density(rough)
        };
        0.6 * density(deviation + EXACT * overload + LEAST_DEVIATION) + 0.4 * rough
    }
}

/// How far the loss of a soft system strays around its mean where it matters: of a step, and of the limit.
const SOFT_DEVIATION: f64 = 0.1;

/// What amounts differ by from what the curve says, as a share of it: mostly little, sometimes much.
const EXACT: f64 = 0.05;
const ROUGH: f64 = 0.3;
/// Keeps densities finite, in steps.
const LEAST_DEVIATION: f64 = 1e-9;

/// The odds that something is lost when `mean` units are expected: between Poisson and geometric.
fn loss_odds(mean: f64) -> f64 {
    mean + 0.25 * mean * mean
}

/// Odds of being above something that lies `deviations` below, with tails between normal and Cauchy.
pub(super) fn heavy_odds(deviations: f64) -> f64 {
    let square = (1.0 + deviations.abs()).powi(2);
    let odds = square * square;
    if deviations >= 0.0 { odds } else { 1.0 / odds }
}

fn chance(odds: f64) -> f64 {
    odds / (1.0 + odds)
}

/// `ln(1 + e^u)` from a table.
fn softplus(u: f64) -> f64 {
    const PER_UNIT: f64 = 16.0;
    const REACH: f64 = 32.0;
    static TABLE: LazyLock<Vec<f64>> = LazyLock::new(|| {
        (0..=(2.0 * REACH * PER_UNIT) as usize)
            .map(|index| (index as f64 / PER_UNIT - REACH).exp().ln_1p())
            .collect()
    });
    if u > REACH {
        u
    } else if u < -REACH {
        0.0
    } else {
        TABLE[((u + REACH) * PER_UNIT + 0.5) as usize]
    }
}

/// Capacities that stray by this many steps leave little to what trials share.
const FAR_STEPS: f64 = 4.0;

/// Softness in steps with its prior: in octaves, or in eighths of one around what trials have shown, and in octaves
/// farther away.
fn softnesses(shown: Option<f64>, per_width: f64) -> Vec<(f64, f64)> {
    let Some(shown) = shown else {
        let narrow = [(0.25, 0.06), (0.5, 0.07)];
        let wide = [(1.0, 0.08), (2.0, 0.08), (4.0, 0.04), (8.0, 0.02)];
        let wide = wide.map(|(widths, prior)| (widths * per_width, prior));
        return narrow.into_iter().chain(wide).collect();
    };
    let per_octave = f64::from(SOFT_PER_OCTAVE);
    let is_near = |step: i32| step.abs() < SOFT_PER_OCTAVE;
    (-4 * SOFT_PER_OCTAVE..=4 * SOFT_PER_OCTAVE)
        .filter(|step| is_near(*step) || step % SOFT_PER_OCTAVE == 0)
        .map(|step| {
            let softness = shown * (f64::from(step) / per_octave).exp2();
            let octaves = if is_near(step) { 1.0 / per_octave } else { 1.0 };
            (softness, 0.08 * octaves / (1.0 + softness / (4.0 * per_width)))
        })
        .filter(|&(softness, _)| softness >= LEAST_SOFTNESS && softness < MOST_SOFTNESS * per_width)
        .collect()
}

/// Half of the prior is on systems without any softness; a flat prior wanders down after softness on every sharp one.
/// The scale of softness is fine around what trials have shown.
pub(super) fn shapes(log_step: f64, softness: Option<f64>) -> Vec<Shape> {
    // Real jitter and softness are shares of the load, however narrow the goal.
    let per_width = (0.005 / log_step).max(1.0);
    let jitters = [(0.4, 0.16), (1.5, 0.06), (5.0, 0.03), (16.0, 0.02)];
    let jitters = jitters.map(|(widths, prior)| (Onset::Jitter(widths * per_width), prior));
    let soft = softnesses(softness, per_width).into_iter();
    let soft = soft.map(|(steps, prior)| (Onset::Soft(steps), prior));
    let onsets = [(Onset::Jitter(0.12), 0.6)].into_iter().chain(jitters).chain(soft);
    let slopes = [(1.0, 0.6), (1.4, 0.25), (2.0, 0.15)];
    // Where some of several queues or processors are full before the others, only their share is lost.
    let gentle_slopes = [0.5, 0.25, 0.125, 0.0625].map(|slope| (slope, 0.02));
    let is_sharp = |onset: Onset| matches!(onset, Onset::Jitter(deviation) if deviation < per_width);
    let mut shapes = Vec::new();
    for (onset, share) in onsets {
        let gentle = gentle_slopes.into_iter().filter(|_| is_sharp(onset));
        shapes.extend(slopes.into_iter().chain(gentle).map(|(slope, part)| Shape {
            onset,
            slope,
            prior: share * part,
            log_step,
        }));
    }
    shapes
}

#[cfg(test)]
mod tests {
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::Case;

    #[test]
    fn trials_are_learnt_from_by_the_chance_of_loss_that_is_planned_with() {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        case.add(&[(5e5, 0)]);
        let seen = case.seen[0];
        let log_step = case.log_step();
        for shape in [shapes(log_step, None), shapes(log_step, Some(1.3))].concat() {
            for distance in [-50.0, -2.0, -0.1, 0.0, 0.1, 2.0, 50.0] {
                let planned = shape.odds(&PlannedTrial::of(&seen, 0.0), seen.position - distance);
                let learnt = shape.learn(seen.position - distance, &seen, None).lossy;
                assert!(
                    (learnt - planned / (1.0 + planned)).abs() < 1e-9,
                    "{shape:?} {distance}"
                );
            }
        }
    }

    #[test]
    fn the_scale_of_softness_is_fine_around_what_is_shown() {
        let total = |softnesses: &[(f64, f64)]| softnesses.iter().map(|(_, prior)| prior).sum::<f64>();
        let coarse = softnesses(None, 1.0);
        for shown in [0.4, 1.3, 3.0, 9.0] {
            let fine = softnesses(Some(shown), 1.0);
            let largest_gap = fine
                .windows(2)
                .filter(|pair| (0.7 * shown..1.4 * shown).contains(&pair[0].0));
            let largest_gap = largest_gap.map(|pair| pair[1].0 / pair[0].0).fold(1.0, f64::max);
            assert!((1.0..1.1).contains(&largest_gap), "{shown}: {fine:?}");
            assert!(
                fine.iter().any(|(softness, _)| (softness / shown - 1.0).abs() < 1e-9),
                "{shown}: {fine:?}"
            );
            assert!(
                (0.5..1.5).contains(&(total(&fine) / total(&coarse))),
                "{shown}: {fine:?}"
            );
        }
        // A narrow goal has many steps where a wide one has few.
        assert!(softnesses(None, 5.0)[4].0 > 4.0 * coarse[4].0);
        assert!((softnesses(None, 5.0)[0].0 - coarse[0].0).abs() < 1e-9);
    }

    #[test]
    fn overload_takes_no_less_than_what_is_above_the_capacity() {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        case.add(&[(5e5, 1), (5e5, 100_000)]);
        let [little, much] = case.seen[..] else {
            panic!("two trials")
        };
        // The capacity is about a tenth below the load, which a loss of a fifth allows and one of a unit does not.
        let position = little.position - 20.0;
        for shape in shapes(case.log_step(), None).iter().filter(|shape| shape.slope >= 1.0) {
            let is_wide = matches!(shape.onset, Onset::Jitter(deviation) if deviation >= FAR_STEPS);
            let at_most = |seen: &Observation| shape.learn(position, seen, Some((0.0, 1.0))).with_stray;
            assert!(is_wide || at_most(&little) < 0.1, "{shape:?}");
            assert!(at_most(&much) > 0.5, "{shape:?}");
        }
    }
}
