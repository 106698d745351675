//! A random family of systems: which features one has, and how strong they are, is drawn from its seed, each on its
//! own. They were not chosen by hand, so figures over fresh draws say more than those over kinds that a strategy was
//! shaped on.
//!
//! `drawn` draws all features, and `weather=2` lets the same system meet other weather;
//! `pulse,every=7s,length=100ms` has periodic stalls and nothing else.

use brimful_trial::{Counts, Nanoseconds, Ratio, TrialInput, TrialOutput};

use crate::Failure;
use crate::features::{Deck, Features, Noise, Pattern, Purpose, Stalls, draw};

/// Trials are walked through in steps of 10 ms.
const STEP: u64 = 10_000_000;
const STEP_S: f64 = 0.01;
const SECOND: u64 = 1_000_000_000;
/// Seconds that a strayed capacity remembers.
const MEMORY: u64 = 24;
/// What is left of the capacity however far the load is above it.
const FLOOR: f64 = 0.3;

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
