use brimful_trial::Nanoseconds;
use brimful_trial::program::TimeHistogram;
use serde::Serialize;
use thiserror::Error;

use crate::Schedule;

/// Windows in which the rate is watched: a mean over the trial hides stalls that were caught up.
pub(crate) const WINDOW: Nanoseconds = Nanoseconds(10_000_000);
/// A frame later than this is counted as late in the report: clearly more than scheduling noise on a quiet machine
/// (0.3-22 us at the 99th percentile) and less than a stall by another process (several ms).
const LATE_FRAME: Nanoseconds = Nanoseconds(1_000_000);
/// A window is off when its count differs from the schedule by more than a fifth, or, at low rates, by more than one
/// catch-up burst or one burst of the schedule. A fifth is a stall of 2 ms; catching up, at 1.1 times the load, stays within it.
const OFF_WINDOW_SHARE: f64 = 0.2;
const OFF_WINDOW_FRAMES: f64 = 64.0;
/// A stall spills from one window into the next: one stall alone must not spoil a short trial.
const OFF_WINDOWS_ALLOWED: u64 = 2;

/// From where on the sender, not the device, made the result.
///
/// The defaults were chosen on a virtual machine with two processors that others used as well. Stalls of 0.1-4.4 ms are
/// the weather there, so that a stricter bound would refuse everything; 10 ms is far outside it. What makes the lenient
/// bounds safe is that all frames are sent within 1 % of the time and that catching up never exceeds 1.1 times the
/// load. A device that is within 10 % of its limit may still lose frames to a short stall; repeating the trial shows
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingBounds {
    /// Share of windows that may be off.
    pub off_window_share: f64,
    /// The longest time for which the sender may be away while frames are due.
    pub stall: Nanoseconds,
}

/// The [`PacingBounds`] of a trial of known length: what it may have at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PacingLimits {
    stall: Nanoseconds,
    off_windows: u64,
}

impl PacingBounds {
    pub(crate) fn limits(&self, duration: Nanoseconds) -> PacingLimits {
        PacingLimits {
            stall: self.stall,
            off_windows: self.most_off(duration.0 / WINDOW.0),
        }
    }

    /// How many windows may be off.
    fn most_off(&self, windows: u64) -> u64 {
        ((self.off_window_share * windows as f64) as u64).max(OFF_WINDOWS_ALLOWED)
    }
}

impl Default for PacingBounds {
    fn default() -> Self {
        Self {
            off_window_share: 0.1,
            stall: Nanoseconds(10_000_000),
        }
    }
}

/// Why the pacing of a trial does not count.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Spoiled {
    /// The tester is too slow for the load.
    #[error("{unsent} of {intended} frames could not be sent on schedule (bound 0)")]
    Unsent {
        /// Frames left.
        unsent: u64,
        /// Frames of the trial.
        intended: u64,
    },
    /// The sender was away for too long.
    #[error("the sender stalled for {stall} (bound {bound})")]
    Stalled {
        /// The longest stall.
        stall: Nanoseconds,
        /// What was allowed.
        bound: Nanoseconds,
    },
    /// The rate was not the load for too much of the time.
    #[error("the rate was off in {off} of {windows} windows of 10 ms (bound {bound})")]
    OffWindows {
        /// Windows off.
        off: u64,
        /// All windows.
        windows: u64,
        /// What was allowed.
        bound: u64,
    },
}

/// How well one direction kept its schedule, for the record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacingReport {
    /// The longest time by which a frame was late when the sender turned to it.
    pub max_lateness_s: f64,
    /// The median over the frames sent; this and the other percentiles are less than 0.1 % too long at most.
    pub lateness_p50_s: f64,
    /// The lateness that 99 % of the frames sent did not exceed.
    pub lateness_p99_s: f64,
    /// The lateness that 99.9 % of the frames sent did not exceed.
    pub lateness_p999_s: f64,
    /// Share of sent frames that were more than 1 ms late.
    pub late_share: f64,
    /// By what share the mean rate from the first frame to the last was above the load; absent for a single frame.
    pub rate_error: Option<f64>,
    /// The longest time for which the sender was away while frames were due.
    pub longest_stall_s: f64,
    /// Whole windows of 10 ms.
    pub windows: u64,
    /// Windows whose rate was off.
    pub off_windows: u64,
    /// Rate in the slowest window as a share of the load; absent where there was no whole window.
    pub lowest_window: Option<f64>,
    /// Rate in the fastest window as a share of the load.
    pub highest_window: Option<f64>,
}

impl PacingReport {
    /// Of what several threads have sent of one port, each by itself: all frames together, and the worst thread.
    pub(crate) fn of(records: &[&PacingRecord]) -> Self {
        let (first, others) = records.split_first().expect("a thread sends");
        if others.is_empty() {
            return first.report();
        }
        let mut all = (*first).clone();
        for other in others {
            all.join(other);
        }
        let errors = records.iter().filter_map(|record| record.rate_error());
        Self {
            rate_error: errors.max_by(|one, other| one.abs().total_cmp(&other.abs())),
            ..all.report()
        }
    }
}

/// Watches one direction while it sends.
#[derive(Clone, Debug)]
pub struct PacingRecord {
    schedule: Schedule,
    sent: u64,
    late: u64,
    /// Of the first frame and of the last that was sent.
    end_lateness: Option<[Nanoseconds; 2]>,
    lateness: TimeHistogram,
    last_turn: Nanoseconds,
    longest_stall: Nanoseconds,
    window: u64,
    sent_in_window: u64,
    off_windows: u64,
    window_range: Option<(f64, f64)>,
}

impl PacingRecord {
    /// Nothing sent yet.
    pub fn new(schedule: Schedule) -> Self {
        Self {
            sent: 0,
            late: 0,
            end_lateness: None,
            lateness: TimeHistogram::new(),
            last_turn: schedule.start(),
            schedule,
            longest_stall: Nanoseconds::ZERO,
            window: 0,
            sent_in_window: 0,
            off_windows: 0,
            window_range: None,
        }
    }

    /// The sender is there to send what is due; the first frame not sent is due at `next_due`. Call it before
    /// [`Self::sent`].
    pub fn turn(&mut self, now: Nanoseconds, next_due: Nanoseconds) {
        let waiting_since = self.last_turn.max(next_due);
        self.longest_stall = self.longest_stall.max(now.saturating_sub(waiting_since));
        self.last_turn = now;
        self.close_windows(now);
    }

    /// Frames from `first` on were sent.
    pub fn sent(&mut self, now: Nanoseconds, first: u64, count: u64) {
        for index in first..first + count {
            let lateness = now.saturating_sub(self.schedule.due(index));
            self.lateness.record(lateness);
            self.end_lateness.get_or_insert([lateness; 2])[1] = lateness;
        }
        let due_long_ago = self.schedule.due_by(now.saturating_sub(LATE_FRAME));
        self.late += due_long_ago.saturating_sub(first).min(count);
        self.sent += count;
        self.sent_in_window += count;
    }

    /// Whether it is certain by now, with frames left to send, that the trial does not count.
    pub(crate) fn is_spoiled(&self, limits: &PacingLimits) -> bool {
        self.longest_stall > limits.stall || self.off_windows > limits.off_windows
    }

    /// Whether the trial counts. A trial that was `cut_short` on purpose has unsent frames and is excused for them.
    ///
    /// # Errors
    /// When the sender spoiled it.
    pub fn verdict(&self, bounds: &PacingBounds, cut_short: bool) -> Result<(), Spoiled> {
        let intended = self.schedule.count();
        let unsent = intended - self.sent.min(intended);
        // Unsent frames count as loss, and a goal without loss is missed by a single one: the tester, which had
        // overtime to send them, must not decide it.
        if !cut_short && unsent > 0 {
            return Err(Spoiled::Unsent { unsent, intended });
        }
        if self.longest_stall > bounds.stall {
            return Err(Spoiled::Stalled {
                stall: self.longest_stall,
                bound: bounds.stall,
            });
        }
        let bound = bounds.most_off(self.window);
        if self.off_windows > bound {
            return Err(Spoiled::OffWindows {
                off: self.off_windows,
                windows: self.window,
                bound,
            });
        }
        Ok(())
    }

    /// The figures.
    pub fn report(&self) -> PacingReport {
        PacingReport {
            max_lateness_s: self.lateness.highest().as_seconds(),
            lateness_p50_s: self.lateness.percentile(500).as_seconds(),
            lateness_p99_s: self.lateness.percentile(990).as_seconds(),
            lateness_p999_s: self.lateness.percentile(999).as_seconds(),
            late_share: self.late as f64 / self.sent.max(1) as f64,
            rate_error: self.rate_error(),
            longest_stall_s: self.longest_stall.as_seconds(),
            windows: self.window,
            off_windows: self.off_windows,
            lowest_window: self.window_range.map(|range| range.0),
            highest_window: self.window_range.map(|range| range.1),
        }
    }

    fn join(&mut self, other: &Self) {
        self.sent += other.sent;
        self.late += other.late;
        self.lateness.add(&other.lateness);
        self.longest_stall = self.longest_stall.max(other.longest_stall);
        self.window = self.window.max(other.window);
        self.off_windows = self.off_windows.max(other.off_windows);
        let ranges = self.window_range.into_iter().chain(other.window_range);
        self.window_range = ranges.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    }

    fn rate_error(&self) -> Option<f64> {
        let [first, last] = self.end_lateness?.map(Nanoseconds::as_seconds);
        let schedule = &self.schedule;
        let due = schedule.due(self.sent - 1).saturating_sub(schedule.due(0)).as_seconds();
        (self.sent > 1).then(|| due / (due + last - first) - 1.0)
    }

    /// Judges every window that is over by `now` and lies within the sending phase.
    fn close_windows(&mut self, now: Nanoseconds) {
        let end_of_sending = self.schedule.end();
        loop {
            let start = self.schedule.start() + Nanoseconds(self.window * WINDOW.0);
            let end = start + WINDOW;
            if end > now || end > end_of_sending {
                return;
            }
            let last = Nanoseconds(end.0 - 1);
            let before = Nanoseconds(start.0.saturating_sub(1));
            let due = (self.schedule.due_by(last) - self.schedule.due_by(before)) as f64;
            self.judge(due);
            self.window += 1;
            self.sent_in_window = 0;
        }
    }

    fn judge(&mut self, due: f64) {
        let sent = self.sent_in_window as f64;
        let allowed = OFF_WINDOW_FRAMES.max(self.schedule.burst());
        if (sent - due).abs() > (due * OFF_WINDOW_SHARE).max(allowed) {
            self.off_windows += 1;
        }
        if due > 0.0 {
            let share = sent / due;
            let (lowest, highest) = self.window_range.unwrap_or((share, share));
            self.window_range = Some((lowest.min(share), highest.max(share)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadShape;
    use brimful_trial::Load;
    use proptest::prelude::*;

    const US: u64 = 1000;
    const START: Nanoseconds = Nanoseconds(1_000_000_000);

    /// Sends everything that is due at each of the times.
    fn record(load: f64, seconds: f64, turns: impl Iterator<Item = u64>) -> PacingRecord {
        shaped(load, seconds, &LoadShape::Even, turns)
    }

    fn shaped(load: f64, seconds: f64, shape: &LoadShape, turns: impl Iterator<Item = u64>) -> PacingRecord {
        let duration = Nanoseconds::from_seconds(seconds).unwrap();
        let schedule = Schedule::new(START, Load::new(load).unwrap(), duration, shape);
        let mut pacing = PacingRecord::new(schedule.clone());
        let mut next = 0;
        for now in turns.map(|time| START + Nanoseconds(time)) {
            pacing.turn(now, schedule.due_after(next));
            let due = schedule.due_by(now);
            if due > next {
                pacing.sent(now, next, due - next);
                next = due;
            }
        }
        pacing
    }

    #[test]
    fn a_punctual_sender_is_clean() {
        let pacing = record(200_000.0, 1.0, (0..=1_000_000).step_by(5).map(|time| time * US));
        let report = pacing.report();
        assert_eq!(pacing.verdict(&PacingBounds::default(), false), Ok(()));
        assert_eq!((report.windows, report.off_windows), (100, 0));
        assert!(report.late_share <= 0.0, "{report:?}");
        assert!(report.max_lateness_s <= 5e-6);
        assert_eq!(report.lowest_window, Some(1.0));
    }

    #[test]
    fn the_mean_rate_is_that_from_the_first_frame_to_the_last() {
        let rate_error = |end: u64| {
            // 100 frames, 10 ms apart; the last one 10 ms late.
            let turns = (0..100).map(|index| index * 10_000).filter(|&time| time < 990_000);
            record(100.0, 1.0, turns.chain([end]).map(|time| time * US))
                .report()
                .rate_error
        };
        assert_eq!(rate_error(990_000), Some(0.0));
        let slow = rate_error(999_900).unwrap();
        assert!((slow - (1.0 / 1.01 - 1.0)).abs() < 1e-6, "{slow}");
        assert_eq!(record(1.0, 1.0, std::iter::once(0)).report().rate_error, None);
        assert_eq!(record(1.0, 1.0, std::iter::empty()).report().rate_error, None);
    }

    #[test]
    fn a_caught_up_stall_is_seen_although_the_mean_is_right() {
        let turns = (0..=1_000_000)
            .step_by(5)
            .filter(|time| !(300_000..320_000).contains(time));
        let pacing = record(200_000.0, 1.0, turns.map(|time| time * US));
        assert_eq!(pacing.sent, 200_000);
        assert!(matches!(
            pacing.verdict(&PacingBounds::default(), false),
            Err(Spoiled::Stalled { stall, .. }) if (19_900_000..20_100_000).contains(&stall.0)
        ));
        assert_eq!(pacing.report().off_windows, 3);
        assert_eq!(pacing.report().lowest_window, Some(0.0));
    }

    #[test]
    fn bursts_on_schedule_are_clean_wherever_they_fall() {
        let spacing = Nanoseconds(2000);
        // Of 1400 frames 14 ms apart: some windows have two, some none, and some end within one.
        for shape in [
            LoadShape::Bursts { frames: 1400, spacing },
            LoadShape::Bursts {
                frames: 1400,
                spacing: Nanoseconds::ZERO,
            },
            LoadShape::Timeline((0..1400).map(|index| f64::from(index) * 0.2).collect()),
        ] {
            let on_time = (0..=1_000_000).step_by(5).map(|time| time * US + 300);
            let pacing = shaped(100_000.0, 1.0, &shape, on_time);
            assert_eq!(pacing.verdict(&PacingBounds::default(), false), Ok(()), "{shape:?}");
            assert_eq!((pacing.sent, pacing.report().off_windows), (100_000, 0), "{shape:?}");
            let stalled = (0..=1_000_000)
                .step_by(5)
                .filter(|time| !(301_000..341_000).contains(time));
            let pacing = shaped(100_000.0, 1.0, &shape, stalled.map(|time| time * US));
            assert!(matches!(
                pacing.verdict(&PacingBounds::default(), false),
                Err(Spoiled::Stalled { .. })
            ));
        }
    }

    #[test]
    fn many_short_stalls_are_off_windows() {
        let turns = (0..=1_000_000).step_by(5).filter(|time| time % 100_000 > 8_000);
        let pacing = record(200_000.0, 1.0, turns.map(|time| time * US));
        assert!(matches!(pacing.verdict(&PacingBounds::default(), false), Ok(())));
        let turns = (0..=1_010_000).step_by(5).filter(|time| (time + 4000) % 50_000 > 8_000);
        let pacing = record(200_000.0, 1.0, turns.map(|time| time * US));
        assert!(matches!(
            pacing.verdict(&PacingBounds::default(), false),
            Err(Spoiled::OffWindows { .. })
        ));
    }

    #[test]
    fn a_trial_is_spoiled_once_more_is_off_than_may_be_in_all_of_it() {
        let bounds = PacingBounds::default();
        // From the third turn on each makes two windows off: one has the frames of two, and one has none.
        let spoiled_after = |turns: u64| {
            let turns = (0..turns).map(|turn| (2 * turn + 1) * WINDOW.0);
            let bounds = PacingBounds {
                stall: Nanoseconds(u64::MAX),
                ..bounds
            };
            record(200_000.0, 1.0, turns).is_spoiled(&bounds.limits(Nanoseconds(1_000_000_000)))
        };
        assert_eq!([6, 7].map(spoiled_after), [false, true]);
        let limits = bounds.limits(Nanoseconds(1_000_000_000));
        let stalled = |end: u64| record(200_000.0, 1.0, [0, end * US].into_iter()).is_spoiled(&limits);
        assert_eq!([10_000, 10_010].map(stalled), [false, true]);
    }

    #[test]
    fn a_slow_sender_leaves_frames_unsent_unless_it_was_told_to_stop() {
        let pacing = record(200_000.0, 1.0, (0..=990_000).step_by(5).map(|time| time * US));
        assert!(matches!(
            pacing.verdict(&PacingBounds::default(), false),
            Err(Spoiled::Unsent { .. })
        ));
        assert_eq!(pacing.verdict(&PacingBounds::default(), true), Ok(()));
    }

    proptest! {
        #[test]
        fn lateness_is_that_of_every_frame(
            load in 10_000.0..3e6,
            gaps in proptest::collection::vec(prop_oneof![9 => 1..5_000_u64, 1 => 0..2_000_000_u64], 1..100),
        ) {
            let mut elapsed = 0;
            let turns: Vec<u64> = gaps.iter().map(|gap| { elapsed += gap; elapsed }).collect();
            let pacing = record(load, 0.01, turns.iter().copied());
            let schedule = pacing.schedule.clone();
            let sent_at = |index| turns.iter().map(|turn| START.0 + turn).find(|&turn| turn >= schedule.due(index).0);
            let lateness = |index| sent_at(index).map(|turn| turn - schedule.due(index).0);
            let mut naive: Vec<u64> = (0..schedule.count()).filter_map(lateness).collect();
            naive.sort_unstable();
            prop_assert_eq!(naive.len() as u64, pacing.sent);
            let report = pacing.report();
            for (thousandths, found) in [
                (500, report.lateness_p50_s),
                (990, report.lateness_p99_s),
                (999, report.lateness_p999_s),
                (1000, report.max_lateness_s),
            ] {
                let rank = (naive.len() * thousandths).div_ceil(1000);
                let exact = rank.checked_sub(1).map_or(0, |at| naive[at]);
                let found = (found * 1e9).round() as u64;
                prop_assert!(exact <= found && found - exact <= exact / 1000, "{thousandths}: {exact} {found}");
            }
        }
    }

    #[test]
    fn low_rates_have_no_off_windows() {
        let pacing = record(50.0, 2.0, (0..=2_000_000).step_by(100).map(|time| time * US));
        assert_eq!(pacing.verdict(&PacingBounds::default(), false), Ok(()));
        assert_eq!(pacing.report().off_windows, 0);
    }
}
