//! What is believed of the system: every trial is learnt from at once, and may be news of where its capacity is.

mod buffer;
mod curve;
mod knee;
mod lattice;
mod model;
mod observation;
mod rival;
mod shape;
mod stray;
mod threshold;
mod worlds;

use brimful_trial::{Load, Nanoseconds, Ratio, TrialResult};

use self::buffer::Buffer;
use self::knee::Knee;
pub(crate) use self::model::HINT_STEPS;
use self::model::{Model, Prior};
pub(crate) use self::observation::Observation;
pub(crate) use self::threshold::Limit;
pub(crate) use self::worlds::{Trial, Worlds};
use crate::Problem;
use crate::grid::LoadGrid;

/// Knees and gaps are looked for in as many seconds as this share of a lower bound takes, which may fail that late.
const EARLY_SHARE: f64 = 0.75;

/// The part of a step between a capacity and the next load above. The rest is below, and is to be the larger part, as
/// lower bounds cost more than upper ones.
const SPARE_ABOVE: f64 = 0.45;

/// What a trial changed beyond the likelihood of what was thought likely. Positions are on the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum News {
    Nothing,
    /// The capacity is here, as far as a few trials show it, and the next load above is to be there.
    Capacity {
        position: f64,
        load_above: f64,
    },
    /// The capacity is around here.
    Region(f64),
}

impl News {
    fn sharp(capacity: f64) -> Self {
        Self::Capacity {
            position: capacity,
            load_above: capacity + SPARE_ABOVE,
        }
    }
}

pub(crate) struct Belief {
    scale: LoadGrid,
    prior: Prior,
    /// The highest limit of goals that one high-loss trial ends, as overload.
    strict: Option<f64>,
    /// Knees and gaps are looked for in the trials of this many seconds.
    early_s: f64,
    seen: Vec<Observation>,
    /// Trials from here on show where the capacity is: it has dropped since those before.
    since: usize,
    buffer: Buffer,
    /// `None` before anything points to where the curve may be.
    model: Option<Model>,
}

impl Belief {
    /// What is believed before anything is measured, for goals of which a lower bound takes up to this many seconds.
    pub(crate) fn new(problem: &Problem, scale: LoadGrid, lower_bound_s: f64) -> Self {
        let goals = || problem.goals().iter();
        let longest = goals().map(|goal| goal.final_trial_duration).max().unwrap_or_default();
        let strict = goals().filter(|goal| goal.exceed_ratio == Ratio::ZERO);
        let strict = strict.map(|goal| goal.loss_ratio).max();
        let mut belief = Self {
            prior: Prior {
                log_step: scale.log_step(),
                top: scale.top() as f64,
                hint: problem.hint().map(|hint| scale.position(hint.per_second())),
                limits: limits(problem, &scale),
                delay_limits: delay_limits(problem),
            },
            strict: strict.map(|ratio| overload_of(ratio, &scale)),
            early_s: EARLY_SHARE * lower_bound_s,
            seen: Vec::new(),
            since: 0,
            buffer: Buffer::none(longest.as_seconds(), scale.log_step()),
            model: None,
            scale,
        };
        if let Some(hint) = belief.hint() {
            belief.lay_out(hint, None);
        }
        belief
    }

    /// The position of the hint.
    pub(crate) fn hint(&self) -> Option<f64> {
        self.prior.hint
    }

    /// All trials so far.
    pub(crate) fn seen(&self) -> &[Observation] {
        &self.seen
    }

    /// Learns from a trial.
    pub(crate) fn learn(&mut self, result: &TrialResult) -> News {
        let mut seen = Observation::new(result, &self.scale, &self.seen);
        self.buffer.correct(&mut seen);
        self.seen.push(seen);
        let news = self.news(&seen);
        let drifted = self.model.as_mut().and_then(|model| {
            model.observe(&seen);
            model.drifted(self.seen.len())
        });
        match (news, drifted) {
            (News::Capacity { position: around, .. } | News::Region(around), _) => self.lay_out(around, None),
            (News::Nothing, Some((around, softness))) => self.lay_out(around, softness),
            (News::Nothing, None) => {}
        }
        news
    }

    /// Lays the model out anew, in most detail around a position and a softness. What it knows beside the curve does not
    /// move with the capacity.
    fn lay_out(&mut self, around: f64, softness: Option<f64>) {
        let mut model = Model::new(&self.prior, around, softness, &self.seen[self.since..]);
        if let Some(before) = self.model.take().filter(|_| self.since > 0) {
            model = Model {
                curve: model.curve,
                ..before
            };
        }
        model.laid_out_at = self.seen.len();
        self.model = Some(model);
    }

    /// What the last trial shows of the capacity.
    fn news(&mut self, seen: &Observation) -> News {
        let buffer = self.buffer.estimate(&self.seen);
        if buffer != self.buffer {
            return self.assume(buffer);
        }
        let is_first_loss = seen.is_lossy() && self.seen.iter().filter(|seen| seen.is_lossy()).count() == 1;
        if is_first_loss {
            return News::sharp(seen.capacity());
        }
        if self.model.is_none() && self.is_slow(seen) {
            return News::Region(seen.position);
        }
        let limit = self.strict.unwrap_or(0.0);
        if let Some(knee) = self.knee() {
            let load_above = match self.strict {
                Some(limit) => knee.load_above(limit),
                None => knee.position + SPARE_ABOVE,
            };
            if !knee::is_settled(&self.seen, load_above, limit) {
                let position = knee.position;
                return News::Capacity { position, load_above };
            }
        }
        if let Some(middle) = self.gap() {
            return News::Region(middle);
        }
        let Some(capacity) = knee::capacity_after_drop(&self.seen[self.since..]) else {
            return News::Nothing;
        };
        self.since = self.seen.len() - 2;
        // Whatever the load lost before, this amount is news.
        self.seen[self.since].is_repeated = false;
        News::Region(capacity)
    }

    /// Takes all trials for what they show with this buffer.
    fn assume(&mut self, buffer: Buffer) -> News {
        self.buffer = buffer;
        for seen in &mut self.seen {
            buffer.correct(seen);
        }
        let last = self.seen[self.seen.len() - 1];
        if last.is_lossy() {
            News::sharp(last.capacity())
        } else {
            News::Region(last.position)
        }
    }

    /// Steps by which a trial of this duration shows the capacity higher than the longest ones do.
    pub(crate) fn shift(&self, duration: Nanoseconds) -> f64 {
        self.buffer.shift(duration.as_seconds())
    }

    /// The knee of a steep system; refined only where one trial makes an upper bound, as trials above the knee are
    /// worth nothing otherwise once the grid moves.
    pub(crate) fn knee(&self) -> Option<Knee> {
        knee::steep_knee(self.early()?, self.scale.log_step(), self.strict.is_some())
    }

    /// The middle of a gap in which the capacity is somewhere.
    pub(crate) fn gap(&self) -> Option<f64> {
        knee::middle_of_gap(self.early()?)
    }

    /// All trials, while there are few.
    fn early(&self) -> Option<&[Observation]> {
        let seconds: f64 = self.seen.iter().map(|seen| seen.duration).sum();
        (seconds <= self.early_s).then_some(&self.seen)
    }

    /// Where more is lost than any goal allows that one high-loss trial decides, once the first trials have shown a sharp
    /// system.
    pub(crate) fn above_all_limits(&self) -> Option<f64> {
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
        let shortest = self.prior.delay_limits.first();
        shortest.is_some_and(|&shortest| seen.output.delay_exceeds(shortest))
    }

    /// Whether no goal has seen an end yet: nothing was lost, and nothing was too slow.
    pub(crate) fn is_unbounded(&self) -> bool {
        let mut seen = self.seen.iter();
        seen.all(|seen| !seen.is_lossy() && !self.is_slow(seen))
    }

    /// How many trials ago there was one at a load; all where there was none.
    pub(crate) fn trials_since(&self, load: Load) -> usize {
        let mut last = self.seen.iter().rev();
        last.position(|seen| seen.load == load).unwrap_or(self.seen.len())
    }
}

/// What divides high loss from low loss, for goals of each loss ratio, ascending; the first is any loss at all.
pub(crate) fn limits(problem: &Problem, scale: &LoadGrid) -> Vec<Limit> {
    let goals = || problem.goals().iter();
    let mut ratios: Vec<Ratio> = goals().map(|goal| goal.loss_ratio).chain([Ratio::ZERO]).collect();
    ratios.sort_unstable();
    ratios.dedup();
    let limit = |loss_ratio| {
        let same = || goals().filter(move |goal| goal.loss_ratio == loss_ratio);
        Limit {
            loss_ratio,
            overload: overload_of(loss_ratio, scale),
            full_s: same()
                .map(|goal| goal.final_trial_duration.as_seconds())
                .fold(0.0, f64::max),
            has_short: same().any(|goal| goal.initial_trial_duration < goal.final_trial_duration),
        }
    };
    ratios.into_iter().map(limit).collect()
}

/// The delay limits of the goals, ascending.
pub(crate) fn delay_limits(problem: &Problem) -> Vec<Nanoseconds> {
    let mut limits: Vec<Nanoseconds> = problem.goals().iter().filter_map(|goal| goal.delay_limit).collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

/// A loss ratio as overload in steps.
fn overload_of(loss_ratio: Ratio, scale: &LoadGrid) -> f64 {
    (1.0 / (1.0 - loss_ratio.as_f64())).ln() / scale.log_step()
}
