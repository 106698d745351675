//! Loss that has nothing to do with overload: dips, stalls, stray frames. How often it strikes, and how much less
//! often at lower loads.

use super::curve::Observation;

/// Events a second at the anchor.
const RATES: [f64; 8] = [0.0005, 0.003, 0.012, 0.04, 0.15, 0.6, 2.0, 8.0];
const RATE_PRIOR: [f64; 8] = [0.60, 0.16, 0.10, 0.06, 0.03, 0.02, 0.015, 0.015];
/// Share of the load over which events get rarer by a factor of e; the last is never.
const DECAYS: [f64; 5] = [0.012, 0.025, 0.05, 0.12, f64::INFINITY];

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    rate: f64,
    /// 1 / steps.
    decay: f64,
    weight: f64,
}

/// A posterior over the rate of stray losses above a limit.
pub(super) struct Stray {
    /// Only losses above this overload count.
    limit: f64,
    anchor: f64,
    hypotheses: Vec<Hypothesis>,
}

impl Stray {
    pub(super) fn new(limit: f64, anchor: f64, log_step: f64) -> Self {
        let mut hypotheses = Vec::new();
        for (rate, share) in RATES.into_iter().zip(RATE_PRIOR) {
            hypotheses.extend(DECAYS.map(|decay| Hypothesis {
                rate,
                decay: log_step / decay,
                weight: share / DECAYS.len() as f64,
            }));
        }
        Self {
            limit,
            anchor,
            hypotheses,
        }
    }

    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// Chance of a stray loss in a trial.
    pub(super) fn share(&self, position: f64, duration: f64) -> f64 {
        self.hypotheses
            .iter()
            .map(|each| each.weight * each.share(self.anchor, position, duration))
            .sum()
    }

    /// The chance in one trial that makes `trials` in a row without a stray loss as likely as they are.
    pub(super) fn share_in_row(&self, position: f64, duration: f64, trials: f64) -> f64 {
        let none: f64 = self
            .hypotheses
            .iter()
            .map(|each| each.weight * (-each.mean(self.anchor, position, duration) * trials).exp())
            .sum();
        1.0 - none.max(f64::MIN_POSITIVE).powf(1.0 / trials)
    }

    /// Learns from a trial whose loss, if any, overload explains with density `explained`, and a stray event with
    /// density `density`.
    pub(super) fn observe(&mut self, seen: &Observation, explained: f64, density: f64) {
        let (anchor, is_loss) = (self.anchor, seen.overload > self.limit);
        self.update(|each| {
            let stray = each.share(anchor, seen.position, seen.duration);
            if is_loss {
                stray * density + (1.0 - stray) * explained
            } else {
                1.0 - stray
            }
        });
    }

    fn update(&mut self, likelihood: impl Fn(&Hypothesis) -> f64) {
        let mut total = 0.0;
        for each in &mut self.hypotheses {
            each.weight *= likelihood(each);
            total += each.weight;
        }
        if total > 0.0 {
            for each in &mut self.hypotheses {
                each.weight /= total;
            }
        }
    }
}

impl Hypothesis {
    /// Events expected in a trial. Above the anchor they get no more frequent: that is what overload is for.
    fn mean(&self, anchor: f64, position: f64, duration: f64) -> f64 {
        let below = (anchor - position).max(0.0);
        self.rate * duration * (-below * self.decay).exp()
    }

    fn share(&self, anchor: f64, position: f64, duration: f64) -> f64 {
        1.0 - (-self.mean(anchor, position, duration)).exp()
    }
}
