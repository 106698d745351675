//! What crosses the boundary as JSON: the field names of the record format.

use brimful_search::{Assessment, GoalResult, Problem, SearchGoal, Sums, Verdict};
use brimful_trial::{Load, Nanoseconds, Ratio};
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use serde::{Deserialize, Serialize};

pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[derive(Deserialize)]
pub(crate) struct ProblemText {
    goals: Vec<GoalText>,
    min_load: f64,
    max_load: f64,
    hint: Option<f64>,
    #[serde(default)]
    early_termination: bool,
}

#[derive(Deserialize)]
struct GoalText {
    name: String,
    loss_ratio: f64,
    delay_limit_s: Option<f64>,
    exceed_ratio: f64,
    final_trial_duration_s: f64,
    duration_sum_s: f64,
    initial_trial_duration_s: f64,
    width: Option<f64>,
}

#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names of the record format, units included"
)]
pub(crate) struct SumsText {
    full_low_s: f64,
    full_high_s: f64,
    short_low_s: f64,
    short_high_s: f64,
}

#[derive(Serialize)]
pub(crate) struct GoalResultText {
    regular: bool,
    reason: &'static str,
    lower_bound: Option<f64>,
    upper_bound: Option<f64>,
    conditional_throughput: Option<f64>,
    lower_bound_sums: Option<SumsText>,
    upper_bound_sums: Option<SumsText>,
}

#[derive(Serialize)]
pub(crate) struct AssessmentText {
    verdict: &'static str,
    trials: usize,
    sums: SumsText,
    effective_high_loss_s: f64,
    missing_s: f64,
    optimistic_exceed_ratio: f64,
    pessimistic_exceed_ratio: f64,
    conditional_throughput: Option<f64>,
}

/// Reads a problem.
///
/// # Errors
/// With one line that names the goal and the value.
pub(crate) fn problem(json: &str) -> Result<Problem, PyErr> {
    let text: ProblemText = serde_json::from_str(json).map_err(value_error)?;
    let goals = text.goals.iter().map(goal).collect::<Result<Vec<_>, _>>()?;
    let load = |name: &str, value: f64| Load::new(value).map_err(|error| value_error(format!("{name}: {error}")));
    let problem = Problem::new(
        goals,
        load("min load", text.min_load)?,
        load("max load", text.max_load)?,
    );
    let mut problem = problem.map_err(value_error)?;
    if text.early_termination {
        problem = problem.with_early_termination();
    }
    Ok(match text.hint {
        Some(hint) => problem.with_hint(load("hint", hint)?),
        None => problem,
    })
}

fn goal(text: &GoalText) -> Result<SearchGoal, PyErr> {
    let ratio = |attribute: &str, value: f64| {
        Ratio::from_f64(value).map_err(|error| value_error(format!("goal {:?}: {attribute}: {error}", text.name)))
    };
    let time = |attribute: &str, value: f64| {
        Nanoseconds::from_seconds(value)
            .map_err(|error| value_error(format!("goal {:?}: {attribute}: {error}", text.name)))
    };
    Ok(SearchGoal {
        name: text.name.clone(),
        loss_ratio: ratio("loss ratio", text.loss_ratio)?,
        delay_limit: text.delay_limit_s.map(|limit| time("delay limit", limit)).transpose()?,
        exceed_ratio: ratio("exceed ratio", text.exceed_ratio)?,
        final_trial_duration: time("final trial duration", text.final_trial_duration_s)?,
        duration_sum: time("duration sum", text.duration_sum_s)?,
        initial_trial_duration: time("initial trial duration", text.initial_trial_duration_s)?,
        width: text.width.map(|width| ratio("width", width)).transpose()?,
    })
}

impl From<Sums> for SumsText {
    fn from(sums: Sums) -> Self {
        Self {
            full_low_s: sums.full_low.as_seconds(),
            full_high_s: sums.full_high.as_seconds(),
            short_low_s: sums.short_low.as_seconds(),
            short_high_s: sums.short_high.as_seconds(),
        }
    }
}

impl From<GoalResult> for GoalResultText {
    fn from(result: GoalResult) -> Self {
        Self {
            regular: result.is_regular(),
            reason: result.reason.code(),
            lower_bound: result.lower_bound.map(|bound| bound.load.per_second()),
            upper_bound: result.upper_bound.map(|bound| bound.load.per_second()),
            conditional_throughput: result.conditional_throughput(),
            lower_bound_sums: result.lower_bound.map(|bound| bound.sums.into()),
            upper_bound_sums: result.upper_bound.map(|bound| bound.sums.into()),
        }
    }
}

impl AssessmentText {
    pub(crate) fn new(assessment: Assessment, trials: usize, conditional_throughput: f64) -> Self {
        Self {
            verdict: verdict_code(assessment.verdict),
            trials,
            sums: assessment.sums.into(),
            effective_high_loss_s: assessment.effective_high_loss.as_seconds(),
            missing_s: assessment.missing.as_seconds(),
            optimistic_exceed_ratio: assessment.optimistic_exceed_ratio,
            pessimistic_exceed_ratio: assessment.pessimistic_exceed_ratio,
            conditional_throughput: (assessment.verdict == Verdict::LowerBound).then_some(conditional_throughput),
        }
    }
}

fn verdict_code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::LowerBound => "lower-bound",
        Verdict::UpperBound => "upper-bound",
        Verdict::Undecided => "undecided",
    }
}
