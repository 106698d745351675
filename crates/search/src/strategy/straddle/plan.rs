//! Which trial is next: the cheapest way for every goal, with loads shared between goals where that helps.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use brimful_trial::{Load, TrialInput};

use super::bracket::{Brackets, Candidate, Ends, Move, Policy};
use super::prospect::Outlooker;
use super::target::Target;

/// Candidates are laid around the highest load with this share of the chance to be a lower bound that min load has.
const HOPEFUL: f64 = 0.5;
/// Candidates lie this many widths from the likeliest load: close ones to make pairs of, far ones in case of surprise.
const OFFSETS: [i64; 6] = [1, 2, 3, 6, 16, 50];

/// Beyond a load with this chance of its verdict, others need not be considered.
const CERTAIN: f32 = 0.75;
/// How often every goal plans again with what the others plan.
const SHARING_PASSES: usize = 2;
/// With this chance of a lower bound a load is measured for one; below, a single trial mostly ends it.
const ATTEMPT: f64 = 0.5;
/// Loads that are no more widths apart mostly lose in the same weather.
const SAME_WEATHER_WIDTHS: i64 = 3;
/// After so many trials elsewhere the weather at a load is another one.
const OTHER_WEATHER_TRIALS: usize = 14;
/// Goals above others settle their lower bound first, where they or those below have begun it: low-loss seconds at a
/// load speak so many times for it.
const LOWER_FIRST: f64 = 5.0;

/// What to do next and what is left to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// For which goal.
    pub(super) goal: usize,
    pub(super) input: TrialInput,
    /// Expected seconds to the end of the search.
    pub(super) remaining: f64,
}

/// Which goal goes first, before it counts how urgent they are.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Turn {
    Waiting,
    Usual,
    First,
}

/// One goal with its candidates and what to do about them.
struct Plan {
    brackets: Brackets,
    /// Seconds that speak for going on where one has begun.
    begun: Vec<f64>,
    policy: Policy,
    /// Expected seconds at each candidate.
    spending: Vec<f64>,
}

/// The next trial for these targets, or `None` where no candidate is left to try. While trials at a steep knee
/// tell it better (`refines_knee`), urgency alone decides which goal that one high-loss trial ends goes first.
pub(super) fn choose(outlooker: &Outlooker, targets: &[Target], refines_knee: bool) -> Option<Choice> {
    let mut plans: Vec<Plan> = targets.iter().map(|target| Plan::new(outlooker, target)).collect();
    for _ in 0..SHARING_PASSES {
        for index in 0..plans.len() {
            let spent = spent_by_others(&plans, index);
            plans[index].solve(&spent);
        }
    }
    let remaining = remaining(&plans);
    let mut best: Option<(Turn, f64, Choice)> = None;
    for (plan, target) in plans.iter().zip(targets.iter()) {
        let Some(first) = plan.policy.first() else { continue };
        let prospect = &plan.brackets.candidates[first.candidate];
        let turn = if target.is_above_others {
            turn_of_measurement(outlooker, prospect, target)
        } else if first.lower > ATTEMPT && !refines_knee {
            turn_of_attempt(outlooker, prospect, target, plans.iter().zip(targets.iter()))
        } else {
            Turn::Usual
        };
        let urgency = urgency(&first);
        if best.is_none_or(|(foremost, most, _)| (turn, urgency) > (foremost, most)) {
            let input = TrialInput {
                load: prospect.load,
                duration: target.duration,
            };
            let goal = target.goal;
            best = Some((turn, urgency, Choice { goal, input, remaining }));
        }
    }
    best.map(|(.., choice)| choice)
}

/// The seconds that all goals are expected to spend, each load once.
fn remaining(plans: &[Plan]) -> f64 {
    let mut by_load: BTreeMap<Load, f64> = BTreeMap::new();
    for (prospect, &seconds) in plans
        .iter()
        .flat_map(|plan| plan.brackets.candidates.iter().zip(&plan.spending))
    {
        let most = by_load.entry(prospect.load).or_default();
        *most = most.max(seconds);
    }
    by_load.values().sum()
}

/// What is learnt by a verdict, per second.
fn urgency(step: &Move) -> f64 {
    let surprise = (step.lower * (1.0 - step.lower)).max(1e-6);
    surprise / step.seconds.max(1e-6)
}

/// When a load is to be measured for a goal that takes several trials to decide and is above others: first, but after a
/// high-loss trial in other weather. So the answer depends less on which of two capacities is met first.
fn turn_of_measurement(outlooker: &Outlooker, prospect: &Candidate, target: &Target) -> Turn {
    let goal = &outlooker.problem.goals()[target.goal];
    let last = outlooker.log.trials_at(prospect.load).last();
    let was_high_loss = last.is_some_and(|trial| goal.is_high_loss(trial) == Some(true));
    if was_high_loss && outlooker.trials_since(prospect.load) < OTHER_WEATHER_TRIALS {
        Turn::Waiting
    } else {
        Turn::First
    }
}

/// When an attempt at a lower bound that one high-loss trial ends is to go on, as one of several goals.
fn turn_of_attempt<'p>(
    outlooker: &Outlooker,
    prospect: &Candidate,
    target: &Target,
    mut others: impl Iterator<Item = (&'p Plan, &'p Target)>,
) -> Turn {
    let below = prospect.index - SAME_WEATHER_WIDTHS * target.steps..prospect.index;
    let is_moot_soon = others.any(|(plan, other)| {
        let first = plan.policy.first();
        other.is_strict && first.is_some_and(|first| below.contains(&plan.brackets.candidates[first.candidate].index))
    });
    let is_long = target.fresh.low > OTHER_WEATHER_TRIALS as f64;
    if is_moot_soon {
        // What is lost a little lower most likely ends both attempts: this one would have been for nothing.
        Turn::Waiting
    } else if is_long && outlooker.trials_since(prospect.load) >= OTHER_WEATHER_TRIALS {
        // An attempt that is spread over time meets the weather that ends it after fewer trials.
        Turn::First
    } else {
        Turn::Usual
    }
}

/// The seconds that the other goals are expected to spend at the candidates of one.
fn spent_by_others(plans: &[Plan], index: usize) -> Vec<f64> {
    let others = || plans.iter().enumerate().filter(|&(other, _)| other != index);
    let at = |plan: &Plan, load| {
        let same = plan.brackets.candidates.iter().position(|other| other.load == load)?;
        Some(plan.spending[same])
    };
    let most = |load| others().filter_map(|(_, plan)| at(plan, load)).fold(0.0, f64::max);
    plans[index]
        .brackets
        .candidates
        .iter()
        .map(|own| most(own.load))
        .collect()
}

impl Plan {
    fn new(outlooker: &Outlooker, target: &Target) -> Self {
        let top = outlooker.grid.top();
        let balanced = balanced_index(outlooker, target);
        let lower = target.lower_index.unwrap_or(-1);
        let upper = target.upper_index.unwrap_or(top + 1);
        let (lowest, highest) = ((lower + 1).min(upper - 1), (lower + 1).max(upper - 1));
        let middle = balanced.clamp(lowest, highest);
        let candidates = Candidates {
            outlooker,
            target,
            allowed: lowest..=highest,
        };
        let prospects = candidates.around(middle, lower + target.steps, upper - target.steps);
        // Below min load and above max load nothing need be known.
        let ends = Ends {
            low: lower,
            high: upper,
            is_low_known: target.lower_index.is_some() || prospects.first().is_some_and(|first| first.index == 0),
            is_high_known: target.upper_index.is_some() || prospects.last().is_some_and(|last| last.index == top),
        };
        let weight = if target.is_above_others { LOWER_FIRST } else { 1.0 };
        let begun: Vec<f64> = prospects
            .iter()
            .map(|prospect| weight * outlooker.log.sums(prospect.load, target.goal).full_low.as_seconds())
            .collect();
        let brackets = Brackets::new(prospects, ends, target.steps, target.pair_seconds);
        let policy = brackets.solve(&begun);
        Self {
            spending: policy.spending(),
            brackets,
            begun,
            policy,
        }
    }

    fn solve(&mut self, spent: &[f64]) {
        let spared: Vec<f64> = spent.iter().zip(&self.begun).map(|(a, b)| a + b).collect();
        self.policy = self.brackets.solve(&spared);
        self.spending = self.policy.spending();
    }
}

struct Candidates<'a> {
    outlooker: &'a Outlooker<'a>,
    target: &'a Target,
    allowed: RangeInclusive<i64>,
}

impl Candidates<'_> {
    /// Candidates on both sides as far as their verdicts are in doubt; `low` and `high` would make pairs with the
    /// bounds that are known.
    fn around(&self, middle: i64, low: i64, high: i64) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = self.prospect(middle).into_iter().collect();
        for (direction, bound, limit) in [(-1, low, 0), (1, high, self.outlooker.grid.top())] {
            let mut indices: BTreeSet<i64> = OFFSETS.map(|offset| offset * self.target.steps).into_iter().collect();
            let farthest = OFFSETS[OFFSETS.len() - 1] * self.target.steps;
            indices.extend([bound, limit].map(|index| (index - middle) * direction));
            for offset in indices.range(1..=farthest) {
                let Some(prospect) = self.prospect(middle + direction * offset) else {
                    continue;
                };
                let hoped_for = if direction < 0 {
                    prospect.mean_lower()
                } else {
                    1.0 - prospect.mean_lower()
                };
                found.push(prospect);
                if hoped_for > CERTAIN {
                    break;
                }
            }
        }
        found.sort_by_key(|prospect| prospect.index);
        found
    }

    fn prospect(&self, index: i64) -> Option<Candidate> {
        let is_allowed = self.allowed.contains(&index) && (0..=self.outlooker.grid.top()).contains(&index);
        is_allowed
            .then(|| self.outlooker.prospect(self.target, index))
            .flatten()
    }
}

/// The highest load that is more likely a lower bound than not.
fn balanced_index(outlooker: &Outlooker, target: &Target) -> i64 {
    let top = outlooker.grid.top();
    let enough = HOPEFUL * outlooker.fresh_lower(target, 0);
    let lower = |index: i64| outlooker.fresh_lower(target, index) >= enough;
    let mut at = outlooker.median_index();
    let mut step = 1;
    let upwards = lower(at);
    let (mut good, mut bad) = if upwards { (at, top + 1) } else { (-1, at) };
    loop {
        at += if upwards { step } else { -step };
        step *= 2;
        if at < 0 || at > top {
            break;
        }
        let is_lower = lower(at);
        if is_lower {
            good = at;
        } else {
            bad = at;
        }
        if is_lower != upwards {
            break;
        }
    }
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if lower(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}
