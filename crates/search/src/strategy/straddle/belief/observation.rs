//! A trial as the beliefs see it. It knows no buffer: that is for [`super::buffer::Buffer`] to correct.

use brimful_trial::{Load, TrialOutput, TrialResult};

use crate::grid::LoadGrid;

/// A trial: where it was on the scale, and what it lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    /// The load that was offered.
    pub(crate) load: Load,
    /// Where the load is on the scale.
    pub(super) place: f64,
    /// Where the longest trials would lose as much: with a buffer, another place.
    pub(crate) position: f64,
    /// Units lost in this trial by an overload of one step.
    pub(super) units_per_step: f64,
    /// Seconds.
    pub(crate) duration: f64,
    /// Steps; 0 when nothing was lost.
    pub(crate) overload: f64,
    /// Whether an earlier trial at this load lost about as much or more: how much then says little that is new.
    pub(super) is_repeated: bool,
    /// As measured.
    pub(crate) output: TrialOutput,
}

/// A loss ratio of 1 would be infinite overload.
const NEARLY_ALL: f64 = 0.9999;
/// A multiple of what was lost before at the same load that is no repetition: capacity has moved.
const NEWS: f64 = 4.0;
/// Steps of overload from which the capacity cannot be estimated to a step.
const MUCH_OVERLOAD: f64 = 1.5;

impl Observation {
    /// What a trial showed after earlier ones, if there is no buffer.
    pub(crate) fn new(result: &TrialResult, scale: &LoadGrid, earlier: &[Self]) -> Self {
        let counts = result.output.counts;
        let load = result.input.load;
        let intended = result.input.duration.as_seconds();
        let (ratio, duration) = if result.output.stopped_early && counts.sent() > 0 {
            let sent = counts.sent() as f64;
            (counts.lost() as f64 / sent, (sent / load.per_second()).min(intended))
        } else {
            (counts.loss_ratio().as_f64(), intended)
        };
        let overload = -(1.0 - ratio.min(NEARLY_ALL)).ln() / scale.log_step();
        let place = scale.position(load.per_second());
        let mut same = earlier.iter().filter(|earlier| earlier.load == load);
        Self {
            load,
            place,
            position: place,
            units_per_step: load.per_second() * scale.log_step() * duration,
            duration,
            overload,
            is_repeated: overload > 0.0 && same.any(|earlier| overload <= NEWS * earlier.overload),
            output: result.output,
        }
    }

    pub(crate) fn is_lossy(&self) -> bool {
        self.overload > 0.0
    }

    /// Whether too much was lost to estimate the capacity to a step.
    pub(crate) fn lost_much(&self) -> bool {
        self.overload >= MUCH_OVERLOAD
    }

    /// Where the capacity is if all above it was lost.
    pub(crate) fn capacity(&self) -> f64 {
        self.position - self.overload
    }
}
