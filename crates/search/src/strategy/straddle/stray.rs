//! Loss that has nothing to do with overload: dips, stalls, stray frames. How often it strikes, and how much less
//! often at lower loads.

use super::curve::Observation;

/// Events a second at the anchor.
const RATES: [f64; 6] = [0.0005, 0.003, 0.012, 0.04, 0.15, 0.6];
const RATE_PRIOR: [f64; 6] = [0.60, 0.16, 0.10, 0.07, 0.04, 0.03];
/// Share of the load over which events get rarer by a factor of e; the last is never.
const DECAYS: [f64; 3] = [0.03, 0.12, f64::INFINITY];

/// Events that it takes to know how severe they are.
const SEVERITY_PRIOR: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    rate: f64,
    /// 1 / steps.
    decay: f64,
    weight: f64,
}

/// A posterior over the rate of stray losses.
pub(super) struct Stray {
    anchor: f64,
    hypotheses: Vec<Hypothesis>,
    /// How much was lost each time, and the belief that it was a stray loss.
    events: Vec<(f64, f64)>,
}

impl Stray {
    pub(super) fn new(anchor: f64, log_step: f64) -> Self {
        let mut hypotheses = Vec::new();
        for (rate, share) in RATES.into_iter().zip(RATE_PRIOR) {
            hypotheses.extend(DECAYS.map(|decay| Hypothesis {
                rate,
                decay: log_step / decay,
                weight: share / DECAYS.len() as f64,
            }));
        }
        Self {
            anchor,
            hypotheses,
            events: Vec::new(),
        }
    }

    /// Chance of a stray loss in a trial.
    pub(super) fn share(&self, position: f64, duration: f64) -> f64 {
        self.hypotheses
            .iter()
            .map(|each| each.weight * each.share(self.anchor, position, duration))
            .sum()
    }

    /// Share of the stray losses that are above a limit.
    pub(super) fn severity(&self, limit: f64) -> f64 {
        if limit <= 0.0 {
            return 1.0;
        }
        let all: f64 = self.events.iter().map(|&(_, belief)| belief).sum();
        let above = self.events.iter().filter(|&&(overload, _)| overload > limit);
        (above.map(|&(_, belief)| belief).sum::<f64>() + 0.5 * SEVERITY_PRIOR) / (all + SEVERITY_PRIOR)
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

    pub(super) fn observe_clean(&mut self, position: f64, duration: f64) {
        let anchor = self.anchor;
        self.update(|each| 1.0 - each.share(anchor, position, duration));
    }

    /// A loss that overload explains with density `explained`, and a stray event with density `density`.
    pub(super) fn observe_loss(&mut self, seen: &Observation, explained: f64, density: f64) {
        let anchor = self.anchor;
        let (position, duration) = (seen.position, seen.duration);
        let stray = self.share(position, duration) * density;
        let belief = stray / (stray + explained).max(f64::MIN_POSITIVE);
        self.events.push((seen.overload, belief));
        self.update(|each| {
            let stray = each.share(anchor, position, duration);
            stray * density + (1.0 - stray) * explained
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
