//! The default strategy: a model of the loss curve, shared by all goals, picks pairs of neighbouring loads that are
//! likely to straddle the answer; one trial is made, then everything is planned anew.
//!
//! A trial becomes an observation, which the belief learns from; what is news of the capacity moves the loads to choose
//! from. Then the first rule that applies picks the next trial. `docs/explanation/straddle.md` says why.
//!
//! Words of this folder:
//!
//! - *goal*: what is to be found; *strict* if one high-loss trial makes an upper bound;
//! - *scale*, *position*, *step*: loads on a logarithmic scale, one width of the narrowest goal to a step;
//! - *overload*: the logarithm of the share that was not lost, in steps; a goal's loss ratio as overload is its *limit*;
//! - *capacity*, *knee*: where loss begins; a knee is that of a system which forwards less the more it is overloaded;
//! - *curve*: how loss grows above (and, for a *soft* one, below) its position; *stray*: loss that has no such cause;
//! - *rival*: a threshold between low and high loss, which takes over where it foretells better than the curve;
//! - *world*: one curve, rate of stray losses and rival that may be the true ones; 64 stand for the whole belief;
//! - *weather*: what trials in a row have in common, so that all of them are low-loss more often than by chance;
//! - *attempt*: the trials at one load that are to make it a lower bound; *look*: a cheaper trial before one;
//! - *account*: what a goal was charged for trials and credited for progress; without credit its search is *plain*.

mod account;
mod belief;
#[cfg(test)]
mod case;
mod goals;
mod loads;
mod looks;
mod needed;
mod opening;
mod plan;

use brimful_trial::{Nanoseconds, TrialInput, TrialResult};

use self::account::Account;
use self::belief::Belief;
use self::goals::{GoalFacts, Standing};
use self::loads::Loads;
use crate::strategy::Strategy;
use crate::{Problem, TrialLog};

/// What picks the next trial, the first that applies: the pages `straddle.md` and `straddle-guards.md` have a section on
/// each.
const RULES: [fn(&View) -> Option<Pick>; 6] = [
    account::without_credit,
    opening::max_load_begun,
    opening::first_trials,
    opening::unbounded,
    plan::cheapest,
    account::without_model,
];

pub(crate) struct Straddle {
    goals: Vec<GoalFacts>,
    loads: Loads,
    belief: Belief,
    /// One for each goal.
    accounts: Vec<Account>,
    /// The goal that the next trial is charged to.
    served: usize,
    /// Seconds to the end of the search, where there is anything to go by.
    remaining: Option<f64>,
}

/// What the rules go by. Nothing in it changes while they do.
struct View<'a> {
    problem: &'a Problem,
    log: &'a TrialLog,
    /// The goals that have no answer yet, in the order to serve them in.
    open: &'a [Standing<'a>],
    loads: &'a Loads,
    belief: &'a Belief,
    /// One for each goal.
    accounts: &'a [Account],
}

/// A trial to make.
#[derive(Clone, Copy, Debug)]
struct Pick {
    /// The goal that it is charged to.
    goal: usize,
    input: TrialInput,
    /// Expected seconds to the end of the search, where there is anything to go by.
    remaining: Option<f64>,
}

impl Straddle {
    pub(crate) fn new(problem: &Problem) -> Self {
        let loads = Loads::new(problem);
        let goals = GoalFacts::all(problem, &loads.grid);
        let lower_bounds = goals.iter().map(GoalFacts::lower_bound_s);
        Self {
            belief: Belief::new(problem, loads.grid, lower_bounds.fold(0.0, f64::max)),
            accounts: vec![Account::default(); goals.len()],
            loads,
            goals,
            served: 0,
            remaining: None,
        }
    }
}

impl Strategy for Straddle {
    fn next(&mut self, problem: &Problem, log: &TrialLog) -> Option<TrialInput> {
        let view = View {
            problem,
            log,
            open: &Standing::open(&self.goals, problem, log, &self.loads.grid),
            loads: &self.loads,
            belief: &self.belief,
            accounts: &self.accounts,
        };
        let pick = RULES.iter().find_map(|rule| rule(&view));
        let pick = pick.map(|pick| looks::look_first(&view, pick));
        self.served = pick.map_or(self.served, |pick| pick.goal);
        self.remaining = pick.map_or(Some(0.0), |pick| pick.remaining);
        pick.map(|pick| pick.input)
    }

    fn observe(&mut self, problem: &Problem, log: &TrialLog, result: &TrialResult) {
        let before = self.belief.seen().last().map(|before| before.load);
        let has_moved = before.is_some_and(|before| before != result.input.load);
        self.loads.react(self.belief.learn(result));
        self.accounts[self.served].charge(result);
        let Some(seen) = self.belief.seen().last() else { return };
        for (account, goal) in self.accounts.iter_mut().zip(&self.goals) {
            account.notice(has_moved, goal.is_high_loss(seen));
            account.follow(problem, log, &Standing::new(goal, log, &self.loads.grid));
        }
    }

    fn forecast(&self, _: &Problem, _: &TrialLog) -> Option<Nanoseconds> {
        Nanoseconds::from_seconds(self.remaining?).ok()
    }
}
