//! What threads ask of a switch is done in their order, whether the control thread does it or they do.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brimful_pipeline::{Change, Limits, Outputs, Passage, Pipeline};
use brimful_switch::control::{Ended, Handles, Running, Switch};
use brimful_switch::local::answer;
use brimful_switch::plane::{Interpreter, Path, Plane, SharedPipeline};
use brimful_switch::ports::{PortView, Ports};

const ROUNDS: u32 = 1000;

fn start() -> Running {
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Box::new(Interpreter::new(pipeline.clone()));
    Switch::new("test".to_owned(), 1, Ports::new(Vec::new()), pipeline, plane).start(Vec::new())
}

/// Waits until a switch has failed, and gives what of it.
fn failure(running: &Running) -> &'static str {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(failure) = running.failure() {
            return failure;
        }
        assert!(Instant::now() < patience, "it looks well");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A data plane whose threads end, or whose compiler has.
struct Broken {
    has_failed: bool,
}

impl Plane for Broken {
    fn path(&mut self) -> Box<dyn Path> {
        Box::new(BrokenPath)
    }

    fn apply(&mut self, _: &[Change]) {}

    fn settle(&mut self) {}

    fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn explain(&self, _: u8, _: bool) -> String {
        String::new()
    }
}

struct BrokenPath;

impl Path for BrokenPath {
    fn begin(&mut self) {
        panic!("a test has this thread end");
    }

    fn process(&mut self, _: &mut Passage<'_>, _: &PortView, _: u64, _: &mut dyn Outputs) {}
}

fn broken(has_failed: bool, threads: usize) -> Running {
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Box::new(Broken { has_failed });
    let inputs = (0..threads).map(|_| Vec::new()).collect();
    Switch::new("test".to_owned(), 1, Ports::new(Vec::new()), pipeline, plane).start(inputs)
}

#[test]
fn what_a_thread_asks_for_later_is_done_later() {
    let running = start();
    let done = Arc::new(Mutex::new(Vec::new()));
    let asked = |number: u32| {
        let done = Arc::clone(&done);
        move |_: &mut Switch| done.lock().unwrap().push(number)
    };
    for round in 0..ROUNDS {
        running.handle.begin(asked(2 * round), || {}).unwrap();
        running.handle.call(asked(2 * round + 1)).unwrap();
    }
    assert!(done.lock().unwrap().iter().copied().eq(0..2 * ROUNDS));
    running.stop();
}

#[test]
fn while_nothing_else_is_to_be_done_whoever_asks_does_it() {
    let running = start();
    let patience = Instant::now() + Duration::from_secs(20);
    while running.handle.call(|_| thread::current().id()).unwrap() != thread::current().id() {
        assert!(Instant::now() < patience, "the control thread does everything");
    }
    running.stop();
}

#[test]
fn a_switch_that_has_ended_answers_nobody() {
    let running = start();
    let handle = running.handle.clone();
    running.stop();
    assert_eq!(handle.call(|_| ()), Err(Ended));
    assert_eq!(handle.begin(|_| (), || {}).map(|_| ()), Err(Ended));
}

#[test]
fn a_switch_that_lost_a_thread_does_not_look_well() {
    let running = start();
    assert_eq!(running.failure(), None);
    let handle = running.handle.clone();
    // On the control thread or on this one: the tables may be half changed in both cases.
    let asked = thread::spawn(move || handle.call(|_| panic!("a test has this thread end")));
    let _ = asked.join();
    assert_eq!(failure(&running), "its control thread has ended");
    assert_eq!(running.handle.call(|_| ()), Err(Ended));
    assert!(running.stop());

    let running = broken(false, 2);
    assert_eq!(failure(&running), "a data-plane thread has ended");
    assert!(running.stop());

    let running = broken(true, 0);
    assert_eq!(failure(&running), "its control thread has ended");
}

#[test]
fn threads_end_with_what_has_them() {
    let running = start();
    let handle = running.handle.clone();
    drop(running);
    assert_eq!(handle.call(|_| ()), Err(Ended));
}

/// Whatever is asked at the local socket is answered, and the switch goes on.
#[test]
fn nothing_that_is_asked_locally_ends_the_switch() {
    let running = start();
    let handles = Handles::from([("test".to_owned(), running.handle.clone())]);
    let ask = |line: &str| answer(line, &handles);
    for table in 0..=255 {
        let explained = ask(&format!(r#"{{"command":"explain","table":{table},"code":true}}"#));
        assert_eq!(explained.is_ok(), table < 254, "{explained:?}");
        let text = format!(r#"{{"command":"load","file":"x.tab","text":"{{flow_entry,1}}.","table":{table}}}"#);
        assert!(ask(&text).is_err());
        let text = format!(r#"{{"command":"load","file":"x","text":"table={table},actions=drop","add":true}}"#);
        assert_eq!(ask(&text).is_ok(), table < 254, "{table}");
    }
    for actions in [
        "normal",
        "flood",
        "controller",
        "push_vlan:0x8100,set_queue:0,output:1",
        "pop_mpls:0x0800,output:1",
    ] {
        let text = format!(r#"{{"command":"load","file":"x","text":"actions={actions}"}}"#);
        ask(&text).unwrap();
        for len in (0..200).chain([9000, 16_384, 16_385, 70_000]) {
            let frame = "81".repeat(len);
            let traced = ask(&format!(r#"{{"command":"trace","frame":"{frame}"}}"#));
            assert_eq!(traced.is_ok(), len <= 16_384, "{len}");
        }
    }
    for matching in [
        "tcp,vlan_tci=0x1fff",
        "ipv6,tcp6",
        "in_port=0xffffffff",
        "metadata=0xffffffffffffffff",
    ] {
        let _ = ask(&format!(r#"{{"command":"trace","matching":"{matching}"}}"#));
    }
    for line in [
        "",
        "{",
        "null",
        r#"{"command":"status","switch":"x"}"#,
        r#"{"command":"dump","switch":"x"}"#,
    ] {
        assert!(ask(line).is_err(), "{line}");
    }
    assert!(ask(r#"{"command":"status"}"#).is_ok());
    assert!(running.stop());
}
