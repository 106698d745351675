use brimful_trial::program::{DelayReport, Description};
use serde::Serialize;
use serde_json::Value;

use crate::engine::Finished;
use crate::pacing::PacingReport;
use crate::tally::Side;

/// The reads of a trial, or its writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideReport {
    /// `reads` or `writes`.
    pub what: &'static str,
    /// IOs that were to start.
    pub sent: u64,
    /// IOs not done in time.
    pub lost: u64,
    /// Lost ones that were done while the trial went on.
    pub late: u64,
    /// Lost ones that were not started: the device held on to too many overdue ones.
    pub unsent: u64,
    /// Lost ones that the device reported as failed.
    pub failed: u64,
    /// Lost ones of which only a part was done.
    pub short: u64,
    /// Bytes that were read or written.
    pub bytes: u64,
    /// How long those took that were done, from their intended start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayReport>,
}

/// Something that a reader of a result should know.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Warning {
    code: &'static str,
    text: String,
}

/// One line to the driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `describe`.
    Description(Box<Description>),
    /// To `calibrate`.
    Calibration {
        /// The highest load that the tester does itself.
        ceiling: f64,
    },
    /// A trial that counts.
    Trial {
        /// Of the request.
        id: Value,
        /// IOs of the whole trial.
        intended: u64,
        /// IOs that were to start.
        sent: u64,
        /// IOs not done in time.
        lost: u64,
        /// Those of them that were done later.
        late: u64,
        /// The larger 99th percentile of reads and writes.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_p99_s: Option<f64>,
        /// Whether it was stopped because of loss.
        stopped_early: bool,
        /// Reads and writes apart.
        directions: Vec<SideReport>,
        /// How the tester kept its schedule.
        pacing: PacingReport,
        /// What a reader should know.
        warnings: Vec<Warning>,
    },
    /// A spoiled trial.
    Invalid {
        /// Of the request.
        id: Value,
        /// What happened.
        invalid: String,
        /// What may help where repeating does not.
        hint: String,
        /// Reads and writes apart.
        directions: Vec<SideReport>,
        /// How the tester kept its schedule.
        pacing: PacingReport,
    },
    /// Nothing more can be measured, or the request made no sense.
    Error {
        /// Of the request, where it had one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
        /// What happened.
        error: String,
    },
}

impl Reply {
    /// The reply to a request for a trial; `hint` is what may help a tester that was late.
    pub(crate) fn of_trial(id: Value, finished: Finished, detail: bool, hint: impl FnOnce() -> String) -> Self {
        let directions = side_reports(&finished, detail);
        let pacing = finished.tally.pacing.report();
        if let Some(invalid) = finished.flaw {
            return Self::Invalid {
                id,
                invalid,
                hint: hint(),
                directions,
                pacing,
            };
        }
        let delays = directions.iter().filter_map(|side| side.delay.as_ref());
        Self::Trial {
            id,
            intended: finished.counts.intended(),
            sent: finished.counts.sent(),
            lost: finished.counts.lost(),
            late: directions.iter().map(|side| side.late).sum(),
            delay_p99_s: delays.map(|delay| delay.p99_s).reduce(f64::max),
            stopped_early: finished.stopped_early,
            warnings: warnings(&directions),
            directions,
            pacing,
        }
    }
}

/// What there was of reads and writes; with `detail`, all that is known of how long they took.
pub fn side_reports(finished: &Finished, detail: bool) -> Vec<SideReport> {
    let tally = &finished.tally;
    let sides = [("reads", &tally.reads), ("writes", &tally.writes)];
    sides.map(|(what, side)| side_report(what, side, detail)).into()
}

fn side_report(what: &'static str, side: &Side, detail: bool) -> SideReport {
    let mut delay = side.delay.report();
    if let Some(delay) = &mut delay
        && !detail
    {
        delay.detail = None;
    }
    SideReport {
        what,
        sent: side.sent,
        lost: side.lost,
        late: side.late,
        unsent: side.unsent,
        failed: side.failed,
        short: side.short,
        bytes: side.bytes,
        delay,
    }
}

fn warnings(sides: &[SideReport]) -> Vec<Warning> {
    let mut found = Vec::new();
    for side in sides {
        for (code, count, what) in [
            ("failed-ios", side.failed, "failed with an error and count as lost"),
            ("short-ios", side.short, "were done in part only and count as lost"),
        ] {
            if count > 0 {
                let text = format!("{count} {} {what}", side.what);
                found.push(Warning { code, text });
            }
        }
    }
    found
}
