//! Loss that has nothing to do with overload: dips, stalls, stray frames. How often it strikes, and how much less
//! often at lower loads.

use super::draw::{draw_evenly, without_pattern};
use super::observation::Observation;

/// Events a second at the lowest load that lost something.
const RATES: [f64; 9] = [0.0005, 0.004, 0.012, 0.025, 0.05, 0.1, 0.2, 0.45, 1.0];
const RATE_PRIOR: [f64; 9] = [0.55, 0.17, 0.09, 0.05, 0.04, 0.03, 0.025, 0.025, 0.02];
/// Share of the load below that one over which events thin out to none; the last is never. What thins out fast is
/// more likely the curve's own business.
const REACHES: [f64; 10] = [0.008, 0.014, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.3, f64::INFINITY];
const REACH_PRIOR: [f64; 10] = [0.05, 0.05, 0.08, 0.08, 0.12, 0.12, 0.1, 0.1, 0.1, 0.2];
/// Only single units that get lost by chance thin out faster than over this reach.
const SHORTEST_REACH_OF_DIPS: f64 = 0.014;
/// Dips take more than single units; so much of one is expected before any event was seen.
const DIPS_EXPECTED: f64 = 0.5;

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

/// A posterior over the rate of stray losses above a limit.
pub(super) struct Stray {
    /// Only losses above this overload count.
    limit: f64,
    /// The lowest load that had one.
    anchor: f64,
    log_step: f64,
    hypotheses: Vec<Hypothesis>,
    records: Vec<Record>,
    /// How many events took few units, and how many took more.
    few: f64,
    many: f64,
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
            few: 0.0,
            many: DIPS_EXPECTED,
        }
    }

    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// Chance of a stray loss in a trial.
    pub(super) fn share(&self, position: f64, duration: f64) -> f64 {
        let distance = self.distance(position);
        let each = self.hypotheses.iter().zip(self.weights());
        each.map(|(each, weight)| weight * each.share(distance, duration)).sum()
    }

    /// Hypotheses drawn evenly: events a second at the anchor, and which reach.
    pub(super) fn draw(&self, count: usize) -> Vec<Drawn> {
        let hypothesis = |index: usize| Drawn {
            rate: self.hypotheses[index].rate,
            reach: index % REACHES.len(),
        };
        let drawn = draw_evenly(self.weights(), without_pattern(count));
        drawn.into_iter().map(hypothesis).collect()
    }

    /// What to multiply drawn rates with at a position, by their reach.
    pub(super) fn factors(&self, position: f64) -> [f64; REACHES.len()] {
        let distance = self.distance(position) * self.log_step;
        REACHES.map(|reach| (1.0 + distance / reach).max(0.0))
    }

    /// Share of the events that come independently of each other, as single units do that get lost by chance.
    pub(super) fn independent_share(&self) -> f64 {
        self.few / (self.few + self.many)
    }

    /// What the hypotheses weigh once it is known how many of the events are dips.
    fn weights(&self) -> impl Iterator<Item = f64> {
        let fastest = self.log_step / SHORTEST_REACH_OF_DIPS;
        let short = self.independent_share();
        let weight = move |each: &Hypothesis| {
            let possible = if each.inverse_reach > fastest { short } else { 1.0 };
            possible * each.weight
        };
        let total = self.hypotheses.iter().map(weight).sum::<f64>().max(f64::MIN_POSITIVE);
        self.hypotheses.iter().map(move |each| weight(each) / total)
    }

    /// Steps above the anchor. Single units get lost ever more often above it too; dips need not.
    fn distance(&self, position: f64) -> f64 {
        let distance = position - self.anchor;
        if distance > 0.0 {
            self.independent_share() * distance
        } else {
            distance
        }
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
        let (by_stray, by_overload) = (stray * density, (1.0 - stray) * explained);
        if is_loss {
            let kind = if seen.is_few() { &mut self.few } else { &mut self.many };
            *kind += by_stray / (by_stray + by_overload).max(f64::MIN_POSITIVE);
        }
        let is_stray = is_loss && by_stray > by_overload;
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
        let distance = self.distance(record.position);
        self.update(|each| {
            let stray = each.share(distance, record.duration);
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
    /// Chance of an event in a trial so many steps above the lowest load that had one.
    fn share(&self, distance: f64, duration: f64) -> f64 {
        let events = self.rate * (1.0 + distance * self.inverse_reach).max(0.0) * duration;
        1.0 - (-events).exp()
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

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, TrialOutput};

    use super::*;

    const LOG_STEP: f64 = 0.005;

    /// A trial at a position in which so many of a million units were lost.
    fn seen(position: f64, lost: u64) -> Observation {
        let output = TrialOutput {
            counts: Counts::new(1_000_000, 1_000_000 - lost, 0).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        Observation {
            position,
            units_per_step: 5e3,
            duration: 1.0,
            overload: lost as f64 / 5e3,
            is_repeated: false,
            output,
        }
    }

    /// What is believed after a loss at position 0 and five at 10, none of which overload explains.
    fn after_losses(lost: u64) -> Stray {
        let mut stray = Stray::new(0.0, 0.0, LOG_STEP);
        for position in [0.0, 10.0, 10.0, 10.0, 10.0, 10.0] {
            let seen = seen(position, lost);
            stray.observe(&seen, 1e-6, seen.stray_density());
        }
        stray
    }

    #[test]
    fn single_units_go_independently_of_each_other_and_dips_do_not() {
        assert!(after_losses(1).independent_share() > 0.8);
        assert!(after_losses(20_000).independent_share() < 0.01);
        assert!(Stray::new(0.0, 0.0, LOG_STEP).independent_share() < 0.01);
    }

    #[test]
    fn single_units_get_lost_ever_more_often_above_the_lowest_load_that_lost_one() {
        let shares = |stray: &Stray| [-5.0, 0.0, 10.0, 20.0].map(|position| stray.share(position, 1.0));
        let single = shares(&after_losses(1));
        assert!(single.is_sorted_by(|a, b| a < b), "{single:?}");
        let dips = shares(&after_losses(20_000));
        assert!(dips[0] < dips[1], "{dips:?}");
        assert!(dips[1..].iter().all(|share| (share - dips[1]).abs() < 1e-9), "{dips:?}");
    }

    #[test]
    fn drawn_rates_and_factors_stand_for_the_whole_belief() {
        let stray = after_losses(1);
        let drawn = stray.draw(512);
        for position in [-5.0, 0.0, 10.0] {
            let factors = stray.factors(position);
            let clean = drawn
                .iter()
                .map(|each| (-each.rate * factors[each.reach]).exp())
                .sum::<f64>()
                / 512.0;
            assert!((1.0 - clean - stray.share(position, 1.0)).abs() < 0.01, "{position}");
        }
    }
}
