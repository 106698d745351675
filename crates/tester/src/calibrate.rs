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
const DOUBLINGS: u32 = 8;
/// Ten seconds and more: that long a neighbour on the machine may spoil all trials of the first load.
const FIRST_TRIALS: u32 = 100;
/// When the first load has failed this often on schedule, the machine is not the cause.
const FAILED_TRIALS: u32 = 3;
/// Halvings of the last doubling: the ceiling is then known to 1/32 of it.
const BISECTIONS: u32 = 5;

/// What is between the ports of a tester that is calibrated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cabling {
    /// Nothing: what is lost, the tester lost.
    Joined,
    /// A device, which may lose frames: what the tester offers on schedule counts.
    Device,
}

/// What was found of the tester itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Calibration {
    /// The highest load per direction that it offers on schedule, and that joined ports receive without loss.
    Ceiling(Load),
    /// Not even the first load was on schedule: what spoiled its last trial.
    OffSchedule(String),
    /// Not even the first load went through: why.
    Failed(String),
    /// Nothing arrived, or it was called off.
    Nothing,
}

impl<S: Sender, R: Receiver, C: Clock> Tester<'_, S, R, C> {
    /// Looks for the highest load that this tester itself sends and receives.
    ///
    /// # Errors
    /// When a port fails.
    pub fn calibrate(&mut self, cabling: Cabling) -> io::Result<Calibration> {
        let timing = *self.timing();
        self.set_timing(Timing {
            straggler_wait: STRAGGLER_WAIT,
            ..timing
        });
        let ramp_up = self.set_ramp_up(Nanoseconds::ZERO);
        let found = self.ceiling(cabling);
        self.set_timing(timing);
        self.set_ramp_up(ramp_up);
        found
    }

    fn ceiling(&mut self, cabling: Cabling) -> io::Result<Calibration> {
        let first = self.first_load(cabling)?;
        if !matches!(first, Calibration::Ceiling(_)) {
            return Ok(first);
        }
        let mut good = FIRST_LOAD;
        for _ in 0..DOUBLINGS {
            if !self.is_clean(2.0 * good, cabling)? {
                break;
            }
            good *= 2.0;
        }
        let mut bad = 2.0 * good;
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(good, bad);
            if self.is_clean(middle, cabling)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(Calibration::Ceiling(Load::new(good).map_err(io::Error::other)?))
    }

    /// What is known of the first load. Nothing is known without it, so that this waits for a machine that holds the
    /// sender up.
    fn first_load(&mut self, cabling: Cabling) -> io::Result<Calibration> {
        let (mut found, mut failed) = (Calibration::Nothing, 0);
        for _ in 0..FIRST_TRIALS {
            found = self.try_load(FIRST_LOAD, cabling)?;
            match found {
                Calibration::Ceiling(_) => break,
                Calibration::OffSchedule(_) => {}
                Calibration::Failed(_) | Calibration::Nothing => failed += 1,
            }
            if failed == FAILED_TRIALS {
                break;
            }
        }
        Ok(found)
    }

    /// A second chance, because a neighbour on the machine spoils a short trial more often than the load does.
    fn is_clean(&mut self, load: f64, cabling: Cabling) -> io::Result<bool> {
        let is_ceiling = |found: &Calibration| matches!(found, Calibration::Ceiling(_));
        Ok(is_ceiling(&self.try_load(load, cabling)?) || is_ceiling(&self.try_load(load, cabling)?))
    }

    fn try_load(&mut self, load: f64, cabling: Cabling) -> io::Result<Calibration> {
        let load = Load::new(load).map_err(io::Error::other)?;
        let plan = TrialPlan {
            load,
            duration: TRIAL,
            stop_above: None,
        };
        Ok(match self.measure(&plan)? {
            Outcome::Counted(report) => {
                let counts = report.counts;
                let is_offered = counts.unsent() == 0 && counts.lost() < counts.sent();
                if counts.missing() == 0 || (cabling == Cabling::Device && is_offered) {
                    Calibration::Ceiling(load)
                } else if counts.lost() == counts.sent() {
                    Calibration::Nothing
                } else {
                    let (missing, expected) = (counts.missing(), counts.expected());
                    Calibration::Failed(format!("{missing} of {expected} frames of the least load were lost"))
                }
            }
            Outcome::Invalid {
                reason,
                is_off_schedule: true,
                ..
            } => Calibration::OffSchedule(reason),
            Outcome::Invalid { reason, .. } => Calibration::Failed(reason),
            Outcome::Interrupted => Calibration::Nothing,
        })
    }
}
