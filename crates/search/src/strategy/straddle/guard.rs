//! What keeps a search short where the model of the curve is wrong: a plain search that takes over whenever the model
//! is too far behind bisection.
//!
//! Root finders that interpolate are made safe in the same way: a step of bisection is due whenever the interval does
//! not shrink as bisection would have shrunk it (Dekker 1969, Brent 1973). Here a step costs about V, the time of one
//! lower bound. So every goal is charged for all trials made for it, and credited with one V for each time that its
//! interval has halved, in log(load), and with `CREDIT` more. Without credit the model does not choose: the load under
//! way is measured to its verdict, then loads below the upper bound, in steps that double with each that fails, but no
//! farther down than the middle, or in the middle where several trials decide. The lowest load where all trials were
//! high-loss comes before such a step. Once one holds, the model may choose again,
//! as long as there is credit. The plain search begins sooner where attempts end alike, and with min load then, and where
//! losses come with changes of the load.
//!
//! The bound, in V, with n widths between the limits: what is charged while the model chooses is at most `CREDIT` +
//! log2(n), and one attempt more. The lowest load is another one. The steps of the plain search never shrink, so they
//! double at most log2(n) times; a load in place of a step gets on at least as far if it fails. Each other step halves
//! the interval, which is credited. A load in place of a step may hold and halve nothing. With each load that holds
//! twice as many are skipped, so that there are at most log2(m) of m. So the plain search tries at most 2 log2(n) +
//! log2(m) loads. A load takes one V where one high-loss trial decides, and up to two where several do. A bound that is
//! lost again, as may happen where several trials decide, is not accounted for. How much was lost matters only where
//! attempts lose alike.

use brimful_trial::{Load, TrialInput, TrialResult};

use super::target::Target;
use crate::grid::LoadGrid;
use crate::{Problem, TrialLog, Verdict};

/// How many lower bounds a search may be behind bisection. Fitted on draws 1 to 400 of the random family.
const CREDIT: f64 = 10.0;
/// What a failed attempt is charged beyond its time, in lower bounds, until one holds: many that fail early do not get
/// on either. Fitted on the same draws.
const FAILURE: f64 = 0.72;
/// The least length of attempts that end after the same time, in short trials: those that end sooner met a limit.
const STEP_FROM: f64 = 3.0;
/// Losses of attempts are taken for stalls of one length if none is farther off than this, two at a time, or than its
/// square root, three at a time. By chance they are that close in 0.2 and 0.4 % of the cases. Fitted on draws 1 to 800 of
/// the random family.
const AGREEMENT: f64 = 0.001;
/// Loads that were high-loss just in their first trial, after which losses are taken to come with changes of the load.
/// Two would often be chance.
const RECOVERED: usize = 3;
/// Widths to the first load of a plain search. Fitted on the same draws.
const FIRST_STEP: f64 = 4.0;

/// What one goal has cost, and what it has got for it.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    lower: Option<Load>,
    upper: Option<Load>,
    /// Seconds of trials made for the goal.
    spent_s: f64,
    /// The attempts since one has held, each ended by a lower upper bound.
    failed: Vec<Failed>,
    is_plain: bool,
    /// Widths from the upper bound to the next load of the plain search.
    widths: f64,
    /// Loads to skip of those where all trials were high-loss: twice as many with each load that holds.
    skips: usize,
    /// The load that the last trial for the goal was made at.
    at: Option<Load>,
    /// Whether the last trial was at another load than the one before.
    has_moved: bool,
    /// Loads that were low-loss right after a high-loss trial, while each trial was high-loss just if the load had changed.
    recovered: usize,
}

/// An attempt that ended with a high-loss trial.
#[derive(Clone, Copy, Debug)]
struct Failed {
    seconds: f64,
    /// Units that the last trial lost ...
    units: f64,
    /// ... and the time in which they were offered.
    lost_s: f64,
    /// Whether the first trial was the last one.
    is_first: bool,
}

impl Failed {
    fn new(trials: &[TrialResult]) -> Option<Self> {
        let last = trials.last()?;
        let units = last.output.counts.missing() as f64;
        Some(Self {
            seconds: trials.iter().map(run_seconds).sum(),
            units,
            lost_s: units / last.input.load.per_second(),
            is_first: trials.len() == 1,
        })
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            lower: None,
            upper: None,
            spent_s: 0.0,
            failed: Vec::new(),
            is_plain: false,
            widths: FIRST_STEP,
            skips: 0,
            at: None,
            has_moved: false,
            recovered: 0,
        }
    }
}

impl Watch {
    /// Takes notice of a trial that was made for this goal.
    pub(super) fn spend(&mut self, result: &TrialResult) {
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

    /// Takes notice of the bounds as they are now.
    pub(super) fn follow(&mut self, problem: &Problem, log: &TrialLog, target: &Target) {
        // That the lowest load holds is no progress.
        let holds = target.lower > self.lower && target.lower != Some(problem.min_load());
        if holds {
            self.failed.clear();
            self.skips = if self.is_plain { 2 * self.skips + 1 } else { 0 };
            self.is_plain = false;
        } else if let Some(upper) = target.upper.filter(|_| target.upper != self.upper) {
            self.failed.extend(Failed::new(log.trials_at(upper)));
            if self.is_plain {
                self.widths *= 2.0;
            }
        }
        (self.lower, self.upper) = (target.lower, target.upper);
        self.is_plain |= self.is_behind(problem, target) || self.ends_alike(target) || self.loses_when_moved(target);
    }

    fn is_behind(&self, problem: &Problem, target: &Target) -> bool {
        let lower = target.lower.unwrap_or(problem.min_load()).per_second();
        let upper = target.upper.unwrap_or(problem.max_load()).per_second();
        let whole = problem.max_load().per_second() / problem.min_load().per_second();
        let halvings = (whole.ln() / (upper / lower).ln()).log2().max(0.0);
        let charged = self.spent_s / target.lower_bound_s() + FAILURE * self.failed.len() as f64;
        charged > CREDIT + halvings
    }

    /// Whether the last attempts ended after the same time, or with the same loss in time at other loads. One load is as
    /// bad as the next then.
    fn ends_alike(&self, target: &Target) -> bool {
        let trial_s = target.exploring_duration().as_seconds();
        let in_step = ends_in_step(&self.failed, trial_s, target.lower_bound_s());
        target.is_strict && (in_step || (2..=3).any(|count| loses_alike(&self.failed, count)))
    }

    /// Whether losses come with changes of the load: to stay is the way to a verdict then.
    fn loses_when_moved(&self, target: &Target) -> bool {
        !target.is_strict && self.recovered >= RECOVERED
    }

    /// Whether the model is not to choose.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The next trial without the model: one load is measured to its verdict.
    pub(super) fn plain_trial(
        &self,
        problem: &Problem,
        log: &TrialLog,
        grid: &LoadGrid,
        target: &Target,
    ) -> TrialInput {
        let is_under_way = |load: &Load| {
            let is_within = Some(*load) > target.lower && target.upper.is_none_or(|upper| *load < upper);
            is_within && log.verdict(*load, target.goal) == Verdict::Undecided
        };
        let under_way = self.at.filter(is_under_way);
        let load = under_way.unwrap_or_else(|| self.load(problem, log, grid, target));
        TrialInput {
            load,
            duration: target.duration,
        }
    }

    /// The next step, or a lower load where all trials were high-loss: if that fails, so would the step.
    fn load(&self, problem: &Problem, log: &TrialLog, grid: &LoadGrid, target: &Target) -> Load {
        let step = on_grid(grid, target, self.step(problem, target));
        let goal = &problem.goals()[target.goal];
        let fails = |load: &Load| {
            let mut trials = log.trials_at(*load).iter();
            Some(*load) > target.lower && trials.all(|trial| goal.is_high_loss(trial) == Some(true))
        };
        let mut failing = log.loads().take_while(|&load| load < step).filter(fails);
        failing.nth(self.skips).unwrap_or(step)
    }

    /// The middle where several trials decide; otherwise so many widths below the upper bound, but no farther. Attempts
    /// that end alike may end so at any load: min load shows whether there is an answer at all.
    fn step(&self, problem: &Problem, target: &Target) -> Load {
        let Some(upper) = target.upper else {
            return problem.max_load();
        };
        if target.lower.is_none() && self.ends_alike(target) {
            return problem.min_load();
        }
        let width = problem.goals()[target.goal].target_width();
        let below = upper.per_second() * (1.0 - width).powf(self.widths);
        let middle = target
            .lower
            .map(|lower| (lower.per_second() * upper.per_second()).sqrt());
        let step = match middle {
            Some(middle) if target.is_strict => middle.max(below),
            Some(middle) => middle,
            None => below,
        };
        Load::new(step).map_or(problem.min_load(), |load| load.max(problem.min_load()))
    }
}

/// The nearest load of the grid: its neighbours are there to make a pair with. A limit of the search stays what it is, and
/// a bound is no new load.
fn on_grid(grid: &LoadGrid, target: &Target, load: Load) -> Load {
    let near = grid.load(grid.nearest(grid.position(load.per_second())));
    let is_within = Some(near) > target.lower && target.upper.is_none_or(|upper| near < upper);
    let is_limit = load == grid.load(0) || load == grid.load(grid.top());
    if is_within && !is_limit { near } else { load }
}

/// Whether the last three attempts ended after about the same time: chance would end them anywhere, so losses are
/// periodic or the capacity falls. Two would often be chance, and so would any that took as long as a lower bound.
fn ends_in_step(failed: &[Failed], trial_s: f64, lower_bound_s: f64) -> bool {
    let Some(last) = failed.last_chunk::<3>() else {
        return false;
    };
    let shortest = last.iter().map(|failed| failed.seconds).fold(f64::INFINITY, f64::min);
    let longest = last.iter().map(|failed| failed.seconds).fold(0.0, f64::max);
    shortest >= STEP_FROM * trial_s && longest <= (shortest + trial_s).min(lower_bound_s)
}

/// Whether the last attempts began well, and lost as much time as one of them or a multiple, more closely than by
/// chance: stalls of one length. Overload would lose less at lower loads.
fn loses_alike(failed: &[Failed], count: usize) -> bool {
    let Some(first) = failed.len().checked_sub(count) else {
        return false;
    };
    let last = &failed[first..];
    let shortest = last.iter().map(|failed| failed.lost_s).fold(f64::INFINITY, f64::min);
    let off = |failed: &Failed| {
        let stalls = failed.lost_s / shortest;
        (stalls - stalls.round()).abs().max(1.0 / failed.units)
    };
    let most = last.iter().map(off).fold(0.0, f64::max);
    last.iter().all(|failed| !failed.is_first) && most.powf(count as f64 - 1.0) <= AGREEMENT
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
    use brimful_trial::Ratio;

    use super::*;
    use crate::strategy::straddle::case::{Case, half, load};

    /// Adds trials at a load, all made for the goal.
    fn spend(watch: &mut Watch, case: &mut Case, at: f64, lost: &[u64]) {
        for &lost in lost {
            let has_moved = watch.at.is_some_and(|before| before != load(at));
            case.add(&[(at, lost)]);
            let trials = case.log.trials_at(load(at));
            watch.notice(has_moved, lost > 0);
            watch.spend(trials.last().unwrap());
            watch.follow(&case.problem, &case.log, &case.target);
        }
    }

    /// Whether the plain search has begun after attempts of so many clean trials, each ended by a lossy one.
    fn is_plain_after(clean_trials: &[usize]) -> bool {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut watch = Watch::default();
        for (index, &clean) in clean_trials.iter().enumerate() {
            let at = 9e5 - 5e3 * index as f64;
            spend(&mut watch, &mut case, at, &[vec![0; clean], vec![7]].concat());
        }
        watch.is_plain()
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

    #[test]
    fn attempts_that_last_as_long_as_a_lower_bound_are_in_no_step() {
        let failed = |seconds| Failed {
            seconds,
            units: 7.0,
            lost_s: 0.1,
            is_first: false,
        };
        // Two short trials and a medium one, or the long one that is the whole lower bound as well.
        assert!(ends_in_step(&[failed(9.5); 3], 1.0, 60.0));
        assert!(!ends_in_step(&[failed(69.5); 3], 1.0, 60.0));
    }

    /// Whether the plain search has begun after attempts with these losses, each after so many clean trials.
    fn is_plain_after_losses(clean: usize, lost: &[u64]) -> bool {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut watch = Watch::default();
        for (index, &lost) in lost.iter().enumerate() {
            let at = 9e5 - 1e4 * index as f64;
            spend(
                &mut watch,
                &mut case,
                at,
                &[vec![0; clean + index], vec![lost]].concat(),
            );
        }
        watch.is_plain()
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
    fn steps_double_down_to_min_load() {
        let mut case = Case::new(Ratio::ZERO, 1.0);
        let mut watch = Watch {
            is_plain: true,
            spent_s: 1e6,
            ..Watch::default()
        };
        let mut tried = Vec::new();
        for index in 0..9 {
            let next = watch
                .plain_trial(&case.problem, &case.log, &case.grid, &case.target)
                .load;
            tried.push(next);
            spend(&mut watch, &mut case, next.per_second(), &[7 + index]);
        }
        let widths = |pair: &[Load]| (pair[1].per_second() / pair[0].per_second()).ln() / 0.995_f64.ln();
        for (pair, expected) in tried.windows(2).zip([8.0, 16.0, 32.0, 64.0, 128.0, 256.0]) {
            assert!((widths(pair) - expected).abs() < 0.5, "{tried:?}");
        }
        assert_eq!(tried[8], case.problem.min_load());
    }

    #[test]
    fn goals_that_several_trials_decide_get_the_middle() {
        let mut case = Case::new(half(), 1.0);
        let mut watch = Watch::default();
        spend(&mut watch, &mut case, 4e5, &[0; 62]);
        spend(&mut watch, &mut case, 9e5, &[7; 62]);
        let next = watch
            .plain_trial(&case.problem, &case.log, &case.grid, &case.target)
            .load;
        assert!(
            (next.per_second() / 6e5).ln().abs() <= case.grid.log_step() / 2.0,
            "{next:?}"
        );
    }

    #[test]
    fn losses_that_come_with_changes_of_the_load_make_the_plain_search_begin() {
        let is_plain_after = |moves: usize, lost: &[u64]| {
            let mut case = Case::new(half(), 1.0);
            let mut watch = Watch::default();
            spend(&mut watch, &mut case, 9e5, &[7]);
            for index in 0..moves {
                spend(&mut watch, &mut case, 8e5 - 1e3 * (index % 2) as f64, lost);
            }
            watch.is_plain()
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
        let mut watch = Watch::default();
        let mut attempts = 0;
        while !watch.is_plain {
            let (at, clean) = (9e5 - 5e3 * attempts as f64, 59 - 7 * attempts);
            spend(&mut watch, &mut case, at, &[vec![0; clean], vec![7]].concat());
            attempts += 1;
        }
        assert!(attempts >= (CREDIT / (1.0 + FAILURE)) as usize, "{attempts}");
        // About four widths below the upper bound, then eight.
        let next = |watch: &Watch, case: &Case| {
            let trial = watch.plain_trial(&case.problem, &case.log, &case.grid, &case.target);
            trial.load.per_second()
        };
        let upper = case.target.upper.unwrap().per_second();
        let first = next(&watch, &case);
        let widths = |below: f64, load: f64| (below / load).ln() / 0.995_f64.ln();
        assert!((widths(first, upper) - 4.0).abs() < 0.6, "{first}");
        spend(&mut watch, &mut case, first, &[7]);
        let second = next(&watch, &case);
        assert!((widths(second, first) - 8.0).abs() < 0.5, "{second}");
        let position = case.grid.position(second);
        assert!((position - position.round()).abs() < 1e-6, "{second}");
        spend(&mut watch, &mut case, second, &[0; 60]);
        assert!(!watch.is_plain);
    }

    #[test]
    fn time_in_which_no_bound_moves_is_charged_and_the_load_under_way_gets_its_verdict() {
        let mut case = Case::new(half(), 1.0);
        let mut watch = Watch::default();
        let mut trials = 0;
        while !watch.is_plain() {
            spend(&mut watch, &mut case, 1e5 + 1e3 * (trials % 20) as f64, &[0]);
            trials += 1;
            assert!(trials < 60 * (CREDIT as usize + 1), "{trials}");
        }
        let next = watch.plain_trial(&case.problem, &case.log, &case.grid, &case.target);
        assert_eq!(Some(next.load), watch.at);
    }

    #[test]
    fn a_load_where_all_trials_were_high_loss_is_tried_before_those_above_it() {
        let next = |trials: &[(f64, u64)]| {
            let mut case = Case::new(half(), 1.0);
            case.add(trials);
            let trial = Watch::default().plain_trial(&case.problem, &case.log, &case.grid, &case.target);
            trial.load.per_second()
        };
        let failing = [(8e5, 7), (6e5, 7), (4e5, 0), (4e5, 7), (3e5, 0)];
        assert!((next(&failing) - 6e5).abs() < 1e-6);
        assert!((next(&failing[2..]) - 1e6).abs() < 1e-6);
    }

    #[test]
    fn failing_loads_are_skipped_where_those_below_held() {
        let mut case = Case::new(half(), 1.0);
        let mut watch = Watch {
            is_plain: true,
            spent_s: 1e6,
            ..Watch::default()
        };
        case.add(&[(5e5, 7), (5.1e5, 7), (5.2e5, 7), (5.3e5, 7), (5.4e5, 7), (5.5e5, 7)]);
        let mut tried = Vec::new();
        for _ in 0..3 {
            let next = watch
                .plain_trial(&case.problem, &case.log, &case.grid, &case.target)
                .load
                .per_second();
            tried.push((next / 1e4).round());
            spend(&mut watch, &mut case, next, &[0; 62]);
        }
        assert_eq!(tried, [50.0, 52.0, 100.0]);
    }
}
