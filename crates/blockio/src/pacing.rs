use brimful_trial::Nanoseconds;
use brimful_trial::program::TimeHistogram;
use serde::Serialize;

/// How the tester keeps its schedule.
pub(crate) struct Pacing {
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
    pub(crate) fn new() -> Self {
        Self {
            lateness: TimeHistogram::new(),
            gaps: TimeHistogram::new(),
            starts: 0,
            ends: None,
        }
    }

    /// An IO starts.
    pub(crate) fn start(&mut self, due: Nanoseconds, now: Nanoseconds) {
        self.lateness.record(now.saturating_sub(due));
        self.starts += 1;
        match &mut self.ends {
            None => self.ends = Some([(due, now); 2]),
            Some([_, last]) => {
                self.gaps.record(now.saturating_sub(last.1));
                *last = (due, now);
            }
        }
    }

    /// The lateness that all but one in a thousand do not exceed.
    pub(crate) fn lateness_p999(&self) -> Nanoseconds {
        self.lateness.percentile(999)
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
        let mut pacing = Pacing::new();
        for (due, now) in [(1000, 1000), (2000, 2100), (3000, 3000), (4000, 5000)] {
            pacing.start(Nanoseconds(due), Nanoseconds(now));
        }
        let report = pacing.report();
        assert_eq!((report.max_lateness_s, report.lateness_p50_s), (1e-6, 0.0));
        assert_eq!((report.gap_p10_s, report.gap_p50_s), (0.9e-6, 1.1e-6));
        assert_eq!(report.rate_error, Some(-0.25));
    }
}
