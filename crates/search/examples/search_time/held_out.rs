//! Kinds of system that the default strategy was not built for, to see what happens where its model is wrong. Some have
//! led to changes since: its looks and its guard were chosen with them, and uneven queues are in its model.

use brimful_trial::{Counts, Nanoseconds, Ratio, TrialInput, TrialOutput};

use crate::Failure;

const LINK: f64 = 14.88e6;
/// Trials are walked through in steps of 10 ms.
const STEP: u64 = 10_000_000;
const SECOND: f64 = 1e9;
/// What a policer saves up at most, in seconds of its rate.
const BUCKET_S: f64 = 0.5;
/// How long a tester waits for what is missing.
const STRAGGLER_WAIT: u64 = 500_000_000;

pub(crate) struct HeldOut {
    kind: String,
    seed: u64,
    capacity: f64,
    overhead: u64,
    overhead_counts: bool,
    rest: u64,
    now: u64,
    /// Seconds of capacity that a policer has saved up, or whether a system has given in to overload.
    state: f64,
}

impl HeldOut {
    pub(crate) fn new(spec: &str) -> Result<Self, Failure> {
        let mut parts = spec.split(',');
        let mut system = Self {
            kind: parts.next().unwrap_or_default().to_owned(),
            seed: 1,
            capacity: 0.0,
            overhead: 0,
            overhead_counts: false,
            rest: 2_000_000_000,
            now: 0,
            state: 0.0,
        };
        for part in parts {
            match part.split_once('=').ok_or("key=value")? {
                ("seed", value) => system.seed = value.parse()?,
                ("overhead", value) => {
                    let seconds: f64 = value.trim_end_matches('s').parse()?;
                    system.overhead = (seconds * SECOND).round() as u64;
                }
                ("overhead-counts", value) => system.overhead_counts = value == "yes",
                ("rest", "2s") => {}
                (key, _) => return Err(format!("unknown {key}").into()),
            }
        }
        if system.kind == "policer" {
            system.state = BUCKET_S;
        }
        system.capacity = LINK * (0.34 + 0.55 * system.draw(0));
        Ok(system)
    }

    pub(crate) fn capacity(&self) -> f64 {
        self.capacity
    }

    pub(crate) fn now(&self) -> Nanoseconds {
        Nanoseconds(self.now)
    }

    pub(crate) fn measure(&mut self, input: TrialInput, stop_above: Option<Ratio>) -> Result<TrialOutput, Failure> {
        let load = input.load.per_second();
        let intended = (load * input.duration.as_seconds()).round() as u64;
        let end = self.now + input.duration.0;
        let mut lost = self.draw(self.now ^ 0x5eed);
        let (mut at, mut queue, mut stopped) = (self.now, 0.0, false);
        if self.kind == "wake-up" {
            lost += 200.0;
        }
        while at < end {
            let step = STEP.min(end - at);
            lost += self.lost(load, at, &mut queue) * step as f64 / SECOND;
            at += step;
            let so_far = Counts::new(intended, intended, (lost as u64).min(intended))?;
            if at < end && stop_above.is_some_and(|limit| so_far.loss_is_certain_to_exceed(limit)) {
                stopped = true;
                break;
            }
        }
        let sent = if stopped {
            ((at - self.now) as f64 / SECOND * load) as u64
        } else {
            intended
        };
        let waits = self.kind == "bridge" && lost >= 1.0;
        let overhead = self.overhead + if waits { STRAGGLER_WAIT } else { 0 };
        let silence = overhead + if stopped { self.rest } else { 0 };
        if self.kind == "policer" {
            self.state = (self.state + silence as f64 / SECOND).min(BUCKET_S);
        }
        self.now = at + silence;
        Ok(TrialOutput {
            counts: Counts::new(intended, sent, (lost as u64).min(sent))?,
            effective_duration: self.overhead_counts.then(|| Nanoseconds(input.duration.0 + overhead)),
            delay_p99: None,
            stopped_early: stopped,
        })
    }

    /// Units lost a second.
    fn lost(&mut self, load: f64, at: u64, queue: &mut f64) -> f64 {
        let seconds = at as f64 / SECOND;
        let relative = load / self.capacity;
        let capacity = self.capacity;
        let above = |share: f64| (load - share * capacity).max(0.0);
        match self.kind.as_str() {
            "buffer" => {
                // A queue of 10 ms of capacity takes what is too much at first.
                *queue += (load - self.capacity) * STEP as f64 / SECOND;
                let over = (*queue - 0.01 * self.capacity).max(0.0);
                *queue = queue.clamp(0.0, 0.01 * self.capacity);
                over * SECOND / STEP as f64
            }
            "step" => above(if seconds > 10.0 + 40.0 * self.draw(1) { 0.9 } else { 1.0 }),
            "ramp" => above(1.0 - 0.0005 * seconds.min(200.0)),
            "warm-up" => above(1.0 - 0.2 * (-seconds / 20.0).exp()),
            "staircase" => above(1.0).max(
                load * match relative {
                    ..0.8 => 0.0,
                    0.8..0.85 => 0.001,
                    0.85..0.9 => 0.003,
                    0.9..0.95 => 0.006,
                    _ => 0.01,
                },
            ),
            "two-knees" => above(1.0).max(0.02 * above(0.85)),
            "periodic" => {
                let phase = (seconds + self.draw(1)) % 1.07;
                above(if phase < 0.05 { 0.8 } else { 1.0 })
            }
            "regime" => {
                let which = (seconds / 100.0 + self.draw(1)) as u64;
                above(if which.is_multiple_of(2) { 0.9 } else { 1.0 })
            }
            "bands" => {
                let inside = relative > 0.5 && ((relative * 100.0 / 3.0) as u64).is_multiple_of(3);
                above(1.0).max(if inside { 0.003 * load } else { 0.0 })
            }
            "collapse" => {
                if relative > 1.02 {
                    load - 0.1 * self.capacity
                } else {
                    above(1.0)
                }
            }
            "drizzle" => above(1.0) + 0.05,
            "second-noise" => {
                // Capacity is drawn anew every second over a range of 10 %.
                above(0.9 + 0.1 * self.draw(at / 1_000_000_000 + 7))
            }
            "very-soft" => {
                let scale = 0.02 * self.capacity;
                let distance = (load - self.capacity) / scale;
                scale * (distance.max(0.0) + (-distance.abs()).exp().ln_1p())
            }
            "chaos" => {
                // Every trial is a coin toss, more likely lost at higher load.
                let toss = self.draw(at / 1_000_000_000 + 11);
                if toss < relative.min(1.0) * 0.5 {
                    0.02 * load
                } else {
                    above(1.0)
                }
            }
            "policer" => {
                // A bucket for half a second takes what is too much at first, also over several trials.
                self.state = (self.state + (1.0 - relative) * STEP as f64 / SECOND).min(BUCKET_S);
                let over = (-self.state).max(0.0) * capacity;
                self.state = self.state.max(0.0);
                over * SECOND / STEP as f64
            }
            "hysteresis" => {
                // Given too much, it forwards less until it is given little.
                if relative > 1.0 {
                    self.state = 1.0;
                } else if relative < 0.5 {
                    self.state = 0.0;
                }
                above(if self.state > 0.0 { 0.7 } else { 1.0 })
            }
            "outages" => {
                // Some 20 ms of every 40 s, whatever the load.
                let is_out = self.draw(at / (2 * STEP) + 13) < 0.0005;
                above(1.0).max(if is_out { load } else { 0.0 })
            }
            "waves" => {
                let phase = std::f64::consts::TAU * self.draw(1);
                above(0.97 + 0.02 * (seconds / 4.0 + phase).sin() + 0.01 * (seconds / 31.0).sin())
            }
            "wake-up" => above(1.0),
            "moody" => {
                // One second in ten forwards half of what is near its capacity.
                let is_bad = relative > 0.9 && self.draw(at / 1_000_000_000 + 17) < 0.1;
                above(1.0).max(if is_bad { 0.5 * load } else { 0.0 })
            }
            "queues" => lost_of_queues(load, capacity),
            "cliff" => above(if relative > 1.2 { 0.3 } else { 1.0 }),
            "climb" => above(0.9 + 0.0005 * seconds.min(200.0)),
            "bridge" => above(self.bridge_share(seconds)),
            _ => f64::NAN,
        }
    }

    /// As the capacity of a bridge of Linux strayed within seconds and minutes, on a virtual machine.
    fn bridge_share(&self, seconds: f64) -> f64 {
        let second = self.wave(seconds.floor(), 1.0);
        0.85 + 0.045 * second + 0.035 * self.wave(seconds, 4.0) + 0.02 * self.wave(seconds, 60.0)
    }

    /// Something that moves around 0 with a deviation of about 1, and takes a number of seconds to turn.
    fn wave(&self, seconds: f64, turn_s: f64) -> f64 {
        let level = |index: u64| {
            let draws = (0..3).map(|part| self.draw(index * 3 + part + ((turn_s as u64) << 32)));
            2.0 * draws.sum::<f64>() - 3.0
        };
        let (before, share) = ((seconds / turn_s).floor(), (seconds / turn_s).fract());
        let (from, to) = (level(before as u64), level(before as u64 + 1));
        let (from_weight, to_weight) = (1.0 - share, share);
        (from * from_weight + to * to_weight) / from_weight.hypot(to_weight)
    }

    /// Even over 0 to 1.
    fn draw(&self, index: u64) -> f64 {
        let mut state = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index.wrapping_mul(0xD1B5_4A32_D192_ED03);
        for _ in 0..2 {
            state = (state ^ state >> 31).wrapping_mul(0x94D0_49BB_1331_11EB);
            state ^= state >> 29;
        }
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Hashing loads four queues unevenly; each has a processor of its own.
fn lost_of_queues(load: f64, capacity: f64) -> f64 {
    let fair = 0.25 * capacity;
    [0.31, 0.27, 0.23, 0.19]
        .map(|share| (share * load - fair).max(0.0))
        .iter()
        .sum()
}
