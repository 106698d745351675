use std::collections::{BTreeMap, BTreeSet};

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
    bounds: Vec<Bounds>,
    trial_count: usize,
}

/// The loads that are bounds of one goal, and the relevant ones of them.
#[derive(Clone, Debug, Default)]
struct Bounds {
    lower: BTreeSet<Load>,
    upper: BTreeSet<Load>,
    relevant: RelevantBounds,
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
            bounds: vec![Bounds::default(); goals.len()],
            goals,
            entries: BTreeMap::new(),
            trial_count: 0,
        }
    }

    /// Adds a trial; every goal learns from it.
    pub fn add(&mut self, result: TrialResult) {
        let goals = &self.goals;
        let load = result.input.load;
        let entry = self.entries.entry(load).or_insert_with(|| Entry::new(goals.len()));
        entry.add(goals, result);
        self.trial_count += 1;
        for (bounds, &verdict) in self.bounds.iter_mut().zip(&entry.verdicts) {
            bounds.set(load, verdict);
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
        self.bounds[goal].relevant
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

impl Bounds {
    /// Takes notice of what a load is now; only the set that it enters or leaves can move a relevant bound.
    fn set(&mut self, load: Load, verdict: Verdict) {
        let lower_moved = place(&mut self.lower, load, verdict == Verdict::LowerBound);
        let upper_moved = place(&mut self.upper, load, verdict == Verdict::UpperBound);
        if !(lower_moved || upper_moved) {
            return;
        }
        let upper = self.upper.first().copied();
        let lower = match upper {
            Some(upper) => self.lower.range(..upper).next_back(),
            None => self.lower.last(),
        };
        self.relevant = RelevantBounds {
            lower: lower.copied(),
            upper,
        };
    }
}

/// Puts a load into a set or out of it; whether that changed the set.
fn place(loads: &mut BTreeSet<Load>, load: Load, belongs: bool) -> bool {
    if belongs {
        loads.insert(load)
    } else {
        loads.remove(&load)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// MLRsearch-15 Relevant Bounds, load by load.
    fn naive(verdicts: &BTreeMap<Load, Verdict>) -> RelevantBounds {
        let mut bounds = RelevantBounds::default();
        for (&load, verdict) in verdicts {
            match verdict {
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

    proptest! {
        #[test]
        fn relevant_bounds_are_those_of_a_walk_over_all_loads(changes in prop::collection::vec((1_u32..12, 0_u8..3), 1..60)) {
            let mut bounds = Bounds::default();
            let mut verdicts = BTreeMap::new();
            for (load, verdict) in changes {
                let load = Load::new(f64::from(load)).unwrap();
                let verdict = [Verdict::LowerBound, Verdict::UpperBound, Verdict::Undecided][usize::from(verdict)];
                bounds.set(load, verdict);
                verdicts.insert(load, verdict);
                prop_assert_eq!(bounds.relevant, naive(&verdicts));
            }
        }
    }
}
