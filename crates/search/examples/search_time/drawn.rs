//! A random family of systems: which features one has, and how strong they are, is drawn from its seed, each on its
//! own. They were not chosen by hand, so figures over fresh draws say more than those over kinds that a strategy was
//! shaped on.
//!
//! `drawn` draws all features, and `weather=2` lets the same system meet other weather;
//! `pulse,every=7s,length=100ms` has periodic stalls and nothing else.

use brimful_trial::{Counts, Nanoseconds, Ratio, TrialInput, TrialOutput};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::Failure;

const LINK: f64 = 14.88e6;
/// Trials are walked through in steps of 10 ms.
const STEP: u64 = 10_000_000;
const STEP_S: f64 = 0.01;
const SECOND: u64 = 1_000_000_000;
/// Seconds that a strayed capacity remembers.
const MEMORY: u64 = 24;
/// What is left of the capacity however far the load is above it.
const FLOOR: f64 = 0.3;

/// What the random numbers of one seed are for.
#[derive(Clone, Copy)]
enum Purpose {
    Feature = 1,
    Noise,
    Stall,
    Mode,
    Stray,
    Copy,
    Rounding,
}

pub(crate) struct Drawn {
    /// What the weather is drawn from.
    seed: u64,
    features: Features,
    overhead: u64,
    overhead_counts: bool,
    rest: u64,
    now: u64,
    /// Units in the queue.
    queued: f64,
}

/// Rates in units a second, shares of the capacity, times in seconds.
#[derive(Clone, Debug)]
struct Features {
    capacity: f64,
    softness: f64,
    /// Units no longer forwarded for each unit above the capacity.
    collapse: f64,
    noise: Noise,
    stalls: Option<Stalls>,
    stray: f64,
    /// From this load on stray losses grow evenly; 0 loses the same share everywhere.
    stray_from: f64,
    modes: Option<Modes>,
    buffer_s: f64,
    /// Whether what a trial leaves in the queue is there for the next one: the bucket of a policer.
    keeps_queue: bool,
    /// How much capacity lacks at first, and how fast that goes.
    warm_up: (f64, f64),
    /// Dips with a period near the length of short trials: period and depth.
    resonance: Option<(f64, f64)>,
    tester_limit: f64,
    /// Copies a unit forwarded.
    copies: f64,
}

/// How the capacity strays; the number is a share of it.
#[derive(Clone, Copy, Debug)]
enum Noise {
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
struct Stalls {
    every_s: f64,
    length_s: f64,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    Periodic,
    Random,
    /// A minute in four has them four times as often, the others have none.
    Clustered,
}

#[derive(Clone, Copy, Debug)]
struct Modes {
    count: u64,
    gap: f64,
    dwell_s: f64,
}

/// Draws features one after the other.
struct Deck {
    seed: u64,
    index: u64,
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
    fn plain(deck: &mut Deck) -> Self {
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

    fn drawn(deck: &mut Deck) -> Self {
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
    fn drawn(deck: &mut Deck) -> Self {
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
    fn drawn(deck: &mut Deck) -> Option<Self> {
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

impl Drawn {
    pub(crate) fn new(spec: &str) -> Result<Self, Failure> {
        let mut parts = spec.split(',');
        let kind = parts.next().unwrap_or_default();
        let (mut overhead, mut overhead_counts, mut seed, mut weather) = (0, false, 1, 0);
        let (mut every_s, mut length_s) = (7.0, 0.1);
        for part in parts {
            match part.split_once('=').ok_or("key=value")? {
                ("seed", value) => seed = value.parse()?,
                ("weather", value) => weather = value.parse::<u64>()?,
                ("overhead", value) => overhead = (seconds(value)? * SECOND as f64) as u64,
                ("overhead-counts", value) => overhead_counts = value == "yes",
                ("every", value) => every_s = seconds(value)?,
                ("length", value) => length_s = seconds(value)?,
                ("rest", "2s") => {}
                (key, _) => return Err(format!("unknown {key}").into()),
            }
        }
        let mut deck = Deck { seed, index: 0 };
        let features = match kind {
            "drawn" => Features::drawn(&mut deck),
            "pulse" => Features {
                stalls: Some(Stalls {
                    every_s,
                    length_s,
                    pattern: Pattern::Periodic,
                }),
                ..Features::plain(&mut deck)
            },
            other => return Err(format!("unknown {other}").into()),
        };
        Ok(Self {
            seed: seed ^ weather << 48,
            features,
            overhead,
            overhead_counts,
            rest: 2 * SECOND,
            now: 0,
            queued: 0.0,
        })
    }

    pub(crate) fn capacity(&self) -> f64 {
        self.features.capacity
    }

    pub(crate) fn now(&self) -> Nanoseconds {
        Nanoseconds(self.now)
    }

    /// The features of one draw in words.
    pub(crate) fn features(&self) -> String {
        format!("{:?}", self.features)
    }

    pub(crate) fn measure(&mut self, input: TrialInput, stop_above: Option<Ratio>) -> Result<TrialOutput, Failure> {
        let asked = input.load.per_second();
        let load = asked.min(self.features.tester_limit);
        let in_all = |rate: f64| (rate * input.duration.as_seconds()).round() as u64;
        let (intended, all_sent) = (in_all(asked), in_all(load));
        let end = self.now + input.duration.0;
        if !self.features.keeps_queue {
            self.queued = 0.0;
        }
        let mut lost = self.draw(Purpose::Rounding, self.now);
        let mut at = self.now;
        let mut stopped = false;
        let mut second = self.second(load, at / SECOND);
        while at < end {
            if at / SECOND != second.index {
                second = self.second(load, at / SECOND);
            }
            let step = STEP.min(end - at);
            lost += self.lost(load, at, step as f64 / SECOND as f64, &second);
            at += step;
            let so_far = Counts::new(intended, all_sent, (lost.max(0.0) as u64).min(all_sent))?;
            if at < end && stop_above.is_some_and(|limit| so_far.loss_is_certain_to_exceed(limit)) {
                stopped = true;
                break;
            }
        }
        let sent = if stopped {
            ((at - self.now) as f64 / SECOND as f64 * load) as u64
        } else {
            all_sent
        };
        let silence = self.overhead + if stopped { self.rest } else { 0 };
        self.queued = (self.queued - silence as f64 / SECOND as f64 * self.features.capacity).max(0.0);
        self.now = at + silence;
        Ok(TrialOutput {
            counts: Counts::new(intended, sent, (lost.max(0.0) as u64).min(sent))?,
            effective_duration: self
                .overhead_counts
                .then(|| Nanoseconds(input.duration.0 + self.overhead)),
            delay_p99: None,
            stopped_early: stopped,
        })
    }

    /// What stays the same within a second.
    fn second(&self, load: f64, index: u64) -> Second {
        let features = &self.features;
        let stray = if features.stray_from > 0.0 {
            let range = (features.capacity - features.stray_from).max(1.0);
            ((load - features.stray_from) / range).max(0.0)
        } else {
            1.0
        };
        let events = |purpose, mean: f64| {
            let chance = self.draw(purpose, index);
            // Many events in one second do not differ from their mean by much.
            if mean > 20.0 { mean } else { poisson(mean, chance) }
        };
        Second {
            index,
            capacity: features.capacity * self.factor(index as f64),
            stray: events(Purpose::Stray, features.stray * stray * load)
                - events(Purpose::Copy, features.copies * load),
        }
    }

    /// The share of its capacity that the system has, but for stalls and dips within the second.
    fn factor(&self, seconds: f64) -> f64 {
        let index = seconds as u64;
        let bell = |index: u64| {
            let parts = (0..4).map(|part| self.draw(Purpose::Noise, 4 * index + part));
            (parts.sum::<f64>() - 2.0) * 3.0_f64.sqrt()
        };
        let strays = match self.features.noise {
            Noise::None => 0.0,
            Noise::White(amount) => amount * bell(index),
            Noise::Lasting(amount, left) => {
                let past = (0..MEMORY).map(|ago| bell(index + MEMORY - ago) * left.powi(ago as i32));
                amount * past.sum::<f64>() * (1.0 - left * left).sqrt()
            }
            Noise::Step(amount, from) => amount * f64::from(u8::from(seconds >= from)),
            Noise::Drift(a_second) => a_second * seconds.min(600.0),
            Noise::Wave(amount, period) => {
                let phase = self.draw(Purpose::Noise, 0);
                amount * (std::f64::consts::TAU * (seconds / period + phase)).sin()
            }
        };
        let mode = self.features.modes.map_or(1.0, |modes| {
            let level = self.draw(Purpose::Mode, (seconds / modes.dwell_s) as u64) * modes.count as f64;
            1.0 - modes.gap * level.floor() / (modes.count - 1) as f64
        });
        let (lack, time) = self.features.warm_up;
        (1.0 + strays).max(0.05) * mode * (1.0 - lack * (-seconds / time).exp())
    }

    /// Units lost in one step.
    fn lost(&mut self, load: f64, at: u64, step_s: f64, second: &Second) -> f64 {
        let seconds = at as f64 / SECOND as f64;
        let mut capacity = second.capacity;
        if let Some((period, depth)) = self.features.resonance
            && (seconds / period).fract() < 0.1
        {
            capacity *= 1.0 - depth;
        }
        let capacity = capacity - (self.features.collapse * (load - capacity)).clamp(0.0, (1.0 - FLOOR) * capacity);
        let stalled = self.stalled(seconds).min(step_s);
        // What a device keeps frames in does not shrink when it slows down.
        let room = self.features.capacity * self.features.buffer_s;
        let mut lost = 0.0;
        let running = step_s - stalled;
        for (arriving, leaving) in [(load * stalled, 0.0), (load * running, capacity * running)] {
            self.queued += arriving - leaving;
            let over = (self.queued - room).max(0.0);
            lost += over;
            self.queued = (self.queued - over).max(0.0);
        }
        lost + soft(load, capacity, self.features.softness * capacity) * step_s + second.stray * step_s
    }

    /// For how long of the step that begins then the system stands still.
    fn stalled(&self, seconds: f64) -> f64 {
        let Some(stalls) = self.features.stalls else { return 0.0 };
        let within = |begin: f64| {
            let (from, until) = (seconds.max(begin), (seconds + STEP_S).min(begin + stalls.length_s));
            (until - from).max(0.0)
        };
        let every_s = match stalls.pattern {
            Pattern::Periodic => {
                let offset = self.draw(Purpose::Stall, 0) * stalls.every_s;
                let turn = ((seconds + STEP_S - offset) / stalls.every_s).floor();
                return within(turn * stalls.every_s + offset);
            }
            Pattern::Random => stalls.every_s,
            Pattern::Clustered if self.draw(Purpose::Stall, 1 + (seconds / 60.0) as u64) < 0.25 => stalls.every_s / 4.0,
            Pattern::Clustered => return 0.0,
        };
        // One a slot at most; slots are a tenth of the time between stalls, and longer than a stall.
        let slot_s = (every_s / 10.0).max(stalls.length_s);
        let slot = (seconds / slot_s) as u64;
        if self.draw(Purpose::Stall, slot + (1 << 40)) >= slot_s / every_s {
            return 0.0;
        }
        let spare = slot_s - stalls.length_s;
        within(slot as f64 * slot_s + spare * self.draw(Purpose::Stall, slot + (1 << 50)))
    }

    fn draw(&self, purpose: Purpose, index: u64) -> f64 {
        draw(self.seed, purpose, index)
    }
}

struct Second {
    index: u64,
    capacity: f64,
    /// Units lost by chance, less the copies that make up for losses.
    stray: f64,
}

/// What a soft knee loses below and above the capacity beyond what a sharp one does, units a second.
fn soft(load: f64, capacity: f64, scale: f64) -> f64 {
    if scale <= 0.0 {
        return 0.0;
    }
    scale * (-((load - capacity) / scale).abs()).exp().ln_1p()
}

/// The number of events at this place of their distribution.
fn poisson(mean: f64, mut place: f64) -> f64 {
    let (mut events, mut chance) = (0.0, (-mean).exp());
    while place >= chance && events < 200.0 {
        place -= chance;
        events += 1.0;
        chance *= mean / events;
    }
    events
}

fn seconds(text: &str) -> Result<f64, Failure> {
    Ok(match text.strip_suffix("ms") {
        Some(milliseconds) => milliseconds.parse::<f64>()? / 1e3,
        None => text.trim_end_matches('s').parse()?,
    })
}

/// Even over 0 to 1 (`SplitMix64`).
fn draw(seed: u64, purpose: Purpose, index: u64) -> f64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |state: u64| SplitMix64::seed_from_u64(state.wrapping_sub(GOLDEN)).next_u64();
    let stream = mix(mix(seed ^ 0xd7a5).wrapping_add(GOLDEN.wrapping_mul(purpose as u64)));
    (mix(stream.wrapping_add(index.wrapping_mul(GOLDEN))) >> 11) as f64 / (1_u64 << 53) as f64
}
