use brimful_trial::{Load, Nanoseconds, TrialResult};

use crate::SearchGoal;

/// What the trials at one load say about it for one goal (MLRsearch-15 Load Classification).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Enough evidence that the goal is met, whatever the missing time would show.
    LowerBound,
    /// Enough evidence that it is not.
    UpperBound,
    /// Neither yet.
    Undecided,
}

/// Effective durations of the trials at one load, summed by length and loss.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Full-length low-loss.
    pub full_low: Nanoseconds,
    /// Full-length high-loss.
    pub full_high: Nanoseconds,
    /// Short low-loss.
    pub short_low: Nanoseconds,
    /// Short high-loss.
    pub short_high: Nanoseconds,
}

/// The sums of a load with all that follows from them. Times in whole nanoseconds, rounded down for show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// Where it comes from.
    pub sums: Sums,
    /// The verdict.
    pub verdict: Verdict,
    /// Share of high-loss time if all missing time turned out low-loss.
    pub optimistic_exceed_ratio: f64,
    /// Share of high-loss time if all missing time turned out high-loss.
    pub pessimistic_exceed_ratio: f64,
    /// High-loss time that counts: full-length, and short in excess of what short low-loss trials balance.
    pub effective_high_loss: Nanoseconds,
    /// Time still missing to a forced verdict.
    pub missing: Nanoseconds,
}

/// Sums scaled by `exceed denominator - exceed numerator`, which makes all of them whole numbers.
///
/// Every value stays below 2^96: sums are below 2^64 ns, denominators at most 10^9 < 2^30, and three terms add up.
/// One more factor below 2^30 fits into 128 bits.
struct Scaled {
    full_low: u128,
    high: u128,
    full: u128,
    whole: u128,
    scale: u128,
}

impl Sums {
    /// Adds one trial. A trial stopped before its outcome was certain for this goal counts neither way.
    pub fn add(&mut self, goal: &SearchGoal, result: &TrialResult) {
        let Some(high_loss) = goal.is_high_loss(result) else {
            return;
        };
        let sum = match (goal.is_full_length(result.input.duration), high_loss) {
            (true, false) => &mut self.full_low,
            (true, true) => &mut self.full_high,
            (false, false) => &mut self.short_low,
            (false, true) => &mut self.short_high,
        };
        *sum += result.effective_duration();
    }

    /// Classifies the load.
    pub fn verdict(&self, goal: &SearchGoal) -> Verdict {
        self.scaled(goal).verdict(goal)
    }

    /// Classifies the load and says why.
    pub fn assess(&self, goal: &SearchGoal) -> Assessment {
        let scaled = self.scaled(goal);
        let share = |part: u128| part as f64 / scaled.whole as f64;
        Assessment {
            sums: *self,
            verdict: scaled.verdict(goal),
            optimistic_exceed_ratio: share(scaled.high),
            pessimistic_exceed_ratio: share(scaled.whole - scaled.full_low),
            effective_high_loss: Nanoseconds((scaled.high / scaled.scale) as u64),
            missing: Nanoseconds(((scaled.whole - scaled.full) / scaled.scale) as u64),
        }
    }

    fn scaled(&self, goal: &SearchGoal) -> Scaled {
        let exceed = u128::from(goal.exceed_ratio.numerator());
        let scale = u128::from(goal.exceed_ratio.denominator()) - exceed;
        let short_high = u128::from(self.short_high.0) * scale;
        let balancing = u128::from(self.short_low.0) * exceed;
        let high = u128::from(self.full_high.0) * scale + short_high.saturating_sub(balancing);
        let full_low = u128::from(self.full_low.0) * scale;
        let full = full_low + high;
        let whole = full.max(u128::from(goal.duration_sum.0) * scale);
        Scaled {
            full_low,
            high,
            full,
            whole,
            scale,
        }
    }
}

impl Scaled {
    fn verdict(&self, goal: &SearchGoal) -> Verdict {
        let tolerated = self.whole * u128::from(goal.exceed_ratio.numerator());
        let of_whole = u128::from(goal.exceed_ratio.denominator());
        if (self.whole - self.full_low) * of_whole <= tolerated {
            Verdict::LowerBound
        } else if self.high * of_whole > tolerated {
            Verdict::UpperBound
        } else {
            Verdict::Undecided
        }
    }
}

/// The forwarding rate that can be promised at a load: its load times the forwarding ratio of the
/// `1 - exceed ratio` quantile trial (MLRsearch-15 Conditional Throughput, the normative listing). Full-length trials
/// only, weighted by effective duration; missing time counts as total loss, and so do trials above the delay limit of
/// the goal. A lower bound has `1 - exceed ratio` of its time in low-loss trials, so there the quantile is one of those.
pub(crate) fn conditional_throughput(goal: &SearchGoal, load: Load, sums: Sums, trials: &[TrialResult]) -> f64 {
    let mut full: Vec<&TrialResult> = trials
        .iter()
        .filter(|trial| goal.is_full_length(trial.input.duration) && !trial.output.stopped_early)
        .filter(|trial| goal.keeps_delay_limit(trial))
        .collect();
    full.sort_by_key(|trial| trial.output.counts.loss_ratio());

    let whole = u128::from(goal.duration_sum.max(sums.full_low + sums.full_high).0);
    let of_whole = u128::from(goal.exceed_ratio.denominator());
    let wanted = whole * (of_whole - u128::from(goal.exceed_ratio.numerator()));
    let mut covered = 0_u128;
    for trial in full {
        covered += u128::from(trial.effective_duration().0) * of_whole;
        if covered >= wanted {
            return forwarding_rate(load, trial);
        }
    }
    0.0
}

/// Load times forwarding ratio (MLRsearch-15 Trial Forwarding Rate).
fn forwarding_rate(load: Load, trial: &TrialResult) -> f64 {
    let counts = trial.output.counts;
    if counts.expected() == 0 {
        return load.per_second();
    }
    let forwarded = counts.expected() - counts.missing();
    load.per_second() * forwarded as f64 / counts.expected() as f64
}
