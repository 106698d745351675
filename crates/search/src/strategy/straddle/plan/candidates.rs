//! Which loads are weighed for a goal.

use std::collections::BTreeSet;

use super::bracket::{Candidate, Ends};
use super::outlook::Prospects;
use crate::strategy::straddle::goals::Standing;

/// The search centres on the highest load whose P(lower bound) is at least this fraction of P(lower bound) at min load.
const HOPEFUL: f64 = 0.5;
/// Candidates lie this many widths from the likeliest load: close ones to make pairs of, far ones in case of surprise.
const OFFSETS: [i64; 6] = [1, 2, 3, 6, 16, 50];
/// Beyond a load with this chance of its verdict, others need not be considered.
const CERTAIN: f32 = 0.75;

/// The candidates of a goal, ascending, and where its brackets end.
pub(super) fn candidates(prospects: &Prospects, standing: &Standing) -> (Vec<Candidate>, Ends) {
    let top = prospects.view.loads.grid.top();
    let lower = standing.lower_index.unwrap_or(-1);
    let upper = standing.upper_index.unwrap_or(top + 1);
    let (lowest, highest) = ((lower + 1).min(upper - 1), (lower + 1).max(upper - 1));
    let allowed = lowest.max(0)..=highest.min(top);
    let candidate = |index: i64| {
        let is_allowed = allowed.contains(&index);
        is_allowed.then(|| prospects.candidate(standing, index)).flatten()
    };
    let middle = prospects.highest_hopeful(standing, HOPEFUL).clamp(lowest, highest);
    let mut found: Vec<Candidate> = candidate(middle).into_iter().collect();
    // Both sides as far as verdicts are in doubt; with what would make pairs with the bounds that are known, and the
    // limits of the search.
    let steps = standing.goal.steps;
    for (direction, pair, limit) in [(-1, lower + steps, 0), (1, upper - steps, top)] {
        let mut offsets: BTreeSet<i64> = OFFSETS.map(|widths| widths * steps).into_iter().collect();
        let farthest = OFFSETS[OFFSETS.len() - 1] * steps;
        offsets.extend([pair, limit].map(|index| (index - middle) * direction));
        for offset in offsets.range(1..=farthest) {
            let Some(candidate) = candidate(middle + direction * offset) else {
                continue;
            };
            let lower = candidate.mean_lower();
            let hoped_for = if direction < 0 { lower } else { 1.0 - lower };
            found.push(candidate);
            if hoped_for > CERTAIN {
                break;
            }
        }
    }
    found.sort_by_key(|candidate| candidate.index);
    // Below min load and above max load nothing need be known.
    let ends = Ends {
        low: lower,
        high: upper,
        is_low_known: standing.lower_index.is_some() || found.first().is_some_and(|first| first.index == 0),
        is_high_known: standing.upper_index.is_some() || found.last().is_some_and(|last| last.index == top),
    };
    (found, ends)
}
