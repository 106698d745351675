//! The rule of the model: the cheapest way for every goal, with loads shared between goals where that helps.

mod bracket;
mod candidates;
mod outlook;
mod turns;

use std::collections::BTreeMap;

use brimful_trial::{Load, TrialInput};

use self::bracket::{Brackets, Move, Policy};
use self::candidates::candidates;
use self::outlook::Prospects;
use self::turns::{Turn, turn};
use super::belief::Worlds;
use super::goals::Standing;
use super::{Pick, View};

/// How often every goal plans again with what the others plan.
const SHARING_PASSES: usize = 2;
/// Goals above others settle their lower bound first, where they or those below have begun it: low-loss seconds at a
/// load speak this many times for it.
const LOWER_FIRST: f64 = 5.0;

/// One goal with its candidates and what to do about them.
struct Plan<'a> {
    standing: &'a Standing<'a>,
    brackets: Brackets<'a>,
    /// Seconds that speak for going on where one has begun.
    begun: Vec<f64>,
    policy: Policy,
    /// Expected seconds at each candidate.
    spending: Vec<f64>,
}

/// The rule that the model chooses; `None` where it has no load to choose from.
pub(super) fn cheapest(view: &View) -> Option<Pick> {
    let worlds = Worlds::of(view.belief)?;
    let prospects = Prospects { view, worlds };
    let open = view.open.iter();
    let mut plans: Vec<Plan> = open.map(|standing| Plan::new(&prospects, standing)).collect();
    for _ in 0..SHARING_PASSES {
        for index in 0..plans.len() {
            let spent = spent_by_others(&plans, index);
            plans[index].solve(&spent);
        }
    }
    let refines_knee = view.belief.knee().is_some();
    let mut best: Option<(Turn, f64, &Plan, Load)> = None;
    for plan in &plans {
        let Some(first) = plan.policy.first() else { continue };
        let turn = turn(&prospects, plan, &first, &plans, refines_knee);
        let urgency = urgency(&first);
        if best.is_none_or(|(foremost, most, ..)| (turn, urgency) > (foremost, most)) {
            best = Some((turn, urgency, plan, plan.brackets.candidates[first.candidate].load));
        }
    }
    best.map(|(.., plan, load)| Pick {
        goal: plan.standing.goal.index,
        input: TrialInput {
            load,
            duration: plan.standing.goal.duration,
        },
        remaining: Some(remaining(&plans)),
    })
}

/// The seconds that all goals are expected to spend, each load once.
fn remaining(plans: &[Plan]) -> f64 {
    let mut by_load: BTreeMap<Load, f64> = BTreeMap::new();
    for plan in plans {
        for (candidate, &seconds) in plan.brackets.candidates.iter().zip(&plan.spending) {
            let most = by_load.entry(candidate.load).or_default();
            *most = most.max(seconds);
        }
    }
    by_load.values().sum()
}

/// What is learnt by a verdict, per second.
fn urgency(step: &Move) -> f64 {
    let surprise = (step.lower * (1.0 - step.lower)).max(1e-6);
    surprise / step.seconds.max(1e-6)
}

/// The seconds that the other goals are expected to spend at the candidates of one.
fn spent_by_others(plans: &[Plan], index: usize) -> Vec<f64> {
    let others = || plans.iter().enumerate().filter(|&(other, _)| other != index);
    let at = |plan: &Plan, load| {
        let same = plan.brackets.candidates.iter().position(|other| other.load == load)?;
        Some(plan.spending[same])
    };
    let most = |load| others().filter_map(|(_, plan)| at(plan, load)).fold(0.0, f64::max);
    let own = plans[index].brackets.candidates.iter();
    own.map(|own| most(own.load)).collect()
}

impl<'a> Plan<'a> {
    fn new(prospects: &Prospects, standing: &'a Standing) -> Self {
        let goal = standing.goal;
        let (candidates, ends) = candidates(prospects, standing);
        let weight = if goal.is_above_others { LOWER_FIRST } else { 1.0 };
        let clean_s = |load| prospects.view.log.sums(load, goal.index).full_low.as_seconds();
        let begun: Vec<f64> = candidates
            .iter()
            .map(|candidate| weight * clean_s(candidate.load))
            .collect();
        let brackets = Brackets { candidates, ends, goal };
        let policy = brackets.solve(&begun);
        Self {
            standing,
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
