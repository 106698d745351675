//! What threads ask of a switch is done in their order, whether the control thread does it or they do.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::control::{Ended, Running, Switch};
use brimful_switch::plane::{Interpreter, SharedPipeline};
use brimful_switch::ports::Ports;

const ROUNDS: u32 = 1000;

fn start() -> Running {
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Box::new(Interpreter::new(pipeline.clone()));
    Switch::new("test".to_owned(), 1, Ports::new(Vec::new()), pipeline, plane).start(Vec::new())
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
