//! What a load promises for one goal, at every representative point of the posterior.

use brimful_trial::{Load, Nanoseconds};

use super::bracket::Candidate;
use super::buffer::Buffer;
use super::curve::{Curve, Point};
use super::lattice::{ascending, draw_evenly};
use super::observation::Observation;
use super::shape::TrialPlan;
use super::stray::Drawn;
use super::target::Target;
use super::threshold::At;
use super::verdict::{Needed, Outlook};
use crate::grid::LoadGrid;
use crate::{Problem, TrialLog, Verdict};

/// A trial that is stopped costs the rest after it, and a second until the loss is noticed.
const STOPPED_SECONDS: f64 = 3.0;
/// So many points stand for the posterior in planning; a multiple of the lanes of `sums_of_products`.
const REPRESENTATIVES: usize = 64;

/// What is known, and where to read it.
pub(super) struct Outlooker<'a> {
    pub(super) problem: &'a Problem,
    pub(super) log: &'a TrialLog,
    pub(super) grid: &'a LoadGrid,
    pub(super) scale: &'a LoadGrid,
    curve: &'a Curve,
    pub(super) seen: &'a [Observation],
    buffer: &'a Buffer,
    /// Points of the posterior that stand for an equal share each ...
    points: Vec<Point>,
    /// ... and what goes with them, by limit.
    opinions: Vec<Opinion>,
    /// By delay limit, thresholds that go with the points.
    delays: Vec<(Nanoseconds, Vec<At>)>,
}

/// What goes with the points of the curve for one limit.
struct Opinion {
    limit: f64,
    strays: Vec<Drawn>,
    thresholds: Vec<At>,
    /// Share of the points that stand for the threshold instead of the curve.
    belief: f64,
}

impl Opinion {
    fn prefers_threshold(&self, index: usize) -> bool {
        ((index as f64 + 0.5) * PLASTIC_RATIO).fract() < self.belief
    }
}

/// Like the golden ratio, but in no step with it.
const PLASTIC_RATIO: f64 = 0.754_877_666_246_693;

impl<'a> Outlooker<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        log: &'a TrialLog,
        grid: &'a LoadGrid,
        scale: &'a LoadGrid,
        curve: &'a Curve,
        seen: &'a [Observation],
        buffer: &'a Buffer,
    ) -> Self {
        let weights = curve.points().iter().map(|point| point.weight);
        let drawn = draw_evenly(weights, ascending(REPRESENTATIVES));
        let points: Vec<Point> = drawn.into_iter().map(|index| curve.points()[index]).collect();
        Self {
            problem,
            log,
            grid,
            scale,
            curve,
            seen,
            buffer,
            opinions: curve
                .strays()
                .iter()
                .zip(curve.second_opinions())
                .map(|(stray, second)| Opinion {
                    limit: stray.limit(),
                    strays: stray.draw(points.len()),
                    thresholds: second.threshold().draw(points.len()),
                    belief: second.belief(),
                })
                .collect(),
            delays: curve
                .delays()
                .iter()
                .map(|(limit, threshold)| (*limit, threshold.draw(points.len())))
                .collect(),
            points,
        }
    }

    /// The index nearest to where the curve most likely is.
    pub(super) fn median_index(&self) -> i64 {
        let median = self.curve.median() + self.grid.shift_from(self.scale);
        self.grid.nearest(median)
    }

    /// How many trials ago there was one at a load; all where there was none.
    pub(super) fn trials_since(&self, load: Load) -> usize {
        let place = self.scale.position(load.per_second());
        let is_there = |seen: &Observation| seen.is_at(place);
        self.seen.iter().rev().position(is_there).unwrap_or(self.seen.len())
    }

    pub(super) fn prospect(&self, target: &Target, index: i64) -> Option<Candidate> {
        let load = target.load(self.grid, index);
        if self.log.verdict(load, target.goal) != Verdict::Undecided {
            return None;
        }
        let goal = &self.problem.goals()[target.goal];
        let race = Needed::new(goal, &self.log.sums(load, target.goal))?.race();
        let plan = self.trial_plan(target, load, target.duration_s);
        // A trial that is only too slow runs to its end.
        let stops = self.problem.has_early_termination() && target.delay_limit.is_none();
        let mut prospect = Candidate {
            index,
            load,
            lower: Vec::with_capacity(self.points.len()),
            seconds: Vec::with_capacity(self.points.len()),
        };
        for (odds, weather) in self.odds(target, &plan, target.duration_s) {
            let Outlook { lower, trials } = race.outlook(odds * weather);
            let full_s = target.duration_s;
            let failing_s = if stops {
                full_s.min(STOPPED_SECONDS + full_s / (2.0 + odds))
            } else {
                full_s
            };
            let seconds = trials * (full_s + (failing_s - full_s) * odds / (1.0 + odds));
            prospect.lower.push(lower as f32);
            prospect.seconds.push(seconds as f32);
        }
        Some(prospect)
    }

    /// Chance that a load never measured becomes a lower bound.
    pub(super) fn fresh_lower(&self, target: &Target, index: i64) -> f64 {
        let plan = self.trial_plan(target, self.grid.load(index), target.duration_s);
        let race = target.fresh.race();
        let odds = self.odds(target, &plan, target.duration_s);
        let sum: f64 = odds.map(|(odds, weather)| race.outlook(odds * weather).lower).sum();
        sum / self.points.len() as f64
    }

    /// Odds that a trial is high-loss, by point if it is true, and what to multiply them with when all trials of a
    /// lower bound are to be low-loss; some stand for the threshold instead, as far as it is believed.
    fn odds<'b>(
        &'b self,
        target: &Target,
        plan: &'b TrialPlan,
        seconds: f64,
    ) -> impl Iterator<Item = (f64, f64)> + use<'b> {
        let same = self
            .opinions
            .iter()
            .find(|opinion| opinion.limit.total_cmp(&target.limit).is_eq());
        let opinion = same.expect("every limit of a goal has its own");
        let factors = self.curve.stray(plan.limit).factors(plan.position);
        let slow = target.delay_limit.map(|limit| self.delays_at(limit));
        let points = self.points.iter().zip(&opinion.strays).zip(&opinion.thresholds);
        let shared_weather = target.shared_weather;
        points.enumerate().map(move |(index, ((point, stray), threshold))| {
            let (lossy, weather) = if opinion.prefers_threshold(index) {
                (threshold.odds(plan.position), shared_weather)
            } else {
                let is_independent = self.curve.is_independent(point, plan.limit);
                let weather = if is_independent { 1.0 } else { shared_weather };
                let stray_weather = if stray.is_independent() { 1.0 } else { shared_weather };
                let odds = (self.curve.odds(point, plan), weather);
                with_stray(odds, (stray.rate(&factors) * seconds, stray_weather))
            };
            match slow {
                None => (lossy, weather),
                // Low-loss is what neither loses too much nor is too slow.
                Some(slow) => {
                    let odds = (1.0 + lossy) * (1.0 + slow[index].odds(plan.position)) - 1.0;
                    (odds, shared_weather)
                }
            }
        })
    }

    fn delays_at(&self, limit: Nanoseconds) -> &[At] {
        let same = self.delays.iter().find(|(other, _)| *other == limit);
        &same.expect("every delay limit of a goal has its own").1
    }

    fn trial_plan(&self, target: &Target, load: Load, seconds: f64) -> TrialPlan {
        TrialPlan {
            position: self.scale.position(load.per_second()) - self.buffer.shift(seconds),
            units_per_step: load.per_second() * self.grid.log_step() * seconds,
            limit: target.limit,
        }
    }
}

/// Odds of high loss when stray losses may come on top, so many on average, and what to multiply them with when all
/// trials are to be low-loss.
fn with_stray((odds, weather): (f64, f64), (stray, stray_weather): (f64, f64)) -> (f64, f64) {
    let both = (1.0 + odds) * stray.min(MOST_STRAY).exp() - 1.0 + LEAST_ODDS;
    let sum = odds + stray + LEAST_ODDS;
    (both, (weather * (odds + LEAST_ODDS) + stray_weather * stray) / sum)
}

/// Keeps odds above 0.
const LEAST_ODDS: f64 = 1e-12;

/// Events in a trial beyond which nothing changes.
const MOST_STRAY: f64 = 30.0;
