//! Where the capacity is, from a few amounts lost, before the curve knows.

use super::observation::Observation;

/// Capacities or loads at least this many steps apart are different ones.
const FAR_STEPS: f64 = 2.0;
/// More lost for each unit of load than this is more than overload explains.
const STEEP: f64 = 1.1;
/// Between loads this far apart, in steps, the middle is as good as what the curve says of the first few losses.
const WIDE_GAP: f64 = 8.0;
/// How far above the load that is wanted next to a knee one may be that is an upper bound already, in steps.
const ALIGNED: f64 = 0.15;

/// Where loss begins on a system that forwards less the more it is overloaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knee {
    pub(crate) position: f64,
    /// Steps of overload for each step above it.
    pub(super) slope: f64,
}

/// The knee of a steep system, where the first loss shows too low a capacity. The losses in units a second of the lowest
/// lossy load and of one farther up are on a line, whose root is near. Trials there show it again, and are averaged if
/// it `is_refined`. `None` where the line is no steeper than overload explains, or contradicts clean trials or those near
/// the knee.
pub(super) fn steep_knee(seen: &[Observation], log_step: f64, is_refined: bool) -> Option<Knee> {
    let highest_clean = highest_clean(seen)?;
    let near = lowest_lossy_above(seen, f64::NEG_INFINITY)?;
    let far = lowest_lossy_above(seen, near.position + FAR_STEPS)?;
    // Loads and losses as shares of the near load.
    let far_load = ((far.position - near.position) * log_step).exp();
    let lost = |seen: &Observation| 1.0 - (-seen.overload * log_step).exp();
    let slope = (far_load * lost(far) - lost(near)) / (far_load - 1.0);
    let capacity = 1.0 - lost(near) / slope;
    if slope < STEEP || capacity <= 0.0 {
        return None;
    }
    let close = seen.iter().filter(|seen| seen.is_lossy() && !seen.lost_much());
    let mut shown: Vec<f64> = close.map(|seen| seen.position - seen.overload / slope).collect();
    if shown.is_empty() {
        let position = near.position + capacity.ln() / log_step;
        return (position > highest_clean).then_some(Knee { position, slope });
    }
    // Where a trial lost nothing, capacity was at least there; it grows where most did.
    let mean = |shown: &[f64]| shown.iter().sum::<f64>() / shown.len() as f64;
    let (first, losses) = (mean(&shown), shown.len());
    let clean = seen.iter().filter(|seen| !seen.is_lossy() && seen.position > first);
    shown.extend(clean.map(|seen| seen.position));
    let position = mean(&shown);
    (is_refined && shown.len() <= 3 * losses).then_some(Knee { position, slope })
}

impl Knee {
    /// Where the next load above is to be, so that it loses more than this limit; the load below is one step lower.
    pub(super) fn load_above(&self, limit: f64) -> f64 {
        self.position + f64::midpoint((limit / self.slope).min(1.0), 1.0)
    }
}

/// Whether the grid is to stay although the knee has moved: a load that is hardly above the one wanted next to it is an
/// upper bound of all goals already. The trial that makes it one shows the knee lower.
pub(super) fn is_settled(seen: &[Observation], load_above: f64, limit: f64) -> bool {
    let mut seen = seen.iter();
    seen.any(|seen| seen.overload > limit && seen.position < load_above + ALIGNED)
}

/// The middle between the lowest lossy load and the highest clean one, as long as the capacity that the loss shows is
/// below the clean one: it says nothing of where between them loss begins.
pub(super) fn middle_of_gap(seen: &[Observation]) -> Option<f64> {
    let highest_clean = highest_clean(seen)?;
    let lossy = lowest_lossy_above(seen, f64::NEG_INFINITY)?;
    let gap = lossy.position - highest_clean;
    (gap > WIDE_GAP && lossy.overload >= gap).then_some(highest_clean + gap / 2.0)
}

/// The capacity that the last two trials agree on, if it is well below them, a load as high lost nothing before, and it
/// is not one that strays that far all the time.
pub(super) fn capacity_after_drop(seen: &[Observation]) -> Option<f64> {
    let [earlier @ .., before, last] = seen else {
        return None;
    };
    let lowest = before.capacity().min(last.capacity());
    let highest = before.capacity().max(last.capacity());
    let load = before.position.min(last.position);
    if before.overload.min(last.overload) <= FAR_STEPS || highest - lowest >= FAR_STEPS {
        return None;
    }
    let last_clean = earlier
        .iter()
        .rposition(|seen| !seen.is_lossy() && seen.position >= load)?;
    let was_as_low = |seen: &Observation| seen.overload > FAR_STEPS && seen.capacity() < highest + FAR_STEPS;
    let strays = earlier[..last_clean].iter().any(was_as_low);
    (!strays).then_some(lowest)
}

fn highest_clean(seen: &[Observation]) -> Option<f64> {
    let clean = seen.iter().filter(|seen| !seen.is_lossy());
    clean.map(|seen| seen.position).reduce(f64::max)
}

fn lowest_lossy_above(seen: &[Observation], position: f64) -> Option<&Observation> {
    let lossy = seen.iter().filter(|seen| seen.is_lossy() && seen.position > position);
    lossy.min_by(|a, b| a.position.total_cmp(&b.position))
}

#[cfg(test)]
mod tests {
    use brimful_trial::{Counts, Load, TrialOutput};

    use super::*;

    const LOG_STEP: f64 = 0.005;

    /// A trial at a load of a system of capacity 1 that loses `slope` units for each above it.
    fn seen(load: f64, slope: f64) -> Observation {
        let lost = (slope * (load - 1.0) / load).max(0.0);
        Observation {
            load: Load::new(load).unwrap(),
            place: load.ln() / LOG_STEP,
            position: load.ln() / LOG_STEP,
            units_per_step: 1e4,
            duration: 1.0,
            overload: -(1.0 - lost).ln() / LOG_STEP,
            is_repeated: false,
            output: TrialOutput {
                counts: Counts::new(1, 1, 0).unwrap(),
                effective_duration: None,
                delay_p99: None,
                stopped_early: false,
            },
        }
    }

    #[test]
    fn a_steep_knee_is_found_from_two_losses_and_again_near_it() {
        let far_away = [seen(1.5, 1.5), seen(0.75, 1.5), seen(1.12, 1.5)];
        let knee = steep_knee(&far_away, LOG_STEP, false).unwrap();
        assert!(knee.position.abs() < 1e-6, "{knee:?}");
        let with_close = [&far_away[..], &[seen(1.002, 1.5)]].concat();
        let knee = steep_knee(&with_close, LOG_STEP, true).unwrap();
        assert!(knee.position.abs() < 0.01, "{knee:?}");
        assert!((knee.slope - 1.5).abs() < 0.01, "{knee:?}");
        assert!(steep_knee(&with_close, LOG_STEP, false).is_none());
    }

    #[test]
    fn clean_trials_above_a_knee_contradict_it_once_they_are_many_more() {
        let once = [seen(1.5, 1.5), seen(0.75, 1.5), seen(1.002, 1.5)];
        let with_clean = |count: usize| {
            let clean = Observation {
                overload: 0.0,
                ..seen(1.002, 1.5)
            };
            steep_knee(&[&once[..], &vec![clean; count]].concat(), LOG_STEP, true)
        };
        let (once, moved) = (with_clean(0).unwrap(), with_clean(2).unwrap());
        assert!(moved.position > once.position, "{once:?} {moved:?}");
        assert!(with_clean(3).is_none());
    }

    #[test]
    fn loss_that_overload_explains_is_no_steep_knee() {
        let trials = [seen(1.5, 1.0), seen(0.75, 1.0), seen(1.12, 1.0)];
        assert!(steep_knee(&trials, LOG_STEP, true).is_none());
    }

    #[test]
    fn a_load_between_is_next_where_loss_shows_too_low_a_capacity() {
        let next = |trials: &[Observation]| middle_of_gap(trials).map(|next| (next * LOG_STEP).exp());
        let middle = next(&[seen(1.4, 2.0), seen(0.8, 2.0)]).unwrap();
        assert!((middle / (1.4_f64 * 0.8).sqrt() - 1.0).abs() < 1e-9, "{middle}");
        assert_eq!(next(&[seen(1.4, 1.0), seen(0.8, 1.0)]), None);
    }

    #[test]
    fn the_grid_follows_the_knee_until_the_load_above_is_an_upper_bound_of_all_goals() {
        let above = |overload: f64| {
            let position = 8.0;
            [Observation {
                position,
                overload,
                ..seen(1.0, 1.0)
            }]
        };
        let limit = 1.0;
        assert!(!is_settled(&above(limit - 0.1), 8.0, limit));
        assert!(is_settled(&above(limit + 0.1), 8.0, limit));
        assert!(is_settled(&above(limit + 0.1), 8.4, limit));
        assert!(!is_settled(&above(limit + 0.1), 8.0 - ALIGNED - 0.01, limit));
    }

    #[test]
    fn two_trials_that_agree_make_a_drop_and_one_does_not() {
        let lost = |load: f64, capacity: f64| {
            let steps = seen(load, 1.0).position - seen(capacity, 1.0).position;
            Observation {
                overload: steps,
                ..seen(load, 1.0)
            }
        };
        let before = seen(0.999, 1.0);
        let (first, second) = (lost(0.999, 0.94), lost(0.99, 0.941));
        let capacity = capacity_after_drop(&[before, first, second]).unwrap();
        assert!((capacity - 0.94_f64.ln() / LOG_STEP).abs() < 1e-9);
        assert_eq!(capacity_after_drop(&[before, first]), None);
        assert_eq!(capacity_after_drop(&[before, first, lost(0.99, 0.9)]), None);
        assert_eq!(capacity_after_drop(&[seen(0.93, 1.0), first, second]), None);
        // It was as low before, and higher again.
        assert_eq!(capacity_after_drop(&[before, first, before, first, second]), None);
        assert!(capacity_after_drop(&[before, lost(0.999, 0.97), before, first, second]).is_some());
    }
}
