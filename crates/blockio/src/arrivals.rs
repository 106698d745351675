use std::sync::Arc;

use brimful_trial::{Load, Nanoseconds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How the intended starts of a load are spread over time. Their number is load x duration in any case.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// All the same distance apart.
    Even,
    /// As a Poisson process that has this number of arrivals in the trial: at independent, uniform times.
    Poisson,
    /// Places on a line, in mean distances, from 0 and not falling; it begins again at a distance of 1 after the last.
    Timeline(Arc<[f64]>),
}

/// Later than any clock goes.
const NEVER: Nanoseconds = Nanoseconds(u64::MAX);

/// When each IO of a trial is to start, whatever happened to the ones before.
#[derive(Clone, Debug)]
pub struct Schedule {
    start: u64,
    count: u64,
    index: u64,
    due: Nanoseconds,
    places: Places,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a trial")]
enum Places {
    Even { period: f64 },
    Poisson { random: ChaCha8Rng, place: f64, scale: f64 },
    Timeline { places: Arc<[f64]>, period: f64 },
}

impl Schedule {
    /// The schedule of a trial that starts at a time of the clock in use. `seed` is that of Poisson arrivals.
    pub fn new(start: Nanoseconds, load: Load, duration: Nanoseconds, arrivals: &Arrivals, seed: u64) -> Self {
        let count = ((load.per_second() * duration.as_seconds()).round() as u64).max(1);
        let places = match arrivals {
            Arrivals::Even => Places::Even {
                period: 1e9 / load.per_second(),
            },
            Arrivals::Poisson => poisson(count, duration, seed),
            Arrivals::Timeline(places) => {
                // A part of the line has a mean of its own; the trial must have the load.
                let end = place_of(places, count);
                let period = if end > 0.0 { duration.0 as f64 / end } else { 0.0 };
                Places::Timeline {
                    places: Arc::clone(places),
                    period,
                }
            }
        };
        let mut schedule = Self {
            start: start.0,
            count,
            index: 0,
            due: NEVER,
            places,
        };
        schedule.find_due();
        schedule
    }

    /// IOs of the whole trial.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many have been taken.
    pub fn taken(&self) -> u64 {
        self.index
    }

    /// When the next one is due; never, after the last.
    pub fn due(&self) -> Nanoseconds {
        self.due
    }

    /// Goes on to the one after the next.
    pub fn take(&mut self) {
        self.index += 1;
        self.find_due();
    }

    fn find_due(&mut self) {
        if self.index == self.count {
            self.due = NEVER;
            return;
        }
        let elapsed = match &mut self.places {
            Places::Even { period } => self.index as f64 * *period,
            Places::Poisson { random, place, scale } => {
                *place += exponential(random);
                *place * *scale
            }
            Places::Timeline { places, period } => place_of(places, self.index) * *period,
        };
        self.due = Nanoseconds(self.start + elapsed.round() as u64);
    }
}

/// Independent uniform times in their order are sums of exponential distances, scaled so that one more would end the
/// trial.
fn poisson(count: u64, duration: Nanoseconds, seed: u64) -> Places {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut ahead = random.clone();
    let sum: f64 = (0..=count).map(|_| exponential(&mut ahead)).sum();
    Places::Poisson {
        random,
        place: 0.0,
        scale: duration.0 as f64 / sum,
    }
}

fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// The place of any IO on a line that begins again.
fn place_of(places: &[f64], index: u64) -> f64 {
    let len = places.len() as u64;
    (index - index % len) as f64 + places[(index % len) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: u64 = 1_000_000_007;

    fn times(load: f64, duration_s: f64, arrivals: &Arrivals, seed: u64) -> Vec<u64> {
        let duration = Nanoseconds::from_seconds(duration_s).unwrap();
        let mut schedule = Schedule::new(Nanoseconds(START), Load::new(load).unwrap(), duration, arrivals, seed);
        let mut times = Vec::new();
        while schedule.due() != NEVER {
            times.push(schedule.due().0 - START);
            schedule.take();
        }
        assert_eq!(
            (times.len() as u64, schedule.taken()),
            (schedule.count(), schedule.count())
        );
        times
    }

    #[test]
    fn even_starts_are_a_period_apart_and_do_not_drift() {
        let times = times(3000.0, 100.0, &Arrivals::Even, 0);
        assert_eq!(times.len(), 300_000);
        assert_eq!(
            [times[1], times[3], times[299_997]],
            [333_333, 1_000_000, 99_999_000_000]
        );
    }

    #[test]
    fn a_trial_has_one_start_at_least() {
        assert_eq!(times(0.1, 0.5, &Arrivals::Even, 0), [0]);
        assert_eq!(times(0.1, 0.5, &Arrivals::Poisson, 0).len(), 1);
    }

    #[test]
    fn a_timeline_keeps_its_distances_and_has_the_load() {
        let line = Arrivals::Timeline([0.0, 0.5, 2.5, 3.0].into());
        let times = times(1000.0, 1.0, &line, 0);
        assert_eq!(times[1..5], [500_000, 2_500_000, 3_000_000, 4_000_000]);
        assert_eq!(times.len(), 1000);
    }

    #[test]
    fn poisson_distances_are_exponential_and_independent() {
        let times = times(100_000.0, 2.0, &Arrivals::Poisson, 7);
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 10_000.0)
            .collect();
        let count = gaps.len() as f64;
        let share_above = |limit: f64| gaps.iter().filter(|&&gap| gap > limit).count() as f64 / count;
        for limit in [0.1, 0.5, 1.0, 2.0, 4.0_f64] {
            let expected = (-limit).exp();
            let standard_error = (expected * (1.0 - expected) / count).sqrt();
            let found = share_above(limit);
            assert!(
                (found - expected).abs() < 4.0 * standard_error + 1e-4,
                "{limit}: {found} {expected}"
            );
        }
        let product: f64 = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum();
        assert!(
            (product / count).abs() < 4.0 / count.sqrt(),
            "neighbours are alike: {}",
            product / count
        );
    }

    proptest! {
        #[test]
        fn starts_are_in_order_and_within_the_trial(load in 10.0..1e5, duration in 0.01..0.2, seed: u64) {
            for arrivals in [Arrivals::Even, Arrivals::Poisson, Arrivals::Timeline([0.0, 0.1, 0.1].into())] {
                let times = times(load, duration, &arrivals, seed);
                prop_assert!(times.is_sorted());
                prop_assert!(*times.last().unwrap() <= (duration * 1e9) as u64 + 1);
                prop_assert_eq!(times.len() as u64, ((load * duration).round() as u64).max(1));
            }
        }
    }
}
