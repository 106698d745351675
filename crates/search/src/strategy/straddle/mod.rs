//! The default strategy: a model of the loss curve, shared by all goals, picks pairs of neighbouring loads that are
//! likely to straddle the answer; one trial is made, then everything is planned anew.

mod bracket;
mod buffer;
#[cfg(test)]
mod case;
mod curve;
mod guard;
mod lattice;
mod locate;
mod observation;
mod placement;
mod plan;
mod probe;
mod prospect;
mod second_opinion;
mod shape;
mod stray;
mod target;
mod threshold;
mod verdict;

use brimful_trial::{Load, Nanoseconds, TrialInput, TrialResult};

use self::buffer::Buffer;
use self::curve::Curve;
use self::guard::Watch;
use self::locate::Knee;
use self::observation::Observation;
use self::plan::Choice;
use self::prospect::Outlooker;
use self::target::Target;
use self::threshold::Limit;
use crate::grid::LoadGrid;
use crate::strategy::Strategy;
use crate::{Problem, TrialLog, Verdict};

/// Drawing the curve anew costs as much as all trials so far: it has to wait for this share of new ones.
const REDRAW_SHARE: usize = 8;
/// How far beyond the limits the curve may lie, in steps.
const MARGIN: f64 = 40.0;
/// Belief that a hint is right, and how far off in steps it then is.
const HINT_SHARE: f64 = 0.8;
const HINT_STEPS: f64 = 3.0;
/// Knees and gaps are looked for in as many seconds as this share of a lower bound takes, which may fail that late.
const EARLY_SHARE: f64 = 0.75;

pub(crate) struct Straddle {
    /// The loads to choose from ...
    grid: LoadGrid,
    /// ... and the scale that the curve is drawn to.
    scale: LoadGrid,
    targets: Vec<Target>,
    /// One for each goal.
    watches: Vec<Watch>,
    /// Loss ratios of the goals as overload, ascending, beginning with 0.
    limits: Vec<Limit>,
    /// Delay limits of the goals, ascending.
    delay_limits: Vec<Nanoseconds>,
    seen: Vec<Observation>,
    buffer: Buffer,
    /// Of goals that one high-loss trial ends, the highest limit.
    strict: Option<f64>,
    /// Knees and gaps are looked for in the trials of so many seconds.
    early_seconds: f64,
    curve: Option<Curve>,
    /// How many trials the curve was last drawn from.
    drawn_at: usize,
    remaining: Option<f64>,
    /// The goal that the next trial is made for.
    served: usize,
}

impl Straddle {
    pub(crate) fn new(problem: &Problem) -> Self {
        let narrowest = problem
            .goals()
            .iter()
            .map(crate::SearchGoal::target_width)
            .fold(1.0, f64::min);
        let grid = LoadGrid::new(problem.min_load(), problem.max_load(), narrowest);
        let longest = problem.goals().iter().map(|goal| goal.final_trial_duration).max();
        let longest_s = longest.unwrap_or_default().as_seconds();
        let mut straddle = Self {
            grid,
            scale: grid,
            targets: (0..problem.goals().len())
                .map(|goal| Target::new(problem, &grid, goal))
                .collect(),
            watches: vec![Watch::default(); problem.goals().len()],
            limits: Vec::new(),
            delay_limits: delay_limits(problem),
            seen: Vec::new(),
            buffer: Buffer::none(longest_s, grid.log_step()),
            strict: None,
            early_seconds: 0.0,
            curve: None,
            drawn_at: 0,
            remaining: None,
            served: 0,
        };
        straddle.limits = limits(&straddle.targets);
        straddle.strict = strict(&straddle.targets);
        let lower_bounds = straddle.targets.iter().map(Target::lower_bound_s);
        straddle.early_seconds = EARLY_SHARE * lower_bounds.fold(0.0, f64::max);
        if let Some(hint) = problem.hint() {
            straddle.draw_curve(problem, grid.position(hint.per_second()), None);
        }
        straddle
    }

    /// Draws the curve anew, in most detail around a position and a softness.
    fn draw_curve(&mut self, problem: &Problem, around: f64, softness: Option<f64>) {
        let top = self.scale.top() as f64;
        let range = (-MARGIN, top + MARGIN);
        let even = 1.0 / (range.1 - range.0);
        let hint = problem.hint().map(|hint| self.scale.position(hint.per_second()));
        // Where nearly all is lost, overload points to far below min load.
        let centre = (around.clamp(range.0, range.1) * 4.0).round() / 4.0;
        let mut curve = Curve::new(
            self.scale.log_step(),
            centre,
            range,
            (&self.limits, &self.delay_limits),
            softness,
            |position| match hint {
                None => even,
                Some(hint) => {
                    let distance = (position - hint) / HINT_STEPS;
                    let near = 1.0 / (std::f64::consts::PI * HINT_STEPS * (1.0 + distance * distance));
                    HINT_SHARE * near + (1.0 - HINT_SHARE) * even
                }
            },
        );
        for seen in &self.seen {
            curve.observe(seen);
        }
        self.curve = Some(curve);
        self.drawn_at = self.seen.len();
    }

    /// Lays the grid so that a capacity is where it belongs between two loads.
    fn align(&mut self, capacity: f64) {
        let upper = capacity + placement::SPARE_ABOVE;
        self.grid = self.scale.shifted(upper.ceil() - upper);
    }

    /// The index of the first load at or above a position of the curve.
    fn index_above(&self, position: f64) -> i64 {
        (position + self.grid.shift_from(&self.scale)).ceil() as i64
    }

    /// Takes notice of a trial; where it tells that the curve is elsewhere, that is the position to draw it anew around.
    fn follow(&mut self, seen: Observation) -> Option<f64> {
        let is_first_loss = seen.is_lossy() && !self.seen.iter().any(Observation::is_lossy);
        self.seen.push(seen);
        let buffer = self.buffer.told(&self.seen);
        if buffer != self.buffer {
            return Some(self.assume(buffer));
        }
        if is_first_loss {
            self.align(seen.capacity());
            return Some(seen.capacity());
        }
        if self.curve.is_none() && self.is_slow(&seen) {
            return Some(seen.position);
        }
        if let Some(knee) = self.steep_knee()
            && !placement::is_settled(&self.seen, knee.position + placement::SPARE_ABOVE, self.strict)
        {
            self.align(knee.position);
            return Some(knee.position);
        }
        self.between()
    }

    /// Takes all trials for what they tell with this buffer.
    fn assume(&mut self, buffer: Buffer) -> f64 {
        self.buffer = buffer;
        for seen in &mut self.seen {
            buffer.correct(seen);
        }
        let last = self.seen[self.seen.len() - 1];
        if last.is_lossy() {
            self.align(last.capacity());
        }
        last.capacity()
    }

    /// Has the curve learn from the last trial, and draws it anew where that was off its scales.
    fn learn(&mut self, problem: &Problem) {
        let (Some(curve), Some(last)) = (&mut self.curve, self.seen.last()) else {
            return;
        };
        curve.observe(last);
        let is_due = self.seen.len() >= self.drawn_at + self.seen.len() / REDRAW_SHARE;
        if is_due && curve.is_off_centre() {
            let (around, softness) = (curve.median(), curve.softness());
            self.draw_curve(problem, around, softness);
        }
    }

    /// The knee of a steep system; refined only where one trial makes an upper bound, as trials above the knee are
    /// worth nothing otherwise once the grid moves.
    fn steep_knee(&self) -> Option<Knee> {
        locate::steep_knee(self.early()?, self.scale.log_step(), self.strict.is_some())
    }

    fn between(&self) -> Option<f64> {
        locate::between(self.early()?)
    }

    /// All trials, while there are few.
    fn early(&self) -> Option<&[Observation]> {
        let seconds: f64 = self.seen.iter().map(|seen| seen.duration).sum();
        (seconds <= self.early_seconds).then_some(&self.seen)
    }

    /// Where more is lost than any goal allows that one high-loss trial decides, once the first trials have shown a sharp
    /// system.
    fn above_all_limits(&self) -> Option<f64> {
        let [_, above, below] = self.seen.as_slice() else {
            return None;
        };
        let is_just_above = above.is_lossy() && !above.lost_much();
        let is_just_below = !below.is_lossy() && below.position < above.position;
        let strict = self.strict.filter(|_| is_just_above && is_just_below)?;
        Some(above.capacity() + strict)
    }

    /// Whether a trial was too slow for one of the goals.
    fn is_slow(&self, seen: &Observation) -> bool {
        self.delay_limits
            .first()
            .is_some_and(|&shortest| seen.output.delay_exceeds(shortest))
    }

    /// Whether no goal has seen an end yet: nothing was lost, and nothing was too slow.
    fn is_unbounded(&self) -> bool {
        let mut seen = self.seen.iter();
        seen.all(|seen| !seen.is_lossy() && !self.is_slow(seen))
    }
}

fn delay_limits(problem: &Problem) -> Vec<Nanoseconds> {
    let mut limits: Vec<Nanoseconds> = problem.goals().iter().filter_map(|goal| goal.delay_limit).collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

/// Of goals that one high-loss trial ends, the highest limit.
fn strict(targets: &[Target]) -> Option<f64> {
    let strict = targets.iter().filter(|target| target.is_strict);
    strict.map(|target| target.limit).reduce(f64::max)
}

/// Whether max load began well, and has no verdict yet, for a goal that several trials decide: if it holds, it is the
/// answer.
fn max_load_has_begun(problem: &Problem, log: &TrialLog, target: &Target) -> bool {
    let load = problem.max_load();
    let began_well = |first| problem.goals()[target.goal].is_high_loss(first) == Some(false);
    let is_open = log.verdict(load, target.goal) == Verdict::Undecided;
    !target.is_strict && is_open && log.trials_at(load).first().is_some_and(began_well)
}

/// The limits of all goals, ascending, and in any case one for any loss at all.
fn limits(targets: &[Target]) -> Vec<Limit> {
    let mut limits = vec![Limit {
        overload: 0.0,
        full_s: 0.0,
        has_short: false,
    }];
    limits.extend(targets.iter().map(|target| Limit {
        overload: target.limit,
        full_s: target.duration_s,
        has_short: target.short.is_some(),
    }));
    limits.sort_by(|a, b| a.overload.total_cmp(&b.overload));
    limits.dedup_by(|next, first| {
        let is_same = next.overload.total_cmp(&first.overload).is_eq();
        if is_same {
            first.full_s = first.full_s.max(next.full_s);
            first.has_short |= next.has_short;
        }
        is_same
    });
    limits
}

/// What decides the next trial, first come first; the pages `straddle.md` and `straddle-guards.md` have a section on
/// each.
enum Phase {
    /// "The account": this goal has no credit left, or its attempts end alike. The model does not choose for it.
    Plain(usize),
    /// "Looks before costly attempts": max load is measured to its verdict for this goal.
    MaxLoad(usize),
    /// "The first trials": loads that tell most before the curve can.
    Opening(Load),
    /// "The first trials": nothing was lost or too slow at max load, which is measured to its verdict.
    Unbounded,
    /// "The next load": what the plan finds cheapest.
    Planned,
}

/// A trial to make, the goal that it is charged to, and the seconds to the end of the search, where there is anything
/// to go by.
struct Selection {
    goal: usize,
    input: TrialInput,
    remaining: Option<f64>,
}

impl Selection {
    fn new(target: &Target, load: Load, duration: Nanoseconds) -> Self {
        Self {
            goal: target.goal,
            input: TrialInput { load, duration },
            remaining: None,
        }
    }
}

impl Strategy for Straddle {
    fn next(&mut self, problem: &Problem, log: &TrialLog) -> Option<TrialInput> {
        let mut targets = std::mem::take(&mut self.targets);
        for target in &mut targets {
            target.refresh(log, &self.grid);
            self.watches[target.goal].follow(problem, log, target);
        }
        // Lower loss ratios and shorter delays first, whatever the order of the goals.
        targets.sort_by(|a, b| {
            let by_limit = a.limit.total_cmp(&b.limit).then(a.delay_order().cmp(&b.delay_order()));
            let by_done = a.is_done(problem).cmp(&b.is_done(problem));
            by_done.then(by_limit).then(a.goal.cmp(&b.goal))
        });
        let open = targets.iter().filter(|target| !target.is_done(problem)).count();
        let next = self.select(problem, log, &targets[..open]);
        targets.sort_by_key(|target| target.goal);
        self.targets = targets;
        let Some(Selection { goal, input, remaining }) = next else {
            self.remaining = Some(0.0);
            return None;
        };
        self.served = goal;
        self.remaining = remaining;
        Some(input)
    }

    fn observe(&mut self, problem: &Problem, _: &TrialLog, result: &TrialResult) {
        let mut seen = Observation::new(result, &self.scale, &self.seen);
        self.buffer.correct(&mut seen);
        let before = self.seen.last();
        let has_moved = before.is_some_and(|before| !before.is_at(seen.place));
        for (watch, target) in self.watches.iter_mut().zip(&self.targets) {
            watch.notice(has_moved, target.is_high_loss(&seen));
        }
        self.watches[self.served].spend(result);
        if let Some(around) = self.follow(seen) {
            self.draw_curve(problem, around, None);
        } else {
            self.learn(problem);
        }
    }

    fn forecast(&self, _: &Problem, _: &TrialLog) -> Option<Nanoseconds> {
        Nanoseconds::from_seconds(self.remaining?).ok()
    }
}

impl Straddle {
    /// What is to be measured next for goals that have no answer yet; `None` where all have one.
    fn select(&self, problem: &Problem, log: &TrialLog, open: &[Target]) -> Option<Selection> {
        let first = open.first()?;
        let selection = match self.phase(problem, log, open) {
            Phase::Plain(goal) => self.plain(problem, log, open, goal)?,
            Phase::MaxLoad(goal) => {
                let target = open.iter().find(|target| target.goal == goal)?;
                Selection::new(target, problem.max_load(), target.duration)
            }
            Phase::Opening(load) => Selection::new(first, load, first.exploring_duration()),
            Phase::Unbounded => {
                let longest = open.iter().map(|target| target.duration).max()?;
                Selection::new(first, problem.max_load(), longest)
            }
            Phase::Planned => match self.planned(problem, log, open) {
                Some(selection) => selection,
                None => self.plain(problem, log, open, open.first()?.goal)?,
            },
        };
        let target = open.iter().find(|target| target.goal == selection.goal)?;
        Some(Selection {
            input: probe::look_first(problem, log, target, &self.seen, selection.input),
            ..selection
        })
    }

    fn phase(&self, problem: &Problem, log: &TrialLog, open: &[Target]) -> Phase {
        let without_credit = open.iter().find(|target| self.watches[target.goal].is_plain());
        if let Some(target) = without_credit {
            return Phase::Plain(target.goal);
        }
        if let Some(target) = open.iter().find(|target| max_load_has_begun(problem, log, target)) {
            return Phase::MaxLoad(target.goal);
        }
        let opening = self.opening(problem).filter(|&load| log.trials_at(load).is_empty());
        match opening {
            Some(load) => Phase::Opening(load),
            None if self.is_unbounded() => Phase::Unbounded,
            None => Phase::Planned,
        }
    }

    fn plain(&self, problem: &Problem, log: &TrialLog, open: &[Target], goal: usize) -> Option<Selection> {
        let target = open.iter().find(|target| target.goal == goal)?;
        Some(Selection {
            goal,
            input: self.watches[goal].plain_trial(problem, log, &self.grid, target),
            remaining: Some(open.iter().map(Target::left_without_model).sum()),
        })
    }

    /// `None` where the plan has no load to choose from.
    fn planned(&self, problem: &Problem, log: &TrialLog, open: &[Target]) -> Option<Selection> {
        let curve = self.curve.as_ref()?;
        let outlooker = Outlooker::new(problem, log, &self.grid, &self.scale, curve, &self.seen, &self.buffer);
        let Choice { goal, input, remaining } = plan::choose(&outlooker, open, self.steep_knee().is_some())?;
        Some(Selection {
            goal,
            input,
            remaining: Some(remaining),
        })
    }

    /// The first trials take the hint for right, and the system for a sharp one, which loses what is above its
    /// capacity: the load just above capacity serves most goals, the one just below shows whether it is true. If the
    /// load there is clean, the system is a steep one, of which a second loss tells the knee. The first load that loses
    /// more than all goals allow is an upper bound at once where one high-loss trial makes one. While nothing is lost or
    /// too slow, the largest load tells most.
    fn opening(&self, problem: &Problem) -> Option<Load> {
        let hint = problem.hint().map(|hint| self.scale.position(hint.per_second()));
        let index = match (self.seen.as_slice(), hint) {
            ([], Some(hint)) => self.index_above(hint),
            ([_], Some(hint)) if self.is_unbounded() => self.index_above(hint + HINT_STEPS),
            ([only], _) if only.is_lossy() => self.index_above(only.capacity()),
            ([_, second], _) if second.is_lossy() && !second.lost_much() => self.index_above(second.capacity()) - 1,
            _ if self.is_unbounded() => self.grid.top(),
            _ => {
                let knee = self.steep_knee().map(|knee| knee.position);
                let position = knee.or_else(|| self.between()).or_else(|| self.above_all_limits());
                self.index_above(position?)
            }
        };
        Some(self.grid.load(index))
    }
}
