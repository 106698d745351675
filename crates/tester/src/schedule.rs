use std::sync::Arc;

use brimful_trial::{Load, Nanoseconds};

use crate::lots::Lots;

/// Frames that may leave back to back while the sender catches up: small against the shortest queue of a device met
/// so far (256 entries on veth), so that catching up does not overflow it by itself.
const CATCH_UP_BURST: f64 = 64.0;
/// How much faster than the load the sender may go while it catches up. A stall then costs the device 10 % more load
/// for ten times the stall, instead of everything the tester can send at once; a sender that loses more than a tenth
/// of its time cannot catch up and the trial is invalid.
const CATCH_UP_SPEED: f64 = 1.1;

/// Of a frame: far above what floating point loses, far below what matters.
const ROUNDING: f64 = 1e-3;

/// Later than any clock goes.
const NEVER: Nanoseconds = Nanoseconds(u64::MAX);

/// How the frames of a load are spread over time; the mean is the load in any case.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadShape {
    /// All the same distance apart.
    Even,
    /// A number of frames at this distance, then a gap. At loads that leave no gap the distance is the even one.
    Bursts {
        /// Frames of a burst.
        frames: u64,
        /// From one of its frames to the next; 0 is as fast as possible.
        spacing: Nanoseconds,
    },
    /// Places on a line, in mean distances between frames, from 0 and not falling; it begins again at a distance of 1
    /// after the last.
    Timeline(Arc<[f64]>),
}

impl LoadShape {
    /// What is not even about it, in words.
    pub(crate) fn description(&self) -> Option<String> {
        match self {
            Self::Even => None,
            Self::Bursts { frames, spacing } if *spacing == Nanoseconds::ZERO => {
                Some(format!("{frames} frames as fast as possible, then a gap"))
            }
            Self::Bursts { frames, spacing } => Some(format!("{frames} frames {spacing} apart, then a gap")),
            Self::Timeline(_) => Some("as captured, scaled to the load".to_owned()),
        }
    }
}

/// When each frame of one port is due, whatever happened to the ones before: frame i at `start + i / load` when the load
/// is even. Or the same of one lot of them, which has its own numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    start: u64,
    period: f64,
    duration: u64,
    /// Frames of the port.
    count: u64,
    shape: LoadShape,
    lots: Lots,
    lot: usize,
}

impl Schedule {
    /// The schedule of a trial that starts at a time of the clock in use.
    pub fn new(start: Nanoseconds, load: Load, duration: Nanoseconds, shape: &LoadShape) -> Self {
        let count = ((load.per_second() * duration.as_seconds()).round() as u64).max(1);
        let mut schedule = Self {
            start: start.0,
            period: 1e9 / load.per_second(),
            duration: duration.0,
            count,
            shape: shape.clone(),
            lots: Lots::ONE,
            lot: 0,
        };
        if let LoadShape::Timeline(places) = shape {
            // A part of the line has a mean of its own; the trial must have the load.
            let end = place_of(places, count);
            if end > 0.0 {
                schedule.period = duration.0 as f64 / end;
            }
        }
        schedule
    }

    /// The same, every frame later by half a period, or half the distance of bursts: two directions that do not send
    /// at the same moment.
    #[must_use]
    pub fn offset_by_half_a_period(self) -> Self {
        let period = match self.shape {
            LoadShape::Even | LoadShape::Timeline(_) => self.period,
            LoadShape::Bursts { frames, .. } => self.period * frames as f64,
        };
        Self {
            start: self.start + (period / 2.0) as u64,
            ..self
        }
    }

    /// The same of one lot of the frames alone.
    #[must_use]
    pub(crate) fn of_lot(self, lots: Lots, lot: usize) -> Self {
        Self { lots, lot, ..self }
    }

    /// Which frame of the port one of these is.
    pub(crate) fn frame_of_port(&self, index: u64) -> u64 {
        self.lots.frame_of_port(self.lot, index)
    }

    /// Frames of the whole trial.
    pub fn count(&self) -> u64 {
        self.lots.among(self.lot, self.count)
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
        self.due_of_port(self.frame_of_port(index))
    }

    fn due_of_port(&self, index: u64) -> Nanoseconds {
        let elapsed = match &self.shape {
            LoadShape::Even => index as f64 * self.period,
            LoadShape::Bursts { frames, spacing } => {
                let place = index % frames;
                (index - place) as f64 * self.period + place as f64 * self.spacing(*spacing)
            }
            LoadShape::Timeline(places) => place_of(places, index) * self.period,
        };
        Nanoseconds(self.start + elapsed as u64)
    }

    /// When the first frame after this many is due; never, after the last.
    pub fn due_after(&self, sent: u64) -> Nanoseconds {
        if sent < self.count() { self.due(sent) } else { NEVER }
    }

    /// How many frames are due at a time or before.
    pub fn due_by(&self, now: Nanoseconds) -> u64 {
        self.lots.among(self.lot, self.due_of_port_by(now))
    }

    fn due_of_port_by(&self, now: Nanoseconds) -> u64 {
        let Some(elapsed) = now.0.checked_sub(self.start) else {
            return 0;
        };
        let elapsed = elapsed as f64;
        let mut count = match &self.shape {
            LoadShape::Even => (elapsed / self.period) as u64 + 1,
            LoadShape::Bursts { frames, spacing } => {
                let bursts = (elapsed / (self.period * *frames as f64)) as u64;
                let since = elapsed - (bursts * frames) as f64 * self.period;
                // As fast as possible is a division by zero, which gives more frames than the burst has.
                bursts * frames + ((since / self.spacing(*spacing)) as u64).saturating_add(1).min(*frames)
            }
            LoadShape::Timeline(places) => {
                let len = places.len() as u64;
                let rounds = (elapsed / (self.period * len as f64)) as u64;
                let place = elapsed / self.period - (rounds * len) as f64;
                rounds * len + places.partition_point(|&due| due <= place) as u64
            }
        };
        // The estimate is off where a division is rounded: by one frame, or one burst, at most.
        while count > 0 && self.due_of_port(count - 1) > now {
            count -= 1;
        }
        while self.due_of_port(count) <= now {
            count += 1;
        }
        count.min(self.count)
    }

    /// Frames that may be due at once, or as good as: more than the mean over the time that they take, with what
    /// catching up adds.
    pub(crate) fn burst(&self) -> f64 {
        let of_port = match &self.shape {
            LoadShape::Even => 1.0,
            LoadShape::Bursts { frames, .. } => *frames as f64,
            LoadShape::Timeline(places) => largest_burst(places),
        };
        // The frames of a turn are closer together than all frames of its lot.
        of_port + self.lots.excess()
    }

    /// The mean distance between frames.
    fn mean_period(&self) -> f64 {
        self.period * self.lots.count as f64
    }

    fn spacing(&self, spacing: Nanoseconds) -> f64 {
        (spacing.0 as f64).min(self.period)
    }
}

/// The place of any frame on a line that begins again.
fn place_of(places: &[f64], index: u64) -> f64 {
    let len = places.len() as u64;
    (index - index % len) as f64 + places[(index % len) as usize]
}

/// The credit that a sender needs to follow a line at the speed of catching up: the most frames of any part of it
/// beyond what that speed gives in its time.
fn largest_burst(places: &[f64]) -> f64 {
    let mut least = f64::INFINITY;
    let mut largest = 1.0_f64;
    // Twice, because a burst may go on from the end to the start.
    for index in 0..2 * places.len() as u64 {
        let excess = index as f64 - CATCH_UP_SPEED * place_of(places, index);
        least = least.min(excess);
        largest = largest.max(excess - least + 1.0);
    }
    largest
}

/// Limits how fast a sender makes up for a stall.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    period: f64,
    /// The most credit: a catch-up burst, or one of the schedule.
    most: f64,
    /// When the credit was empty, as if it had no limit.
    empty_at: f64,
}

impl CatchUp {
    /// With full credit at the start of a schedule.
    pub fn new(schedule: &Schedule) -> Self {
        let period = schedule.mean_period() / CATCH_UP_SPEED;
        let most = schedule.burst().max(CATCH_UP_BURST);
        Self {
            period,
            most,
            empty_at: schedule.start as f64 - period * most,
        }
    }

    /// Frames that may be sent at a time.
    pub fn credit(&self, now: Nanoseconds) -> u64 {
        let credit = (now.0 as f64 - self.empty_at) / self.period;
        // A whole frame of credit must not be rounded away.
        (credit + ROUNDING).clamp(0.0, self.most) as u64
    }

    /// Takes sent frames off the credit.
    pub fn spend(&mut self, now: Nanoseconds, frames: u64) {
        let full = now.0 as f64 - self.period * self.most;
        self.empty_at = self.empty_at.max(full) + frames as f64 * self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shaped(load: f64, duration: f64, shape: &LoadShape) -> Schedule {
        let start = Nanoseconds(1_000_000_007);
        let duration = Nanoseconds::from_seconds(duration).unwrap();
        Schedule::new(start, Load::new(load).unwrap(), duration, shape)
    }

    fn schedule(load: f64, duration: f64) -> Schedule {
        shaped(load, duration, &LoadShape::Even)
    }

    fn shapes() -> impl Strategy<Value = LoadShape> {
        let timeline = |distances: Vec<f64>| {
            let mean = distances.iter().sum::<f64>() / distances.len() as f64;
            let places = distances.iter().scan(0.0, |place, distance| {
                *place += distance / mean.max(1e-9);
                Some(*place)
            });
            LoadShape::Timeline(std::iter::once(0.0).chain(places).collect())
        };
        let distance = prop_oneof![Just(0.0), 0.0..1.0, 0.0..50.0];
        prop_oneof![
            Just(LoadShape::Even),
            (1..200_u64, prop_oneof![Just(0), 1..100_000_u64]).prop_map(|(frames, spacing)| LoadShape::Bursts {
                frames,
                spacing: Nanoseconds(spacing)
            }),
            prop::collection::vec(distance, 1..100).prop_map(timeline),
        ]
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

    #[test]
    fn bursts_come_at_once_and_hold_the_mean() {
        let spacing = Nanoseconds(1000);
        let bursts = shaped(100_000.0, 1.0, &LoadShape::Bursts { frames: 10, spacing });
        let elapsed = |index| bursts.due(index).0 - bursts.start().0;
        assert_eq!([elapsed(0), elapsed(1), elapsed(9)], [0, 1000, 9000]);
        assert_eq!(
            [elapsed(10), elapsed(11), elapsed(99_990)],
            [100_000, 101_000, 999_900_000]
        );
        assert_eq!(bursts.count(), 100_000);
        // No gap is left where the distance is that of the load already.
        let crowded = shaped(
            1e6,
            1.0,
            &LoadShape::Bursts {
                frames: 10,
                spacing: Nanoseconds(5000),
            },
        );
        assert_eq!(crowded.due(25).0 - crowded.start().0, 25_000);
    }

    #[test]
    fn a_timeline_keeps_its_distances_and_has_the_load() {
        let shape = LoadShape::Timeline([0.0, 0.5, 2.5, 3.0].into());
        let line = shaped(1000.0, 1.0, &shape);
        let elapsed = |index| line.due(index).0 - line.start().0;
        assert_eq!(
            [elapsed(1), elapsed(2), elapsed(3), elapsed(4)],
            [500_000, 2_500_000, 3_000_000, 4_000_000]
        );
        assert_eq!(line.due(line.count()), line.end());
        let cut_short = shaped(1000.0, 0.002, &shape);
        assert_eq!((cut_short.count(), cut_short.due(2)), (2, cut_short.end()));
    }

    proptest! {
        #[test]
        fn due_by_counts_what_is_due(load in 1.0..5e6, duration in 0.000_01..0.01, at in 0.0..1.3, shape in shapes()) {
            let schedule = shaped(load, duration, &shape);
            let now = Nanoseconds(schedule.start().0 + (at * duration * 1e9) as u64);
            let naive = (0..schedule.count()).filter(|&index| schedule.due(index) <= now).count();
            prop_assert_eq!(schedule.due_by(now), naive as u64);
        }

        /// Threads that share a port send what one would, when it would.
        #[test]
        fn lots_have_the_schedule_of_all_frames(load in 1.0..5e6, duration in 0.000_01..0.001, at in 0.0..1.3,
                shape in shapes(), count in 1..5_u64, turn in 1..13_u64) {
            let (all, lots) = (shaped(load, duration, &shape), Lots { count, turn });
            let now = Nanoseconds(all.start().0 + (at * duration * 1e9) as u64);
            let of_lots: Vec<_> = (0..count as usize).map(|lot| all.clone().of_lot(lots, lot)).collect();
            for frame in 0..all.count() {
                let (lot, number) = lots.place_of(frame);
                prop_assert_eq!(of_lots[lot].due(number), all.due(frame));
                prop_assert_eq!(of_lots[lot].frame_of_port(number), frame);
            }
            let sum = |count: &dyn Fn(&Schedule) -> u64| of_lots.iter().map(count).sum::<u64>();
            prop_assert_eq!(sum(&|lot| lot.due_by(now)), all.due_by(now));
            prop_assert_eq!(sum(&Schedule::count), all.count());
            for lot in &of_lots {
                let naive = (0..lot.count()).filter(|&index| lot.due(index) <= now).count();
                prop_assert_eq!(lot.due_by(now), naive as u64);
            }
        }

        #[test]
        fn all_frames_are_due_within_the_sending_phase(load in 100.0..5e6, duration in 0.01..1.0, shape in shapes()) {
            let schedule = shaped(load, duration, &shape);
            prop_assert_eq!(schedule.due_by(schedule.end()), schedule.count());
        }

        #[test]
        fn an_undisturbed_sender_never_lacks_credit(load in 1.0..5e6, shape in shapes(), count in 1..4_u64,
                turn in 1..13_u64) {
            let schedule = shaped(load, 1000.0, &shape).of_lot(Lots { count, turn }, 0);
            let mut catch_up = CatchUp::new(&schedule);
            for index in 0..1000 {
                let now = schedule.due(index);
                prop_assert!(catch_up.credit(now) >= 1, "{index}");
                catch_up.spend(now, 1);
            }
        }
    }
}
