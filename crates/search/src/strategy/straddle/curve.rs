//! What the trials so far say about the curve of loss over load: a posterior over its position, shape and slope.
//!
//! Loads are positions on the grid of one goal width; loss is *overload*, the logarithm of what was not forwarded in
//! the same steps. A sharp system has overload `x - m` above its position m; others are softer, steeper or jitter.

use std::iter;
use std::sync::LazyLock;

use brimful_trial::Nanoseconds;

use super::draw::{ascending, draw_evenly};
use super::observation::Observation;
use super::second_opinion::SecondOpinion;
use super::stray::Stray;
use super::threshold::{Outcome, Threshold};

/// Offsets of m from the centre come in quarters of a step within this many steps, and sparser beyond.
const FINE_REACH: i64 = 28;
const PER_STEP: i64 = 4;
/// Beyond the fine reach, gaps grow by this factor.
const SPREAD: f64 = 1.16;
/// Points below this share of the largest are dropped: they come back when the curve is drawn anew.
const NEGLIGIBLE: f64 = 1e-5;
/// Chance that a trial is clean although the curve says otherwise.
const FLUKE: f64 = 0.001;
/// Delay grows with the inverse of the distance from the capacity, at which the curve is centred. So a delay threshold
/// is as likely 1 to 2 % below it as 10 to 20 %; nearer than so many steps all positions are alike.
const NEAREST_DELAY: f64 = 4.0;

/// What divides high loss from low loss, for goals of one loss ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// The loss ratio as overload in steps.
    pub(super) overload: f64,
    /// Seconds of a full-length trial.
    pub(super) full_s: f64,
    /// Whether shorter trials are made for it too.
    pub(super) has_short: bool,
}

/// What is expected of a trial at some distance from the position of a curve.
struct Expectation {
    /// Chance of any loss.
    lossy: f64,
    /// Steps.
    overload: f64,
    /// How far the overload strays, in steps.
    deviation: f64,
    /// Chance that overload takes no more than what was lost.
    at_most: f64,
}

/// How loss sets in around the position.
#[derive(Clone, Copy, Debug)]
enum Onset {
    /// At once, but where changes from trial to trial by about so many steps.
    Jitter(f64),
    /// By a factor of e in so many steps.
    Soft(f64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    onset: Onset,
    slope: f64,
    prior: f64,
    log_step: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) position: f64,
    pub(super) shape: usize,
    pub(super) weight: f64,
}

pub(super) struct Curve {
    shapes: Vec<Shape>,
    centre: f64,
    points: Vec<Point>,
    /// One for each limit that a goal has, the lowest first.
    strays: Vec<Stray>,
    second_opinions: Vec<SecondOpinion>,
    /// For each delay limit that a goal has, a load above which trials are too slow. The shapes know loss only: a trial
    /// that was too slow tells them nothing of how far the load is above the answer.
    delays: Vec<(Nanoseconds, Threshold)>,
}

/// What the curve says of a trial before it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialPlan {
    /// Where on the grid.
    pub(super) position: f64,
    /// Units lost by an overload of one step.
    pub(super) units_per_step: f64,
    /// The overload above which it is high-loss; 0 for a goal without loss.
    pub(super) limit: f64,
}

impl TrialPlan {
    /// Another trial like one that was made.
    fn of(seen: &Observation, limit: f64) -> Self {
        Self {
            position: seen.position,
            units_per_step: seen.units_per_step,
            limit,
        }
    }
}

impl Curve {
    /// A curve of which nothing is known but `prior(m)`, around a centre.
    pub(super) fn new(
        log_step: f64,
        centre: f64,
        range: (f64, f64),
        (limits, delay_limits): (&[Limit], &[Nanoseconds]),
        prior: impl Fn(f64) -> f64,
    ) -> Self {
        let shapes = shapes(log_step);
        let mut points = Vec::new();
        for (offset, cell) in offsets(range.1 - range.0, FINE_REACH, PER_STEP) {
            let position = centre + offset;
            if position < range.0 || position > range.1 {
                continue;
            }
            let density = prior(position) * cell;
            points.extend(shapes.iter().enumerate().map(|(shape, Shape { prior, .. })| Point {
                position,
                shape,
                weight: density * prior,
            }));
        }
        let mut curve = Self {
            shapes,
            centre,
            points,
            second_opinions: limits
                .iter()
                .map(|&limit| SecondOpinion::new(limit, centre, range))
                .collect(),
            delays: delay_limits
                .iter()
                .map(|&limit| {
                    let density = |offset: f64| 1.0 / (NEAREST_DELAY + offset.abs());
                    (limit, Threshold::new(centre, range, density))
                })
                .collect(),
            strays: limits
                .iter()
                .map(|&limit| Stray::new(limit.overload, centre, log_step))
                .collect(),
        };
        curve.normalise();
        curve
    }

    /// Takes over what an earlier curve knows beside its own position.
    pub(super) fn keep_what_does_not_move(&mut self, before: Self) {
        self.strays = before.strays;
        self.second_opinions = before.second_opinions;
        self.delays = before.delays;
    }

    /// Learns from a trial.
    pub(super) fn observe(&mut self, seen: &Observation) {
        for (limit, threshold) in &mut self.delays {
            let is_slow = seen.output.delay_exceeds(*limit);
            threshold.observe(seen.position, if is_slow { Outcome::High } else { Outcome::Low });
        }
        let above_limits: Vec<f64> = self.strays[1..]
            .iter()
            .map(|stray| self.high(&TrialPlan::of(seen, stray.limit())))
            .collect();
        let by_stray = seen.is_lossy().then(|| self.strays[0].explain(seen));
        let (mut lossy, mut explained) = (0.0, 0.0);
        for point in &mut self.points {
            let weight = point.weight;
            let (chance, likelihood) = self.shapes[point.shape].learn(point, seen, by_stray);
            lossy += weight * chance;
            explained += weight * likelihood;
        }
        let highs = iter::once(lossy).chain(above_limits);
        for ((stray, second), high) in self.strays.iter_mut().zip(&mut self.second_opinions).zip(highs) {
            let clean = (1.0 - high) * (1.0 - stray.share(seen.position, seen.duration));
            second.observe(seen, 1.0 - clean);
            stray.observe(seen, explained);
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        let largest = self.points.iter().map(|point| point.weight).fold(0.0, f64::max);
        if largest <= 0.0 {
            return;
        }
        self.points.retain(|point| point.weight > NEGLIGIBLE * largest);
        let total: f64 = self.points.iter().map(|point| point.weight).sum();
        for point in &mut self.points {
            point.weight /= total;
        }
    }

    /// How far the middle of the posterior is from where the grid of positions is fine.
    pub(super) fn is_off_centre(&self) -> bool {
        (self.median() - self.centre).abs() > 0.6 * FINE_REACH as f64
    }

    /// The position that half of the posterior is below.
    pub(super) fn median(&self) -> f64 {
        let weights = self.points.iter().map(|point| point.weight);
        let middle = draw_evenly(weights, ascending(1));
        middle.first().map_or(self.centre, |&index| self.points[index].position)
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    pub(super) fn second_opinions(&self) -> &[SecondOpinion] {
        &self.second_opinions
    }

    pub(super) fn delays(&self) -> &[(Nanoseconds, Threshold)] {
        &self.delays
    }

    /// Chance of a high-loss trial, stray losses aside.
    fn high(&self, plan: &TrialPlan) -> f64 {
        let low = |point: &Point| point.weight / (1.0 + self.odds(point, plan));
        1.0 - self.points.iter().map(low).sum::<f64>()
    }

    pub(super) fn strays(&self) -> &[Stray] {
        &self.strays
    }

    pub(super) fn stray(&self, limit: f64) -> &Stray {
        let same = self.strays.iter().find(|stray| stray.limit().total_cmp(&limit).is_eq());
        same.expect("every limit of a goal has its own")
    }

    /// Whether no two trials share their weather if this point is true.
    pub(super) fn is_independent(&self, point: &Point, limit: f64) -> bool {
        self.shapes[point.shape].is_independent(limit)
    }

    /// The odds that a trial is high-loss if this point is true, stray losses aside.
    pub(super) fn odds(&self, point: &Point, plan: &TrialPlan) -> f64 {
        self.shapes[point.shape].odds(plan, point.position)
    }
}

impl Shape {
    /// Single units lost at a soft onset are lost by chance, and a capacity that strays this far is another one for
    /// each trial.
    fn is_independent(&self, limit: f64) -> bool {
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
    fn odds(&self, plan: &TrialPlan, position: f64) -> f64 {
        let distance = plan.position - position;
        match self.onset {
            Onset::Jitter(deviation) => heavy_odds((distance - plan.limit / self.slope) / deviation),
            Onset::Soft(_) => {
                let overload = self.overload(distance);
                if plan.limit > 0.0 {
                    heavy_odds((overload - plan.limit) / (SOFT_DEVIATION + SOFT_SHARE * plan.limit))
                } else {
                    loss_odds(overload * plan.units_per_step)
                }
            }
        }
    }

    /// What a trial is expected to show if this is the shape.
    fn expectation(&self, seen: &Observation, distance: f64) -> Expectation {
        match self.onset {
            Onset::Jitter(deviation) => Expectation {
                lossy: heavy_chance(distance / deviation),
                overload: self.slope * distance.max(0.0),
                deviation,
                at_most: 1.0 - heavy_chance((distance - seen.overload / self.slope) / deviation),
            },
            Onset::Soft(_) => {
                let overload = self.overload(distance);
                let odds = loss_odds(overload * seen.units_per_step);
                let deviation = deviation_by_chance(overload, seen);
                let rough = deviation + ROUGH * overload + LEAST_DEVIATION;
                Expectation {
                    lossy: odds / (1.0 + odds),
                    overload,
                    deviation,
                    at_most: 1.0 - heavy_chance((overload - seen.overload) / rough),
                }
            }
        }
    }

    /// Weighs a point of this shape by what a trial showed. If it lost something, stray losses leave a chance to overload,
    /// and explain the loss with a density. Gives the chance of any loss and how likely this outcome was, without them.
    #[inline]
    fn learn(&self, point: &mut Point, seen: &Observation, by_stray: Option<(f64, f64)>) -> (f64, f64) {
        let distance = seen.position - point.position;
        let expected = self.expectation(seen, distance);
        let likelihood = self.likelihood(seen, distance, &expected);
        point.weight *= match by_stray {
            Some((left, density)) => left * likelihood + density * expected.at_most,
            None => likelihood,
        };
        (expected.lossy, likelihood)
    }

    /// How likely this outcome was: a chance if clean, a density by logarithm of the overload if not.
    fn likelihood(&self, seen: &Observation, distance: f64, expected: &Expectation) -> f64 {
        if !seen.is_lossy() {
            return 1.0 - expected.lossy + FLUKE;
        }
        if seen.is_repeated {
            return expected.lossy;
        }
        let missed = seen.overload - expected.overload;
        let density = |deviation: f64| {
            seen.overload * deviation / (std::f64::consts::PI * (deviation * deviation + missed * missed))
        };
        let exact = density(expected.deviation + EXACT * expected.overload + LEAST_DEVIATION);
        let rough = if self.slope < 1.0 && (expected.overload..distance).contains(&seen.overload) {
            // Farther up more and more queues are full: it may be anything up to the whole overload.
            1.0 / (1.0 / self.slope).ln()
        } else {
            density(expected.deviation + ROUGH * expected.overload + LEAST_DEVIATION)
        };
        expected.lossy * (0.6 * exact + 0.4 * rough)
    }
}

/// How far the loss of a soft system strays around its mean where it matters: steps, and a share of it.
const SOFT_DEVIATION: f64 = 0.1;
const SOFT_SHARE: f64 = 0.1;

/// What amounts differ by from what the curve says, as a share of it: mostly little, sometimes much.
const EXACT: f64 = 0.05;
const ROUGH: f64 = 0.3;
/// Keeps densities finite, in steps.
const LEAST_DEVIATION: f64 = 1e-9;

/// How far the overload of a trial is from its mean by chance: few lost units say little about it.
fn deviation_by_chance(expected: f64, seen: &Observation) -> f64 {
    expected / (1.0 + expected * seen.units_per_step).sqrt()
}

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

/// The same as a chance.
fn heavy_chance(deviations: f64) -> f64 {
    let odds = (1.0 + deviations.abs()).powi(4);
    (if deviations >= 0.0 { odds } else { 1.0 }) / (1.0 + odds)
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

/// Capacities that stray by so many steps leave little to what trials share.
const FAR_STEPS: f64 = 4.0;

/// Half of the prior is on systems without any softness; a flat prior wanders down after softness on every sharp one.
fn shapes(log_step: f64) -> Vec<Shape> {
    // Real jitter and softness are shares of the load, however narrow the goal.
    let per_width = (0.005 / log_step).max(1.0);
    let onsets = [
        (Onset::Jitter(0.12), 0.6),
        (Onset::Jitter(0.4 * per_width), 0.16),
        (Onset::Jitter(1.5 * per_width), 0.06),
        (Onset::Jitter(5.0 * per_width), 0.03),
        (Onset::Jitter(16.0 * per_width), 0.02),
        (Onset::Soft(0.5), 0.07),
        (Onset::Soft(1.0 * per_width), 0.08),
        (Onset::Soft(2.0 * per_width), 0.08),
        (Onset::Soft(4.0 * per_width), 0.04),
        (Onset::Soft(8.0 * per_width), 0.02),
    ];
    let slopes = [(1.0, 0.6), (1.4, 0.25), (2.0, 0.15)];
    // Where some of several queues or processors are full before the others, only their share is lost.
    let gentle_slopes = [0.5, 0.25, 0.125, 0.0625].map(|slope| (slope, 0.02));
    let is_sharp = |onset: Onset| matches!(onset, Onset::Jitter(deviation) if deviation < per_width);
    let mut shapes = Vec::with_capacity(onsets.len() * (slopes.len() + gentle_slopes.len()));
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

/// Offsets from the centre with the width of the cell that each stands for, ascending.
pub(super) fn offsets(span: f64, reach: i64, per_step: i64) -> impl Iterator<Item = (f64, f64)> {
    let fine = reach * per_step;
    let mut outer = Vec::new();
    let (mut offset, mut gap) = (reach as f64, 1.0 / per_step as f64);
    while offset < span {
        gap *= 1.0 + (SPREAD - 1.0) * 2.0;
        gap = gap.min(offset * (SPREAD - 1.0));
        offset = ((offset + gap) * per_step as f64).ceil() / per_step as f64;
        outer.push((offset, gap));
    }
    let below: Vec<(f64, f64)> = outer.iter().rev().map(|&(offset, cell)| (-offset, cell)).collect();
    let middle = (-fine..=fine).map(move |index| (index as f64 / per_step as f64, 1.0 / per_step as f64));
    below.into_iter().chain(middle).chain(outer)
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
        for shape in shapes(case.grid.log_step()) {
            for distance in [-50.0, -2.0, -0.1, 0.0, 0.1, 2.0, 50.0] {
                let planned = shape.odds(&TrialPlan::of(&seen, 0.0), seen.position - distance);
                let learnt = shape.expectation(&seen, distance).lossy;
                assert!(
                    (learnt - planned / (1.0 + planned)).abs() < 1e-9,
                    "{shape:?} {distance}"
                );
            }
        }
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
        for shape in shapes(case.grid.log_step()).iter().filter(|shape| shape.slope >= 1.0) {
            let is_wide = matches!(shape.onset, Onset::Jitter(deviation) if deviation >= FAR_STEPS);
            let at_most = |seen: &Observation| shape.expectation(seen, seen.position - position).at_most;
            assert!(is_wide || at_most(&little) < 0.1, "{shape:?}");
            assert!(at_most(&much) > 0.5, "{shape:?}");
        }
    }
}
