use brimful_trial::{Load, MeasureError, Measurer, MeasurerInfo, Nanoseconds, Ratio, TrialInput, TrialOutput};

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
}

impl Measurer for Simulator {
    fn describe(&self) -> MeasurerInfo {
        MeasurerInfo {
            name: format!("sim:{}", self.spec),
            load_unit: "frames/s".to_owned(),
            contract: "a frame is lost when the simulated system does not forward it".to_owned(),
            max_load: Some(self.spec.link()),
            can_stop_early: true,
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
            stopped_early: outcome.stopped_early,
        })
    }
}
