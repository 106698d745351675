//! Levels of a history: values that stay at a level, jump to another, stray around it, and now and then far from it.
//!
//! The loss is bounded, so that one odd value stays an odd value (Fearnhead and Rigaill, JASA 114, 2019). The noise is
//! estimated from differences of neighbours, which a jump touches only once, and its correlation from those of values
//! two apart.

mod noise;
mod path;

use noise::Noise;

/// What decides how many levels there are; both in units of the variance of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelSettings {
    /// What another level costs.
    pub penalty: f64,
    /// What a value costs at most, however far it is.
    pub cap: f64,
}

/// Values from `start` to before `end` at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of the first value.
    pub start: usize,
    /// Index after the last value.
    pub end: usize,
    /// Mean of the values that are not far from the level.
    pub mean: f64,
    /// Number of these values.
    pub kept: usize,
    /// Their sum of squared distances from the mean.
    pub squares: f64,
}

/// Where a level begins that is not the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// Index of its first value: the likeliest.
    pub at: usize,
    /// Lowest index of those that hold 95 % of the relative likelihood.
    pub earliest: usize,
    /// Highest of them.
    pub latest: usize,
}

/// A history as levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelFit {
    /// Standard deviation of the noise.
    pub deviation: f64,
    /// Correlation of the noise of neighbours, from 0 to 0.8.
    pub correlation: f64,
    /// Levels in order; one more than jumps.
    pub levels: Vec<Level>,
    /// Jumps in order.
    pub jumps: Vec<Jump>,
}

/// Least deviation of the noise: what differs less is equal, but for rounding.
pub const LEAST_DEVIATION: f64 = 1e-6;

/// Share of the relative likelihood that the interval of a jump holds.
pub const INTERVAL: f64 = 0.95;

/// Find the levels of a history.
///
/// `errors` are the standard errors of the values by themselves, 0 where unknown: a value that is known less well than
/// the noise says counts less. The fit of values that are not all finite is empty.
///
/// ```
/// use brimful_fit::{LevelSettings, fit_levels};
///
/// let values: Vec<f64> = (0..40).map(|i| f64::from(i / 25) + 0.01 * f64::from(i * 7 % 5)).collect();
/// let fit = fit_levels(&values, &[0.0; 40], LevelSettings { penalty: 16.0, cap: 9.0 });
/// assert_eq!(fit.jumps[0].at, 25);
/// ```
pub fn fit_levels(values: &[f64], errors: &[f64], settings: LevelSettings) -> LevelFit {
    if !values.iter().chain(errors).all(|value| value.is_finite()) {
        return LevelFit::default();
    }
    let noise = Noise::of(values);
    let inflation = noise.inflation();
    let deviations: Vec<f64> = (0..values.len())
        .map(|index| noise.deviation.max(errors.get(index).copied().unwrap_or(0.0)))
        .collect();
    let observed = Observed {
        values,
        deviations: &deviations,
        cap: settings.cap * inflation,
    };
    let pieces = path::cheapest(&observed, noise.deviation, settings.penalty * inflation);
    LevelFit {
        deviation: noise.deviation,
        correlation: noise.correlation,
        levels: pieces.iter().map(|piece| observed.level(piece)).collect(),
        jumps: pieces
            .windows(2)
            .map(|pair| observed.jump(&pair[0], &pair[1], inflation))
            .collect(),
    }
}

/// A stretch of a path: values from `start` to before `end` at the height of a grid line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    end: usize,
    height: f64,
}

struct Observed<'a> {
    values: &'a [f64],
    deviations: &'a [f64],
    cap: f64,
}

impl Observed<'_> {
    /// What a value costs at a height.
    fn loss(&self, index: usize, height: f64) -> f64 {
        ((self.values[index] - height) / self.deviations[index])
            .powi(2)
            .min(self.cap)
    }

    fn level(&self, piece: &Piece) -> Level {
        let near: Vec<f64> = (piece.start..piece.end)
            .filter(|&index| self.loss(index, piece.height) < self.cap)
            .map(|index| self.values[index])
            .collect();
        let mean = near.iter().sum::<f64>() / near.len() as f64;
        Level {
            start: piece.start,
            end: piece.end,
            mean: if near.is_empty() { piece.height } else { mean },
            kept: near.len(),
            squares: near.iter().map(|value| (value - mean).powi(2)).sum(),
        }
    }

    /// The jump between two pieces, with the places where it may be as well.
    fn jump(&self, before: &Piece, after: &Piece, inflation: f64) -> Jump {
        let mut cost = 0.0;
        // From the jump at the second value of both on, each place differs by the value that changes sides.
        let mut places: Vec<(usize, f64)> = (before.start + 1..after.end)
            .map(|place| {
                cost += self.loss(place - 1, before.height) - self.loss(place - 1, after.height);
                (place, cost)
            })
            .collect();
        let least = places.iter().fold(f64::INFINITY, |least, place| least.min(place.1));
        for place in &mut places {
            place.1 = (-(place.1 - least) / (2.0 * inflation)).exp();
        }
        let total: f64 = places.iter().map(|place| place.1).sum();
        places.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut jump = Jump {
            at: after.start,
            earliest: after.start,
            latest: after.start,
        };
        let mut held = 0.0;
        for (place, likelihood) in places {
            if held >= INTERVAL * total {
                break;
            }
            held += likelihood;
            jump.earliest = jump.earliest.min(place);
            jump.latest = jump.latest.max(place);
        }
        jump
    }
}
