//! Trials against devices in virtual time: what is lost is distinguished from what the tester spoiled.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use brimful_blockio::{
    Area, Arrivals, Clock, Completion, Engine, Fault, Finished, Io, Pause, Plan, Punctuality, Queue, Workload,
    WorkloadFile,
};
use brimful_trial::{Load, Nanoseconds, Ratio};

const US: u64 = 1000;
const MS: u64 = 1_000_000;
const DEADLINE: Nanoseconds = Nanoseconds(10 * MS);
/// What a look at the device takes.
const LOOK: u64 = 2 * US;

/// What a look at the clock takes.
const TICK: u64 = 20;

/// Virtual time; it jumps once, where the tester is stopped.
#[derive(Clone, Default)]
struct VirtualClock(Rc<Cell<u64>>);

impl Clock for VirtualClock {
    fn now(&self) -> Nanoseconds {
        self.0.set(self.0.get() + TICK);
        Nanoseconds(self.0.get())
    }
}

/// Serves IOs one after the other, as long as it does not stall.
struct VirtualDevice {
    clock: VirtualClock,
    service: u64,
    free_at: u64,
    /// Time and length of a stall of the device.
    device_stall: Option<(u64, u64)>,
    /// Time and length of a stall of the tester.
    tester_stall: Option<(u64, u64)>,
    result: fn(u64, u32) -> i32,
    number: u64,
    pushed: Vec<(u32, Io)>,
    pending: BTreeSet<(u64, u32, i32)>,
    back: Vec<Completion>,
    seen: Rc<RefCell<Vec<Io>>>,
}

impl VirtualDevice {
    fn new(capacity: u64) -> Self {
        Self {
            clock: VirtualClock::default(),
            service: 1_000_000_000 / capacity,
            free_at: 0,
            device_stall: None,
            tester_stall: None,
            result: |_, len| len.cast_signed(),
            number: 0,
            pushed: Vec::new(),
            pending: BTreeSet::new(),
            back: Vec::new(),
            seen: Rc::default(),
        }
    }

    fn run(self, slots: u32, load: f64, duration_s: f64, stop_above: Option<Ratio>) -> Result<Finished, Fault> {
        let workload = WorkloadFile::default().workload().expect("the default is one");
        self.run_with(&workload, &Arrivals::Even, slots, load, duration_s, stop_above)
    }

    fn run_with(
        self,
        workload: &Workload,
        arrivals: &Arrivals,
        slots: u32,
        load: f64,
        duration_s: f64,
        stop_above: Option<Ratio>,
    ) -> Result<Finished, Fault> {
        let clock = self.clock.clone();
        let mut engine = Engine::new(self, clock, slots, DEADLINE, Pause::Spin);
        let plan = Plan {
            load: Load::new(load).expect("a load"),
            duration: Nanoseconds::from_seconds(duration_s).expect("a time"),
            stop_above,
            warm_up: Nanoseconds::ZERO,
            workload,
            area: Area { start: 0, len: 1 << 30 },
            arrivals,
            seed: 1,
        };
        let finished = engine.run(&plan, &AtomicBool::new(false))?;
        Ok(finished.expect("nobody called it off"))
    }

    fn advance(&mut self, span: u64) {
        let mut now = self.clock.0.get() + span;
        if let Some((at, length)) = self.tester_stall
            && now >= at
        {
            now += length;
            self.tester_stall = None;
        }
        self.clock.0.set(now);
        while let Some(&(done, slot, result)) = self.pending.first()
            && done <= now
        {
            self.pending.pop_first();
            self.back.push(Completion {
                slot,
                result,
                did_nothing: false,
            });
        }
    }
}

impl Queue for VirtualDevice {
    fn push(&mut self, slot: u32, io: Io) -> io::Result<()> {
        self.pushed.push((slot, io));
        Ok(())
    }

    fn enter(&mut self) -> io::Result<()> {
        let now = self.clock.0.get();
        for (slot, io) in std::mem::take(&mut self.pushed) {
            let mut done = self.free_at.max(now) + self.service;
            if let Some((at, length)) = self.device_stall
                && (at..at + length).contains(&done)
            {
                done = at + length;
            }
            self.free_at = done;
            self.pending.insert((done, slot, (self.result)(self.number, io.len)));
            self.number += 1;
            self.seen.borrow_mut().push(io);
        }
        self.advance(LOOK);
        Ok(())
    }

    fn wait(&mut self, _completions: u32, at_most: Nanoseconds) -> io::Result<()> {
        self.enter()?;
        self.advance(at_most.0);
        Ok(())
    }

    fn pop(&mut self) -> Option<Completion> {
        self.back.pop()
    }
}

#[test]
fn a_device_that_keeps_up_loses_nothing() {
    let finished = VirtualDevice::new(6000).run(1000, 5000.0, 2.0, None).unwrap();
    let counts = finished.counts;
    assert_eq!((counts.intended(), counts.sent(), counts.lost()), (10_000, 10_000, 0));
    assert_eq!(finished.flaw, None);
}

#[test]
fn a_warm_up_is_offered_and_not_counted() {
    let device = VirtualDevice::new(6000);
    let (clock, seen) = (device.clock.clone(), Rc::clone(&device.seen));
    let mut engine = Engine::new(device, clock, 1000, DEADLINE, Pause::Spin);
    let workload = WorkloadFile::default().workload().unwrap();
    let plan = Plan {
        load: Load::new(5000.0).unwrap(),
        duration: Nanoseconds(1000 * MS),
        warm_up: Nanoseconds(200 * MS),
        stop_above: None,
        workload: &workload,
        area: Area { start: 0, len: 1 << 30 },
        arrivals: &Arrivals::Even,
        seed: 1,
    };
    let finished = engine.run(&plan, &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!((finished.counts.intended(), finished.counts.sent()), (5000, 5000));
    let seen = seen.borrow();
    assert_eq!(seen.len(), 6000);
    assert_ne!(seen[0].offset, seen[1000].offset, "a warm-up has places of its own");
}

#[test]
fn overload_is_loss_and_no_flaw_however_few_slots_there_are() {
    for slots in [165, 1000] {
        let finished = VirtualDevice::new(5000).run(slots, 10_000.0, 2.0, None).unwrap();
        assert_eq!(finished.flaw, None, "{slots}");
        assert_eq!(finished.counts.sent(), 20_000);
        let share = finished.counts.loss_ratio().as_f64();
        assert!((0.4..1.0).contains(&share), "{slots}: {share}");
    }
}

#[test]
fn with_slots_for_less_than_the_deadline_the_trial_is_invalid() {
    let finished = VirtualDevice::new(5000).run(50, 10_000.0, 2.0, None).unwrap();
    assert!(finished.flaw.unwrap().contains("found no slot"));
}

#[test]
fn a_stalled_device_is_loss_and_no_flaw() {
    let mut device = VirtualDevice::new(20_000);
    device.device_stall = Some((600 * MS, 200 * MS));
    let finished = device.run(1000, 5000.0, 2.0, None).unwrap();
    assert_eq!(finished.flaw, None);
    // What was to be done in the 200 ms, but for the last 10 of them, and what waits until the device has caught up.
    assert!(
        (950..1100).contains(&finished.counts.lost()),
        "{}",
        finished.counts.lost()
    );
}

#[test]
fn a_device_that_never_comes_back_is_loss_and_then_an_error() {
    let mut device = VirtualDevice::new(20_000);
    device.device_stall = Some((600 * MS, 1000 * 1000 * MS));
    let clock = device.clock.clone();
    let mut engine = Engine::new(device, clock, 1000, DEADLINE, Pause::Spin);
    let workload = WorkloadFile::default().workload().unwrap();
    let plan = Plan {
        load: Load::new(5000.0).unwrap(),
        duration: Nanoseconds(1000 * MS),
        warm_up: Nanoseconds::ZERO,
        stop_above: None,
        workload: &workload,
        area: Area { start: 0, len: 1 << 30 },
        arrivals: &Arrivals::Even,
        seed: 1,
    };
    let stop = AtomicBool::new(false);
    let finished = engine.run(&plan, &stop).unwrap().unwrap();
    assert_eq!(finished.flaw, None);
    assert!(finished.counts.lost() > 2400, "{}", finished.counts.lost());
    let error = engine.run(&plan, &stop).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("have not come back"), "{error}");
}

#[test]
fn a_stalled_tester_is_a_flaw_and_no_loss() {
    for length in [20, 200] {
        let mut device = VirtualDevice::new(20_000);
        device.tester_stall = Some((600 * MS, length * MS));
        let finished = device.run(4000, 5000.0, 2.0, None).unwrap();
        assert!(finished.flaw.is_some(), "{length} ms: {} lost", finished.counts.lost());
    }
}

#[test]
fn a_trial_that_a_stalled_tester_has_spoiled_ends() {
    let mut device = VirtualDevice::new(20_000);
    device.tester_stall = Some((600 * MS, 200 * MS));
    let clock = device.clock.clone();
    let finished = device.run(4000, 5000.0, 60.0, None).unwrap();
    assert!(finished.flaw.is_some());
    assert!(clock.now() < Nanoseconds(1000 * MS), "{}", clock.now());
}

#[test]
fn a_start_is_not_late_for_a_look_at_the_device() {
    // At a start every 13 us and looks of 2 us, some looks would end after a start were it not for them.
    let device = VirtualDevice::new(200_000);
    let clock = device.clock.clone();
    let mut engine = Engine::new(device, clock, 1000, DEADLINE, Pause::Spin);
    engine.keep_to(Punctuality::own(Nanoseconds(10 * US / 2)));
    let workload = WorkloadFile::default().workload().unwrap();
    let plan = Plan {
        load: Load::new(77_000.0).unwrap(),
        duration: Nanoseconds(100 * MS),
        stop_above: None,
        warm_up: Nanoseconds::ZERO,
        workload: &workload,
        area: Area { start: 0, len: 1 << 30 },
        arrivals: &Arrivals::Even,
        seed: 1,
    };
    let finished = engine.run(&plan, &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(finished.flaw, None);
    assert_eq!(finished.counts.lost(), 0);
}

#[test]
fn a_short_stall_of_the_tester_in_overload_changes_nothing() {
    let mut device = VirtualDevice::new(5000);
    device.tester_stall = Some((600 * MS, MS / 2));
    assert_eq!(device.run(1000, 10_000.0, 2.0, None).unwrap().flaw, None);
}

#[test]
fn failures_and_short_reads_are_loss() {
    let mut device = VirtualDevice::new(20_000);
    device.result = |number, len| match number % 10 {
        0 => -libc::EIO,
        5 => len.cast_signed() / 2,
        _ => len.cast_signed(),
    };
    let finished = device.run(1000, 5000.0, 1.0, None).unwrap();
    assert_eq!((finished.counts.lost(), finished.flaw), (1000, None));
}

#[test]
fn what_no_repetition_helps_is_an_error() {
    for (number, text) in [
        (libc::ENOSPC, "No space left"),
        (libc::EINVAL, "Invalid argument"),
        (libc::ENODEV, "No such device"),
    ] {
        let mut device = VirtualDevice::new(20_000);
        device.result = match number {
            libc::ENOSPC => |_, _| -libc::ENOSPC,
            libc::EINVAL => |_, _| -libc::EINVAL,
            _ => |_, _| -libc::ENODEV,
        };
        let error = device.run(1000, 5000.0, 1.0, None).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("a read of 4096 bytes failed") && error.contains(text),
            "{error}"
        );
    }
}

#[test]
fn a_trial_stops_once_its_loss_is_certain() {
    let limit = Ratio::new(1, 100).unwrap();
    let finished = VirtualDevice::new(1000).run(1000, 5000.0, 10.0, Some(limit)).unwrap();
    let counts = finished.counts;
    assert!(finished.stopped_early && counts.sent() < counts.intended() / 10);
    assert!(counts.loss_is_certain_to_exceed(limit));
    let clean = VirtualDevice::new(20_000).run(1000, 5000.0, 1.0, Some(limit)).unwrap();
    assert!(!clean.stopped_early);
}

#[test]
fn the_same_seed_asks_for_the_same() {
    let ask = || {
        let device = VirtualDevice::new(20_000);
        let seen = Rc::clone(&device.seen);
        let workload = WorkloadFile::default().workload().unwrap();
        device
            .run_with(&workload, &Arrivals::Poisson, 1000, 5000.0, 0.5, None)
            .unwrap();
        seen.take()
    };
    let ios = ask();
    assert_eq!((ios.len(), &ios), (2500, &ask()));
}
