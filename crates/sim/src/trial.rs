//! One trial, walked through second by second.

use brimful_trial::{Counts, Nanoseconds, Ratio, TrialInput};

use crate::weather::{Purpose, Stream};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// The part of a trial that lies within one virtual second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Which second since the clock started.
    pub(crate) second: u64,
    /// Where the part begins and ends, in nanoseconds since the clock started.
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl Slot {
    pub(crate) fn seconds(self) -> f64 {
        (self.until - self.from) as f64 / SECOND as f64
    }
}

/// How many frames a slot is expected to lose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    /// More arrives than can go: no chance in it but the rounding to whole frames.
    pub(crate) overflow: f64,
    /// The average number of single frames that get lost by chance.
    pub(crate) stray: f64,
}

impl Loss {
    pub(crate) fn overflow(frames: f64) -> Self {
        Self {
            overflow: frames,
            stray: 0.0,
        }
    }

    pub(crate) fn stray(frames: f64) -> Self {
        Self {
            overflow: 0.0,
            stray: frames,
        }
    }
}

/// The random numbers that turn expected loss into whole frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice {
    stray: Stream,
    rounding: Stream,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            stray: Stream::new(seed, Purpose::Stray),
            rounding: Stream::new(seed, Purpose::Rounding),
        }
    }
}

/// A trial that is about to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// Frames that arrive a second.
    pub(crate) rate: f64,
    start: u64,
    end: u64,
    intended: u64,
    sent: u64,
    stop_above: Option<Ratio>,
    dice: Dice,
}

/// What a trial came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// When sending ended.
    pub(crate) end: Nanoseconds,
    pub(crate) stopped_early: bool,
}

impl Trial {
    /// `None` when the clock cannot count as far as the end of the trial.
    pub(crate) fn new(
        input: TrialInput,
        start: Nanoseconds,
        sendable: f64,
        stop_above: Option<Ratio>,
        dice: Dice,
    ) -> Option<Self> {
        let load = input.load.per_second();
        let seconds = input.duration.as_seconds();
        let rate = load.min(sendable);
        Some(Self {
            rate,
            start: start.0,
            end: start.0.checked_add(input.duration.0)?,
            intended: (load * seconds).round() as u64,
            sent: (rate * seconds).round() as u64,
            stop_above,
            dice,
        })
    }

    /// Asks for the loss of slot after slot until the trial ends or its outcome is certain.
    #[inline]
    pub(crate) fn run(&self, mut loss_in: impl FnMut(Slot) -> Loss) -> Outcome {
        let (mut at, mut stray) = (self.start, 0);
        // Fractions of a frame add up over the trial; where the first whole frame is reached is chance.
        let mut overflow = self.dice.rounding.at(self.start).share();
        while at < self.end {
            let slot = self.slot(at);
            let loss = loss_in(slot);
            overflow += loss.overflow;
            if loss.stray > 0.0 {
                stray += self.dice.stray.at(at).events(loss.stray);
            }
            at = slot.until;
            if at < self.end && self.is_certain(overflow as u64 + stray) {
                return self.outcome(at, self.sent_until(at), overflow as u64 + stray);
            }
        }
        self.outcome(self.end, self.sent, overflow as u64 + stray)
    }

    fn slot(&self, from: u64) -> Slot {
        let second = from / SECOND;
        let boundary = (second + 1).saturating_mul(SECOND);
        Slot {
            second,
            from,
            until: boundary.min(self.end),
        }
    }

    fn is_certain(&self, lost: u64) -> bool {
        let Some(limit) = self.stop_above else {
            return false;
        };
        let expected = u128::from(self.intended.max(self.sent));
        u128::from(lost) * u128::from(limit.denominator()) > expected * u128::from(limit.numerator())
    }

    /// Frames sent by a time of the clock.
    pub(crate) fn sent_until(&self, at: u64) -> u64 {
        let seconds = Nanoseconds(at - self.start).as_seconds();
        ((self.rate * seconds).round() as u64).min(self.sent)
    }

    fn outcome(&self, end: u64, sent: u64, lost: u64) -> Outcome {
        let counts = Counts::new(self.intended, sent, lost.min(sent));
        Outcome {
            counts: counts.expect("loss is limited to what was sent"),
            end: Nanoseconds(end),
            stopped_early: end < self.end,
        }
    }
}
