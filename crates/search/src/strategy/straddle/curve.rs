//! What the trials so far say about the curve of loss over load: a posterior over its position, shape and slope.
//!
//! Loads are positions on the grid of one goal width; loss is *overload*, the logarithm of what was not forwarded in
//! the same steps. A sharp system has overload `x - m` above its position m; others are softer, steeper or jitter.

use std::iter;

use brimful_trial::Nanoseconds;

use super::lattice::{ascending, draw_evenly, offsets};
use super::observation::Observation;
use super::second_opinion::SecondOpinion;
use super::shape::{Shape, TrialPlan, shapes};
use super::stray::Stray;
use super::threshold::{Limit, Outcome, Threshold};

/// Offsets of m from the centre come in quarters of a step within this many steps, and sparser beyond.
const FINE_REACH: i64 = 28;
const PER_STEP: i64 = 4;
/// Points below this share of the largest are dropped: they come back when the curve is drawn anew.
const NEGLIGIBLE: f64 = 1e-5;
/// Belief from which a system is taken for a soft one.
const LIKELY_SOFT: f64 = 0.3;
/// How far the softness may be from where its scale is fine, in octaves.
const OFF_SCALE: f64 = 0.4;
/// Delay grows with the inverse of the distance from the capacity, at which the curve is centred. So a delay threshold
/// is as likely 1 to 2 % below it as 10 to 20 %; nearer than so many steps all positions are alike.
const NEAREST_DELAY: f64 = 4.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) position: f64,
    pub(super) shape: usize,
    pub(super) weight: f64,
}

pub(super) struct Curve {
    shapes: Vec<Shape>,
    /// Where the scale of positions is fine ...
    centre: f64,
    /// ... and that of softness, if it is anywhere.
    softness: Option<f64>,
    points: Vec<Point>,
    /// Trials that the curve has learnt from.
    learnt: usize,
    /// One for each limit that a goal has, the lowest first.
    strays: Vec<Stray>,
    second_opinions: Vec<SecondOpinion>,
    /// For each delay limit that a goal has, a load above which trials are too slow. The shapes know loss only: a trial
    /// that was too slow tells them nothing of how far the load is above the answer.
    delays: Vec<(Nanoseconds, Threshold)>,
}

impl Curve {
    /// A curve of which nothing is known but `prior(m)`, around a centre.
    pub(super) fn new(
        log_step: f64,
        centre: f64,
        range: (f64, f64),
        (limits, delay_limits): (&[Limit], &[Nanoseconds]),
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
                weight: density * shape.prior(),
            }));
        }
        let mut curve = Self {
            shapes,
            centre,
            softness,
            points,
            learnt: 0,
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

    /// Learns from a trial.
    pub(super) fn observe(&mut self, seen: &Observation) {
        self.learnt += 1;
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
            let learnt = self.shapes[point.shape].learn(point.position, seen, by_stray);
            lossy += weight * learnt.lossy;
            explained += weight * learnt.likelihood;
            point.weight *= learnt.with_stray;
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
