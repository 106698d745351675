use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use brimful_netdev::{MemoryPort, Receiver, Sender, memory_wire};
use brimful_pipeline::{Change, Limits, Pipeline};

use super::*;
use crate::compiled::Compiled;
use crate::control::Running;
use crate::events::RemovedEvent;
use crate::plane::{Plane, SharedPipeline};
use crate::ports::{Input, Ports};
use crate::vacancy::{Crossing, Vacancies};
use crate::watch::{Authored, Watcher};
use crate::{events, tables};

/// Notes what becomes of ports.
#[derive(Default)]
struct Told(Mutex<Vec<(u32, PortEvent)>>);

impl Watcher for Told {
    fn follows_flows(&self) -> bool {
        false
    }

    fn flows_changed(&self, _: &[Change], _: &[Authored]) {}

    fn removed(&self, _: &[RemovedEvent]) {}

    fn port_changed(&self, port: &Arc<SwitchPort>, event: PortEvent) {
        self.0.lock().unwrap().push((port.number, event));
    }

    fn controllers(&self) -> usize {
        0
    }

    fn table_crossed(&self, _: &Pipeline, _: &Vacancies, _: u8, _: Crossing) {}
}

/// A switch with a port 1, and the other end of its wire.
fn start(rules: &str, told: &Arc<Told>) -> (Running, MemoryPort) {
    let (opened, _, far) = opened(1);
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane: Box<dyn Plane> = Box::new(Compiled::new(pipeline.clone(), 7).unwrap());
    let mut switch = Switch::new("test".to_owned(), 1, Ports::new([opened.port]), pipeline, plane);
    let (listener, _) = std::sync::mpsc::sync_channel::<events::PacketInEvent>(1);
    switch.attach(listener, Arc::clone(told) as Arc<dyn Watcher>);
    let tables = tables::read("rules.flows", rules, 0).unwrap();
    switch.load("rules.flows", &tables, true).unwrap();
    (switch.start(vec![opened.inputs]), far)
}

fn opened(number: u32) -> (OpenedPort, PortSettings, MemoryPort) {
    let [near, far] = memory_wire([&format!("near{number}"), "far"], 1 << 10);
    let port = Arc::new(SwitchPort::new(number, [0; 6], Box::new(near.sender), None));
    let inputs = vec![Input::new(Arc::clone(&port), Box::new(near.receiver))];
    let settings = PortSettings::plain(number, format!("near{number}"), "packet".to_owned(), 1514);
    (OpenedPort { port, inputs }, settings, far)
}

fn add(running: &Running, number: u32) -> MemoryPort {
    let (opened, settings, far) = opened(number);
    running
        .handle
        .call(move |switch| switch.add_port(settings, opened))
        .unwrap()
        .unwrap();
    far
}

/// Sends frames of an address to everybody, until one of them arrives where it should, or for some time. Those of before
/// do not count: a slow machine has them on their way for a while.
fn passes(from: &mut MemoryPort, to: &mut MemoryPort) -> bool {
    std::thread::sleep(Duration::from_millis(20));
    while to.receiver.receive_burst(64, &mut |_| {}).unwrap() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    let mut arrived = 0;
    while arrived == 0 && begun.elapsed() < Duration::from_millis(500) {
        let mut fill = |_: usize, buffer: &mut [u8]| {
            buffer[..60].fill(2);
            60
        };
        from.sender.send_burst(1, &mut fill).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        arrived = to.receiver.receive_burst(64, &mut |_| {}).unwrap();
    }
    arrived > 0
}

#[test]
fn frames_pass_ports_that_have_come_and_controllers_are_told() {
    let told = Arc::new(Told::default());
    let (running, mut one) = start("in_port=1,actions=output:2\nin_port=2,actions=output:1\n", &told);
    let mut two = add(&running, 2);
    assert!(passes(&mut one, &mut two) && passes(&mut two, &mut one));
    let again = running.handle.call(|switch| switch.check_new(2, "other")).unwrap();
    assert_eq!(again, Err("there is a port 2 (near2): remove it first".to_owned()));
    remove_port(&running.handle, 2).unwrap();
    assert!(!passes(&mut one, &mut two));
    // What the data plane still held would keep the interface.
    let (view, shares) = running
        .handle
        .call(|switch| (switch.ports.view(), switch.shares.clone()))
        .unwrap();
    assert_eq!((view.live.clone(), shares), (vec![1], vec![vec![1]]));
    let entries = running.handle.call(|switch| switch.pipeline.read().len(0)).unwrap();
    assert_eq!(entries, 2, "entries stay for controllers to remove");
    // One of the same number is another port, by the same entries.
    let mut other = add(&running, 2);
    assert!(passes(&mut one, &mut other));
    let sent = running
        .handle
        .call(|switch| switch.ports.get(2).unwrap().counts.sent_frames.load(Relaxed));
    assert!(sent.unwrap() < 100, "it counts anew");
    assert!(remove_port(&running.handle, 7).is_err());
    let events = [PortEvent::Added, PortEvent::Deleted, PortEvent::Added].map(|event| (2, event));
    assert_eq!(*told.0.lock().unwrap(), events);
}

#[test]
fn groups_fail_over_and_bridges_forget_when_a_port_goes() {
    let group =
        "group_id=1,type=fast_failover,bucket=watch_port:2,actions=output:2,bucket=watch_port:3,actions=output:3\n";
    let (running, mut one) = start(&format!("{group}in_port=1,actions=group:1\n"), &Arc::default());
    let (mut two, mut three) = (add(&running, 2), add(&running, 3));
    assert!(passes(&mut one, &mut two));
    remove_port(&running.handle, 2).unwrap();
    assert!(passes(&mut one, &mut three));
    let learned = running.handle.call(|switch| {
        let mut frame = [0; 60];
        frame[6] = 2;
        let view = switch.ports.view();
        brimful_pipeline::Floods::normal(&*view, &frame, 3, 0);
        let known = |switch: &Switch| switch.ports.view().find(&[&[2][..], &[0; 59]].concat(), 1, 0);
        let before = known(switch);
        switch.remove_port(3).unwrap();
        (before, known(switch))
    });
    let (before, after) = learned.unwrap();
    assert!(matches!(before, brimful_pipeline::Normal::Port(3)) && matches!(after, brimful_pipeline::Normal::Flood));
}

#[test]
fn queues_come_and_go_and_tables_know() {
    let (running, mut one) = start("in_port=1,actions=output:2\n", &Arc::default());
    let mut two = add(&running, 2);
    let queue = |id| QueueTable {
        id,
        min_rate: None,
        max_rate: Some(900),
    };
    let change = running.handle.call(move |switch| {
        switch.add_queue("near2", queue(5))?;
        let rules = tables::read("rules.flows", "in_port=1,actions=set_queue:5,output:2\n", 0).unwrap();
        switch
            .load("rules.flows", &rules, true)
            .map_err(|error| error.to_string())
    });
    change.unwrap().unwrap();
    assert!(passes(&mut one, &mut two));
    let counts = running
        .handle
        .call(|switch| switch.ports.get(2).unwrap().queue_counts())
        .unwrap();
    assert!(
        counts.iter().any(|counts| counts.queue == 5 && counts.frames > 0),
        "{counts:?}"
    );
    let gone = running.handle.call(move |switch| switch.remove_queue("2", 5)).unwrap();
    assert_eq!(gone, Ok(()));
    assert!(passes(&mut one, &mut two), "its frames leave without it");
    let absent = running.handle.call(move |switch| switch.remove_queue("2", 5)).unwrap();
    assert_eq!(absent, Err("port 2 has no queue 5 that could be removed".to_owned()));
}

#[test]
fn mirrors_get_what_comes_in_and_what_leaves() {
    let (running, mut one) = start("in_port=1,actions=output:2\n", &Arc::default());
    let (mut two, mut three) = (add(&running, 2), add(&running, 3));
    let mirror = |ports: &[&str]| {
        let ports: Vec<String> = ports.iter().map(|&port| port.to_owned()).collect();
        running.handle.call(move |switch| switch.mirror("3", &ports)).unwrap()
    };
    assert!(!passes(&mut one, &mut three));
    mirror(&["1"]).unwrap();
    assert!(passes(&mut one, &mut three) && passes(&mut one, &mut two));
    mirror(&["near2"]).unwrap();
    assert!(passes(&mut one, &mut three));
    assert!(mirror(&["1", "3"]).unwrap_err().contains("its own frames"));
    mirror(&[]).unwrap();
    assert!(!passes(&mut one, &mut three));
}
