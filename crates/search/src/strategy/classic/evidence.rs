//! What the trials say in each phase. A phase asks for less than the goal does, so every phase has goals of its own;
//! what they make of the trials is decided by the same classification as for the goals themselves.

use brimful_trial::{Load, Nanoseconds, TrialResult};

use crate::{SearchGoal, TrialLog, Verdict};

/// The trials under the goals of every stage but the last, whose goals are those of the search.
///
/// Stage 0 asks for one trial of the initial duration. With intermediate phases it is also the first of them; without,
/// it only serves the initial phase.
pub(super) struct Evidence {
    coarse: Vec<TrialLog>,
    intermediate_phases: u8,
}

/// The verdict of every measured load that has one for a goal, ascending.
pub(super) struct Known(Vec<(Load, Verdict)>);

impl Evidence {
    pub(super) fn new(goals: &[SearchGoal], intermediate_phases: u8) -> Self {
        let stages = intermediate_phases.max(1);
        let at_stage = |stage| {
            let progress = f64::from(stage) / f64::from(stages);
            TrialLog::new(goals.iter().map(|goal| goal_at(goal, progress)).collect())
        };
        Self {
            coarse: (0..stages).map(at_stage).collect(),
            intermediate_phases,
        }
    }

    pub(super) fn add(&mut self, result: TrialResult) {
        for log in &mut self.coarse {
            log.add(result);
        }
    }

    pub(super) fn first_phase(&self) -> usize {
        usize::from(self.intermediate_phases == 0)
    }

    pub(super) fn last_stage(&self) -> usize {
        self.coarse.len()
    }

    /// What a stage asks for.
    pub(super) fn goal<'a>(&'a self, stage: usize, goal: usize, goals: &'a [SearchGoal]) -> &'a SearchGoal {
        &self.coarse.get(stage).map_or(goals, TrialLog::goals)[goal]
    }

    /// Whether a load needs no more trials in a stage: that stage or a more demanding one knows its verdict.
    pub(super) fn is_settled(&self, stage: usize, log: &TrialLog, load: Load, goal: usize) -> bool {
        self.verdict_from(stage, log, load, goal) != Verdict::Undecided
    }

    /// All that is known for a goal: the verdicts of the most demanding stage that has one.
    pub(super) fn known(&self, log: &TrialLog, goal: usize) -> Known {
        let verdicts = log.loads().map(|load| (load, self.verdict_from(0, log, load, goal)));
        Known(verdicts.filter(|&(_, verdict)| verdict != Verdict::Undecided).collect())
    }

    fn verdict_from(&self, stage: usize, log: &TrialLog, load: Load, goal: usize) -> Verdict {
        let coarse = self.coarse.get(stage..).unwrap_or_default();
        let mut verdicts = std::iter::once(log)
            .chain(coarse.iter().rev())
            .map(|log| log.verdict(load, goal));
        verdicts
            .find(|&verdict| verdict != Verdict::Undecided)
            .unwrap_or(Verdict::Undecided)
    }
}

impl Known {
    pub(super) fn verdict(&self, load: Load) -> Verdict {
        let found = self.0.binary_search_by_key(&load, |&(load, _)| load);
        found.map_or(Verdict::Undecided, |index| self.0[index].1)
    }

    pub(super) fn smallest_upper(&self) -> Option<Load> {
        self.0
            .iter()
            .find(|&&(_, verdict)| verdict == Verdict::UpperBound)
            .map(|&(load, _)| load)
    }

    pub(super) fn largest_lower_below(&self, limit: Load) -> Option<Load> {
        let below = self.0.iter().rev().filter(|&&(load, _)| load < limit);
        below
            .into_iter()
            .find(|&&(_, verdict)| verdict == Verdict::LowerBound)
            .map(|&(load, _)| load)
    }

    pub(super) fn largest_lower(&self) -> Option<Load> {
        self.0
            .iter()
            .rev()
            .find(|&&(_, verdict)| verdict == Verdict::LowerBound)
            .map(|&(load, _)| load)
    }
}

/// A goal on the way from one trial of the initial duration (0) to what is asked in the end (1): durations grow
/// geometrically.
fn goal_at(goal: &SearchGoal, progress: f64) -> SearchGoal {
    let between = |end: Nanoseconds| {
        let start = goal.initial_trial_duration;
        let ratio = end.0 as f64 / start.0 as f64;
        Nanoseconds((start.0 as f64 * ratio.powf(progress)).round() as u64)
    };
    SearchGoal {
        final_trial_duration: between(goal.final_trial_duration),
        duration_sum: between(goal.duration_sum.max(goal.final_trial_duration)),
        ..goal.clone()
    }
}
