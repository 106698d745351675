//! A belief about a load above which trials fail. It knows no amounts and no shape, so nothing in it can be wrong but
//! that there is such a load; and that may move.

use brimful_trial::Ratio;

use super::lattice::{draw_evenly, offsets, without_pattern};
use super::shape::{FLUKE, heavy_odds};

/// How far from the threshold outcomes are mixed, in steps.
const DEVIATIONS: [f64; 3] = [0.3, 1.5, 6.0];
/// Positions are one step apart this far from the centre.
const FINE_REACH: i64 = 60;
/// Chance between two trials that the threshold is somewhere else.
const MOVES: f64 = 0.004;
/// How far it moves, in steps.
const NEAR: f64 = 15.0;

/// What divides high loss from low loss, for goals of one loss ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) loss_ratio: Ratio,
    /// The loss ratio as overload in steps.
    pub(crate) overload: f64,
    /// Seconds of a full-length trial.
    pub(super) full_s: f64,
    /// Whether shorter trials are made for it too.
    pub(super) has_short: bool,
}

pub(super) struct Threshold {
    centre: f64,
    range: (f64, f64),
    /// How likely it is a number of steps from the centre, before anything is measured.
    density: fn(f64) -> f64,
    points: Vec<Weighted>,
    records: Vec<(f64, Outcome)>,
    /// How many trials the points were last laid out for.
    laid_out_at: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    High,
    Low,
    /// Low in a short trial, which says little.
    ShortLow,
}

#[derive(Clone, Copy, Debug)]
struct Weighted {
    sample: SampledThreshold,
    prior: f64,
    weight: f64,
    /// Chance of high loss in the trial that is learnt from.
    high: f64,
}

/// A threshold that stands for its share of the posterior.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledThreshold {
    position: f64,
    deviation: f64,
}

impl Threshold {
    pub(super) fn new(centre: f64, range: (f64, f64), density: fn(f64) -> f64) -> Self {
        let mut threshold = Self {
            centre,
            range,
            density,
            points: Vec::new(),
            records: Vec::new(),
            laid_out_at: 0,
        };
        threshold.lay_out(centre);
        threshold
    }

    fn lay_out(&mut self, centre: f64) {
        self.centre = centre.round();
        self.points.clear();
        let (lowest, highest) = self.range;
        let (mut total, mut all_priors) = (0.0, 0.0);
        for (offset, cell) in offsets(highest - lowest, FINE_REACH, 1) {
            let position = self.centre + offset;
            if position < lowest || position > highest {
                continue;
            }
            let weight = cell * (self.density)(offset);
            for deviation in DEVIATIONS {
                // Where it moves to is more likely near.
                let prior = cell / (1.0 + (offset / NEAR).powi(2));
                total += weight;
                all_priors += prior;
                self.points.push(Weighted {
                    sample: SampledThreshold { position, deviation },
                    prior,
                    weight,
                    high: 0.0,
                });
            }
        }
        for point in &mut self.points {
            point.prior /= all_priors;
            point.weight /= total;
        }
    }

    /// Learns from the outcome of a trial, and gives the chance of high loss that it saw before.
    pub(super) fn observe(&mut self, position: f64, outcome: Outcome) -> f64 {
        let high = self.foretell(position);
        self.learn(outcome);
        self.records.push((position, outcome));
        if matches!(outcome, Outcome::ShortLow) {
            return high;
        }
        let median = self.median();
        let is_due = self.records.len() >= self.laid_out_at + self.records.len() / 8;
        if is_due && (median - self.centre).abs() > 0.7 * FINE_REACH as f64 {
            self.lay_out(median);
            self.laid_out_at = self.records.len();
            for index in 0..self.records.len() {
                let (position, outcome) = self.records[index];
                self.foretell(position);
                self.learn(outcome);
            }
        }
        high
    }

    /// Learns from a trial at a position that was foretold.
    fn learn(&mut self, outcome: Outcome) {
        let mut total = 0.0;
        for point in &mut self.points {
            let high = point.high;
            point.weight *= match outcome {
                Outcome::High => high,
                Outcome::Low => 1.0 - high,
                Outcome::ShortLow => (1.0 - high).sqrt().sqrt(),
            };
            total += point.weight;
        }
        let stays = (1.0 - MOVES) / total.max(f64::MIN_POSITIVE);
        for point in &mut self.points {
            point.weight = point.weight * stays + MOVES * point.prior;
        }
    }

    /// Chance of high loss at a position.
    fn foretell(&mut self, position: f64) -> f64 {
        let mut sum = 0.0;
        for point in &mut self.points {
            point.high = point.sample.high(position);
            sum += point.weight * point.high;
        }
        sum
    }

    fn median(&self) -> f64 {
        let mut below = 0.0;
        for point in &self.points {
            below += point.weight;
            if below >= 0.5 {
                return point.sample.position;
            }
        }
        self.centre
    }

    /// Evenly drawn thresholds, in an order without pattern.
    pub(super) fn draw(&self, count: usize) -> Vec<SampledThreshold> {
        let drawn = draw_evenly(self.points.iter().map(|point| point.weight), without_pattern(count));
        drawn.into_iter().map(|index| self.points[index].sample).collect()
    }
}

impl SampledThreshold {
    /// Odds of a high-loss trial; nothing is ever certain.
    pub(super) fn odds(&self, position: f64) -> f64 {
        heavy_odds((position - self.position) / self.deviation).clamp(FLUKE, 1.0 / FLUKE)
    }

    fn high(&self, position: f64) -> f64 {
        let odds = self.odds(position);
        odds / (1.0 + odds)
    }
}
