//! Two ports joined in memory, and a clock that only moves when it is looked at.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use brimful_frame::VlanTag;
use brimful_netdev::{
    FaultPlan, Faults, FaultyPort, FaultyReceiver, FaultySender, MemoryReceiver, MemorySender, memory_wire,
};
use brimful_tester::{
    FrameSizes, Outcome, PacingBounds, Profile, ProfileFile, ProfileOptions, TestFrame, Tester, Threads, Timing,
    TrialPlan, TrialReport,
};
use brimful_trial::{Load, Nanoseconds, Ratio};

use crate::clock::StepClock;

pub(crate) const MS: u64 = 1_000_000;

pub(crate) const MODES: [Threads; 2] = [
    Threads::One,
    Threads::Several {
        senders: 1,
        receivers: 1,
    },
];
/// With a thread for each port that sends and each that receives, too, or for every other one.
pub(crate) const MODES_OF_SENDERS: [Threads; 3] = [
    MODES[0],
    MODES[1],
    Threads::Several {
        senders: 2,
        receivers: 2,
    },
];

type TestSender = FaultySender<MemorySender>;
type TestReceiver = FaultyReceiver<MemoryReceiver>;
pub(crate) type MemoryTester<'a> = Tester<'a, TestSender, TestReceiver, StepClock>;

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
    pub(crate) threads: Threads,
    pub(crate) faults: [Faults; 2],
    pub(crate) seed: u64,
    pub(crate) ring: u32,
    pub(crate) clock_step: u64,
}

impl Bed {
    pub(crate) fn new(threads: Threads) -> Self {
        Self {
            threads,
            faults: [Faults::default(); 2],
            seed: 1,
            ring: 4096,
            clock_step: clock_step(threads),
        }
    }

    pub(crate) fn tester(self, stop: &AtomicBool) -> MemoryTester<'_> {
        let [a, b] = memory_wire(["a", "b"], self.ring);
        let clock = StepClock::of(self.threads, self.clock_step);
        let plan = |sending, seed| FaultPlan {
            sending,
            seed,
            victims: is_counted,
            ..FaultPlan::default()
        };
        let ports = [
            FaultyPort::new(a, plan(self.faults[0], self.seed), clock.reading()),
            FaultyPort::new(b, plan(self.faults[1], !self.seed), clock.reading()),
        ];
        let tester = Tester::new(ports, clock, profile(), timing(), stop, 0).expect("the profile is valid");
        tester.with_threads(self.threads)
    }
}

/// Threads that wait for each other take their time: they look less often.
pub(crate) fn clock_step(threads: Threads) -> u64 {
    match threads {
        Threads::One => 1000,
        Threads::Several { senders, receivers } => 5000 / (senders + receivers - 1) as u64,
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
