use std::collections::BTreeMap;

use brimful_trial::{Load, TrialResult};

use crate::classification::conditional_throughput;
use crate::{Assessment, SearchGoal, Sums, Verdict};

/// The loads between which the answer for one goal lies (MLRsearch-15 Relevant Bounds).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RelevantBounds {
    /// The largest lower bound below the upper one; the largest of all where there is no upper one.
    pub lower: Option<Load>,
    /// The smallest upper bound.
    pub upper: Option<Load>,
}

/// Every trial of a search, by load, with what it means for each goal.
#[derive(Clone, Debug)]
pub struct TrialLog {
    goals: Vec<SearchGoal>,
    entries: BTreeMap<Load, Entry>,
    bounds: Vec<RelevantBounds>,
    trial_count: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    trials: Vec<TrialResult>,
    sums: Vec<Sums>,
    verdicts: Vec<Verdict>,
}

impl TrialLog {
    /// An empty log for these goals.
    pub fn new(goals: Vec<SearchGoal>) -> Self {
        Self {
            bounds: vec![RelevantBounds::default(); goals.len()],
            goals,
            entries: BTreeMap::new(),
            trial_count: 0,
        }
    }

    /// Adds a trial; every goal learns from it.
    pub fn add(&mut self, result: TrialResult) {
        let goals = &self.goals;
        let entry = self
            .entries
            .entry(result.input.load)
            .or_insert_with(|| Entry::new(goals.len()));
        entry.add(goals, result);
        self.trial_count += 1;
        for (goal, bounds) in self.bounds.iter_mut().enumerate() {
            *bounds = relevant_bounds(&self.entries, goal);
        }
    }

    /// How many trials were added.
    pub fn trial_count(&self) -> usize {
        self.trial_count
    }

    /// All loads that were measured, ascending.
    pub fn loads(&self) -> impl Iterator<Item = Load> + '_ {
        self.entries.keys().copied()
    }

    /// The trials at one load, in the order they were made.
    pub fn trials_at(&self, load: Load) -> &[TrialResult] {
        self.entries.get(&load).map_or(&[], |entry| &entry.trials)
    }

    /// The sums of one load for one goal.
    pub fn sums(&self, load: Load, goal: usize) -> Sums {
        self.entries
            .get(&load)
            .map_or_else(Sums::default, |entry| entry.sums[goal])
    }

    /// What one load is for one goal.
    pub fn verdict(&self, load: Load, goal: usize) -> Verdict {
        self.entries
            .get(&load)
            .map_or(Verdict::Undecided, |entry| entry.verdicts[goal])
    }

    /// What one load is for one goal, and why.
    pub fn assess(&self, load: Load, goal: usize) -> Assessment {
        self.sums(load, goal).assess(&self.goals[goal])
    }

    /// Where the answer for a goal lies.
    pub fn relevant_bounds(&self, goal: usize) -> RelevantBounds {
        self.bounds[goal]
    }

    /// The conditional throughput of a load for a goal; meaningful at lower bounds.
    pub fn conditional_throughput(&self, load: Load, goal: usize) -> f64 {
        conditional_throughput(&self.goals[goal], load, self.sums(load, goal), self.trials_at(load))
    }

    /// The goals of this log.
    pub fn goals(&self) -> &[SearchGoal] {
        &self.goals
    }
}

impl Entry {
    fn new(goal_count: usize) -> Self {
        Self {
            trials: Vec::new(),
            sums: vec![Sums::default(); goal_count],
            verdicts: vec![Verdict::Undecided; goal_count],
        }
    }

    fn add(&mut self, goals: &[SearchGoal], result: TrialResult) {
        for (index, goal) in goals.iter().enumerate() {
            self.sums[index].add(goal, &result);
            self.verdicts[index] = self.sums[index].verdict(goal);
        }
        self.trials.push(result);
    }
}

fn relevant_bounds(entries: &BTreeMap<Load, Entry>, goal: usize) -> RelevantBounds {
    let mut bounds = RelevantBounds::default();
    for (&load, entry) in entries {
        match entry.verdicts[goal] {
            Verdict::LowerBound => bounds.lower = Some(load),
            Verdict::UpperBound => {
                bounds.upper = Some(load);
                break;
            }
            Verdict::Undecided => {}
        }
    }
    bounds
}
