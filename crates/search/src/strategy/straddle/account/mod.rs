//! The account of each goal keeps a search short where the model is wrong: a plain search takes over whenever the model is
//! too far behind bisection, as a step of bisection does in root finders that interpolate (Dekker 1969, Brent 1973). The
//! page `straddle-guards.md` has the bound and its argument.

mod alike;
mod plain;

use brimful_trial::{Load, TrialResult};

use self::alike::Failed;
use super::goals::Standing;
use super::{Pick, View};
use crate::{Problem, TrialLog};

/// How many lower bounds a search may be behind bisection. Chosen on seeds 1-400 of `examples/search_time/drawn.rs`;
/// figures in the docs use seeds from 80001.
const CREDIT: f64 = 10.0;
/// What a failed attempt is charged beyond its time, in lower bounds, until one holds: many that fail early do not get
/// on either. Chosen on the same seeds.
const FAILURE: f64 = 0.72;
/// Loads that were high-loss just in their first trial, after which losses are taken to come with changes of the load.
/// Two would often be chance.
const RECOVERED: usize = 3;

/// What one goal has cost, and what it has got for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    lower: Option<Load>,
    upper: Option<Load>,
    /// Seconds of trials made for the goal.
    spent_s: f64,
    /// The attempts since one has held, each ended by a lower upper bound.
    failed: Vec<Failed>,
    /// Whether the model is not to choose.
    is_plain: bool,
    /// How often the steps of the plain search have doubled.
    doublings: i32,
    /// Loads to skip of those where all trials were high-loss: twice as many with each load that holds.
    skips: usize,
    /// The load that the last trial for the goal was made at.
    at: Option<Load>,
    /// Whether the last trial was at another load than the one before.
    has_moved: bool,
    /// Loads that were low-loss right after a high-loss trial, while each trial was high-loss just if the load had changed.
    recovered: usize,
}

/// The rule that a goal without credit, or whose attempts end alike, gets a plain search.
pub(super) fn without_credit(view: &View) -> Option<Pick> {
    let mut open = view.open.iter();
    let standing = open.find(|standing| view.accounts[standing.goal.index].is_plain)?;
    Some(plain::pick(view, standing))
}

/// The rule that the first goal gets a plain search where the model has no load to choose from.
pub(super) fn without_model(view: &View) -> Option<Pick> {
    view.open.first().map(|standing| plain::pick(view, standing))
}

impl Account {
    /// Charges a trial that was made for this goal.
    pub(super) fn charge(&mut self, result: &TrialResult) {
        self.spent_s += run_seconds(result);
        self.at = Some(result.input.load);
    }

    /// Takes notice of any trial: whether it was at another load than the one before, and what it was for this goal.
    pub(super) fn notice(&mut self, has_moved: bool, is_high_loss: bool) {
        self.recovered = match (has_moved, is_high_loss) {
            (true, true) => self.recovered,
            (false, false) => self.recovered + usize::from(self.has_moved),
            _ => 0,
        };
        self.has_moved = has_moved;
    }

    /// Credits the bounds as they are now.
    pub(super) fn follow(&mut self, problem: &Problem, log: &TrialLog, standing: &Standing) {
        // That the lowest load holds is no progress.
        let holds = standing.lower > self.lower && standing.lower != Some(problem.min_load());
        if holds {
            self.failed.clear();
            self.skips = if self.is_plain { 2 * self.skips + 1 } else { 0 };
            self.is_plain = false;
        } else if let Some(upper) = standing.upper.filter(|_| standing.upper != self.upper) {
            self.failed.extend(Failed::new(log.trials_at(upper)));
            if self.is_plain {
                self.doublings += 1;
            }
        }
        (self.lower, self.upper) = (standing.lower, standing.upper);
        self.is_plain |=
            self.is_behind(problem, standing) || self.ends_alike(standing) || self.loses_when_moved(standing);
    }

    fn is_behind(&self, problem: &Problem, standing: &Standing) -> bool {
        let lower = standing.lower.unwrap_or(problem.min_load()).per_second();
        let upper = standing.upper.unwrap_or(problem.max_load()).per_second();
        let whole = problem.max_load().per_second() / problem.min_load().per_second();
        let halvings = (whole.ln() / (upper / lower).ln()).log2().max(0.0);
        let charged = self.spent_s / standing.goal.lower_bound_s() + FAILURE * self.failed.len() as f64;
        charged > CREDIT + halvings
    }

    /// Whether the last attempts ended alike: one load is as bad as the next then.
    fn ends_alike(&self, standing: &Standing) -> bool {
        standing.goal.is_strict && alike::end_alike(&self.failed, standing.goal)
    }

    /// Whether losses come with changes of the load: to stay is the way to a verdict then.
    fn loses_when_moved(&self, standing: &Standing) -> bool {
        !standing.goal.is_strict && self.recovered >= RECOVERED
    }
}

/// How long a trial took: one that was stopped early, less than it counts; one that hardly counts, as was asked.
fn run_seconds(result: &TrialResult) -> f64 {
    let counted = result.effective_duration().max(result.input.duration).as_seconds();
    if !result.output.stopped_early {
        return counted;
    }
    counted.min(result.output.counts.sent() as f64 / result.input.load.per_second())
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Ratio, TrialInput};

    use super::*;
    use crate::strategy::straddle::case::{Case, half, load};

    /// Adds trials at a load, all made for the goal.
    fn spend(account: &mut Account, case: &mut Case, at: f64, lost: &[u64]) {
        for &lost in lost {
            let has_moved = account.at.is_some_and(|before| before != load(at));
            case.add(&[(at, lost)]);
            let trials = case.log.trials_at(load(at));
            account.charge(trials.last().unwrap());
            account.notice(has_moved, lost > 0);
            account.follow(&case.problem, &case.log, &case.standing());
        }
    }

    fn next_trial(account: &Account, case: &Case) -> TrialInput {
        case.with_view(account, |view| plain::pick(view, &view.open[0]).input)
    }

    /// Whether the plain search has begun after attempts of these numbers of clean trials, each ended by a lossy one.
    fn is_plain_after(clean_trials: &[usize]) -> bool {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut account = Account::default();
        for (index, &clean) in clean_trials.iter().enumerate() {
            let at = 9e5 - 5e3 * index as f64;
            spend(&mut account, &mut case, at, &[vec![0; clean], vec![7]].concat());
        }
        account.is_plain
    }

    #[test]
    fn attempts_that_end_in_step_make_the_plain_search_begin() {
        assert!(is_plain_after(&[6, 6, 6]));
        assert!(is_plain_after(&[1, 42, 43, 43]));
        assert!(!is_plain_after(&[6, 6]));
        assert!(!is_plain_after(&[6, 6, 9]));
        // What ended them at once was a limit.
        assert!(!is_plain_after(&[1, 1, 1]));
    }

    /// Whether the plain search has begun after attempts with these losses, each after this many clean trials.
    fn is_plain_after_losses(clean: usize, lost: &[u64]) -> bool {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut account = Account::default();
        for (index, &lost) in lost.iter().enumerate() {
            let at = 9e5 - 1e4 * index as f64;
            spend(
                &mut account,
                &mut case,
                at,
                &[vec![0; clean + index], vec![lost]].concat(),
            );
        }
        account.is_plain
    }

    #[test]
    fn losses_of_the_same_time_at_other_loads_make_the_plain_search_begin() {
        // A tenth of a second.
        assert!(is_plain_after_losses(1, &[90_000, 89_000]));
        assert!(!is_plain_after_losses(0, &[90_000, 89_000]));
        // Overload: 89 % of max load is forwarded.
        assert!(!is_plain_after_losses(1, &[10_000, 1]));
        assert!(!is_plain_after_losses(1, &[90_000, 87_500]));
        assert!(is_plain_after_losses(1, &[90_000, 87_500, 88_000]));
        assert!(!is_plain_after_losses(1, &[90_000, 79_000, 88_000]));
        // Two and three at a time.
        assert!(is_plain_after_losses(1, &[90_000, 178_000]));
        assert!(is_plain_after_losses(1, &[270_000, 89_000]));
        // Few units are often as many.
        assert!(!is_plain_after_losses(1, &[2, 2, 2]));
    }

    #[test]
    fn min_load_is_tried_once_steps_are_wide() {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut account = Account {
            is_plain: true,
            spent_s: 1e6,
            ..Account::default()
        };
        let mut tried = Vec::new();
        for index in 0..6 {
            let next = next_trial(&account, &case).load;
            tried.push(next);
            spend(&mut account, &mut case, next.per_second(), &[7 + index]);
        }
        let widths = |pair: &[Load]| (pair[1].per_second() / pair[0].per_second()).ln() / 0.995_f64.ln();
        for (pair, expected) in tried.windows(2).zip([8.0, 16.0, 32.0, 64.0]) {
            assert!((widths(pair) - expected).abs() < 0.5, "{tried:?}");
        }
        assert_eq!(tried[5], case.problem.min_load());
    }

    #[test]
    fn goals_that_several_trials_decide_get_the_middle() {
        let mut case = Case::new(half(), 1.0);
        let mut account = Account::default();
        spend(&mut account, &mut case, 4e5, &[0; 62]);
        spend(&mut account, &mut case, 9e5, &[7; 62]);
        let next = next_trial(&account, &case).load;
        assert!(
            (next.per_second() / 6e5).ln().abs() <= case.loads.grid.log_step() / 2.0,
            "{next:?}"
        );
    }

    #[test]
    fn losses_that_come_with_changes_of_the_load_make_the_plain_search_begin() {
        let is_plain_after = |moves: usize, lost: &[u64]| {
            let mut case = Case::new(half(), 1.0);
            let mut account = Account::default();
            spend(&mut account, &mut case, 9e5, &[7]);
            for index in 0..moves {
                spend(&mut account, &mut case, 8e5 - 1e3 * (index % 2) as f64, lost);
            }
            account.is_plain
        };
        assert!(is_plain_after(RECOVERED, &[7, 0, 0]));
        assert!(!is_plain_after(RECOVERED - 1, &[7, 0, 0]));
        assert!(!is_plain_after(9, &[7, 7, 0]));
        assert!(!is_plain_after(9, &[0, 0, 7]));
        assert!(!is_plain_after(9, &[7]));
    }

    #[test]
    fn the_plain_search_begins_without_credit_and_ends_when_a_load_holds() {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut account = Account::default();
        let mut attempts = 0;
        while !account.is_plain {
            let (at, clean) = (9e5 - 5e3 * attempts as f64, 59 - 7 * attempts);
            spend(&mut account, &mut case, at, &[vec![0; clean], vec![7]].concat());
            attempts += 1;
        }
        assert!(attempts >= (CREDIT / (1.0 + FAILURE)) as usize, "{attempts}");
        // About four widths below the upper bound, then eight.
        let next = |account: &Account, case: &Case| {
            let trial = next_trial(account, case);
            trial.load.per_second()
        };
        let upper = case.standing().upper.unwrap().per_second();
        let first = next(&account, &case);
        let widths = |below: f64, load: f64| (below / load).ln() / 0.995_f64.ln();
        assert!((widths(first, upper) - 4.0).abs() < 0.6, "{first}");
        spend(&mut account, &mut case, first, &[7]);
        let second = next(&account, &case);
        assert!((widths(second, first) - 8.0).abs() < 0.5, "{second}");
        let position = case.loads.grid.position(second);
        assert!((position - position.round()).abs() < 1e-6, "{second}");
        spend(&mut account, &mut case, second, &[0; 60]);
        assert!(!account.is_plain);
    }

    #[test]
    fn time_in_which_no_bound_moves_is_charged_and_the_load_under_way_gets_its_verdict() {
        let mut case = Case::new(half(), 1.0);
        let mut account = Account::default();
        let mut trials = 0;
        while !account.is_plain {
            spend(&mut account, &mut case, 1e5 + 1e3 * (trials % 20) as f64, &[0]);
            trials += 1;
            assert!(trials < 60 * (CREDIT as usize + 1), "{trials}");
        }
        let next = next_trial(&account, &case);
        assert_eq!(Some(next.load), account.at);
    }

    #[test]
    fn a_load_where_all_trials_were_high_loss_is_tried_before_those_above_it() {
        let next = |trials: &[(f64, u64)]| {
            let mut case = Case::new(half(), 1.0);
            case.add(trials);
            let trial = next_trial(&Account::default(), &case);
            trial.load.per_second()
        };
        let failing = [(8e5, 7), (6e5, 7), (4e5, 0), (4e5, 7), (3e5, 0)];
        assert!((next(&failing) - 6e5).abs() < 1e-6);
        assert!((next(&failing[2..]) - 1e6).abs() < 1e-6);
    }

    #[test]
    fn failing_loads_are_skipped_where_those_below_held() {
        let mut case = Case::new(half(), 1.0);
        let mut account = Account {
            is_plain: true,
            spent_s: 1e6,
            ..Account::default()
        };
        case.add(&[(5e5, 7), (5.1e5, 7), (5.2e5, 7), (5.3e5, 7), (5.4e5, 7), (5.5e5, 7)]);
        let mut tried = Vec::new();
        for _ in 0..3 {
            let next = next_trial(&account, &case).load.per_second();
            tried.push((next / 1e4).round());
            spend(&mut account, &mut case, next, &[0; 62]);
        }
        assert_eq!(tried, [50.0, 52.0, 100.0]);
    }
}
