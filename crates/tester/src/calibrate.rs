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
/// Halvings of the last doubling: the ceiling is then known to 1/32 of it.
const BISECTIONS: u32 = 5;

/// What is known of the tester once its ports were joined.
#[derive(Clone, Debug, PartialEq)]
pub enum Calibration {
    /// The highest load per direction that it sends and receives itself without loss and on schedule.
    Ceiling(Load),
    /// Not even the first load went through: what spoiled its last trial.
    Spoiled(String),
    /// Nothing arrived, or it was called off.
    Nothing,
}

impl<S: Sender, R: Receiver, C: Clock> Tester<'_, S, R, C> {
    /// Looks for the highest load that this tester sends and receives itself, its ports joined back to back.
    ///
    /// # Errors
    /// When a port fails.
    pub fn calibrate(&mut self) -> io::Result<Calibration> {
        let timing = *self.timing();
        self.set_timing(Timing {
            straggler_wait: STRAGGLER_WAIT,
            ..timing
        });
        let ramp_up = self.set_ramp_up(Nanoseconds::ZERO);
        let found = self.ceiling();
        self.set_timing(timing);
        self.set_ramp_up(ramp_up);
        found
    }

    fn ceiling(&mut self) -> io::Result<Calibration> {
        let first = self.first_load()?;
        if !matches!(first, Calibration::Ceiling(_)) {
            return Ok(first);
        }
        let mut good = FIRST_LOAD;
        for _ in 0..DOUBLINGS {
            if !self.is_clean(2.0 * good)? {
                break;
            }
            good *= 2.0;
        }
        let mut bad = 2.0 * good;
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(good, bad);
            if self.is_clean(middle)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(Load::new(good).map_or(Calibration::Nothing, Calibration::Ceiling))
    }

    /// What is known of the first load. Without it nothing is known, so that this waits for a machine that holds the sender
    /// up; where nothing arrives, it does not.
    fn first_load(&mut self) -> io::Result<Calibration> {
        let mut found = self.try_twice(FIRST_LOAD)?;
        for _ in 2..FIRST_TRIALS {
            match found {
                Calibration::Spoiled(_) => found = self.try_load(FIRST_LOAD)?,
                Calibration::Nothing | Calibration::Ceiling(_) => break,
            }
        }
        Ok(found)
    }

    fn is_clean(&mut self, load: f64) -> io::Result<bool> {
        Ok(matches!(self.try_twice(load)?, Calibration::Ceiling(_)))
    }

    /// A second chance, because a neighbour on the machine spoils a short trial more often than the load does.
    fn try_twice(&mut self, load: f64) -> io::Result<Calibration> {
        match self.try_load(load)? {
            Calibration::Spoiled(_) | Calibration::Nothing => self.try_load(load),
            found @ Calibration::Ceiling(_) => Ok(found),
        }
    }

    fn try_load(&mut self, load: f64) -> io::Result<Calibration> {
        let Ok(load) = Load::new(load) else {
            return Ok(Calibration::Nothing);
        };
        let plan = TrialPlan {
            load,
            duration: TRIAL,
            stop_above: None,
        };
        Ok(match self.measure(&plan)? {
            Outcome::Counted(report) => match report.counts.missing() {
                0 => Calibration::Ceiling(load),
                missing if missing < report.counts.expected() => {
                    Calibration::Spoiled(format!("{missing} of {} frames were lost", report.counts.expected()))
                }
                _ => Calibration::Nothing,
            },
            Outcome::Invalid {
                reason,
                is_off_schedule,
                report,
            } if is_off_schedule || report.counts.lost() < report.counts.sent() => Calibration::Spoiled(reason),
            Outcome::Invalid { .. } | Outcome::Interrupted => Calibration::Nothing,
        })
    }
}
