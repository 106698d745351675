//! Which pair of loads is the cheapest way to a result, and which of its members to measure next.

use std::collections::{BTreeMap, BTreeSet};

use brimful_trial::{Load, Nanoseconds, Ratio};

use super::curve::{Curve, Point, TrialPlan};
use super::target::Target;
use super::tune::tune;
use super::verdict_odds::{Needed, Outlook, bin_of_odds};
use crate::grid::LoadGrid;
use crate::{Problem, TrialLog, Verdict};

/// Pairs looked at on either side of the likeliest.
const REACH: i64 = 8;
/// A pair that fails costs this share of a fresh pair again.
const RESTART_SHARE: f64 = 0.6;
/// Halving the distance between two bounds costs this share of a fresh pair.
const SHRINK_SHARE: f64 = 0.6;
/// Below this chance of both verdicts a trial is better spent on learning where the answer is.
const HOPELESS: f64 = 0.12;
/// Points of the posterior below this share of the largest are left out of planning ...
const INSIGNIFICANT: f64 = 3e-3;
/// ... and of more than this many, only a sample is used.
const REPRESENTATIVES: usize = 256;
/// A trial that is stopped costs the rest after it, and a second until the loss is noticed.
const STOPPED_SECONDS: f64 = 3.0;
/// Short trials at one load before a long one is due.
const SHORT_TRIALS: usize = 2;

/// Everything that choosing looks at.
pub(super) struct Planner<'a> {
    pub(super) problem: &'a Problem,
    pub(super) log: &'a TrialLog,
    pub(super) grid: &'a LoadGrid,
    pub(super) curve: &'a Curve,
    pub(super) points: Vec<Point>,
}

/// What to do next and what is left to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) load: Load,
    pub(super) duration: Nanoseconds,
    /// Expected seconds to the end of the search.
    pub(super) remaining: f64,
}

/// What a load promises for one goal.
struct Prospect {
    load: Load,
    /// Chance to become a lower bound, by point.
    lower: Vec<f32>,
    mean_lower: f64,
    /// Seconds of full-length trials to a verdict.
    seconds: f64,
    /// Chance that one short trial is high-loss, if the goal has short ones.
    short_high: f64,
    /// Seconds that one failing full-length trial costs.
    fail_seconds: f64,
    /// Chance that one full-length trial is high-loss.
    high: f64,
}

/// Two neighbouring loads for one goal; one of them may be missing at the limits.
struct Pair {
    target: usize,
    /// Chance of both verdicts.
    both: f64,
    score: f64,
    lower: Option<Member>,
    upper: Option<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    load: Load,
    is_upper: bool,
    /// Chance of the verdict that is hoped for.
    success: f64,
    seconds: f64,
    short_high: f64,
    fail_seconds: f64,
    high: f64,
}

impl<'a> Planner<'a> {
    pub(super) fn new(problem: &'a Problem, log: &'a TrialLog, grid: &'a LoadGrid, curve: &'a Curve) -> Self {
        let points = representatives(curve.points());
        Self {
            problem,
            log,
            grid,
            curve,
            points,
        }
    }

    /// The next trial for these targets, or `None` where no pair is left to try.
    pub(super) fn choose(&self, targets: &mut [Target]) -> Option<Choice> {
        let mut shared: Vec<(usize, Load, f64)> = Vec::new();
        let mut pairs: Vec<Option<Pair>> = Vec::new();
        let tables: Vec<BTreeMap<i64, Prospect>> = targets.iter_mut().map(|target| self.prospects(target)).collect();
        for pass in 0..2 {
            for (index, target) in targets.iter().enumerate() {
                shared.retain(|&(owner, ..)| owner != index);
                let best = self.best_pair(index, target, &tables[index], &shared);
                for member in best.iter().flat_map(Pair::members) {
                    shared.push((index, member.load, member.seconds));
                }
                if pass == 0 {
                    pairs.push(best);
                } else {
                    pairs[index] = best;
                }
            }
            if targets.len() == 1 {
                break;
            }
        }
        let pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
        let remaining = pairs.iter().map(|pair| pair.remaining(targets)).sum();
        let (load, duration) = self.next_trial(targets, &pairs)?;
        Some(Choice {
            load,
            duration,
            remaining,
        })
    }

    /// The load where the curve puts half of its belief on either verdict.
    fn balanced_index(&self, target: &Target) -> i64 {
        let top = self.grid.top();
        let lower = |index: i64| self.fresh_lower(target, index) >= 0.5;
        let mut at = target.expected.clamp(0, top);
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

    /// The loads that pairs are made of: those around the answer, and some in growing distance from what is known.
    fn prospects(&self, target: &mut Target) -> BTreeMap<i64, Prospect> {
        let top = self.grid.top();
        let balanced = self.balanced_index(target);
        target.expected = balanced;
        let least = target.lower_index.unwrap_or(-target.steps);
        let most = target.upper_index.unwrap_or(top + 1);
        let middle = balanced.clamp(least, most - 1);
        let mut indices: BTreeSet<i64> = (middle - REACH..=middle + REACH).collect();
        for step in (1..).map(|power| target.steps << power).take_while(|&step| step < most - least) {
            indices.extend(target.upper_index.map(|upper| upper - step));
            indices.extend(target.lower_index.map(|lower| lower + step));
        }
        indices.retain(|&index| index >= least && index < most);
        target.candidates = indices.iter().copied().collect();
        let uppers: Vec<i64> = indices.iter().map(|index| (index + target.steps).min(most)).collect();
        indices.extend(uppers);
        indices.extend(target.upper_index);
        indices.extend(target.lower_index);
        indices.retain(|&index| index >= 0 && index <= top);
        indices.into_iter().map(|index| (index, self.prospect(target, index))).collect()
    }

    fn prospect(&self, target: &Target, index: i64) -> Prospect {
        let load = target.load(self.grid, index);
        let goal = &self.problem.goals()[target.goal];
        let constant = |lower: f32| Prospect {
            load,
            lower: vec![lower; self.points.len()],
            mean_lower: f64::from(lower),
            seconds: 0.0,
            short_high: 0.0,
            fail_seconds: 0.0,
            high: 0.0,
        };
        match self.log.verdict(load, target.goal) {
            Verdict::LowerBound => return constant(1.0),
            Verdict::UpperBound => return constant(0.0),
            Verdict::Undecided => {}
        }
        let needed = Needed::new(goal, &self.log.sums(load, target.goal), target.effective);
        let Some((outlooks, group)) = target.odds.outlooks(needed) else {
            return constant(0.0);
        };
        let plan = self.trial_plan(target, load, target.duration_s);
        let stray = target.severity
            * self
                .curve
                .stray()
                .share_in_row(plan.position, target.duration_s, target.odds.fresh_low());
        let short = target.short_s.map(|seconds| {
            let stray = target.severity * self.curve.stray().share(plan.position, seconds);
            (self.trial_plan(target, load, seconds), stray)
        });
        let mut prospect = constant(0.0);
        for (point, lower) in self.points.iter().zip(&mut prospect.lower) {
            let odds = with_stray(self.curve.odds(point, &plan), stray);
            let Outlook { lower: chance, trials } = outlooks[bin_of_odds(odds)];
            *lower = chance as f32;
            prospect.mean_lower += point.weight * chance;
            let high = odds / (1.0 + odds);
            let failing = if self.problem.has_early_termination() {
                (STOPPED_SECONDS + target.duration_s / (2.0 + odds)).min(target.cost)
            } else {
                target.cost
            };
            let cost = target.cost + (failing - target.cost) * high;
            prospect.seconds += point.weight * trials * group * cost;
            prospect.high += point.weight * high;
            prospect.fail_seconds += point.weight * high * failing;
            if let Some((plan, stray)) = &short {
                let odds = with_stray(self.curve.odds(point, plan), *stray);
                prospect.short_high += point.weight * odds / (1.0 + odds);
            }
        }
        prospect.fail_seconds /= prospect.high.max(1e-9);
        prospect
    }

    /// Chance that a load never measured becomes a lower bound.
    fn fresh_lower(&self, target: &Target, index: i64) -> f64 {
        let plan = self.trial_plan(target, self.grid.load(index), target.duration_s);
        let in_row = target.odds.fresh_low();
        let stray = target.severity * self.curve.stray().share_in_row(plan.position, target.duration_s, in_row);
        let outlooks = target.odds.fresh();
        self.points
            .iter()
            .map(|point| {
                let odds = with_stray(self.curve.odds(point, &plan), stray);
                point.weight * outlooks[bin_of_odds(odds)].lower
            })
            .sum()
    }

    fn trial_plan(&self, target: &Target, load: Load, seconds: f64) -> TrialPlan {
        TrialPlan {
            position: self.grid.position(load.per_second()),
            units_per_step: load.per_second() * self.grid.log_step() * seconds,
            limit: target.limit,
        }
    }

    fn best_pair(
        &self,
        index: usize,
        target: &Target,
        prospects: &BTreeMap<i64, Prospect>,
        shared: &[(usize, Load, f64)],
    ) -> Option<Pair> {
        let at = |index: i64| prospects.get(&index);
        let top = self.grid.top();
        let mut best: Option<Pair> = None;
        let mut consider = |lower: i64, upper: i64| {
            let upper = target.upper_index.map_or(upper, |known| known.min(upper));
            let lower = target.lower_index.map_or(lower, |known| known.max(lower));
            let (low, high) = (at(lower), at(upper));
            if low.is_none() && lower >= 0 || high.is_none() && upper <= top {
                return;
            }
            let width = (upper - lower).max(target.steps) as f64 / target.steps as f64;
            let pair = self.pair(index, target, (low, high), width, shared);
            if best.as_ref().is_none_or(|best| pair.score < best.score) {
                best = Some(pair);
            }
        };
        for &lower in &target.candidates {
            consider(lower, lower + target.steps);
            if let Some(upper) = target.upper_index.filter(|&upper| upper - lower > target.steps) {
                consider(lower, upper);
            }
            if let Some(known) = target.lower_index.filter(|&known| lower - known > target.steps) {
                consider(known, lower);
            }
        }
        best
    }

    fn pair(
        &self,
        index: usize,
        target: &Target,
        (lower, upper): (Option<&Prospect>, Option<&Prospect>),
        width: f64,
        shared: &[(usize, Load, f64)],
    ) -> Pair {
        let both = match (lower, upper) {
            (Some(lower), Some(upper)) => self
                .points
                .iter()
                .zip(lower.lower.iter().zip(&upper.lower))
                .map(|(point, (&low, &high))| point.weight * f64::from(low * (1.0 - high)))
                .sum(),
            (Some(lower), None) => lower.mean_lower,
            (None, Some(upper)) => 1.0 - upper.mean_lower,
            (None, None) => 0.0,
        };
        let member = |prospect: &Prospect, is_upper: bool| Member {
            load: prospect.load,
            is_upper,
            success: if is_upper {
                1.0 - prospect.mean_lower
            } else {
                prospect.mean_lower
            },
            seconds: prospect.seconds,
            short_high: prospect.short_high,
            fail_seconds: prospect.fail_seconds,
            high: prospect.high,
        };
        let lower = lower.map(|prospect| member(prospect, false));
        let upper = upper.map(|prospect| member(prospect, true));
        let cost = |member: &Option<Member>| {
            member.map_or((0.0, 1.0), |member| {
                let planned = shared.iter().filter(|&&(_, load, _)| load == member.load);
                let planned = planned.map(|&(.., seconds)| seconds).fold(0.0, f64::max);
                (target.seconds(&member, planned), member.success)
            })
        };
        let ((low_cost, low_success), (high_cost, high_success)) = (cost(&lower), cost(&upper));
        // The one that disappoints more cheaply goes first; the other is not paid for if it does.
        let low_first = (1.0 - low_success) * high_cost > (1.0 - high_success) * low_cost;
        let expected = if low_first {
            low_cost + low_success * high_cost
        } else {
            high_cost + high_success * low_cost
        };
        let both = both.max(1e-6);
        let restart = tune("restart", RESTART_SHARE) * target.pair_seconds;
        let shrink = tune("shrink", SHRINK_SHARE) * target.pair_seconds * width.log2();
        let exponent = if target.is_strict { tune("pow0", 0.5) } else { tune("pow5", 0.5) };
        let mut score = (expected + shrink * both + restart * (1.0 - both)) / both.powf(exponent);
        let last = |member: &Option<Member>| member.is_some_and(|member| Some(member.load) == target.last);
        if last(&lower) || last(&upper) {
            score *= tune("stick", 1.0);
        }
        Pair {
            target: index,
            both,
            score,
            lower,
            upper,
        }
    }

    /// Of all members of the pairs, the one that is most likely to disappoint per second.
    fn next_trial(&self, targets: &[Target], pairs: &[Pair]) -> Option<(Load, Nanoseconds)> {
        let open = |pair: &Pair| pair.members().filter(|member| member.seconds > 0.0).collect::<Vec<_>>();
        let hopeful = pairs.iter().map(|pair| pair.both).fold(0.0, f64::max);
        let is_open = pairs.iter().any(|pair| targets[pair.target].upper.is_none());
        if hopeful < tune("hopeless", HOPELESS) && (is_open || tune("explore",0.0)>0.0) {
            let pair = pairs.iter().min_by(|a, b| {
                let limit = |pair: &&Pair| targets[pair.target].limit;
                limit(a).total_cmp(&limit(b))
            })?;
            let target = &targets[pair.target];
            let index = self.exploring_index(target);
            let load = target.load(self.grid, index);
            if self.log.verdict(load, target.goal) == Verdict::Undecided {
                return Some((load, target.exploring_duration()));
            }
        }
        let mut best: Option<(f64, Load, Nanoseconds)> = None;
        for pair in pairs {
            let target = &targets[pair.target];
            for member in open(pair) {
                let mut worth = 0.0;
                for other in pairs {
                    for twin in open(other).iter().filter(|twin| twin.load == member.load) {
                        worth += 1.0 - twin.success + 1e-6;
                    }
                }
                worth /= member.seconds;
                if best.is_none_or(|(most, ..)| worth > most) {
                    best = Some((worth, member.load, self.duration(target, &member)));
                }
            }
        }
        best.map(|(_, load, duration)| (load, duration))
    }

    /// Where to look when no pair is likely: the balanced load, moved inside of what is known.
    fn exploring_index(&self, target: &Target) -> i64 {
        let least = target.lower_index.map_or(0, |index| index + 1);
        let most = target.upper_index.map_or(self.grid.top(), |index| index - 1);
        target.expected.min(most).max(least)
    }

    /// Short trials can only hurt: they are worth their time where they save a long one that would fail.
    fn duration(&self, target: &Target, member: &Member) -> Nanoseconds {
        let (Some(short), Some(cost)) = (target.short, target.short_cost()) else {
            return target.duration;
        };
        let goal = &self.problem.goals()[target.goal];
        let tried = self.log.trials_at(member.load);
        let shorts = tried.iter().filter(|trial| trial.input.duration == short).count();
        if shorts >= SHORT_TRIALS {
            return target.duration;
        }
        let pays = if goal.exceed_ratio == Ratio::ZERO {
            let saving = member.short_high * member.fail_seconds > cost;
            saving || member.is_upper && member.short_high / cost > member.high / member.fail_seconds.max(cost)
        } else {
            shorts == 0 && member.success < 0.35
        };
        if pays { short } else { target.duration }
    }
}

impl Pair {
    fn members(&self) -> impl Iterator<Item = Member> {
        self.lower.into_iter().chain(self.upper)
    }

    fn remaining(&self, targets: &[Target]) -> f64 {
        let seconds: f64 = self.members().map(|member| member.seconds).sum();
        seconds + (1.0 - self.both) * RESTART_SHARE * targets[self.target].pair_seconds
    }
}

impl Target {
    /// Seconds that a member costs beyond those already planned at its load.
    fn seconds(&self, member: &Member, planned: f64) -> f64 {
        let by_short = self.short_cost().filter(|_| member.is_upper && self.is_strict);
        let full = (member.seconds - planned).max(0.0);
        match by_short {
            Some(cost) => full.min(cost + (1.0 - member.short_high) * full),
            None => full,
        }
    }
}

/// A few points that stand for all: the likely ones, or an even sample where those are many.
fn representatives(points: &[Point]) -> Vec<Point> {
    let largest = points.iter().map(|point| point.weight).fold(0.0, f64::max);
    let mut few: Vec<Point> = points
        .iter()
        .filter(|point| point.weight > INSIGNIFICANT * largest)
        .copied()
        .collect();
    let total: f64 = few.iter().map(|point| point.weight).sum();
    if few.len() > REPRESENTATIVES {
        let share = total / REPRESENTATIVES as f64;
        let mut passed = -0.5 * share;
        few.retain_mut(|point| {
            passed += point.weight;
            let times = (passed / share).floor() + 1.0;
            passed -= times.max(0.0) * share;
            point.weight = times.max(0.0) * share;
            times > 0.0
        });
    }
    let total: f64 = few.iter().map(|point| point.weight).sum();
    for point in &mut few {
        point.weight /= total;
    }
    few
}

/// Odds of high loss when a stray loss may come on top.
fn with_stray(odds: f64, stray: f64) -> f64 {
    (1.0 + odds) / (1.0 - stray).max(1e-9) - 1.0 + 1e-12
}
