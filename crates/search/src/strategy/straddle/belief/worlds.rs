//! A few worlds that stand for all that is believed: what a trial would show if each were the true one.

use brimful_trial::Load;

use super::Belief;
use super::buffer::Buffer;
use super::curve::Point;
use super::model::Model;
use super::rival::Rival;
use super::shape::PlannedTrial;
use super::stray::{Drawn, Stray};
use super::threshold::SampledThreshold;
use crate::grid::LoadGrid;

/// This many worlds are drawn; a multiple of the eight lanes that the plan adds them up in.
const REPRESENTATIVES: usize = 64;
/// Like the golden ratio, but in no step with it.
const PLASTIC_RATIO: f64 = 0.754_877_666_246_693;
/// Odds beyond which nothing changes.
const MOST_ODDS: f64 = 1e12;

/// A trial that may be made for a goal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) load: Load,
    pub(crate) seconds: f64,
    /// Which of the limits of the loss.
    pub(crate) limit: usize,
    /// Which of the limits of the delay.
    pub(crate) delay: Option<usize>,
    /// What to multiply the odds of one trial with when all those of a lower bound are to be low-loss.
    pub(crate) shared_weather: f64,
}

pub(crate) struct Worlds<'a> {
    scale: &'a LoadGrid,
    model: &'a Model,
    buffer: &'a Buffer,
    /// The curve of each world.
    points: Vec<Point>,
    /// By limit, what else there is in each world.
    beside: Vec<Beside>,
    /// By delay limit, the threshold of each world.
    delays: Vec<Vec<SampledThreshold>>,
}

/// What goes with the curves of the worlds for one limit.
struct Beside {
    strays: Vec<Drawn>,
    /// The threshold of those worlds that have one instead of the curve.
    thresholds: Vec<Option<SampledThreshold>>,
}

impl Beside {
    fn of((stray, rival): (&Stray, &Rival)) -> Self {
        let is_rival = |world: usize| ((world as f64 + 0.5) * PLASTIC_RATIO).fract() < rival.belief();
        let thresholds = rival.draw(REPRESENTATIVES).into_iter().enumerate();
        let thresholds = thresholds.map(|(world, threshold)| is_rival(world).then_some(threshold));
        Self {
            strays: stray.draw(REPRESENTATIVES),
            thresholds: thresholds.collect(),
        }
    }
}

impl<'a> Worlds<'a> {
    /// `None` before anything points to where the curve may be.
    pub(crate) fn of(belief: &'a Belief) -> Option<Self> {
        let model = belief.model.as_ref()?;
        let beside = model.strays.iter().zip(&model.rivals);
        let delays = model.delays.iter();
        Some(Self {
            scale: &belief.scale,
            model,
            buffer: &belief.buffer,
            points: model.curve.draw(REPRESENTATIVES),
            beside: beside.map(Beside::of).collect(),
            delays: delays.map(|(_, threshold)| threshold.draw(REPRESENTATIVES)).collect(),
        })
    }

    /// The position that half of the belief is below.
    pub(crate) fn median(&self) -> f64 {
        self.model.curve.median()
    }

    /// For each world, the odds that a trial is high-loss, and what to multiply them with when all trials of a lower
    /// bound are to be low-loss.
    pub(crate) fn odds(&self, trial: &Trial) -> impl Iterator<Item = (f64, f64)> + use<'_, 'a> {
        let stray = &self.model.strays[trial.limit];
        let planned = PlannedTrial {
            position: self.scale.position(trial.load.per_second()) - self.buffer.shift(trial.seconds),
            units_per_step: trial.load.per_second() * self.scale.log_step() * trial.seconds,
            limit: stray.limit(),
        };
        let factors = stray.factors(planned.position);
        let beside = &self.beside[trial.limit];
        let slow = trial.delay.map(|limit| &self.delays[limit]);
        let (seconds, shared) = (trial.seconds, trial.shared_weather);
        let worlds = self.points.iter().zip(&beside.strays).zip(&beside.thresholds);
        worlds.enumerate().map(move |(world, ((point, stray), threshold))| {
            let weather = |is_independent| if is_independent { 1.0 } else { shared };
            let (lossy, weather) = if let Some(threshold) = threshold {
                (threshold.odds(planned.position), shared)
            } else {
                let is_independent = self.model.curve.is_independent(point, planned.limit);
                let by_curve = (self.model.curve.odds(point, &planned), weather(is_independent));
                let by_stray = (stray.rate(&factors) * seconds, weather(stray.is_independent()));
                with_stray(by_curve, by_stray)
            };
            match slow {
                None => (lossy, weather),
                // Low-loss is what neither loses too much nor is too slow.
                Some(slow) => {
                    let odds = (1.0 + lossy) * (1.0 + slow[world].odds(planned.position)) - 1.0;
                    (odds, shared)
                }
            }
        })
    }
}

/// Odds of high loss when stray losses may come on top, `stray` on average, and what to multiply them with when all
/// trials are to be low-loss.
fn with_stray((odds, weather): (f64, f64), (stray, stray_weather): (f64, f64)) -> (f64, f64) {
    let both = ((1.0 + odds) * stray.exp() - 1.0).min(MOST_ODDS);
    let sum = (odds + stray).max(f64::MIN_POSITIVE);
    (both, (weather * odds + stray_weather * stray) / sum)
}
