//! A whole switch on ports in memory: what goes in comes out as the tables say.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and a measurement shows its figure"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use brimful_netdev::{MemoryPort, Receiver, Sender, memory_wire};
use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::compiled::Compiled;
use brimful_switch::control::{Running, Switch};
use brimful_switch::plane::{Interpreter, Plane, SharedPipeline};
use brimful_switch::ports::{Input, Ports, SwitchPort, port_config};
use brimful_switch::tables;

const ROOM: u32 = 1 << 14;

/// A switch with two ports, one thread for each where there are two, and the other ends of its wires.
fn start(rules: &str, threads: usize) -> (Running, [MemoryPort; 2]) {
    start_on(rules, threads, |pipeline| Box::new(Interpreter::new(pipeline)))
}

/// The same with machine code.
fn start_compiled(rules: &str) -> (Running, [MemoryPort; 2]) {
    start_on(rules, 1, |pipeline| Box::new(Compiled::new(pipeline, 7).unwrap()))
}

fn start_on(
    rules: &str,
    threads: usize,
    plane: impl FnOnce(SharedPipeline) -> Box<dyn Plane>,
) -> (Running, [MemoryPort; 2]) {
    let mut inputs: Vec<Vec<Input>> = (0..threads).map(|_| Vec::new()).collect();
    let mut ports = Vec::new();
    let far = [1, 2].map(|number| {
        let [near, far] = memory_wire([&format!("near{number}"), &format!("far{number}")], ROOM);
        let port = Arc::new(SwitchPort::new(number, [0; 6], Box::new(near.sender), None).with_longest(100));
        let receiver = Box::new(near.receiver);
        inputs[number as usize % threads].push(Input::new(Arc::clone(&port), receiver));
        ports.push(port);
        far
    });
    let limits = Limits {
        tables: 4,
        ..Limits::default()
    };
    let pipeline = SharedPipeline::new(Pipeline::new(limits));
    let plane = plane(pipeline.clone());
    let running = Switch::new("test".to_owned(), 1, Ports::new(ports), pipeline, plane).start(inputs);
    load(&running, rules).unwrap();
    (running, far)
}

fn load(running: &Running, rules: &str) -> Result<(), String> {
    let tables = tables::read("rules.flows", rules, 0).map_err(|error| error.to_string())?;
    let loaded = running
        .handle
        .call(move |switch| switch.load("rules.flows", &tables, true))
        .unwrap();
    loaded.map_err(|error| error.to_string())
}

/// Sends frames of 18 bytes that carry their number.
fn send(port: &mut MemoryPort, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut frame = [0; 18];
        frame[14..].copy_from_slice(&number.to_be_bytes());
        let sent = port.sender.send_burst(1, &mut |_, buffer| {
            buffer[..frame.len()].copy_from_slice(&frame);
            frame.len()
        });
        assert_eq!(sent.unwrap(), 1);
    }
}

/// The next frames that arrive, as many as asked for.
fn receive(port: &mut MemoryPort, count: usize) -> Vec<Vec<u8>> {
    let patience = Instant::now() + Duration::from_secs(20);
    let mut frames = Vec::new();
    while frames.len() < count && Instant::now() < patience {
        port.receiver
            .receive_burst(64, &mut |frame| frames.push(frame.to_vec()))
            .unwrap();
    }
    frames
}

/// Waits until that many frames have come in by port 1 and are through.
fn wait_for_frames(running: &Running, count: u64) {
    let patience = Instant::now() + Duration::from_secs(20);
    let received = || {
        let ask = |switch: &mut Switch| switch.ports.get(1).unwrap().counts.received_frames.load(Relaxed);
        running.handle.call(ask).unwrap()
    };
    while received() < count {
        assert!(Instant::now() < patience, "{count} frames have not come in");
    }
}

fn number_of(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

const FORWARD: &str = "in_port=1,actions=output:2\nin_port=2,actions=output:1\n";

#[test]
fn frames_keep_their_order_and_are_padded() {
    for threads in [1, 2] {
        let (running, [mut one, mut two]) = start(FORWARD, threads);
        send(&mut one, 0..5000);
        send(&mut two, 5000..10_000);
        let (there, back) = (receive(&mut two, 5000), receive(&mut one, 5000));
        assert!(there.iter().map(|frame| number_of(frame)).eq(0..5000));
        assert!(back.iter().map(|frame| number_of(frame)).eq(5000..10_000));
        assert!(
            there
                .iter()
                .all(|frame| frame.len() == 60 && frame[18..].iter().all(|&octet| octet == 0))
        );
        let status = running.handle.call(|switch| {
            let counts = switch.ports.get(2).unwrap();
            counts.counts.sent_frames.load(Relaxed)
        });
        assert_eq!(status.unwrap(), 5000);
        running.stop();
    }
}

#[test]
fn a_switch_that_ends_sends_what_has_arrived() {
    for threads in [1, 2] {
        let (running, [mut one, mut two]) = start(FORWARD, threads);
        send(&mut one, 0..10_000);
        running.stop();
        assert_eq!(receive(&mut two, 10_000).len(), 10_000);
    }
}

#[test]
fn tables_are_replaced_as_a_whole_without_a_lost_frame() {
    let (running, [mut one, mut two]) = start(FORWARD, 1);
    for round in 0..50 {
        send(&mut one, 0..100);
        load(
            &running,
            &format!("{FORWARD}priority={},in_port=7,actions=drop\n", round + 1),
        )
        .unwrap();
        assert_eq!(receive(&mut two, 100).len(), 100);
    }
    let error = load(&running, "in_port=1,actions=output:1\ntable=2,actions=goto_table:1\n").unwrap_err();
    assert!(
        error.starts_with("rules.flows:2:1: ") && error.contains("OpenFlow error 3/2"),
        "{error}"
    );
    send(&mut one, 0..1);
    assert_eq!(receive(&mut two, 1).len(), 1);
    running.stop();
}

#[test]
fn ports_do_as_they_are_configured() {
    let (running, [mut one, mut two]) = start(FORWARD, 1);
    let configure = |port: u32, config: u32| {
        running
            .handle
            .call(move |switch| switch.ports.configure(port, config, u32::MAX))
    };
    let configurations = [
        (2, port_config::NO_FORWARD),
        (1, port_config::NO_RECEIVE),
        (2, port_config::DOWN),
    ];
    for (round, (port, config)) in (0..).zip(configurations) {
        assert_eq!(configure(port, config), Ok(true));
        send(&mut one, 0..10);
        // What comes back by the other way shows that the first frames are through.
        wait_for_frames(&running, 10 + 11 * round);
        assert_eq!(configure(port, 0), Ok(true));
        send(&mut one, 10..11);
        assert_eq!(
            receive(&mut two, 1)
                .iter()
                .map(|frame| number_of(frame))
                .collect::<Vec<_>>(),
            [10],
            "{port} {config}"
        );
    }
    assert_eq!(configure(9, 0), Ok(false));
    running.stop();
}

#[test]
fn floods_leave_their_own_port_out() {
    let (running, [mut one, mut two]) = start("actions=FLOOD\n", 1);
    send(&mut one, 0..3);
    assert_eq!(receive(&mut two, 3).len(), 3);
    assert_eq!(one.receiver.receive_burst(9, &mut |_| {}).unwrap(), 0);
    running.stop();
}

#[test]
fn frames_too_long_for_a_port_are_dropped_and_counted() {
    let (running, [mut one, mut two]) = start(FORWARD, 1);
    for len in [101, 100] {
        one.sender.send_burst(1, &mut |_, _| len).unwrap();
    }
    assert_eq!(receive(&mut two, 1).iter().map(Vec::len).collect::<Vec<_>>(), [100]);
    let dropped = running
        .handle
        .call(|switch| switch.ports.get(2).unwrap().counts.sent_dropped.load(Relaxed));
    assert_eq!(dropped, Ok(1));
    running.stop();
}

/// One port with a receive queue for each of two threads, and a way out for each: flows keep their order.
#[test]
fn frames_of_a_queue_keep_their_order_beside_those_of_another() {
    const FRAMES: u32 = 5000;
    let wires = ["a", "b", "c", "d"].map(|name| memory_wire([name, "far"], ROOM));
    let [[a, mut far_a], [b, mut far_b], [c, mut far_c], [d, mut far_d]] = wires;
    let one =
        SwitchPort::new(1, [0; 6], Box::new(a.sender), None).with_more_senders([Box::new(b.sender) as Box<dyn Sender>]);
    let two =
        SwitchPort::new(2, [0; 6], Box::new(c.sender), None).with_more_senders([Box::new(d.sender) as Box<dyn Sender>]);
    let (one, two) = (Arc::new(one), Arc::new(two));
    let inputs = [a.receiver, b.receiver]
        .map(|receiver| vec![Input::new(Arc::clone(&one), Box::new(receiver))])
        .into();
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Box::new(Interpreter::new(pipeline.clone()));
    let ports = Ports::new([one, Arc::clone(&two)]);
    let running = Switch::new("test".to_owned(), 1, ports, pipeline, plane).start(inputs);
    load(&running, FORWARD).unwrap();
    for number in 0..FRAMES {
        send(&mut far_a, number..number + 1);
        send(&mut far_b, FRAMES + number..FRAMES + number + 1);
    }
    let [of_a, of_b] = [&mut far_c, &mut far_d].map(|port| receive(port, FRAMES as usize));
    assert!(of_a.iter().map(|frame| number_of(frame)).eq(0..FRAMES));
    assert!(of_b.iter().map(|frame| number_of(frame)).eq(FRAMES..2 * FRAMES));
    assert_eq!(two.counts.sent_frames.load(Relaxed), u64::from(2 * FRAMES));
    running.stop();
}

/// A frame that groups would copy without end holds up nothing: neither what comes behind it, nor the end.
#[test]
fn chained_groups_hold_up_nothing() {
    for start in [|rules: &str| start(rules, 1), start_compiled as fn(&str) -> _] {
        let chain = (1..=40).map(|number| {
            let next = if number == 1 {
                "output:2".to_owned()
            } else {
                format!("group:{}", number - 1)
            };
            format!("group_id={number},type=all,bucket=actions={next},bucket=actions={next}\n")
        });
        let rules = chain.collect::<String>() + "in_port=1,actions=group:40\nin_port=2,actions=output:1\n";
        let (running, [mut one, mut two]) = start(&rules);
        send(&mut one, 0..4);
        wait_for_frames(&running, 4);
        let cut_short = running
            .handle
            .call(|switch| switch.ports.get(1).unwrap().counts.cut_short.load(Relaxed));
        assert_eq!(cut_short, Ok(4));
        send(&mut two, 0..1);
        assert_eq!(receive(&mut one, 1).len(), 1);
        assert!(running.stop());
    }
}
