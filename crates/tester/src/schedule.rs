use brimful_trial::{Load, Nanoseconds};

/// Frames that may leave back to back while the sender catches up: small against the shortest queue of a device met
/// so far (256 entries on veth), so that catching up does not overflow it by itself.
const CATCH_UP_BURST: f64 = 64.0;
/// How much faster than the load the sender may go while it catches up. A stall then costs the device 10 % more load
/// for ten times the stall, instead of everything the tester can send at once; a sender that loses more than a tenth
/// of its time cannot catch up and the trial is invalid.
const CATCH_UP_SPEED: f64 = 1.1;

/// Of a frame: far above what floating point loses, far below what matters.
const ROUNDING: f64 = 1e-3;

/// When each frame of one direction is due: frame i at `start + i / load`, whatever happened to the ones before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    start: u64,
    period: f64,
    duration: u64,
    count: u64,
}

impl Schedule {
    /// The schedule of a trial that starts at a time of the clock in use.
    pub fn new(start: Nanoseconds, load: Load, duration: Nanoseconds) -> Self {
        let count = (load.per_second() * duration.as_seconds()).round() as u64;
        Self {
            start: start.0,
            period: 1e9 / load.per_second(),
            duration: duration.0,
            count: count.max(1),
        }
    }

    /// The same, every frame later by half a period: two directions that do not send at the same moment.
    #[must_use]
    pub fn offset_by_half_a_period(self) -> Self {
        Self {
            start: self.start + (self.period / 2.0) as u64,
            ..self
        }
    }

    /// Frames of the whole trial.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the first frame is due.
    pub fn start(&self) -> Nanoseconds {
        Nanoseconds(self.start)
    }

    /// When the sending phase is over.
    pub fn end(&self) -> Nanoseconds {
        Nanoseconds(self.start + self.duration)
    }

    /// When a frame is due.
    pub fn due(&self, index: u64) -> Nanoseconds {
        Nanoseconds(self.start + (index as f64 * self.period) as u64)
    }

    /// How many frames are due at a time or before.
    pub fn due_by(&self, now: Nanoseconds) -> u64 {
        let Some(elapsed) = now.0.checked_sub(self.start) else {
            return 0;
        };
        let mut count = (elapsed as f64 / self.period) as u64 + 1;
        // The estimate is off by one at most where a division is rounded.
        while count > 0 && self.due(count - 1) > now {
            count -= 1;
        }
        while self.due(count) <= now {
            count += 1;
        }
        count.min(self.count)
    }
}

/// Limits how fast a sender makes up for a stall.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    period: f64,
    /// When the credit was empty, as if it had no limit.
    empty_at: f64,
}

impl CatchUp {
    /// With full credit at the start of a schedule.
    pub fn new(schedule: &Schedule) -> Self {
        let period = schedule.period / CATCH_UP_SPEED;
        Self {
            period,
            empty_at: schedule.start as f64 - period * CATCH_UP_BURST,
        }
    }

    /// Frames that may be sent at a time.
    pub fn credit(&self, now: Nanoseconds) -> u64 {
        let credit = (now.0 as f64 - self.empty_at) / self.period;
        // A whole frame of credit must not be rounded away.
        (credit + ROUNDING).clamp(0.0, CATCH_UP_BURST) as u64
    }

    /// Takes sent frames off the credit.
    pub fn spend(&mut self, now: Nanoseconds, frames: u64) {
        let full = now.0 as f64 - self.period * CATCH_UP_BURST;
        self.empty_at = self.empty_at.max(full) + frames as f64 * self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(load: f64, duration: f64) -> Schedule {
        let start = Nanoseconds(1_000_000_007);
        Schedule::new(
            start,
            Load::new(load).unwrap(),
            Nanoseconds::from_seconds(duration).unwrap(),
        )
    }

    #[test]
    fn a_trial_has_load_times_duration_frames_and_one_at_least() {
        assert_eq!(schedule(1000.0, 0.5).count(), 500);
        assert_eq!(schedule(333_333.0, 3.0).count(), 999_999);
        assert_eq!(schedule(0.1, 0.5).count(), 1);
    }

    #[test]
    fn credit_is_spent_and_comes_back_at_its_speed() {
        let schedule = schedule(1000.0, 100.0);
        let mut catch_up = CatchUp::new(&schedule);
        let start = schedule.start();
        assert_eq!(catch_up.credit(start), 64);
        catch_up.spend(start, 64);
        assert_eq!(catch_up.credit(start), 0);
        assert_eq!(catch_up.credit(start + Nanoseconds(10_500_000)), 11);
        assert_eq!(catch_up.credit(start + Nanoseconds(1_000_000_000)), 64);
    }

    proptest! {
        #[test]
        fn due_by_counts_what_is_due(load in 1.0..5e6, duration in 0.000_01..0.01, at in 0.0..1.3) {
            let schedule = schedule(load, duration);
            let now = Nanoseconds(schedule.start().0 + (at * duration * 1e9) as u64);
            let naive = (0..schedule.count()).filter(|&index| schedule.due(index) <= now).count();
            prop_assert_eq!(schedule.due_by(now), naive as u64);
        }

        #[test]
        fn all_frames_are_due_within_the_sending_phase(load in 100.0..5e6, duration in 0.01..10.0) {
            let schedule = schedule(load, duration);
            prop_assert_eq!(schedule.due_by(schedule.end()), schedule.count());
        }

        #[test]
        fn an_undisturbed_sender_never_lacks_credit(load in 1.0..5e6) {
            let schedule = schedule(load, 1000.0);
            let mut catch_up = CatchUp::new(&schedule);
            for index in 0..500 {
                let now = schedule.due(index);
                prop_assert!(catch_up.credit(now) >= 1);
                catch_up.spend(now, 1);
            }
        }
    }
}
