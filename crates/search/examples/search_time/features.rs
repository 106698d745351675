//! What a drawn system is like: which features it has, and how strong they are.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const LINK: f64 = 14.88e6;

/// What the random numbers of one seed are for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Feature = 1,
    Noise,
    Stall,
    Mode,
    Stray,
    Copy,
    Rounding,
}

/// Rates in units a second, shares of the capacity, times in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    pub(crate) capacity: f64,
    pub(crate) softness: f64,
    /// Units no longer forwarded for each unit above the capacity.
    pub(crate) collapse: f64,
    pub(crate) noise: Noise,
    pub(crate) stalls: Option<Stalls>,
    pub(crate) stray: f64,
    /// From this load on stray losses grow evenly; 0 loses the same share everywhere.
    pub(crate) stray_from: f64,
    pub(crate) modes: Option<Modes>,
    pub(crate) buffer_s: f64,
    /// Whether what a trial leaves in the queue is there for the next one: the bucket of a policer.
    pub(crate) keeps_queue: bool,
    /// How much capacity lacks at first, and how fast that goes.
    pub(crate) warm_up: (f64, f64),
    /// Dips with a period near the length of short trials: period and depth.
    pub(crate) resonance: Option<(f64, f64)>,
    pub(crate) tester_limit: f64,
    /// Copies a unit forwarded.
    pub(crate) copies: f64,
}

/// How the capacity strays; the number is a share of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noise {
    None,
    White(f64),
    /// With the share that is left after a second.
    Lasting(f64, f64),
    /// To another level at this second.
    Step(f64, f64),
    /// So much a second, up to ten minutes long.
    Drift(f64),
    /// With the period in seconds.
    Wave(f64, f64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stalls {
    pub(crate) every_s: f64,
    pub(crate) length_s: f64,
    pub(crate) pattern: Pattern,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Periodic,
    Random,
    /// A minute in four has them four times as often, the others have none.
    Clustered,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) count: u64,
    pub(crate) gap: f64,
    pub(crate) dwell_s: f64,
}

/// Draws features one after the other.
pub(crate) struct Deck {
    pub(crate) seed: u64,
    pub(crate) index: u64,
}

impl Deck {
    fn share(&mut self) -> f64 {
        self.index += 1;
        draw(self.seed, Purpose::Feature, self.index)
    }

    fn has(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.share()
    }

    /// Even in the logarithm.
    fn spread(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.share())
    }

    fn pick(&mut self, count: u64) -> u64 {
        (self.share() * count as f64) as u64
    }
}

impl Features {
    /// Nothing but a capacity.
    pub(crate) fn plain(deck: &mut Deck) -> Self {
        let share = if deck.has(0.5) {
            deck.between(0.3, 0.95)
        } else {
            deck.spread(0.003, 0.95)
        };
        Self {
            capacity: LINK * share,
            softness: 0.0,
            collapse: 0.0,
            noise: Noise::None,
            stalls: None,
            stray: 0.0,
            stray_from: 0.0,
            modes: None,
            buffer_s: 0.0,
            keeps_queue: false,
            warm_up: (0.0, 1.0),
            resonance: None,
            tester_limit: f64::INFINITY,
            copies: 0.0,
        }
    }

    pub(crate) fn drawn(deck: &mut Deck) -> Self {
        let plain = Self::plain(deck);
        let capacity = plain.capacity;
        let or_none = |has: bool, value: f64| if has { value } else { 0.0 };
        Self {
            softness: or_none(deck.has(0.5), deck.spread(1e-4, 0.03)),
            collapse: or_none(deck.has(0.2), deck.share()),
            noise: Noise::drawn(deck),
            stalls: Stalls::drawn(deck),
            stray: or_none(deck.has(0.3), deck.spread(1e-8, 1e-3)),
            stray_from: or_none(deck.has(0.5), deck.between(0.5, 0.95) * capacity),
            modes: deck.has(0.2).then(|| Modes {
                count: 2 + deck.pick(3),
                gap: deck.spread(0.005, 0.2),
                dwell_s: deck.spread(3.0, 300.0),
            }),
            buffer_s: or_none(deck.has(0.5), deck.spread(1e-3, 1.0)),
            keeps_queue: deck.has(0.1),
            warm_up: (or_none(deck.has(0.1), deck.between(0.01, 0.3)), deck.spread(5.0, 100.0)),
            resonance: deck
                .has(0.05)
                .then(|| (deck.between(0.9, 1.1), deck.spread(0.005, 0.3))),
            tester_limit: if deck.has(0.05) {
                capacity * deck.between(0.6, 1.2)
            } else {
                f64::INFINITY
            },
            copies: or_none(deck.has(0.05), deck.spread(1e-8, 1e-5)),
            ..plain
        }
    }
}

impl Noise {
    pub(crate) fn drawn(deck: &mut Deck) -> Self {
        let amount = deck.spread(2e-4, 0.05);
        match deck.pick(10) {
            0 | 1 => Self::White(amount),
            2 => Self::Lasting(amount, deck.between(0.3, 0.97)),
            3 => Self::Step(4.0 * amount * (2.0 * deck.share() - 1.0), deck.spread(5.0, 300.0)),
            4 => Self::Drift(4.0 * amount * (2.0 * deck.share() - 1.0) / 100.0),
            5 => Self::Wave(amount, deck.spread(3.0, 600.0)),
            _ => Self::None,
        }
    }
}

impl Stalls {
    pub(crate) fn drawn(deck: &mut Deck) -> Option<Self> {
        let (has, pattern) = (deck.has(0.3), deck.pick(4));
        let stalls = Self {
            every_s: deck.spread(2.0, 200.0),
            length_s: deck.spread(1e-3, 1.0),
            pattern: match pattern {
                0 | 1 => Pattern::Periodic,
                2 => Pattern::Random,
                _ => Pattern::Clustered,
            },
        };
        has.then_some(stalls)
    }
}

/// Even over 0 to 1 (`SplitMix64`).
pub(crate) fn draw(seed: u64, purpose: Purpose, index: u64) -> f64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |state: u64| SplitMix64::seed_from_u64(state.wrapping_sub(GOLDEN)).next_u64();
    let stream = mix(mix(seed ^ 0xd7a5).wrapping_add(GOLDEN.wrapping_mul(purpose as u64)));
    (mix(stream.wrapping_add(index.wrapping_mul(GOLDEN))) >> 11) as f64 / (1_u64 << 53) as f64
}
