//! What a trial is to be.

use brimful_trial::program::MeasureRequest;
use brimful_trial::{Load, Nanoseconds, Ratio, TrialInput};

use crate::{LoadShape, PacingBounds, Schedule, SendingOrder};

/// The times that make up the contract of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// How long after the end of sending a frame may arrive.
    pub straggler_wait: Nanoseconds,
    /// How long a frame may be overtaken before an early stop takes it for lost.
    pub stop_grace: Nanoseconds,
    /// How long after the end of sending the tester rests when it stopped a trial early.
    pub rest_after_stop: Nanoseconds,
    /// From where on the sender spoils a trial.
    pub bounds: PacingBounds,
}

/// One trial to perform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPlan {
    /// Load of each port that sends all of its share.
    pub load: Load,
    /// Length of the sending phase.
    pub duration: Nanoseconds,
    /// Stop once more than this share of all intended frames is certainly lost.
    pub stop_above: Option<Ratio>,
}

impl TrialPlan {
    /// What a driver asked for.
    pub(crate) fn asked(request: &MeasureRequest) -> Result<Self, String> {
        let (TrialInput { load, duration }, stop_above) = request.trial()?;
        Ok(Self {
            load,
            duration,
            stop_above,
        })
    }

    /// What one port sends of the load.
    pub(crate) fn load_of(&self, order: &SendingOrder) -> Load {
        Load::new(self.load.per_second() * order.share).unwrap_or(self.load)
    }

    /// Frames of one port.
    pub(crate) fn frames(&self, order: &SendingOrder) -> u64 {
        // When it starts does not change how many they are.
        self.schedule(order, Nanoseconds::ZERO, &LoadShape::Even).count()
    }

    /// When one port sends its frames.
    pub(crate) fn schedule(&self, order: &SendingOrder, start: Nanoseconds, shape: &LoadShape) -> Schedule {
        Schedule::new(start, self.load_of(order), self.duration, shape)
    }
}
