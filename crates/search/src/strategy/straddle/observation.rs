//! A trial as the beliefs see it.

use brimful_trial::{TrialOutput, TrialResult};

use crate::grid::LoadGrid;

/// A trial: where it was on the grid, and what it lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Where the load is on the grid.
    pub(super) place: f64,
    /// Where the longest trials would lose as much; a buffer makes it another place.
    pub(super) position: f64,
    /// Units lost in this trial by an overload of one step.
    pub(super) units_per_step: f64,
    /// Seconds.
    pub(super) duration: f64,
    /// Steps; 0 when nothing was lost.
    pub(super) overload: f64,
    /// Whether an earlier trial at this load lost about as much or more: how much then says little that is new.
    pub(super) is_repeated: bool,
    /// As measured.
    pub(super) output: TrialOutput,
}

/// A loss ratio of 1 would be infinite overload.
const NEARLY_ALL: f64 = 0.9999;
/// A multiple of what was lost before at the same load that is no repetition: capacity has moved.
const NEWS: f64 = 4.0;
/// Places closer than this are those of the same load.
const SAME_LOAD: f64 = 1e-6;
/// Steps of overload from which capacity can be told to a step.
const SMALL_OVERLOAD: f64 = 1.5;

impl Observation {
    /// What a trial showed after earlier ones, if there is no buffer.
    pub(super) fn new(result: &TrialResult, scale: &LoadGrid, earlier: &[Self]) -> Self {
        let counts = result.output.counts;
        let load = result.input.load.per_second();
        let intended = result.input.duration.as_seconds();
        let (ratio, duration) = if result.output.stopped_early && counts.sent() > 0 {
            let sent = counts.sent() as f64;
            (counts.lost() as f64 / sent, (sent / load).min(intended))
        } else {
            (counts.loss_ratio().as_f64(), intended)
        };
        let overload = -(1.0 - ratio.min(NEARLY_ALL)).ln() / scale.log_step();
        let place = scale.position(load);
        let lost_as_much = |earlier: &Self| overload <= NEWS * earlier.overload;
        Self {
            place,
            position: place,
            units_per_step: load * scale.log_step() * duration,
            duration,
            overload,
            is_repeated: overload > 0.0
                && earlier
                    .iter()
                    .any(|earlier| earlier.is_at(place) && lost_as_much(earlier)),
            output: result.output,
        }
    }

    /// Whether the trial was at the load of this place.
    pub(super) fn is_at(&self, place: f64) -> bool {
        (self.place - place).abs() < SAME_LOAD
    }

    pub(super) fn is_lossy(&self) -> bool {
        self.overload > 0.0
    }

    /// So much that capacity cannot be told to a step.
    pub(super) fn lost_much(&self) -> bool {
        self.overload >= SMALL_OVERLOAD
    }

    /// Where the capacity is if all above it was lost.
    pub(super) fn capacity(&self) -> f64 {
        self.position - self.overload
    }
}
