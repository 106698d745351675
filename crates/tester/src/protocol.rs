use brimful_trial::program::{Description, MeasureRequest};
use serde::Serialize;
use serde_json::Value;

use crate::{Cost, DirectionReport, Outcome, PortReport, TrialReport, Warning};

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
        /// Frames of the whole trial.
        intended: u64,
        /// Frames sent.
        sent: u64,
        /// Frames lost.
        lost: u64,
        /// Further copies.
        duplicated: u64,
        /// Frames that arrived after a later one.
        reordered: u64,
        /// Frames that arrived outside the contract.
        late: u64,
        /// The largest 99th percentile of the delay of any direction; nothing when no frame arrived.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_p99_s: Option<f64>,
        /// Whether it was stopped because of loss.
        stopped_early: bool,
        /// Each direction apart.
        directions: Vec<DirectionReport>,
        /// Each port apart, where there are more than two.
        #[serde(skip_serializing_if = "Option::is_none")]
        ports: Option<Vec<PortReport>>,
        /// The most frames by which one of more than two ports was ahead of another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        slip_frames: Option<u64>,
        /// What it cost the tester, each thread apart.
        cost: Vec<Cost>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// Each direction apart.
        directions: Vec<DirectionReport>,
        /// What it cost the tester, each thread apart.
        cost: Vec<Cost>,
        /// What a reader should know.
        warnings: Vec<Warning>,
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
    /// The reply to a request; `None` when its trial was called off, after which no reply is expected.
    pub fn of_trial(request: MeasureRequest, outcome: Outcome) -> Option<Self> {
        let MeasureRequest { id, detail, .. } = request;
        match outcome {
            Outcome::Counted(report) => Some(Self::counted(id, as_asked(report, detail))),
            Outcome::Invalid { reason, report, .. } => {
                let report = as_asked(report, detail);
                Some(Self::Invalid {
                    id,
                    invalid: reason,
                    hint: None,
                    directions: report.directions,
                    cost: report.costs,
                    warnings: report.warnings,
                })
            }
            Outcome::Interrupted => None,
        }
    }

    /// The same with a hint, where it is an invalid trial.
    #[must_use]
    pub(crate) fn with_hint(mut self, text: String) -> Self {
        if let Self::Invalid { hint, .. } = &mut self {
            *hint = Some(text);
        }
        self
    }

    fn counted(id: Value, report: TrialReport) -> Self {
        let sum = |count: fn(&DirectionReport) -> u64| report.directions.iter().map(count).sum();
        let delays = report
            .directions
            .iter()
            .filter_map(|direction| direction.delay.as_ref());
        Self::Trial {
            id,
            delay_p99_s: delays.map(|delay| delay.p99_s).reduce(f64::max),
            intended: report.counts.intended(),
            sent: report.counts.sent(),
            lost: report.counts.lost(),
            duplicated: sum(|direction| direction.duplicated),
            reordered: sum(|direction| direction.reordered),
            late: sum(|direction| direction.late),
            stopped_early: report.stopped_early,
            directions: report.directions,
            slip_frames: report.ports.as_ref().and_then(|report| report.slip_frames),
            ports: report.ports.map(|report| report.ports),
            cost: report.costs,
            warnings: report.warnings,
        }
    }
}

/// Leaves out what most readers do not want: it is most of a reply.
fn as_asked(mut report: TrialReport, detail: bool) -> TrialReport {
    let delays = report
        .directions
        .iter_mut()
        .filter_map(|direction| direction.delay.as_mut());
    if !detail {
        delays.for_each(|delay| delay.detail = None);
    }
    report
}
