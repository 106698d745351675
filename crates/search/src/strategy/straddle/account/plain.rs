//! The plain search: one load after the other is measured to its verdict, in steps that double with each that fails.

use brimful_trial::{Load, TrialInput};

use super::Account;
use crate::Verdict;
use crate::grid::LoadGrid;
use crate::strategy::straddle::goals::Standing;
use crate::strategy::straddle::{Pick, View};

/// Widths to the first load. Chosen on seeds 1-400 of `examples/search_time/drawn.rs`.
const FIRST_STEP: f64 = 4.0;
/// Doublings of the step from which on min load comes first, if no load has held. Chosen on the same seeds.
const WIDE_STEP: i32 = 5;

/// The next trial without the model.
pub(super) fn pick(view: &View, standing: &Standing) -> Pick {
    let account = &view.accounts[standing.goal.index];
    let is_under_way =
        |load: &Load| standing.is_within(*load) && view.log.verdict(*load, standing.goal.index) == Verdict::Undecided;
    let load = account.at.filter(is_under_way);
    Pick {
        goal: standing.goal.index,
        input: TrialInput {
            load: load.unwrap_or_else(|| next_load(account, view, standing)),
            duration: standing.goal.duration,
        },
        remaining: Some(view.open.iter().map(Standing::left_without_model).sum()),
    }
}

/// The next step, or a lower load where all trials were high-loss: if that fails, so would the step.
fn next_load(account: &Account, view: &View, standing: &Standing) -> Load {
    let step = on_grid(&view.loads.grid, standing, step(account, view, standing));
    let goal = &view.problem.goals()[standing.goal.index];
    let fails = |load: &Load| {
        let mut trials = view.log.trials_at(*load).iter();
        Some(*load) > standing.lower && trials.all(|trial| goal.is_high_loss(trial) == Some(true))
    };
    let mut failing = view.log.loads().take_while(|&load| load < step).filter(fails);
    failing.nth(account.skips).unwrap_or(step)
}

/// The middle where several trials decide; otherwise the step below the upper bound, but no farther than the middle.
/// Attempts that end alike may end so at any load: min load shows whether there is an answer at all.
fn step(account: &Account, view: &View, standing: &Standing) -> Load {
    let min_load = view.problem.min_load();
    let Some(upper) = standing.upper else {
        return view.problem.max_load();
    };
    if standing.lower.is_none() && (account.ends_alike(standing) || account.doublings >= WIDE_STEP) {
        return min_load;
    }
    let width = view.problem.goals()[standing.goal.index].target_width();
    let below = upper.per_second() * (1.0 - width).powf(FIRST_STEP * f64::from(account.doublings).exp2());
    let middle = standing
        .lower
        .map(|lower| (lower.per_second() * upper.per_second()).sqrt());
    let step = match middle {
        Some(middle) if standing.goal.is_strict => middle.max(below),
        Some(middle) => middle,
        None => below,
    };
    Load::new(step).map_or(min_load, |load| load.max(min_load))
}

/// The nearest load of the grid: its neighbours are there to make a pair with. A limit of the search stays what it is, and
/// a bound is no new load.
fn on_grid(grid: &LoadGrid, standing: &Standing, load: Load) -> Load {
    let near = grid.load(grid.nearest(grid.position(load.per_second())));
    let is_limit = load == grid.load(0) || load == grid.load(grid.top());
    if standing.is_within(near) && !is_limit {
        near
    } else {
        load
    }
}
