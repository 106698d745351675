//! What a load promises for a goal, in each world.

use super::bracket::Candidate;
use crate::Verdict;
use crate::strategy::straddle::View;
use crate::strategy::straddle::belief::{Trial, Worlds};
use crate::strategy::straddle::goals::Standing;
use crate::strategy::straddle::looks::shorter;
use crate::strategy::straddle::needed::{Needed, Outlook};

/// A trial that is stopped costs the rest after it, and a second until the loss is noticed.
const STOPPED_SECONDS: f64 = 3.0;

/// What the rules go by, and the worlds that it leads to.
pub(super) struct Prospects<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) worlds: Worlds<'a>,
}

impl Prospects<'_> {
    /// The load of an index as a candidate; `None` if it has a verdict, or cannot become a lower bound.
    pub(super) fn candidate(&self, standing: &Standing, index: i64) -> Option<Candidate> {
        let View { problem, log, .. } = *self.view;
        let (goal, load) = (standing.goal, standing.load(&self.view.loads.grid, index));
        if log.verdict(load, goal.index) != Verdict::Undecided {
            return None;
        }
        let needed = Needed::new(&problem.goals()[goal.index], &log.sums(load, goal.index))?;
        let race = needed.race();
        // A trial that is only too slow runs to its end.
        let stops = problem.has_early_termination() && goal.delay_limit.is_none();
        let full_s = goal.duration_s;
        let of_world = |(odds, weather): (f64, f64)| {
            let Outlook { lower, trials } = race.outlook(odds * weather);
            let failing_s = if stops {
                full_s.min(STOPPED_SECONDS + full_s / (2.0 + odds))
            } else {
                full_s
            };
            let seconds = trials * (full_s + (failing_s - full_s) * odds / (1.0 + odds));
            (lower as f32, seconds as f32)
        };
        let (lower, mut seconds): (_, Vec<f32>) = self.worlds.odds(&goal.trial(load)).map(of_world).unzip();
        if let Some(shorter) = shorter(self.view, goal, load) {
            // One that fails is an upper bound, and saves the long ones.
            let trial = Trial {
                seconds: shorter.as_seconds(),
                ..goal.trial(load)
            };
            for (seconds, (odds, _)) in seconds.iter_mut().zip(self.worlds.odds(&trial)) {
                *seconds = (trial.seconds + f64::from(*seconds) / (1.0 + odds)) as f32;
            }
        }
        Some(Candidate {
            index,
            load,
            lower,
            seconds,
        })
    }

    /// Chance that a load never measured becomes a lower bound.
    fn fresh_lower(&self, standing: &Standing, index: i64) -> f64 {
        let trial = standing.goal.trial(self.view.loads.grid.load(index));
        let race = standing.goal.fresh.race();
        let odds = self.worlds.odds(&trial);
        let (sum, count) = odds.fold((0.0, 0.0), |(sum, count), (odds, weather)| {
            (sum + race.outlook(odds * weather).lower, count + 1.0)
        });
        sum / count
    }

    /// The highest load of which a lower bound is at least as likely as this share of the chance at min load: found from
    /// the middle of the belief in steps that double, then by halving.
    pub(super) fn highest_hopeful(&self, standing: &Standing, share: f64) -> i64 {
        let top = self.view.loads.grid.top();
        let enough = share * self.fresh_lower(standing, 0);
        let is_hopeful = |index: i64| self.fresh_lower(standing, index) >= enough;
        let mut at = self.view.loads.nearest(self.worlds.median());
        let upwards = is_hopeful(at);
        let (mut good, mut bad) = if upwards { (at, top + 1) } else { (-1, at) };
        let mut step = if upwards { 1 } else { -1 };
        while bad - good > 1 {
            at += step;
            step *= 2;
            if at <= good || at >= bad {
                at = good.midpoint(bad);
            }
            if is_hopeful(at) {
                good = at;
            } else {
                bad = at;
            }
        }
        good
    }
}
