use brimful_trial::Nanoseconds;
use brimful_trial::program::TimeHistogram;
use serde::Serialize;

/// How much of the deadline a tester on shared processors may be late itself.
const DEADLINE_SHARE: u64 = 10;
/// A tester that cannot keep a load up is later with each IO, so that the median is near half of the bound when the
/// trial is spoiled; one that is held up has a median of almost nothing. This part of the bound lies between.
const BEHIND_PART: u64 = 4;
/// What a tester with a processor of its own keeps to, measured at 10 to 100 thousand IOs a second.
const OWN_P99: Nanoseconds = Nanoseconds(20_000);
const OWN_P999: Nanoseconds = Nanoseconds(100_000);

/// How late the tester may be itself before a trial says more of it than of the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Punctuality {
    /// All but 1 % of the IOs begin no later than this.
    p99: Nanoseconds,
    /// All but 0.1 %.
    p999: Nanoseconds,
    why: &'static str,
}

impl Punctuality {
    /// Of a tester that shares its processors.
    pub fn shared(deadline: Nanoseconds) -> Self {
        let bound = Nanoseconds(deadline.0 / DEADLINE_SHARE);
        Self {
            p99: bound,
            p999: bound,
            why: "a tenth of the deadline",
        }
    }

    /// Of a tester that has a processor of its own.
    pub fn own(deadline: Nanoseconds) -> Self {
        let shared = Self::shared(deadline);
        Self {
            p99: shared.p99.min(OWN_P99),
            p999: shared.p999.min(OWN_P999),
            why: "with a processor of its own",
        }
    }

    /// Thousandths of the IOs, and how late the latest of them may be.
    fn bounds(self) -> [(u64, Nanoseconds); 2] {
        [(999, self.p999), (990, self.p99)]
    }
}

/// How the tester keeps its schedule.
pub(crate) struct Pacing {
    /// IOs of the whole trial.
    count: u64,
    punctuality: Punctuality,
    /// IOs beyond each bound.
    too_late: [u64; 2],
    lateness: TimeHistogram,
    gaps: TimeHistogram,
    starts: u64,
    /// Of the first start and of the last: when it was due, and when it came.
    ends: Option<[(Nanoseconds, Nanoseconds); 2]>,
}

/// The same, for the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacingReport {
    /// By how much the tester turned to an IO too late: the median.
    pub lateness_p50_s: f64,
    /// Of all but 1 %.
    pub lateness_p99_s: f64,
    /// Of all but 0.1 %.
    pub lateness_p999_s: f64,
    /// The greatest.
    pub max_lateness_s: f64,
    /// The time from one start to the next: 10 % are shorter.
    pub gap_p10_s: f64,
    /// The median.
    pub gap_p50_s: f64,
    /// 10 % are longer.
    pub gap_p90_s: f64,
    /// By what share the mean rate from the first start to the last was above the intended one; absent for a single start.
    pub rate_error: Option<f64>,
}

impl Pacing {
    pub(crate) fn new(count: u64, punctuality: Punctuality) -> Self {
        Self {
            count,
            punctuality,
            too_late: [0; 2],
            lateness: TimeHistogram::new(),
            gaps: TimeHistogram::new(),
            starts: 0,
            ends: None,
        }
    }

    /// An IO starts.
    pub(crate) fn start(&mut self, due: Nanoseconds, now: Nanoseconds) {
        let lateness = now.saturating_sub(due);
        self.lateness.record(lateness);
        for ((_, bound), too_late) in self.punctuality.bounds().into_iter().zip(&mut self.too_late) {
            *too_late += u64::from(lateness > bound);
        }
        self.starts += 1;
        match &mut self.ends {
            None => self.ends = Some([(due, now); 2]),
            Some([_, last]) => {
                self.gaps.record(now.saturating_sub(last.1));
                *last = (due, now);
            }
        }
    }

    /// More began too late than may in the whole trial, whatever comes.
    pub(crate) fn is_spoiled(&self) -> bool {
        let bounds = self.punctuality.bounds().into_iter().zip(self.too_late);
        bounds
            .into_iter()
            .any(|((thousandths, _), too_late)| too_late * 1000 > self.count * (1000 - thousandths))
    }

    /// Whether the load is too much for the tester, as far as this trial went, and not other work on the machine.
    pub(crate) fn falls_behind(&self) -> bool {
        self.lateness.percentile(500).0 * BEHIND_PART > self.punctuality.p999.0
    }

    /// By how much the tester was too late; nothing where it was not.
    pub(crate) fn flaw(&self) -> Option<String> {
        self.punctuality.bounds().into_iter().find_map(|(thousandths, bound)| {
            let late = self.lateness.percentile(thousandths);
            let (share, why) = (0.1 * (1000 - thousandths) as f64, self.punctuality.why);
            (late > bound).then(|| {
                format!("the tester began {share:.1} % of the IOs more than {late} late (bound {bound}, {why})")
            })
        })
    }

    pub(crate) fn report(&self) -> PacingReport {
        let late = |thousandths| self.lateness.percentile(thousandths).as_seconds();
        let gap = |thousandths| self.gaps.percentile(thousandths).as_seconds();
        PacingReport {
            lateness_p50_s: late(500),
            lateness_p99_s: late(990),
            lateness_p999_s: late(999),
            max_lateness_s: self.lateness.highest().as_seconds(),
            gap_p10_s: gap(100),
            gap_p50_s: gap(500),
            gap_p90_s: gap(900),
            rate_error: self.rate_error(),
        }
    }

    fn rate_error(&self) -> Option<f64> {
        let [(first_due, first), (last_due, last)] = self.ends?;
        let (intended, real) = (last_due.0 - first_due.0, last.0 - first.0);
        (self.starts > 1 && real > 0).then(|| intended as f64 / real as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_gaps_and_rate_are_those_of_the_starts() {
        let mut pacing = Pacing::new(4, Punctuality::shared(Nanoseconds(1_000_000)));
        for (due, now) in [(1000, 1000), (2000, 2100), (3000, 3000), (4000, 5000)] {
            pacing.start(Nanoseconds(due), Nanoseconds(now));
        }
        let report = pacing.report();
        assert_eq!((report.max_lateness_s, report.lateness_p50_s), (1e-6, 0.0));
        assert_eq!((report.gap_p10_s, report.gap_p50_s), (0.9e-6, 1.1e-6));
        assert_eq!(report.rate_error, Some(-0.25));
        assert_eq!((pacing.flaw(), pacing.is_spoiled()), (None, false));
    }

    #[test]
    fn a_trial_is_spoiled_as_soon_as_more_is_late_than_may() {
        let mut pacing = Pacing::new(2000, Punctuality::own(Nanoseconds(10_000_000)));
        for (number, lateness) in (1_u64..).zip([0, 101_000, 100_000, 100_000, 101_000]) {
            pacing.start(
                Nanoseconds(number * 1_000_000),
                Nanoseconds(number * 1_000_000 + lateness),
            );
            assert!(!pacing.is_spoiled());
        }
        pacing.start(Nanoseconds(9_000_000), Nanoseconds(9_101_000));
        assert!(pacing.is_spoiled());
        let flaw = pacing.flaw().unwrap();
        assert!(
            flaw.contains("began 0.1 % of the IOs") && flaw.contains("of its own"),
            "{flaw}"
        );
    }

    #[test]
    fn a_tester_that_falls_behind_is_told_from_one_that_is_held_up() {
        let falls_behind = |lateness_us: fn(u64) -> u64| {
            let mut pacing = Pacing::new(1000, Punctuality::shared(Nanoseconds(1_000_000)));
            for number in 0..100 {
                let due = number * 10_000;
                pacing.start(Nanoseconds(due), Nanoseconds(due + lateness_us(number) * 1000));
            }
            assert!(pacing.is_spoiled());
            pacing.falls_behind()
        };
        assert!(falls_behind(|number| 2 * number));
        assert!(!falls_behind(|number| if number < 70 { 0 } else { 400 }));
    }

    #[test]
    fn one_in_a_hundred_is_bounded_by_a_processor_of_its_own_alone() {
        let spoiled = |punctuality: Punctuality| {
            let mut pacing = Pacing::new(100, punctuality);
            for number in 1..=2 {
                pacing.start(
                    Nanoseconds(number * 1_000_000),
                    Nanoseconds(number * 1_000_000 + 30_000),
                );
            }
            (pacing.is_spoiled(), pacing.flaw().is_some())
        };
        let deadline = Nanoseconds(10_000_000);
        assert_eq!(spoiled(Punctuality::own(deadline)), (true, true));
        assert_eq!(spoiled(Punctuality::shared(deadline)), (false, false));
        assert_eq!(
            spoiled(Punctuality::own(Nanoseconds(100_000))),
            (true, true),
            "never more than a tenth of a deadline"
        );
    }
}
