//! A simulated system of the product, one of the held-out kinds or one of the random family.

use brimful_sim::Simulator;
use brimful_trial::{Measurer, Nanoseconds, Ratio, TrialInput, TrialOutput};

use crate::Failure;
use crate::drawn::Drawn;
use crate::held_out::HeldOut;

pub(crate) enum System {
    Simulated(Simulator),
    HeldOut(HeldOut),
    Drawn(Drawn),
}

impl System {
    /// Of a text like `sharp,overhead=0.5s,seed=3`; names of held-out kinds begin with `held-`,
    /// those of the random family are `drawn` and `pulse`.
    pub(crate) fn new(spec: &str) -> Result<Self, Failure> {
        if ["drawn", "pulse"].iter().any(|kind| spec.starts_with(kind)) {
            return Ok(Self::Drawn(Drawn::new(spec)?));
        }
        Ok(match spec.strip_prefix("held-") {
            Some(held_out) => Self::HeldOut(HeldOut::new(held_out)?),
            None => Self::Simulated(Simulator::new(&spec.parse()?)),
        })
    }

    pub(crate) fn capacity(&self) -> f64 {
        match self {
            Self::Simulated(simulator) => simulator.capacity().per_second(),
            Self::HeldOut(system) => system.capacity(),
            Self::Drawn(system) => system.capacity(),
        }
    }

    pub(crate) fn now(&self) -> Nanoseconds {
        match self {
            Self::Simulated(simulator) => simulator.now(),
            Self::HeldOut(system) => system.now(),
            Self::Drawn(system) => system.now(),
        }
    }

    pub(crate) fn measure(&mut self, input: TrialInput, stop_above: Option<Ratio>) -> Result<TrialOutput, Failure> {
        Ok(match self {
            Self::Simulated(simulator) => simulator.measure(input, stop_above)?,
            Self::HeldOut(system) => system.measure(input, stop_above)?,
            Self::Drawn(system) => system.measure(input, stop_above)?,
        })
    }
}
