//! The rules before the model chooses: loads that say more than it could yet.

use brimful_trial::{Load, Nanoseconds, TrialInput};

use super::belief::HINT_STEPS;
use super::goals::Standing;
use super::{Pick, View};
use crate::Verdict;

/// The rule that max load, once it began well for a goal that several trials decide, is measured to its verdict: if it
/// holds, it is the answer.
pub(super) fn max_load_begun(view: &View) -> Option<Pick> {
    let load = view.problem.max_load();
    let first = view.log.trials_at(load).first()?;
    let has_begun = |standing: &&Standing| {
        let goal = standing.goal.index;
        let began_well = view.problem.goals()[goal].is_high_loss(first) == Some(false);
        !standing.goal.is_strict && began_well && view.log.verdict(load, goal) == Verdict::Undecided
    };
    let standing = view.open.iter().find(has_begun)?;
    Some(pick(standing, load, standing.goal.duration))
}

/// The rule that the first trials take the hint for right, and the system for a sharp one.
pub(super) fn first_trials(view: &View) -> Option<Pick> {
    let load = first_load(view).filter(|&load| view.log.trials_at(load).is_empty())?;
    let first = view.open.first()?;
    Some(pick(first, load, first.goal.exploring_duration()))
}

/// The rule that max load is measured to its verdict if nothing was lost or too slow there.
pub(super) fn unbounded(view: &View) -> Option<Pick> {
    let longest = view.open.iter().map(|standing| standing.goal.duration).max()?;
    let is_unbounded = view.belief.is_unbounded();
    is_unbounded.then(|| pick(&view.open[0], view.problem.max_load(), longest))
}

fn pick(standing: &Standing, load: Load, duration: Nanoseconds) -> Pick {
    Pick {
        goal: standing.goal.index,
        input: TrialInput { load, duration },
        remaining: None,
    }
}

/// A sharp system loses what is above its capacity: the load just above capacity serves most goals, the one just below
/// shows whether it is the true one. If the load there is clean, the system is a steep one, of which a second loss shows
/// the knee. The first load that loses more than all goals allow is an upper bound at once where one high-loss trial makes
/// one. While nothing is lost or too slow, the largest load says most.
fn first_load(view: &View) -> Option<Load> {
    let (belief, loads) = (view.belief, view.loads);
    let index = match (belief.seen(), belief.hint()) {
        ([], Some(hint)) => loads.index_above(hint),
        ([_], Some(hint)) if belief.is_unbounded() => loads.index_above(hint + HINT_STEPS),
        ([only], _) if only.is_lossy() => loads.index_above(only.capacity()),
        ([_, second], _) if second.is_lossy() && !second.lost_much() => loads.index_above(second.capacity()) - 1,
        _ if belief.is_unbounded() => loads.grid.top(),
        _ => {
            let knee = belief.knee().map(|knee| knee.position);
            let position = knee.or_else(|| belief.gap()).or_else(|| belief.above_all_limits());
            loads.index_above(position?)
        }
    };
    Some(loads.grid.load(index))
}
