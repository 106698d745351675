//! The delay that is reported is the one that was injected.

use std::io;
use std::time::Duration;

use brimful_netdev::{Faults, MemoryReceiver, MonotonicTime, Port, ReceiveStatistics, Receiver, Take, memory_wire};
use brimful_tester::{Reply, TestFrame, Tester, Threads};
use brimful_trial::program::{DelayReport, MeasureRequest};

use crate::bed::{Bed, MODES, RUNNING, clock_step, counted, plan, profile, timing};
use crate::clock::StepClock;

/// Notes of every frame that it arrived so long after it was stamped.
struct Noting {
    inner: MemoryReceiver,
    after_ns: u64,
}

impl Receiver for Noting {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let after_ns = self.after_ns;
        self.inner.receive_burst(limit, &mut |mut frame| {
            let stamp = TestFrame::parse(&frame).map(|frame| frame.stamp);
            frame.time = stamp.ok().map(|stamp| MonotonicTime(stamp.timestamp + after_ns));
            take(frame);
        })
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.inner.statistics()
    }
}

/// The delay of one direction in a trial with such receivers.
fn noted_delay(threads: Threads, after_ns: u64) -> DelayReport {
    let ports = memory_wire(["a", "b"], 4096).map(|port| Port {
        sender: port.sender,
        receiver: Noting {
            inner: port.receiver,
            after_ns,
        },
    });
    let clock = StepClock::of(threads, clock_step(threads));
    let tester = Tester::new(ports, clock, profile(), timing(), &RUNNING, 0).expect("the profile is valid");
    let outcome = tester.with_threads(threads).measure(&plan(20_000.0, None));
    let report = counted(outcome.expect("a trial"));
    assert_eq!(report.counts.lost(), 0);
    report.directions[0].delay.clone().expect("frames arrived")
}

#[test]
fn a_frame_arrives_when_the_kernel_notes_it_whenever_it_is_fetched() {
    for threads in MODES {
        let delay = noted_delay(threads, 0);
        assert_eq!((delay.max_s, delay.jitter_s), (0.0, Some(0.0)), "{threads:?} {delay:?}");
        let polls = delay.detail.expect("kept").polls;
        assert!(matches!(polls[..], [(1.., 0.0)]), "{threads:?} {polls:?}");
    }
}

#[test]
fn a_time_that_cannot_be_is_not_believed() {
    let delay = noted_delay(Threads::One, 1 << 35);
    assert!(delay.min_s >= 1e-6 && delay.max_s < 10e-6, "{delay:?}");
    let polls = delay.detail.expect("kept").polls;
    assert!(polls.iter().map(|poll| poll.1).sum::<f64>() > 0.09, "{polls:?}");
}

#[test]
fn an_injected_delay_is_the_delay() {
    for delay_us in [0, 50, 1000, 30_000] {
        let faults = Faults {
            delay: Duration::from_micros(delay_us),
            ..Faults::default()
        };
        let bed = Bed {
            faults: [faults, Faults::default()],
            ..Bed::new(Threads::One)
        };
        let report = counted(bed.tester(&RUNNING).measure(&plan(20_000.0, None)).unwrap());
        let [there, back] = &report.directions[..] else {
            panic!("{report:?}");
        };
        let delay = there.delay.as_ref().expect("frames arrived");
        // A look at the clock takes 1 us, and the loop looks at it a few times before it comes round; beyond 20 ms it
        // may sleep for 200 us.
        let slack = if delay_us > 20_000 { 220e-6 } else { 10e-6 };
        let expected = delay_us as f64 * 1e-6..delay_us as f64 * 1e-6 + slack;
        for time in [delay.min_s, delay.mean_s, delay.p50_s, delay.p99_s, delay.max_s] {
            assert!(expected.contains(&time), "{delay_us} us: {delay:?}");
        }
        assert_eq!((delay.frames, there.lost), (2000, 0));
        assert!(delay.jitter_s.is_some_and(|jitter| jitter <= slack), "{delay:?}");
        assert!(
            back.delay.as_ref().is_some_and(|delay| delay.max_s <= 220e-6),
            "{back:?}"
        );
    }
}

#[test]
fn a_reply_tells_the_delay_and_its_detail_when_asked() {
    let slow = Faults {
        delay: Duration::from_millis(1),
        loss: 0.3,
        ..Faults::default()
    };
    for detail in [false, true] {
        let bed = Bed {
            faults: [Faults::default(), slow],
            ..Bed::new(Threads::One)
        };
        let outcome = bed.tester(&RUNNING).measure(&plan(20_000.0, None)).unwrap();
        let line = format!(r#"{{"id": 1, "load": 20000, "duration_s": 0.1, "detail": {detail}}}"#);
        let request: MeasureRequest = serde_json::from_str(&line).unwrap();
        let reply = serde_json::to_value(Reply::of_trial(request, outcome)).unwrap();
        let delay = &reply["directions"][1]["delay"];
        assert_eq!(reply["delay_p99_s"], delay["p99_s"]);
        assert!(delay["p99_s"].as_f64().is_some_and(|p99| p99 >= 0.001), "{reply}");
        assert_eq!(delay["histogram"].is_string(), detail, "{reply}");
        let Some(batches) = delay.get("batches") else {
            assert!(!detail);
            continue;
        };
        let batches: Vec<(u64, f64)> = serde_json::from_value(batches.clone()).unwrap();
        assert_eq!(batches.len(), 32);
        assert_eq!(batches.iter().map(|batch| batch.0).sum::<u64>(), delay["frames"]);
        assert!(batches.iter().all(|batch| batch.0 < 63 && batch.1 >= 0.001), "{reply}");
        let polls: Vec<(u64, f64)> = serde_json::from_value(delay["polls"].clone()).unwrap();
        // It looks all the time while it sends: for a tenth of a second.
        assert!(polls.iter().map(|poll| poll.1).sum::<f64>() > 0.09, "{reply}");
    }
}

#[test]
fn without_arrivals_there_is_no_delay() {
    let faults = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    let bed = Bed {
        faults: [faults; 2],
        ..Bed::new(Threads::One)
    };
    let outcome = bed.tester(&RUNNING).measure(&plan(1000.0, None)).unwrap();
    let request = serde_json::from_str(r#"{"id": 1, "load": 1000, "duration_s": 0.1}"#).unwrap();
    let reply = serde_json::to_value(Reply::of_trial(request, outcome)).unwrap();
    assert_eq!(reply.get("delay_p99_s"), None, "{reply}");
    assert_eq!(reply["directions"][0].get("delay"), None, "{reply}");
}
