//! What each kind of system loses.

use crate::trial::{Loss, Outcome, SECOND, Slot, Trial};
use crate::weather::{Purpose, Stream};
use crate::{Kind, SystemSpec};

/// A system under test: capacity, and what disturbs it. Rates in frames a second, shares of the capacity.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Sharp { capacity: f64 },
    SoftKnee(SoftKnee),
    Noisy(Noisy),
    Stalls(Stalls),
    Vhost(Vhost),
    Livelock(Livelock),
    Inversion(Inversion),
    FlatLoss { capacity: f64, loss: f64 },
    Buffer(Buffer),
}

impl Model {
    pub(crate) fn new(spec: &SystemSpec) -> Self {
        let capacity = spec.capacity().per_second();
        match spec.kind() {
            Kind::Sharp | Kind::TesterLimit => Self::Sharp { capacity },
            Kind::SoftKnee => Self::SoftKnee(SoftKnee::new(spec)),
            Kind::Noisy => Self::Noisy(Noisy::new(spec)),
            Kind::Stalls => Self::Stalls(Stalls::new(spec)),
            Kind::Vhost => Self::Vhost(Vhost::new(spec)),
            Kind::Livelock => Self::Livelock(Livelock::new(spec)),
            Kind::Inversion => Self::Inversion(Inversion::new(spec)),
            Kind::FlatLoss => Self::FlatLoss {
                capacity,
                loss: spec.share("loss"),
            },
            Kind::Buffer => Self::Buffer(Buffer::new(spec)),
        }
    }

    /// Runs a trial; what does not change within it is worked out once.
    pub(crate) fn run(&self, trial: &Trial) -> Outcome {
        let rate = trial.rate;
        match self {
            Self::Sharp { capacity } => steadily(trial, excess(rate, *capacity)),
            Self::FlatLoss { capacity, loss } => steadily(trial, excess(rate, *capacity).max(rate * loss)),
            Self::Inversion(system) => steadily(trial, system.lost(rate)),
            Self::Buffer(system) => {
                let lost_until = |at| system.lost(trial.sent_until(at), rate);
                trial.run(|slot| Loss::overflow((lost_until(slot.until) - lost_until(slot.from)) as f64))
            }
            Self::SoftKnee(system) => {
                let lost = system.lost(rate);
                trial.run(|slot| Loss::stray(lost * slot.seconds()))
            }
            Self::Noisy(system) => {
                trial.run(|slot| Loss::overflow(excess(rate, system.capacity_in(slot)) * slot.seconds()))
            }
            Self::Stalls(system) => trial.run(|slot| Loss::overflow(system.lost_in(slot, rate))),
            Self::Vhost(system) => {
                let stray = system.stray(rate);
                trial.run(|slot| Loss {
                    overflow: excess(rate, system.capacity_in(slot)) * slot.seconds(),
                    stray: stray * slot.seconds(),
                })
            }
            Self::Livelock(system) => {
                trial.run(|slot| Loss::overflow((rate - system.forwarded_in(slot, rate)) * slot.seconds()))
            }
        }
    }
}

/// The same loss every second.
fn steadily(trial: &Trial, lost: f64) -> Outcome {
    trial.run(|slot| Loss::overflow(lost * slot.seconds()))
}

fn excess(rate: f64, capacity: f64) -> f64 {
    (rate - capacity).max(0.0)
}

/// Capacity that is drawn anew every second.
#[derive(Clone, Copy, Debug)]
struct Jitter {
    stream: Stream,
    deviation: f64,
}

impl Jitter {
    fn new(spec: &SystemSpec) -> Self {
        Self {
            stream: Stream::new(spec.seed(), Purpose::Jitter),
            deviation: spec.share("jitter"),
        }
    }

    /// The share of its capacity that the system has this second: about 1.
    fn factor(self, slot: Slot) -> f64 {
        (1.0 + self.deviation * self.stream.at(slot.second).bell()).max(0.0)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SoftKnee {
    capacity: f64,
    /// Frames a second over which loss grows by a factor of e.
    scale: f64,
}

impl SoftKnee {
    fn new(spec: &SystemSpec) -> Self {
        let capacity = spec.capacity().per_second();
        Self {
            capacity,
            scale: capacity * spec.share("softness"),
        }
    }

    /// The smooth form of [`excess`]: exponential in the load far below capacity, straight far above.
    fn lost(&self, rate: f64) -> f64 {
        if self.scale <= 0.0 {
            return excess(rate, self.capacity);
        }
        let distance = (rate - self.capacity) / self.scale;
        self.scale * (distance.max(0.0) + (-distance.abs()).exp().ln_1p())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Noisy {
    capacity: f64,
    jitter: Jitter,
    dips: Stream,
    dip_share: f64,
    dip_depths: (f64, f64),
    dip_length: u64,
}

impl Noisy {
    fn new(spec: &SystemSpec) -> Self {
        Self {
            capacity: spec.capacity().per_second(),
            jitter: Jitter::new(spec),
            dips: Stream::new(spec.seed(), Purpose::Dip),
            dip_share: spec.share("dips"),
            dip_depths: (spec.share("dip-least"), spec.share("dip-most")),
            dip_length: spec.span("dip-length").0,
        }
    }

    fn capacity_in(&self, slot: Slot) -> f64 {
        let quiet = self.capacity * self.jitter.factor(slot);
        let draw = self.dips.at(slot.second * SECOND / self.dip_length);
        if draw.share() >= self.dip_share {
            return quiet;
        }
        let (least, most) = self.dip_depths;
        quiet * (1.0 - draw.next().between(least, most))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    capacity: f64,
    stream: Stream,
    /// Chance of a stall in any second.
    chance: f64,
    lengths: (f64, f64),
    /// Frames that the queue holds.
    queue: f64,
}

impl Stalls {
    fn new(spec: &SystemSpec) -> Self {
        let capacity = spec.capacity().per_second();
        Self {
            capacity,
            stream: Stream::new(spec.seed(), Purpose::Stall),
            chance: 1.0 / spec.span("stall-every").as_seconds(),
            lengths: (spec.span("stall-least").0 as f64, spec.span("stall-most").0 as f64),
            queue: capacity * spec.span("queue").as_seconds(),
        }
    }

    /// The queue takes what arrives in a stall until it is full.
    fn lost_in(&self, slot: Slot, rate: f64) -> f64 {
        let stalled = self.stalled_seconds(slot);
        let running = slot.seconds() - stalled;
        excess(rate * stalled, self.queue) + excess(rate, self.capacity) * running
    }

    /// For how long of the slot the system stands still. A stall lies wholly within a second.
    fn stalled_seconds(&self, slot: Slot) -> f64 {
        let draw = self.stream.at(slot.second);
        if draw.share() >= self.chance {
            return 0.0;
        }
        let (shortest, longest) = self.lengths;
        let length = draw.next().between(shortest, longest) as u64;
        let spare = (SECOND - length.min(SECOND)) as f64;
        let begin = slot.second * SECOND + draw.next().next().between(0.0, spare) as u64;
        let overlap = slot.until.min(begin + length).saturating_sub(slot.from.max(begin));
        overlap as f64 / SECOND as f64
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Vhost {
    capacity: f64,
    jitter: Jitter,
    regimes: Stream,
    dwell: u64,
    gap: f64,
    drifts: Stream,
    drift: f64,
    stray: f64,
    stray_above: f64,
}

/// Drift goes straight from one drawn value to the next in this time.
const DRIFT_SECONDS: u64 = 60;

impl Vhost {
    fn new(spec: &SystemSpec) -> Self {
        Self {
            capacity: spec.capacity().per_second(),
            jitter: Jitter::new(spec),
            regimes: Stream::new(spec.seed(), Purpose::Regime),
            dwell: spec.span("dwell").0,
            gap: spec.share("gap"),
            drifts: Stream::new(spec.seed(), Purpose::Drift),
            drift: spec.share("drift"),
            stray: spec.rate("stray"),
            stray_above: spec.share("stray-above"),
        }
    }

    fn capacity_in(&self, slot: Slot) -> f64 {
        let draw = self.regimes.at(slot.second * SECOND / self.dwell);
        let regime = if draw.share() < 0.5 { 1.0 - self.gap } else { 1.0 };
        self.capacity * regime * self.drift_factor(slot.second) * self.jitter.factor(slot)
    }

    fn drift_factor(&self, second: u64) -> f64 {
        let (knot, passed) = (second / DRIFT_SECONDS, second % DRIFT_SECONDS);
        let from = self.drifts.at(knot).between(-self.drift, self.drift);
        let to = self.drifts.at(knot + 1).between(-self.drift, self.drift);
        1.0 + from + (to - from) * (passed as f64 / DRIFT_SECONDS as f64)
    }

    /// Frames a second that get lost by chance: none up to a share of capacity, then evenly more.
    fn stray(&self, rate: f64) -> f64 {
        let begin = self.stray_above * self.capacity;
        let range = (self.capacity - begin).max(1.0);
        self.stray * excess(rate, begin) / range
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Livelock {
    capacity: f64,
    jitter: Jitter,
    collapse: f64,
    floor: f64,
}

impl Livelock {
    fn new(spec: &SystemSpec) -> Self {
        Self {
            capacity: spec.capacity().per_second(),
            jitter: Jitter::new(spec),
            collapse: spec.share("collapse"),
            floor: spec.share("floor"),
        }
    }

    fn forwarded_in(&self, slot: Slot, rate: f64) -> f64 {
        let capacity = self.capacity * self.jitter.factor(slot);
        let collapsed = capacity - self.collapse * excess(rate, capacity);
        rate.min(collapsed.max(capacity * self.floor))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Inversion {
    capacity: f64,
    band: std::ops::Range<f64>,
    loss: f64,
}

impl Inversion {
    fn new(spec: &SystemSpec) -> Self {
        let capacity = spec.capacity().per_second();
        Self {
            capacity,
            band: capacity * spec.share("band-from")..capacity * spec.share("band-to"),
            loss: spec.share("band-loss"),
        }
    }

    fn lost(&self, rate: f64) -> f64 {
        if self.band.contains(&rate) {
            return rate * self.loss;
        }
        excess(rate, self.capacity)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    capacity: u128,
    frames: u64,
}

/// Rates are taken to a thousandth of a frame a second, so that whole frames are counted in whole numbers.
const THOUSANDTHS: f64 = 1e3;

impl Buffer {
    fn new(spec: &SystemSpec) -> Self {
        Self {
            capacity: thousandths(spec.capacity().per_second()),
            frames: spec.whole("frames"),
        }
    }

    /// Frames lost of the first `sent` that arrive at a rate: frame i comes at i / rate, and the k-th leaves at
    /// k / capacity for as long as there are frames. What finds the buffer full is lost. A buffer of one frame is the
    /// only one that is ever empty during an overload: from then on the next frame's own time counts.
    fn lost(&self, sent: u64, rate: f64) -> u64 {
        let rate = thousandths(rate);
        if self.frames == 0 {
            return sent;
        }
        if sent == 0 || rate <= self.capacity {
            return 0;
        }
        if self.frames == 1 {
            let arrivals_a_frame = rate.div_ceil(self.capacity);
            return sent - u128::from(sent).div_ceil(arrivals_a_frame) as u64;
        }
        let left = u128::from(sent - 1) * self.capacity / rate;
        sent.saturating_sub(self.frames.saturating_add(left as u64))
    }
}

fn thousandths(rate: f64) -> u128 {
    (rate * THOUSANDTHS).round() as u128
}
