//! Loss that has nothing to do with overload: dips, stalls, stray frames. How often it strikes, and how much less
//! often at lower loads.

use super::observation::Observation;

/// Events a second at the lowest load that lost something.
const RATES: [f64; 9] = [0.0005, 0.004, 0.012, 0.025, 0.05, 0.1, 0.2, 0.45, 1.0];
const RATE_PRIOR: [f64; 9] = [0.55, 0.17, 0.09, 0.05, 0.04, 0.03, 0.025, 0.025, 0.02];
/// Share of the load below that one over which events thin out to none; the last is never. Onsets far below are the
/// likelier ones: what thins out fast is the curve's own business.
const REACHES: [f64; 5] = [0.015, 0.04, 0.1, 0.3, f64::INFINITY];
const REACH_PRIOR: [f64; 5] = [0.1, 0.2, 0.25, 0.25, 0.2];

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    rate: f64,
    /// 1 / steps.
    inverse_reach: f64,
    weight: f64,
}

/// A hypothesis that stands for its share of the posterior.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) rate: f64,
    /// Which of the reaches.
    pub(super) reach: usize,
}

/// Spreads any number of points evenly over 0 to 1 in an order without pattern.
pub(super) const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_8;

/// A posterior over the rate of stray losses above a limit.
pub(super) struct Stray {
    /// Only losses above this overload count.
    limit: f64,
    /// The lowest load that had one.
    anchor: f64,
    log_step: f64,
    hypotheses: Vec<Hypothesis>,
    records: Vec<Record>,
}

/// A trial as far as it matters here: with the densities of its loss by overload and by a stray event.
#[derive(Clone, Copy, Debug)]
struct Record {
    position: f64,
    duration: f64,
    loss: Option<(f64, f64)>,
}

impl Stray {
    pub(super) fn new(limit: f64, anchor: f64, log_step: f64) -> Self {
        Self {
            limit,
            anchor,
            log_step,
            hypotheses: hypotheses(log_step),
            records: Vec::new(),
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

    /// Events a second, by hypothesis drawn, at a position: the drawing is even and the same for every position.
    pub(super) fn draw(&self, count: usize) -> Vec<Drawn> {
        let mut drawn = vec![Drawn { rate: 0.0, reach: 0 }; count];
        let mut order: Vec<(f64, usize)> = (0..count)
            .map(|index| ((0.5 + index as f64 * GOLDEN_RATIO).fract(), index))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut hypothesis, mut passed) = (0, self.hypotheses[0].weight);
        for (share, index) in order {
            while share > passed && hypothesis + 1 < self.hypotheses.len() {
                hypothesis += 1;
                passed += self.hypotheses[hypothesis].weight;
            }
            drawn[index] = Drawn {
                rate: self.hypotheses[hypothesis].rate,
                reach: hypothesis % REACHES.len(),
            };
        }
        drawn
    }

    /// What to multiply drawn rates with at a position, by their reach.
    pub(super) fn factors(&self, position: f64) -> [f64; REACHES.len()] {
        let below = (position - self.anchor).min(0.0) * self.log_step;
        REACHES.map(|reach| (1.0 + below / reach).max(0.0))
    }

    /// Learns from a trial whose loss, if any, overload explains with density `explained`, and a stray event with
    /// density `density`.
    pub(super) fn observe(&mut self, seen: &Observation, explained: f64, density: f64) {
        let is_loss = seen.overload > self.limit;
        let record = Record {
            position: seen.position,
            duration: seen.duration,
            loss: is_loss.then_some((explained, density)),
        };
        self.records.push(record);
        let stray = self.share(seen.position, seen.duration);
        let is_stray = is_loss && stray * density > (1.0 - stray) * explained;
        if is_stray && seen.position < self.anchor {
            self.anchor = seen.position;
            self.hypotheses = hypotheses(self.log_step);
            for index in 0..self.records.len() {
                self.learn(self.records[index]);
            }
        } else {
            self.learn(record);
        }
    }

    fn learn(&mut self, record: Record) {
        let anchor = self.anchor;
        self.update(|each| {
            let stray = each.share(anchor, record.position, record.duration);
            match record.loss {
                Some((explained, density)) => stray * density + (1.0 - stray) * explained,
                None => 1.0 - stray,
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
    /// Events expected in a trial.
    fn mean(&self, anchor: f64, position: f64, duration: f64) -> f64 {
        self.rate * (1.0 + (position - anchor).min(0.0) * self.inverse_reach).max(0.0) * duration
    }

    fn share(&self, anchor: f64, position: f64, duration: f64) -> f64 {
        1.0 - (-self.mean(anchor, position, duration)).exp()
    }
}

fn hypotheses(log_step: f64) -> Vec<Hypothesis> {
    let mut hypotheses = Vec::with_capacity(RATES.len() * REACHES.len());
    for (rate, share) in RATES.into_iter().zip(RATE_PRIOR) {
        for (reach, part) in REACHES.into_iter().zip(REACH_PRIOR) {
            hypotheses.push(Hypothesis {
                rate,
                inverse_reach: log_step / reach,
                weight: share * part,
            });
        }
    }
    hypotheses
}
