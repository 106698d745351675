//! What a trial is to be.

use std::num::NonZeroU64;

use brimful_trial::program::MeasureRequest;
use brimful_trial::{Load, Nanoseconds, Ratio, TrialInput};

use crate::sharing::Sharing;
use crate::{LoadShape, PacingBounds, Routes, Schedule, SendingOrder};

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

/// What is to be sent in a trial, by all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendingPlan<'t> {
    pub(crate) routes: &'t Routes,
    /// How many ports there are.
    pub(crate) ports: usize,
    pub(crate) sharing: &'t Sharing,
    pub(crate) trial: &'t TrialPlan,
    /// For how long the load rises before the trial.
    pub(crate) ramp_up: Nanoseconds,
    /// How the frames of the trial are spread over time.
    pub(crate) shape: &'t LoadShape,
    /// One of N frames is a broadcast that counts nowhere: RFC 2544 section 11.1.
    pub(crate) broadcast_every: Option<NonZeroU64>,
    /// From where on the sender spoils the trial: what is left of it would only take time.
    pub(crate) bounds: PacingBounds,
    /// How often to ask whether the links are up.
    pub(crate) link_check: Nanoseconds,
}

impl SendingPlan<'_> {
    /// What one thread sends of the load of a port.
    pub(crate) fn load_of_lot(&self, order: &SendingOrder) -> Load {
        let of_port = self.trial.load_of(order);
        Load::new(of_port.per_second() / self.sharing.lots_of_a_port() as f64).unwrap_or(of_port)
    }
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
