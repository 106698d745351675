use std::io;

use brimful_netdev::{Receiver, Sender};
use brimful_trial::{Load, Nanoseconds};

use crate::{Clock, Outcome, Tester, Timing, TrialPlan};

const TRIAL: Nanoseconds = Nanoseconds(200_000_000);
/// Joined ports deliver at once.
const STRAGGLER_WAIT: Nanoseconds = Nanoseconds(50_000_000);
/// Where doubling starts: below what any tester does.
const FIRST_LOAD: f64 = 25_000.0;
/// Where doubling ends: above what one thread sends through a kernel.
const DOUBLINGS: u32 = 9;
/// Halvings of the last doubling: the ceiling is then known to 1/32 of it.
const BISECTIONS: u32 = 5;

impl<S: Sender, R: Receiver, C: Clock> Tester<'_, S, R, C> {
    /// The highest load per direction that this tester sends and receives itself without loss and on schedule, its
    /// ports joined back to back; `None` when it was called off or not even the first load went through.
    ///
    /// # Errors
    /// When a port fails.
    pub fn calibrate(&mut self) -> io::Result<Option<Load>> {
        let timing = *self.timing();
        self.set_timing(Timing {
            straggler_wait: STRAGGLER_WAIT,
            ..timing
        });
        let ramp_up = self.set_ramp_up(Nanoseconds::ZERO);
        let ceiling = self.ceiling();
        self.set_timing(timing);
        self.set_ramp_up(ramp_up);
        Ok(ceiling?.and_then(|load| Load::new(load).ok()))
    }

    fn ceiling(&mut self) -> io::Result<Option<f64>> {
        let mut good = None;
        let mut load = FIRST_LOAD;
        for _ in 0..DOUBLINGS {
            if !self.is_clean(load)? {
                break;
            }
            good = Some(load);
            load *= 2.0;
        }
        let Some(mut good) = good else {
            return Ok(None);
        };
        let mut bad = load;
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(good, bad);
            if self.is_clean(middle)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(Some(good))
    }

    /// A second chance, because a neighbour on the machine spoils a short trial more often than the load does.
    fn is_clean(&mut self, load: f64) -> io::Result<bool> {
        Ok(self.is_clean_once(load)? || self.is_clean_once(load)?)
    }

    fn is_clean_once(&mut self, load: f64) -> io::Result<bool> {
        let Ok(load) = Load::new(load) else {
            return Ok(false);
        };
        let plan = TrialPlan {
            load,
            duration: TRIAL,
            stop_above: None,
        };
        let outcome = self.measure(&plan)?;
        Ok(matches!(outcome, Outcome::Counted(report) if report.counts.missing() == 0))
    }
}
