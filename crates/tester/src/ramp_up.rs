use brimful_trial::{Load, Nanoseconds};

/// Of the full load, at the beginning.
const LOWEST_SHARE: f64 = 1e-3;
/// Frames that may be overdue; more are left out, so that a sender that was away does not offer more than the full
/// load.
const MOST_OVERDUE: u64 = 64;

/// A load that rises geometrically to that of the trial, before it, so that a device is not hit by it out of the blue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RampUp {
    start: Nanoseconds,
    duration: Nanoseconds,
    load: Load,
    next: u64,
}

impl RampUp {
    pub(crate) fn new(start: Nanoseconds, duration: Nanoseconds, load: Load) -> Self {
        Self {
            start,
            duration,
            load,
            next: 0,
        }
    }

    pub(crate) fn is_over(&self, now: Nanoseconds) -> bool {
        now >= self.start + self.duration
    }

    /// The first frame to send now, and how many.
    pub(crate) fn due(&mut self, now: Nanoseconds) -> (u64, usize) {
        let due = self.due_by(now);
        self.next = self.next.max(due.saturating_sub(MOST_OVERDUE));
        (self.next, (due - self.next) as usize)
    }

    /// How many of them were sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.next += count as u64;
    }

    /// The integral of the load from the start on.
    fn due_by(&self, now: Nanoseconds) -> u64 {
        let elapsed = now.saturating_sub(self.start).min(self.duration);
        let growth = -LOWEST_SHARE.ln();
        let share = elapsed.as_seconds() / self.duration.as_seconds();
        let full = self.load.per_second() * self.duration.as_seconds();
        (full / growth * LOWEST_SHARE * ((growth * share).exp() - 1.0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    proptest! {
        #[test]
        fn the_load_rises_geometrically_to_the_full_one(load in 1e4..1e6, start: u32, seconds in 1..5_u64) {
            let (start, duration) = (u64::from(start), seconds * SECOND);
            let ramp = RampUp::new(Nanoseconds(start), Nanoseconds(duration), Load::new(load).unwrap());
            // A frame more or less is what rounding makes of two counts.
            let rate = |share: f64, window: u64| {
                let at = start + (share * duration as f64) as u64;
                let frames = ramp.due_by(Nanoseconds(at)) as f64 - ramp.due_by(Nanoseconds(at - window)) as f64;
                (frames / window as f64 * 1e9, 2e9 / window as f64)
            };
            for share in [0.5, 0.75, 1.0] {
                let window = duration / 1000;
                let (found, rounding) = rate(share, window);
                let middle = share - 0.0005;
                let expected = load * LOWEST_SHARE.powf(1.0 - middle);
                prop_assert!((found - expected).abs() <= expected * 0.01 + rounding, "{share}: {found} {expected}");
            }
            prop_assert_eq!(ramp.due_by(Nanoseconds(start)), 0);
            prop_assert!(!ramp.is_over(Nanoseconds(start + duration - 1)));
            prop_assert!(ramp.is_over(Nanoseconds(start + duration)));
        }
    }

    #[test]
    fn what_is_long_overdue_is_left_out() {
        let mut ramp = RampUp::new(Nanoseconds(0), Nanoseconds(SECOND), Load::new(1e6).unwrap());
        let due = ramp.due_by(Nanoseconds(SECOND));
        assert!((140_000..150_000).contains(&due), "{due}");
        assert_eq!(ramp.due(Nanoseconds(SECOND)), (due - 64, 64));
        ramp.sent(60);
        assert_eq!(ramp.due(Nanoseconds(SECOND)), (due - 4, 4));
    }
}
