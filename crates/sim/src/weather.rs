//! Random numbers that are a pure function of a seed, a purpose and an index, most often a virtual second.

/// 2^64 / golden ratio: the increment of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a stream of random numbers is for: streams of one seed are independent of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Capacity = 1,
    Jitter,
    Dip,
    Stall,
    Regime,
    Drift,
    Stray,
    Rounding,
}

/// Random numbers for one purpose, by index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream(u64);

/// One random number, in the shapes that a model needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(u64);

impl Stream {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        Self(mix(mix(seed).wrapping_add(GOLDEN.wrapping_mul(purpose as u64))))
    }

    pub(crate) fn at(self, index: u64) -> Draw {
        Draw(mix(self.0.wrapping_add(index.wrapping_mul(GOLDEN))))
    }
}

impl Draw {
    /// Another number of the same place, independent of this one.
    pub(crate) fn next(self) -> Self {
        Self(mix(self.0.wrapping_add(GOLDEN)))
    }

    /// Even over 0 (possible) to 1 (impossible).
    pub(crate) fn share(self) -> f64 {
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Even over `least` to `most`.
    pub(crate) fn between(self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.share()
    }

    /// Bell-shaped with mean 0 and standard deviation 1, never beyond 3.5: the sum of four even numbers, which is
    /// the same on every platform.
    pub(crate) fn bell(self) -> f64 {
        const QUARTER: u64 = 0xFFFF;
        let sum = (self.0 & QUARTER) + (self.0 >> 16 & QUARTER) + (self.0 >> 32 & QUARTER) + (self.0 >> 48);
        // Each of the four has mean 65535 / 2 and variance (65536^2 - 1) / 12.
        (sum as f64 - 131_070.0) / 37_837.227_2
    }

    /// How many of many unlikely events happen when `mean` are expected.
    pub(crate) fn events(self, mean: f64) -> u64 {
        // The chance of none is e^-mean, which is at least 1 - mean: mostly nothing more need be known.
        if self.share() < 1.0 - mean || mean <= 0.0 {
            return 0;
        }
        if mean > LARGE_MEAN {
            return (mean + mean.sqrt() * self.bell()).round() as u64;
        }
        let (mut events, mut chance) = (0, (-mean).exp());
        let mut rest = self.share() - chance;
        while rest >= 0.0 && events < LARGE_MEAN as u64 * 8 {
            events += 1;
            chance *= mean / events as f64;
            rest -= chance;
        }
        events
    }
}

/// From here on the number of events is drawn from a bell, which then is close and costs the same for any mean.
const LARGE_MEAN: f64 = 24.0;

/// The finaliser of `SplitMix64`: every bit of the input moves every bit of the output.
fn mix(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ state >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 100_000;

    fn moments(of: impl Fn(Draw) -> f64) -> (f64, f64) {
        let stream = Stream::new(7, Purpose::Jitter);
        let values: Vec<f64> = (0..DRAWS).map(|index| of(stream.at(index))).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        (mean, variance)
    }

    #[track_caller]
    fn check(of: impl Fn(Draw) -> f64, mean: f64, variance: f64) {
        let (seen_mean, seen_variance) = moments(of);
        assert!((seen_mean - mean).abs() < 0.02 * (1.0 + mean), "mean {seen_mean}");
        assert!(
            (seen_variance - variance).abs() < 0.02 * (1.0 + variance),
            "variance {seen_variance}"
        );
    }

    #[test]
    fn draws_have_the_moments_of_their_shape() {
        check(Draw::share, 0.5, 1.0 / 12.0);
        check(|draw| draw.next().share(), 0.5, 1.0 / 12.0);
        check(Draw::bell, 0.0, 1.0);
        for mean in [0.0, 0.01, 0.7, 5.0, 23.0, 25.0, 1000.0] {
            check(|draw| draw.events(mean) as f64, mean, mean);
        }
    }

    #[test]
    fn no_events_are_as_likely_as_they_should_be() {
        let stream = Stream::new(1, Purpose::Stray);
        let none = (0..DRAWS).filter(|&index| stream.at(index).events(0.69) == 0).count();
        let expected = (-0.69_f64).exp() * DRAWS as f64;
        assert!((none as f64 - expected).abs() < 600.0, "{none}");
    }

    #[test]
    fn a_seed_gives_these_numbers_for_ever() {
        let draw = Stream::new(7, Purpose::Dip).at(42);
        assert_eq!(
            (draw.0, draw.next().0),
            (5_508_200_000_684_030_937, 2_094_767_350_022_960_113)
        );
    }
}
