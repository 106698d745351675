//! Two ports joined in memory, and a clock that only moves when it is looked at.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brimful_frame::{TestFrame, VlanTag};
use brimful_netdev::{FaultPlan, Faults, FaultyPort, MemoryPort, memory_wire};
use brimful_tester::{
    Clock, FrameSizes, Outcome, PacingBounds, Profile, ProfileFile, ProfileOptions, Tester, Timing, TrialPlan,
    TrialReport,
};
use brimful_trial::{Load, Nanoseconds, Ratio};

pub(crate) const MS: u64 = 1_000_000;

/// Each look at the clock takes a fixed time; nothing else does.
pub(crate) struct StepClock {
    now: Rc<Cell<u64>>,
    step: u64,
}

impl StepClock {
    pub(crate) fn new(step: u64) -> Self {
        let now = Rc::new(Cell::new(0));
        Self { now, step }
    }
}

impl Clock for StepClock {
    fn now(&self) -> Nanoseconds {
        self.now.set(self.now.get() + self.step);
        Nanoseconds(self.now.get())
    }

    fn sleep(&self, span: Nanoseconds) {
        self.now.set(self.now.get() + span.0);
    }
}

pub(crate) type TestPort = FaultyPort<MemoryPort>;
pub(crate) type MemoryTester<'a> = Tester<'a, TestPort, StepClock>;

pub(crate) static RUNNING: AtomicBool = AtomicBool::new(false);

pub(crate) fn profile() -> Profile {
    profile_in(None)
}

/// All frames in a VLAN, if there is one.
pub(crate) fn profile_in(vlan: Option<VlanTag>) -> Profile {
    let options = ProfileOptions {
        sizes: Some(FrameSizes::Imix),
        flows: Some(10),
        vlan,
        ..ProfileOptions::default()
    };
    Profile::new(&ProfileFile::default(), Path::new(""), &options).expect("these fit")
}

pub(crate) fn timing() -> Timing {
    Timing {
        straggler_wait: Nanoseconds(100 * MS),
        stop_grace: Nanoseconds(50 * MS),
        rest_after_stop: Nanoseconds(200 * MS),
        bounds: PacingBounds::default(),
    }
}

/// Learning frames are spared, so that every injected fault is one of the trial.
pub(crate) fn is_counted(frame: &[u8]) -> bool {
    TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 2)
}

pub(crate) struct Bed {
    pub(crate) faults: [Faults; 2],
    pub(crate) seed: u64,
    pub(crate) ring: u32,
    pub(crate) clock_step: u64,
}

impl Default for Bed {
    fn default() -> Self {
        Self {
            faults: [Faults::default(); 2],
            seed: 1,
            ring: 4096,
            clock_step: 1000,
        }
    }
}

impl Bed {
    pub(crate) fn tester(self, stop: &AtomicBool) -> MemoryTester<'_> {
        let [a, b] = memory_wire(["a", "b"], self.ring);
        let clock = StepClock::new(self.clock_step);
        let now = || {
            let now = Rc::clone(&clock.now);
            move || Duration::from_nanos(now.get())
        };
        let plan = |sending, seed| FaultPlan {
            sending,
            seed,
            victims: is_counted,
            ..FaultPlan::default()
        };
        let ports = [
            FaultyPort::new(a, plan(self.faults[0], self.seed), now()),
            FaultyPort::new(b, plan(self.faults[1], !self.seed), now()),
        ];
        Tester::new(ports, clock, profile(), timing(), stop, 0).expect("the profile is valid")
    }
}

pub(crate) fn plan(load: f64, stop_above: Option<f64>) -> TrialPlan {
    TrialPlan {
        load: Load::new(load).expect("a load"),
        duration: Nanoseconds(100 * MS),
        stop_above: stop_above.and_then(|ratio| Ratio::from_f64(ratio).ok()),
    }
}

pub(crate) fn counted(outcome: Outcome) -> TrialReport {
    match outcome {
        Outcome::Counted(report) => report,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn invalid(outcome: Outcome) -> String {
    match outcome {
        Outcome::Invalid { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}
