use brimful_trial::{Counts, Load, MeasureError, Measurer, MeasurerInfo, Nanoseconds, Ratio, TrialInput, TrialOutput};

use crate::model::Model;
use crate::trial::{Dice, Trial};
use crate::{Kind, SystemSpec};

/// A simulated system under test with its tester and a virtual clock.
///
/// A trial advances the clock by its duration and the overhead; one that is stopped early, by what it ran, the
/// overhead and the rest. The outcome depends on the specification, the virtual time and the trial only.
///
/// ```
/// use brimful_sim::{Simulator, SystemSpec};
/// use brimful_trial::{Load, Measurer, Nanoseconds, Ratio, TrialInput};
///
/// let spec: SystemSpec = "sharp,capacity=1Mpps,rest=2s".parse()?;
/// let mut simulator = Simulator::new(&spec);
/// let minute = TrialInput { load: Load::new(2e6)?, duration: Nanoseconds::from_seconds(60.0)? };
/// let output = simulator.measure(minute, Some(Ratio::ZERO))?;
/// assert!(output.stopped_early);
/// assert_eq!(simulator.now(), Nanoseconds::from_seconds(1.0 + 2.0)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulator {
    spec: SystemSpec,
    model: Model,
    dice: Dice,
    /// The largest load that the tester offers.
    sendable: f64,
    overhead: Nanoseconds,
    overhead_counts: bool,
    rest: Nanoseconds,
    /// The 99th percentile without load; zero where the system reports no delay.
    delay: Nanoseconds,
    now: Nanoseconds,
}

impl Simulator {
    /// A simulator whose clock stands at zero.
    pub fn new(spec: &SystemSpec) -> Self {
        let sendable = match spec.kind() {
            Kind::TesterLimit => spec.limit(),
            _ => f64::INFINITY,
        };
        Self {
            spec: spec.clone(),
            model: Model::new(spec),
            dice: Dice::new(spec.seed()),
            sendable,
            overhead: spec.span("overhead"),
            overhead_counts: spec.is_set("overhead-counts"),
            rest: spec.span("rest"),
            delay: spec.span("delay"),
            now: Nanoseconds::ZERO,
        }
    }

    /// Lets virtual time pass without a trial; the clock stops at its end after 584 years.
    pub fn wait(&mut self, span: Nanoseconds) {
        self.now += span;
    }

    /// The virtual time since the simulator was made.
    pub fn now(&self) -> Nanoseconds {
        self.now
    }

    /// What is simulated.
    pub fn spec(&self) -> &SystemSpec {
        &self.spec
    }

    /// The highest load that the system forwards in quiet times.
    pub fn capacity(&self) -> Load {
        self.spec.capacity()
    }

    /// The 99th percentile of the delay at a load, as in an M/M/1 queue whose buffer ends its growth.
    fn delay_p99(&self, load: Load, counts: Counts) -> Option<Nanoseconds> {
        if self.delay == Nanoseconds::ZERO || counts.lost() == counts.sent() {
            return None;
        }
        let idle_share = 1.0 - load.per_second() / self.capacity().per_second();
        Some(Nanoseconds(
            (self.delay.0 as f64 / idle_share.max(LEAST_IDLE_SHARE)).round() as u64,
        ))
    }
}

/// A full buffer delays as much as this share of spare capacity would.
const LEAST_IDLE_SHARE: f64 = 1e-3;

impl Measurer for Simulator {
    fn describe(&self) -> MeasurerInfo {
        MeasurerInfo {
            name: format!("sim:{}", self.spec),
            load_unit: "frames/s".to_owned(),
            contract: "a frame is lost when the simulated system does not forward it".to_owned(),
            max_load: Some(self.spec.link()),
            can_stop_early: true,
            tells_delay: self.delay > Nanoseconds::ZERO,
        }
    }

    fn measure(&mut self, input: TrialInput, stop_above: Option<Ratio>) -> Result<TrialOutput, MeasureError> {
        let trial = Trial::new(input, self.now, self.sendable, stop_above, self.dice)
            .ok_or_else(|| MeasureError::Fatal("the virtual clock is at its end".to_owned()))?;
        let outcome = self.model.run(&trial);
        self.now = outcome.end;
        self.wait(self.overhead);
        if outcome.stopped_early {
            self.wait(self.rest);
        }
        Ok(TrialOutput {
            counts: outcome.counts,
            effective_duration: self.overhead_counts.then(|| input.duration + self.overhead),
            delay_p99: self.delay_p99(input.load, outcome.counts),
            stopped_early: outcome.stopped_early,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_delay_is_told_where_nothing_arrives() {
        let simulator = Simulator::new(&"sharp,delay=20us".parse().unwrap());
        let delay = |lost| simulator.delay_p99(Load::new(1.0).unwrap(), Counts::new(2, 2, lost).unwrap());
        assert_eq!(delay(2), None);
        assert!(delay(1).is_some());
    }
}
