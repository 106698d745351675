//! All that is believed of a system: its curve, losses that have nothing to do with it, and what rivals the curve.

use std::iter;

use brimful_trial::Nanoseconds;

use super::curve::Curve;
use super::observation::Observation;
use super::rival::Rival;
use super::shape::PlannedTrial;
use super::stray::Stray;
use super::threshold::{Limit, Outcome, Threshold};

/// How far beyond the limits of the search the curve may lie, in steps.
const MARGIN: f64 = 40.0;
/// Belief that a hint is right.
const HINT_SHARE: f64 = 0.8;
/// How far off a hint is if it is right, in steps.
pub(crate) const HINT_STEPS: f64 = 3.0;
/// Laying out anew costs as much as all trials so far: it has to wait for this share of new ones.
const NEW_SHARE: usize = 8;
/// Delay grows with the inverse of the distance from the capacity, at which the curve is centred. So a delay threshold
/// is as likely 1 to 2 % below it as 10 to 20 %; nearer than this many steps all positions are alike.
const NEAREST_DELAY: f64 = 4.0;

/// What is assumed before anything is measured.
pub(super) struct Prior {
    pub(super) log_step: f64,
    /// The position of max load.
    pub(super) top: f64,
    /// The position of the hint.
    pub(super) hint: Option<f64>,
    /// What divides high loss from low loss: one for each loss ratio, ascending, beginning with any loss at all.
    pub(super) limits: Vec<Limit>,
    /// The delay limits of the goals, ascending.
    pub(super) delay_limits: Vec<Nanoseconds>,
}

impl Prior {
    /// How likely the curve is at a position.
    fn density(&self, position: f64) -> f64 {
        let even = 1.0 / (self.top + MARGIN + MARGIN);
        let Some(hint) = self.hint else { return even };
        let distance = (position - hint) / HINT_STEPS;
        let near = 1.0 / (std::f64::consts::PI * HINT_STEPS * (1.0 + distance * distance));
        HINT_SHARE * near + (1.0 - HINT_SHARE) * even
    }
}

pub(super) struct Model {
    pub(super) curve: Curve,
    /// For each limit, losses above it that the curve does not explain.
    pub(super) strays: Vec<Stray>,
    /// For each limit, what foretells high loss without amounts.
    pub(super) rivals: Vec<Rival>,
    /// For each delay limit, a load above which trials are too slow. The shapes know loss only: a trial that was too slow
    /// says nothing of how far the load is above the answer.
    pub(super) delays: Vec<(Nanoseconds, Threshold)>,
    /// How many trials it was laid out from.
    pub(super) laid_out_at: usize,
}

impl Model {
    /// Lays out all hypotheses in most detail around a position and a softness, and learns from these trials.
    pub(super) fn new(prior: &Prior, around: f64, softness: Option<f64>, seen: &[Observation]) -> Self {
        let range = (-MARGIN, prior.top + MARGIN);
        // Where nearly all is lost, overload points to far below min load.
        let centre = (around.clamp(range.0, range.1) * 4.0).round() / 4.0;
        let limits = prior.limits.iter();
        let delay_density = |offset: f64| 1.0 / (NEAREST_DELAY + offset.abs());
        let mut model = Self {
            curve: Curve::new(prior.log_step, centre, range, softness, |position| {
                prior.density(position)
            }),
            strays: limits
                .clone()
                .map(|limit| Stray::new(limit.overload, centre, prior.log_step))
                .collect(),
            rivals: limits.map(|&limit| Rival::new(limit, centre, range)).collect(),
            delays: prior
                .delay_limits
                .iter()
                .map(|&limit| (limit, Threshold::new(centre, range, delay_density)))
                .collect(),
            laid_out_at: seen.len(),
        };
        for seen in seen {
            model.observe(seen);
        }
        model
    }

    /// Learns from a trial.
    pub(super) fn observe(&mut self, seen: &Observation) {
        for (limit, threshold) in &mut self.delays {
            let is_slow = seen.output.delay_exceeds(*limit);
            threshold.observe(seen.position, if is_slow { Outcome::High } else { Outcome::Low });
        }
        let above_limits: Vec<f64> = self.strays[1..]
            .iter()
            .map(|stray| self.curve.high(&PlannedTrial::of(seen, stray.limit())))
            .collect();
        let by_stray = seen.is_lossy().then(|| self.strays[0].explain(seen));
        let (lossy, likelihood) = self.curve.observe(seen, by_stray);
        let highs = iter::once(lossy).chain(above_limits);
        for ((stray, rival), high) in self.strays.iter_mut().zip(&mut self.rivals).zip(highs) {
            let clean = (1.0 - high) * (1.0 - stray.share(seen.position, seen.duration));
            rival.observe(seen, 1.0 - clean);
            stray.observe(seen, likelihood);
        }
    }

    /// Where to lay out anew, position and softness, once what is likely is off the fine scales; after this many trials.
    pub(super) fn drifted(&self, trials: usize) -> Option<(f64, Option<f64>)> {
        let is_due = trials >= self.laid_out_at + trials / NEW_SHARE;
        (is_due && self.curve.is_off_centre()).then(|| (self.curve.median(), self.curve.softness()))
    }
}
