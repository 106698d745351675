//! A posterior over curves of loss: their position, shape and slope.
//!
//! Loads are positions on the scale, in steps of the narrowest goal's width; loss is *overload*, the logarithm of what
//! was not forwarded in the same steps. A sharp system has overload `x - m` above its position m; others are softer,
//! steeper or jitter.

use super::lattice::{ascending, draw_evenly, offsets};
use super::observation::Observation;
use super::shape::{PlannedTrial, Shape, shapes};

/// Offsets of m from the centre come in quarters of a step within this many steps, and sparser beyond.
const FINE_REACH: i64 = 28;
const PER_STEP: i64 = 4;
/// Points below this share of the largest are dropped: they come back when the curve is laid out anew.
const NEGLIGIBLE: f64 = 1e-5;
/// Belief from which a system is taken for a soft one.
const LIKELY_SOFT: f64 = 0.3;
/// How far the softness may be from where its scale is fine, in octaves.
const OFF_SCALE: f64 = 0.4;

/// One curve: where it is, and which shape it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    position: f64,
    shape: usize,
    weight: f64,
}

/// All curves that are thought possible.
pub(super) struct Curve {
    shapes: Vec<Shape>,
    /// Where the scale of positions is fine.
    centre: f64,
    /// Where the scale of softness is fine, if it is anywhere.
    softness: Option<f64>,
    points: Vec<Point>,
    /// Trials that the curve has learnt from.
    learnt: usize,
}

impl Curve {
    /// A curve of which nothing is known but `prior(m)`.
    pub(super) fn new(
        log_step: f64,
        centre: f64,
        range: (f64, f64),
        softness: Option<f64>,
        prior: impl Fn(f64) -> f64,
    ) -> Self {
        let shapes = shapes(log_step, softness);
        let mut points = Vec::new();
        for (offset, cell) in offsets(range.1 - range.0, FINE_REACH, PER_STEP) {
            let position = centre + offset;
            if position < range.0 || position > range.1 {
                continue;
            }
            let density = prior(position) * cell;
            points.extend(shapes.iter().enumerate().map(|(index, shape)| Point {
                position,
                shape: index,
                weight: density * shape.prior,
            }));
        }
        let mut curve = Self {
            shapes,
            centre,
            softness,
            points,
            learnt: 0,
        };
        curve.normalise();
        curve
    }

    /// Learns from a trial, and gives the chance of any loss by overload and the likelihood of the outcome by overload
    /// alone, as seen before. If the trial lost something, stray losses leave a chance to overload, and explain the loss
    /// with a density.
    pub(super) fn observe(&mut self, seen: &Observation, by_stray: Option<(f64, f64)>) -> (f64, f64) {
        self.learnt += 1;
        let (mut lossy, mut likelihood) = (0.0, 0.0);
        for point in &mut self.points {
            let learnt = self.shapes[point.shape].learn(point.position, seen, by_stray);
            lossy += point.weight * learnt.lossy;
            likelihood += point.weight * learnt.likelihood;
            point.weight *= learnt.with_stray;
        }
        self.normalise();
        (lossy, likelihood)
    }

    fn normalise(&mut self) {
        let largest = self.points.iter().map(|point| point.weight).fold(0.0, f64::max);
        if largest <= 0.0 {
            return;
        }
        // Of what is far away, few points stand for much: they are ruled out first.
        if self.learnt >= 2 || self.softness.is_none() {
            self.points.retain(|point| point.weight > NEGLIGIBLE * largest);
        }
        let total: f64 = self.points.iter().map(|point| point.weight).sum();
        for point in &mut self.points {
            point.weight /= total;
        }
    }

    /// Whether what is likely is not where the scales are fine.
    pub(super) fn is_off_centre(&self) -> bool {
        let is_elsewhere = (self.median() - self.centre).abs() > 0.6 * FINE_REACH as f64;
        let is_off = |softness: f64| {
            self.softness
                .is_none_or(|fine| (softness / fine).log2().abs() > OFF_SCALE)
        };
        is_elsewhere || self.softness().is_some_and(is_off)
    }

    /// The mean softness in steps, if the system is likely to be a soft one.
    pub(super) fn softness(&self) -> Option<f64> {
        let soft = |point: &Point| Some((point.weight, self.shapes[point.shape].softness()?));
        let (share, octaves) = self
            .points
            .iter()
            .filter_map(soft)
            .fold((0.0, 0.0), |(share, octaves), (weight, softness)| {
                (share + weight, octaves + weight * softness.log2())
            });
        (share > LIKELY_SOFT).then(|| (octaves / share).exp2())
    }

    /// The position that half of the posterior is below.
    pub(super) fn median(&self) -> f64 {
        let middle = self.draw(1);
        middle.first().map_or(self.centre, |point| point.position)
    }

    /// Points that stand for an equal share of the posterior each.
    pub(super) fn draw(&self, count: usize) -> Vec<Point> {
        let weights = self.points.iter().map(|point| point.weight);
        let drawn = draw_evenly(weights, ascending(count));
        drawn.into_iter().map(|index| self.points[index]).collect()
    }

    /// Chance of a high-loss trial, stray losses aside.
    pub(super) fn high(&self, trial: &PlannedTrial) -> f64 {
        let low = |point: &Point| point.weight / (1.0 + self.odds(point, trial));
        1.0 - self.points.iter().map(low).sum::<f64>()
    }

    /// Whether no two trials share their weather if this point is true.
    pub(super) fn is_independent(&self, point: &Point, limit: f64) -> bool {
        self.shapes[point.shape].is_independent(limit)
    }

    /// The odds that a trial is high-loss if this point is true, stray losses aside.
    pub(super) fn odds(&self, point: &Point, trial: &PlannedTrial) -> f64 {
        self.shapes[point.shape].odds(trial, point.position)
    }
}
