//! The two-rate search of 2018, for any number of goals: forwarding rates give a first interval, phases of growing
//! trial duration and shrinking width move, halve and re-measure it.
//!
//! What was decided where the description of 2018 is silent, and why: `docs/explanation/classic.md`.

mod evidence;
mod interval;

use brimful_trial::{Load, Nanoseconds, TrialInput, TrialResult};

use crate::grid::LoadGrid;
use crate::strategy::classic::evidence::{Evidence, Known};
use crate::strategy::classic::interval::{Interval, Ruler};
use crate::strategy::{Strategy, time_to_verdicts};
use crate::{Problem, SearchGoal, StopReason, TrialLog, Verdict};

/// Steps of the load grid in the finest width of all goals: rounding to the grid moves a load by at most a 16th of
/// that width, and halving a power of two leaves nothing over.
const STEPS_PER_WIDTH: f64 = 8.0;
/// Published default of 2018.
const INTERMEDIATE_PHASES: u8 = 2;

/// What can be chosen for [`StrategyKind::Classic`](crate::StrategyKind::Classic).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClassicOptions {
    /// Phases between the initial and the final one. Each halves the width goal and lengthens the trials.
    pub intermediate_phases: u8,
    /// The search ends before the sum of its intended trial durations exceeds this.
    pub timeout: Option<Nanoseconds>,
}

impl ClassicOptions {
    /// The defaults of 2018: two intermediate phases. No time-out: the caller has a clock.
    pub const DEFAULT: Self = Self {
        intermediate_phases: INTERMEDIATE_PHASES,
        timeout: None,
    };
}

impl Default for ClassicOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

pub(crate) struct Classic {
    plan: Plan,
    state: State,
    timeout: Option<Nanoseconds>,
    spent: Nanoseconds,
    pending: Option<TrialInput>,
    timed_out: bool,
}

/// What stays the same from trial to trial, but for the evidence that grows.
struct Plan {
    /// Goals by loss ratio, those with the shorter delay limit first: the first has the role of the non-drop rate.
    order: Vec<usize>,
    ruler: Ruler,
    evidence: Evidence,
}

/// What a choice is made from.
#[derive(Clone, Copy)]
struct View<'a> {
    plan: &'a Plan,
    problem: &'a Problem,
    log: &'a TrialLog,
}

enum State {
    Initial(InitialTrial),
    Phase(Phase),
}

/// The trials of the initial phase, each at the forwarding rate of the one before.
#[derive(Clone, Copy)]
enum InitialTrial {
    MaxLoad,
    ForwardingRate { load: Load },
    ForwardingRateAgain { load: Load, upper: Load },
}

struct Phase {
    stage: usize,
    /// One a goal, in the order of the problem.
    intervals: Vec<Interval>,
    /// What is being measured until its verdict is known in this phase.
    target: Option<Target>,
}

#[derive(Clone, Copy)]
struct Target {
    goal: usize,
    load: Load,
}

impl Classic {
    pub(crate) fn new(problem: &Problem, options: ClassicOptions) -> Self {
        let mut classic = Self {
            plan: Plan::new(problem, options.intermediate_phases),
            state: State::Initial(InitialTrial::MaxLoad),
            timeout: options.timeout,
            spent: Nanoseconds::ZERO,
            pending: None,
            timed_out: false,
        };
        let empty = TrialLog::new(problem.goals().to_vec());
        classic.advance(problem, &empty);
        classic
    }

    /// Goes on from the trials known so far to the next trial.
    fn advance(&mut self, problem: &Problem, log: &TrialLog) {
        let view = View {
            plan: &self.plan,
            problem,
            log,
        };
        let trial = self.state.next(view);
        let exceeds = |trial: &TrialInput| self.timeout.is_some_and(|limit| self.spent + trial.duration > limit);
        self.timed_out = trial.as_ref().is_some_and(exceeds);
        self.pending = trial.filter(|_| !self.timed_out);
    }
}

impl Strategy for Classic {
    fn next(&mut self, _: &Problem, _: &TrialLog) -> Option<TrialInput> {
        self.pending
    }

    fn observe(&mut self, problem: &Problem, log: &TrialLog, result: &TrialResult) {
        self.spent += result.input.duration;
        self.plan.evidence.add(*result);
        self.advance(problem, log);
    }

    fn forecast(&self, problem: &Problem, log: &TrialLog) -> Option<Nanoseconds> {
        let State::Phase(phase) = &self.state else {
            return None;
        };
        if self.pending.is_none() {
            return Some(Nanoseconds::ZERO);
        }
        let view = View {
            plan: &self.plan,
            problem,
            log,
        };
        Some((0..problem.goals().len()).map(|goal| phase.forecast(view, goal)).sum())
    }

    fn phase(&self) -> Option<u32> {
        Some(match &self.state {
            State::Initial(_) => 0,
            State::Phase(phase) => (phase.stage - self.plan.evidence.first_phase()) as u32 + 1,
        })
    }

    fn stop_reason(&self) -> Option<StopReason> {
        self.timed_out.then_some(StopReason::TimeBudget)
    }
}

impl Plan {
    fn new(problem: &Problem, intermediate_phases: u8) -> Self {
        let mut order: Vec<usize> = (0..problem.goals().len()).collect();
        order.sort_by_key(|&goal| {
            let goal = &problem.goals()[goal];
            // Without a limit any delay is allowed.
            (
                goal.loss_ratio,
                goal.exceed_ratio,
                goal.delay_limit.is_none(),
                goal.delay_limit,
            )
        });
        let evidence = Evidence::new(problem.goals(), intermediate_phases);
        Self {
            order,
            ruler: Ruler::new(grid(problem), problem.goals(), evidence.last_stage()),
            evidence,
        }
    }
}

impl View<'_> {
    fn goal(&self, stage: usize, goal: usize) -> &SearchGoal {
        self.plan.evidence.goal(stage, goal, self.problem.goals())
    }

    fn goal_count(&self) -> usize {
        self.problem.goals().len()
    }

    fn known(&self) -> Vec<Known> {
        let goals = 0..self.goal_count();
        goals.map(|goal| self.plan.evidence.known(self.log, goal)).collect()
    }

    /// Whether a load needs no more trials in a stage.
    fn is_settled(&self, stage: usize, target: Target) -> bool {
        self.plan.evidence.is_settled(stage, self.log, target.load, target.goal)
    }

    /// The width goal of a stage; in the last that of the goal itself.
    fn is_narrow(&self, stage: usize, goal: usize, interval: Interval) -> bool {
        if stage == self.plan.evidence.last_stage() {
            self.problem.goals()[goal].is_narrow(interval.lower, interval.upper)
        } else {
            self.plan.ruler.width(interval) <= self.plan.ruler.width_goal(stage, goal)
        }
    }
}

impl State {
    fn next(&mut self, view: View) -> Option<TrialInput> {
        loop {
            let trial = match self {
                Self::Phase(phase) => return phase.next(view),
                Self::Initial(trial) => *trial,
            };
            let load = trial.load(view.problem);
            let Some(result) = view.log.trials_at(load).last() else {
                return Some(initial_trial(view, load));
            };
            *self = trial.followed_by(view, result);
        }
    }
}

impl InitialTrial {
    fn load(self, problem: &Problem) -> Load {
        match self {
            Self::MaxLoad => problem.max_load(),
            Self::ForwardingRate { load } | Self::ForwardingRateAgain { load, .. } => load,
        }
    }

    fn followed_by(self, view: View, result: &TrialResult) -> State {
        let at = self.load(view.problem);
        // No goal is to start with an interval below the width goal of its first phase.
        let first_phase = view.plan.evidence.first_phase();
        let width_goals = (0..view.goal_count()).map(|goal| view.plan.ruler.width_goal(first_phase, goal));
        let apart = width_goals.fold(0.0, f64::max);
        let next = || view.plan.ruler.at_most(forwarding_rate(result), at, apart);
        match self {
            Self::MaxLoad if everyone_accepts(view, at) => State::Phase(Phase::first(view, at, at)),
            Self::MaxLoad => State::Initial(Self::ForwardingRate { load: next() }),
            Self::ForwardingRate { .. } => State::Initial(Self::ForwardingRateAgain {
                load: next(),
                upper: at,
            }),
            Self::ForwardingRateAgain { upper, .. } => State::Phase(Phase::first(view, at, upper)),
        }
    }
}

/// A trial long enough to be full-length in the coarsest stage of every goal.
fn initial_trial(view: View, load: Load) -> TrialInput {
    let durations = (0..view.goal_count()).map(|goal| view.goal(0, goal).final_trial_duration);
    TrialInput {
        load,
        duration: durations.max().expect("a problem has goals"),
    }
}

fn everyone_accepts(view: View, load: Load) -> bool {
    view.known()
        .iter()
        .all(|known| known.verdict(load) == Verdict::LowerBound)
}

impl Phase {
    fn first(view: View, lower: Load, upper: Load) -> Self {
        Self {
            stage: view.plan.evidence.first_phase(),
            intervals: vec![Interval { lower, upper }; view.goal_count()],
            target: None,
        }
    }

    fn next(&mut self, view: View) -> Option<TrialInput> {
        loop {
            let unfinished = self.target.filter(|&target| !view.is_settled(self.stage, target));
            self.target = unfinished.or_else(|| self.choose(view));
            if let Some(Target { goal, load }) = self.target {
                let duration = view.goal(self.stage, goal).final_trial_duration;
                return Some(TrialInput { load, duration });
            }
            if self.stage == view.plan.evidence.last_stage() {
                return None;
            }
            self.stage += 1;
        }
    }

    /// The first of the priorities that applies; each is tried for all goals before the next.
    fn choose(&mut self, view: View) -> Option<Target> {
        let (stage, ruler, known) = (self.stage, &view.plan.ruler, view.known());
        for (goal, interval) in self.intervals.iter_mut().enumerate() {
            *interval = interval.with(&known[goal], ruler, ruler.width_goal(stage, goal));
        }
        let unknown = |goal: usize, load| (known[goal].verdict(load) == Verdict::Undecided).then_some(load);
        let unsettled = |goal: usize, load| (!view.is_settled(stage, Target { goal, load })).then_some(load);
        let invalid_lower = |goal: usize, interval: Interval| interval.lower_is_invalid(&known[goal]);
        let too_wide = |goal: usize, interval| !invalid_lower(goal, interval) && !view.is_narrow(stage, goal, interval);

        let priorities: [&dyn Fn(usize, Interval) -> Option<Load>; 7] = [
            &|goal, interval| unknown(goal, interval.lower),
            &|goal, interval| unknown(goal, interval.upper),
            &|goal, interval| interval.lowered(&known[goal], ruler, ruler.width_goal(stage, goal)),
            &|goal, interval| interval.raised(&known[goal], ruler, ruler.width_goal(stage, goal)),
            &|goal, interval| ruler.middle(interval).filter(|_| too_wide(goal, interval)),
            &|goal, interval| unsettled(goal, interval.lower),
            &|goal, interval| unsettled(goal, interval.upper).filter(|_| !invalid_lower(goal, interval)),
        ];
        let mut targets = priorities.iter().flat_map(|load| {
            let in_order = view.plan.order.iter();
            in_order.map(|&goal| (goal, load(goal, self.intervals[goal])))
        });
        targets.find_map(|(goal, load)| Some(Target { goal, load: load? }))
    }

    /// One verdict a halving to the width goal of this phase and of those to come, and one a phase where the lower
    /// bound has to be measured again.
    fn forecast(&self, view: View, goal: usize) -> Nanoseconds {
        let (interval, ruler) = (self.intervals[goal], &view.plan.ruler);
        let mut width = ruler.width(interval);
        let mut total = Nanoseconds::ZERO;
        for stage in self.stage..=view.plan.evidence.last_stage() {
            let width_goal = ruler.width_goal(stage, goal);
            let halvings = (width / width_goal).log2().ceil().max(0.0);
            width = width.min(width_goal);
            let lower = Target {
                goal,
                load: interval.lower,
            };
            let again = f64::from(u8::from(!view.is_settled(stage, lower)));
            total += time_to_verdicts(view.goal(stage, goal), halvings + again);
        }
        total
    }
}

fn grid(problem: &Problem) -> LoadGrid {
    let finest = problem.goals().iter().map(SearchGoal::target_width).fold(1.0, f64::min);
    let step = -((-finest).ln_1p() / STEPS_PER_WIDTH).exp_m1();
    LoadGrid::new(problem.min_load(), problem.max_load(), step)
}

/// An estimate for load selection: of a stopped trial, the part that ran.
fn forwarding_rate(result: &TrialResult) -> f64 {
    let counts = result.output.counts;
    let lost_share = if !result.output.stopped_early {
        counts.loss_ratio().as_f64()
    } else if counts.sent() > 0 {
        counts.lost() as f64 / counts.sent() as f64
    } else {
        1.0
    };
    result.input.load.per_second() * (1.0 - lost_share)
}
