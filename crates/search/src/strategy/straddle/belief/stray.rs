//! Loss that has nothing to do with overload: dips, stalls, stray units. How often it strikes, and how much less often
//! at lower loads. A dip may take any amount. Units are lost one by one, by chance, so their rate says the amount.

use super::lattice::{draw_evenly, without_pattern};
use super::observation::Observation;

/// Dips a second at the lowest load that had a stray loss, and what each rate weighs.
const DIPS: [(f64, f64); 9] = [
    (0.0005, 0.55),
    (0.004, 0.17),
    (0.012, 0.09),
    (0.025, 0.05),
    (0.05, 0.04),
    (0.1, 0.03),
    (0.2, 0.025),
    (0.45, 0.025),
    (1.0, 0.02),
];
/// Units a second at that load, in octaves: from one in a quarter of an hour. All are equally likely.
const UNIT_OCTAVES: std::ops::Range<i32> = -10..15;
/// What all hypotheses of units weigh, where those of dips weigh 1.
const UNIT_PRIOR: f64 = 0.05;
/// Share of the load below that one over which events thin out to none, and what each weighs; the last is never. What
/// thins out fast is more likely the curve's own business. Only units thin out over the first.
const REACHES: [(f64, f64); 10] = [
    (0.008, 0.05),
    (0.014, 0.05),
    (0.02, 0.08),
    (0.03, 0.08),
    (0.045, 0.12),
    (0.07, 0.12),
    (0.1, 0.1),
    (0.15, 0.1),
    (0.3, 0.1),
    (f64::INFINITY, 0.2),
];
/// What it weighs that units go in proportion to the load.
const PROPORTIONAL_PRIOR: f64 = 0.15;
/// Density of a dip, by logarithm of the overload.
const DIP_DENSITY: f64 = 0.05;
/// How far, as a share, the amount of units is from what their rate says, chance aside: rates come in octaves.
const RATE_SPREAD: f64 = 0.2;

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    drawn: Drawn,
    weight: f64,
}

/// A hypothesis that stands for its share of the posterior.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// Dips or units a second at the anchor.
    rate: f64,
    /// Which of the factors says how the rate depends on the load.
    factor: usize,
    /// Whether units are lost one by one, independently of each other.
    is_units: bool,
}

/// What to multiply rates with at one load: by reach, and last in proportion to the load.
pub(super) type Factors = [f64; REACHES.len() + 1];

/// A posterior over the rate of stray losses above a limit.
pub(super) struct Stray {
    /// Only losses above this overload count.
    limit: f64,
    /// The lowest load that had one.
    anchor: f64,
    log_step: f64,
    hypotheses: Vec<Hypothesis>,
    /// All trials, with the density of their losses if overload is the cause.
    records: Vec<(Observation, f64)>,
}

impl Stray {
    pub(super) fn new(limit: f64, anchor: f64, log_step: f64) -> Self {
        Self {
            limit,
            anchor,
            log_step,
            hypotheses: hypotheses(limit),
            records: Vec::new(),
        }
    }

    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// Chance of a stray loss in a trial.
    pub(super) fn share(&self, position: f64, duration: f64) -> f64 {
        let factors = self.factors(position);
        let clean = |each: &Hypothesis| each.weight * (-each.drawn.rate(&factors) * duration).exp();
        1.0 - self.hypotheses.iter().map(clean).sum::<f64>()
    }

    /// What stray losses leave to overload of the loss of a trial, as a chance, and the density of the loss as a stray one
    /// times the chance of that.
    pub(super) fn explain(&self, seen: &Observation) -> (f64, f64) {
        let factors = self.factors(seen.position);
        let (mut left, mut by_stray) = (0.0, 0.0);
        for each in &self.hypotheses {
            let events = each.drawn.rate(&factors) * seen.duration;
            left += each.weight * each.drawn.left_to_overload(seen, events);
            by_stray += each.weight * each.drawn.density(seen, events);
        }
        (left, by_stray)
    }

    /// Hypotheses drawn evenly.
    pub(super) fn draw(&self, count: usize) -> Vec<Drawn> {
        let weights = self.hypotheses.iter().map(|each| each.weight);
        let drawn = draw_evenly(weights, without_pattern(count));
        drawn.into_iter().map(|index| self.hypotheses[index].drawn).collect()
    }

    pub(super) fn factors(&self, position: f64) -> Factors {
        let distance = (position - self.anchor) * self.log_step;
        let by_reach = |&(reach, _): &(f64, f64)| (1.0 + distance / reach).max(0.0);
        std::array::from_fn(|factor| REACHES.get(factor).map_or(distance.exp(), by_reach))
    }

    /// Learns from a trial whose loss, if any, has this density if overload is the cause.
    pub(super) fn observe(&mut self, seen: &Observation, by_overload: f64) {
        self.records.push((*seen, by_overload));
        let is_stray = seen.overload > self.limit && {
            let (left, by_stray) = self.explain(seen);
            by_stray > left * by_overload
        };
        if is_stray && seen.position < self.anchor {
            self.anchor = seen.position;
            self.hypotheses = hypotheses(self.limit);
            for index in 0..self.records.len() {
                let (seen, by_overload) = self.records[index];
                self.learn(&seen, by_overload);
            }
        } else {
            self.learn(seen, by_overload);
        }
    }

    fn learn(&mut self, seen: &Observation, by_overload: f64) {
        let factors = self.factors(seen.position);
        for each in &mut self.hypotheses {
            let events = each.drawn.rate(&factors) * seen.duration;
            each.weight *= if seen.overload > self.limit {
                each.drawn.density(seen, events) + each.drawn.left_to_overload(seen, events) * by_overload
            } else {
                (-events).exp()
            };
        }
        normalise(&mut self.hypotheses);
    }
}

impl Drawn {
    /// Events a second. Units get lost ever more often above the anchor too; dips need not.
    pub(super) fn rate(self, factors: &Factors) -> f64 {
        let factor = factors[self.factor];
        self.rate * if self.is_units { factor } else { factor.min(1.0) }
    }

    /// Whether losses come independently of each other.
    pub(super) fn is_independent(self) -> bool {
        self.is_units
    }

    /// Chance that overload may be the cause of a loss where this many events are expected: there was no dip, and units
    /// alone would not have been more than this loss.
    fn left_to_overload(self, seen: &Observation, events: f64) -> f64 {
        let by_units = if self.is_units { units(seen) } else { 0.0 };
        (-(events - by_units).max(0.0)).exp()
    }

    /// Density, by logarithm of the overload, of a loss as a stray one.
    fn density(self, seen: &Observation, events: f64) -> f64 {
        let chance = 1.0 - (-events).exp();
        if seen.is_repeated {
            return chance;
        }
        if !self.is_units {
            return chance * DIP_DENSITY;
        }
        // The mean of trials that lose something is `events / chance`.
        let units = units(seen).max(1.0);
        let deviation = (1.0 / units + RATE_SPREAD * RATE_SPREAD).sqrt();
        let missed = (units * chance / events.max(f64::MIN_POSITIVE)).ln() / deviation;
        chance / (std::f64::consts::PI * deviation * (1.0 + missed * missed))
    }
}

fn units(seen: &Observation) -> f64 {
    seen.output.counts.missing() as f64
}

fn hypotheses(limit: f64) -> Vec<Hypothesis> {
    let supposed = |rate, factor, is_units, weight| Hypothesis {
        drawn: Drawn { rate, factor, is_units },
        weight,
    };
    let dips = DIPS.into_iter().flat_map(|(rate, share)| {
        let reaches = REACHES.into_iter().enumerate().skip(1);
        reaches.map(move |(factor, (_, part))| supposed(rate, factor, false, share * part))
    });
    let units = UNIT_OCTAVES.flat_map(|octave| {
        let parts = REACHES.map(|(_, part)| part).into_iter().chain([PROPORTIONAL_PRIOR]);
        let each = UNIT_PRIOR / UNIT_OCTAVES.len() as f64;
        parts
            .enumerate()
            .map(move |(factor, part)| supposed(f64::from(octave).exp2(), factor, true, each * part))
    });
    // Single units are too few to exceed a limit above 0.
    let mut hypotheses: Vec<Hypothesis> = dips.chain(units.filter(|_| limit <= 0.0)).collect();
    normalise(&mut hypotheses);
    hypotheses
}

fn normalise(hypotheses: &mut [Hypothesis]) {
    let total: f64 = hypotheses.iter().map(|each| each.weight).sum();
    if total > 0.0 {
        for each in hypotheses {
            each.weight /= total;
        }
    }
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, Load, TrialOutput};

    use super::*;

    const LOG_STEP: f64 = 0.005;

    /// A trial at a position in which some of a million units were lost.
    fn seen(position: f64, lost: u64) -> Observation {
        let output = TrialOutput {
            counts: Counts::new(1_000_000, 1_000_000 - lost, 0).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        Observation {
            load: Load::new(1e6).unwrap(),
            place: position,
            position,
            units_per_step: 5e3,
            duration: 1.0,
            overload: lost as f64 / 5e3,
            is_repeated: false,
            output,
        }
    }

    /// What is believed after trials at these positions that lost units, none of which overload explains.
    fn after(losses: &[(f64, u64)]) -> Stray {
        let mut stray = Stray::new(0.0, 0.0, LOG_STEP);
        for &(position, lost) in losses {
            stray.observe(&seen(position, lost), 1e-6);
        }
        stray
    }

    /// How much of the belief is on units.
    fn on_units(stray: &Stray) -> f64 {
        let units = stray.hypotheses.iter().filter(|each| each.drawn.is_independent());
        units.map(|each| each.weight).sum()
    }

    const SINGLE: [(f64, u64); 6] = [(0.0, 1), (10.0, 1), (10.0, 2), (10.0, 1), (10.0, 0), (10.0, 1)];
    const DIPS: [(f64, u64); 6] = [
        (0.0, 20_000),
        (10.0, 900),
        (10.0, 0),
        (10.0, 0),
        (10.0, 30_000),
        (10.0, 0),
    ];

    #[test]
    fn amounts_tell_units_that_go_one_by_one_from_dips() {
        assert!(on_units(&after(&SINGLE)) > 0.9);
        assert!(on_units(&after(&DIPS)) < 0.01);
        assert!(on_units(&after(&[])) < 0.1);
        assert!(on_units(&Stray::new(0.005, 0.0, LOG_STEP)) <= 0.0);
    }

    #[test]
    fn units_get_lost_ever_more_often_above_the_lowest_load_that_lost_one() {
        let shares = |stray: &Stray| [-5.0, 0.0, 10.0, 20.0].map(|position| stray.share(position, 1.0));
        let single = shares(&after(&SINGLE));
        assert!(single.is_sorted_by(|a, b| a < b), "{single:?}");
        let dips = shares(&after(&DIPS));
        assert!(dips[0] < dips[1], "{dips:?}");
        assert!(dips[1..].iter().all(|share| (share - dips[1]).abs() < 1e-3), "{dips:?}");
    }

    #[test]
    fn amounts_lost_at_high_loads_tell_the_chance_of_loss_at_a_much_lower_one() {
        let at = |share: f64| share.ln() / LOG_STEP;
        let stray = after(&[(at(1.0), 40), (at(0.8), 30), (at(0.6), 25), (at(0.5), 20)]);
        assert!(stray.share(at(0.4), 1.0) > 0.9);
        let even = stray.share(at(0.02), 1.0);
        assert!((0.1..0.7).contains(&even), "{even}");
    }

    #[test]
    fn overload_explains_a_loss_that_is_larger_than_what_units_take() {
        let mut stray = after(&SINGLE);
        let before = on_units(&stray);
        stray.observe(&seen(15.0, 50_000), 0.5);
        assert!(on_units(&stray) > 0.8 * before);
    }

    #[test]
    fn what_is_drawn_stands_for_the_whole_belief() {
        let stray = after(&SINGLE);
        let drawn = stray.draw(512);
        for position in [-5.0, 0.0, 10.0] {
            let factors = stray.factors(position);
            let clean = drawn.iter().map(|each| (-each.rate(&factors)).exp()).sum::<f64>() / 512.0;
            assert!((1.0 - clean - stray.share(position, 1.0)).abs() < 0.01, "{position}");
        }
    }
}
