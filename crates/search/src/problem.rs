use brimful_trial::{Load, Nanoseconds, Ratio, TrialResult};
use thiserror::Error;

/// The finest exceed ratio: its denominator has to leave room for sums of time in 128 bits.
const FINEST_EXCEED_RATIO: u64 = 1_000_000_000;
/// The width at which a search stops for goals that name none.
const DEFAULT_WIDTH: f64 = 0.005;
/// Loads of 9.95 and 10 are 0.5 % apart, and their nearest binary numbers a little more; as a share of the load.
const LOAD_ROUNDING: f64 = 2.0 * f64::EPSILON;

/// What is to be found: one loss ratio, with or without a limit of the delay, and how much evidence decides about a load (MLRsearch-15 Search Goal).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SearchGoal {
    /// What people call it: `ndr`.
    pub name: String,
    /// A trial with a loss ratio strictly above this is a high-loss trial.
    pub loss_ratio: Ratio,
    /// A trial with a delay (99th percentile) above this is a high-loss trial too, whatever it lost. An attribute of
    /// our own: MLRsearch-15 Search Goal allows more than it names.
    pub delay_limit: Option<Nanoseconds>,
    /// Share of high-loss time that a lower bound may have.
    pub exceed_ratio: Ratio,
    /// Trials meant to be at least this long are full-length, others short.
    pub final_trial_duration: Nanoseconds,
    /// Effective time at one load that forces a verdict.
    pub duration_sum: Nanoseconds,
    /// The shortest trial to select for this goal.
    pub initial_trial_duration: Nanoseconds,
    /// The search for this goal is over once `(upper - lower) / upper` is at most this.
    pub width: Option<Ratio>,
}

/// What the Controller is given: goals and limits (MLRsearch-15 Controller Input), and a hint for load selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    goals: Vec<SearchGoal>,
    min_load: Load,
    max_load: Load,
    hint: Option<Load>,
    early_termination: bool,
}

/// Why goals or limits cannot be searched for.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProblemError {
    /// No goal at all.
    #[error("no search goal is given")]
    NoGoal,
    /// Two goals of one name.
    #[error("goal name {0:?} is given twice")]
    DuplicateName(String),
    /// One attribute of one goal.
    #[error("goal {goal:?}: {attribute} {problem}")]
    Attribute {
        /// The goal's name.
        goal: String,
        /// The attribute's name.
        attribute: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The limits are the wrong way round.
    #[error("min load {min} is above max load {max}; lower the one or raise the other")]
    CrossedLimits {
        /// The smaller limit.
        min: f64,
        /// The larger limit.
        max: f64,
    },
    /// The shortest trial would have no frame.
    #[error(
        "goal {goal:?}: a trial of {duration} at min load {min_load}/s has less than one unit; raise min load or the trial duration"
    )]
    TrialTooShort {
        /// The goal's name.
        goal: String,
        /// The shortest trial.
        duration: Nanoseconds,
        /// The smallest load.
        min_load: f64,
    },
}

impl Problem {
    /// Checks goals (MLRsearch-15 Search Goal, the ranges of its attributes) and limits.
    ///
    /// # Errors
    /// When a search for them could not be carried out or not end.
    pub fn new(goals: Vec<SearchGoal>, min_load: Load, max_load: Load) -> Result<Self, ProblemError> {
        if goals.is_empty() {
            return Err(ProblemError::NoGoal);
        }
        if min_load > max_load {
            return Err(ProblemError::CrossedLimits {
                min: min_load.per_second(),
                max: max_load.per_second(),
            });
        }
        for (index, goal) in goals.iter().enumerate() {
            check_goal(goal, min_load)?;
            if goals[..index].iter().any(|other| other.name == goal.name) {
                return Err(ProblemError::DuplicateName(goal.name.clone()));
            }
        }
        Ok(Self {
            goals,
            min_load,
            max_load,
            hint: None,
            early_termination: false,
        })
    }

    /// The same problem with a load near which the answer is expected. It affects load selection only.
    #[must_use]
    pub fn with_hint(mut self, hint: Load) -> Self {
        self.hint = Some(hint.clamp(self.min_load, self.max_load));
        self
    }

    /// The same problem with a Measurer that obeys [`crate::Controller::stop_above`]: a trial that fails is short.
    /// It affects load selection only.
    #[must_use]
    pub fn with_early_termination(mut self) -> Self {
        self.early_termination = true;
        self
    }

    /// The goals, in the order given.
    pub fn goals(&self) -> &[SearchGoal] {
        &self.goals
    }

    /// The load never undercut.
    pub fn min_load(&self) -> Load {
        self.min_load
    }

    /// The load never exceeded.
    pub fn max_load(&self) -> Load {
        self.max_load
    }

    /// Whether the Measurer stops a trial whose outcome is certain.
    pub fn has_early_termination(&self) -> bool {
        self.early_termination
    }

    /// A load near which the answer is expected.
    pub fn hint(&self) -> Option<Load> {
        self.hint
    }
}

impl SearchGoal {
    /// The width at which selection stops: the goal's own, or 0.5 %.
    pub(crate) fn target_width(&self) -> f64 {
        self.width.map_or(DEFAULT_WIDTH, Ratio::as_f64)
    }

    /// Whether two bounds are close enough for this goal: `(upper - lower) / upper <= width`, but for the rounding of
    /// the loads.
    pub(crate) fn is_narrow(&self, lower: Load, upper: Load) -> bool {
        let distance = upper.per_second() - lower.per_second();
        distance <= (self.target_width() + LOAD_ROUNDING) * upper.per_second()
    }

    /// Whether a trial is high-loss for this goal; `None` where it was stopped before that was certain.
    pub(crate) fn is_high_loss(&self, result: &TrialResult) -> Option<bool> {
        result.is_high_loss(self.loss_ratio, self.delay_limit)
    }

    /// Whether a trial kept the delay limit, where there is one.
    pub(crate) fn keeps_delay_limit(&self, result: &TrialResult) -> bool {
        self.delay_limit.is_none_or(|limit| !result.output.delay_exceeds(limit))
    }

    /// Whether a trial of this intended duration is full-length.
    pub(crate) fn is_full_length(&self, duration: Nanoseconds) -> bool {
        duration >= self.final_trial_duration
    }
}

fn check_goal(goal: &SearchGoal, min_load: Load) -> Result<(), ProblemError> {
    let refuse = |attribute, problem: &str| {
        Err(ProblemError::Attribute {
            goal: goal.name.clone(),
            attribute,
            problem: problem.to_owned(),
        })
    };
    if goal.loss_ratio.numerator() == goal.loss_ratio.denominator() {
        return refuse("loss ratio", "must be below 1");
    }
    if goal.delay_limit == Some(Nanoseconds::ZERO) {
        return refuse("delay limit", "must be above 0");
    }
    if goal.exceed_ratio.numerator() == goal.exceed_ratio.denominator() {
        return refuse("exceed ratio", "must be below 1");
    }
    if goal.exceed_ratio.denominator() > FINEST_EXCEED_RATIO {
        return refuse("exceed ratio", "is finer than 1e-9; round it");
    }
    if goal.final_trial_duration == Nanoseconds::ZERO {
        return refuse("final trial duration", "must be above 0");
    }
    if goal.duration_sum == Nanoseconds::ZERO {
        return refuse("duration sum", "must be above 0");
    }
    if goal.initial_trial_duration == Nanoseconds::ZERO {
        return refuse("initial trial duration", "must be above 0");
    }
    if goal.initial_trial_duration > goal.final_trial_duration {
        return refuse(
            "initial trial duration",
            &format!(
                "{} is above the final trial duration {}",
                goal.initial_trial_duration, goal.final_trial_duration
            ),
        );
    }
    if let Some(width) = goal.width.map(Ratio::as_f64)
        && !(1e-6..1.0).contains(&width)
    {
        return refuse("width", &format!("is {width}; it must be at least 1e-6 and below 1"));
    }
    if min_load.per_second() * goal.initial_trial_duration.as_seconds() < 1.0 {
        return Err(ProblemError::TrialTooShort {
            goal: goal.name.clone(),
            duration: goal.initial_trial_duration,
            min_load: min_load.per_second(),
        });
    }
    Ok(())
}
