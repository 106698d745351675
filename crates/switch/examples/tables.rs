//! What compiled tables cost a frame: rules from an `ovs-ofctl` file, frames of a capture from memory, one thread.
//!
//! usage: `tables NAME.flows NAME.pcap [NAME.expect]`. Every frame is first checked against the interpreter, and against
//! the expected ports if they are given.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement shows its figure, and ends where its files are not what it needs"
)]

use std::sync::Arc;
use std::time::Instant;

use brimful_frame::Packet;
use brimful_jit::Engine;
use brimful_netdev::{Capture, processor_cycles};
use brimful_openflow::FlowMod;
use brimful_pipeline::{CounterBlock, Floods, Limits, Outputs, PacketIn, Passage, Pipeline, View};
use brimful_switch::tables::{self, Change};

const HEADROOM: usize = 128;
const STRIDE: usize = 256;
const BURST: usize = 64;
const ROUNDS: usize = 15;

#[derive(Debug)]
struct NoFloods;

impl Floods for NoFloods {
    fn ports(&self, _: u32, _: bool) -> &[u32] {
        &[]
    }
}

/// Counts by port; no frame is copied, as none is by the peers that discard theirs.
#[derive(Default)]
struct Sink {
    last: Option<u32>,
    sent: u64,
}

impl Outputs for Sink {
    fn output(&mut self, _: &[u8], port: u32, _: u32) {
        self.last = Some(port);
        self.sent += 1;
    }

    fn packet_in(&mut self, _: PacketIn<'_>) {}
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flows, capture, expected @ ..] = arguments.as_slice() else {
        eprintln!("usage: tables NAME.flows NAME.pcap [NAME.expect]");
        std::process::exit(2);
    };
    let begun = Instant::now();
    let text = std::fs::read_to_string(flows).unwrap();
    let rules = tables::read(flows, &text, 0).unwrap_or_else(|error| panic!("{error}"));
    let read = begun.elapsed();
    let mut pipeline = Pipeline::new(Limits::default());
    let mut engine = Engine::new(&pipeline, 0x5eed).unwrap();
    let begun = Instant::now();
    let mut changes = Vec::new();
    for change in &rules.changes {
        if let Change::Flow(flow) = &change.value {
            changes.extend(pipeline.flow_mod(flow, 0).unwrap_or_else(|error| panic!("{error}")));
        }
    }
    let checked = begun.elapsed();
    engine.apply(&changes);
    let live = begun.elapsed();
    engine.settle();
    println!(
        "{} rules: read {:.1} ms, checked {:.1} ms, in force after {:.1} ms, compiled after {:.1} ms",
        pipeline.len(0),
        read.as_secs_f64() * 1e3,
        checked.as_secs_f64() * 1e3,
        live.as_secs_f64() * 1e3,
        begun.elapsed().as_secs_f64() * 1e3,
    );
    println!("{}", engine.explain(0));

    let frames = Capture::parse(std::fs::read(capture).unwrap()).unwrap();
    let mut bench = Bench::new(&pipeline, &mut engine, &frames);
    if let [expected] = expected {
        bench.check(&std::fs::read_to_string(expected).unwrap());
    }
    bench.measure();
    updates(&mut pipeline, &mut engine, &rules.changes);
}

struct Bench<'b> {
    pipeline: &'b Pipeline,
    worker: brimful_jit::Worker,
    counters: Arc<CounterBlock>,
    memory: Vec<u8>,
    lens: Vec<usize>,
}

impl<'b> Bench<'b> {
    fn new(pipeline: &'b Pipeline, engine: &mut Engine, frames: &Capture) -> Self {
        let counters = Arc::new(CounterBlock::new());
        let mut memory = vec![0; frames.len() * STRIDE];
        let mut lens = Vec::new();
        for (index, slot) in memory.chunks_exact_mut(STRIDE).enumerate() {
            let frame = frames.frame(index).unwrap();
            slot[HEADROOM..HEADROOM + frame.len()].copy_from_slice(frame);
            lens.push(frame.len());
        }
        Self {
            pipeline,
            worker: engine.worker(Arc::clone(&counters)),
            counters,
            memory,
            lens,
        }
    }

    fn pass(&mut self, sink: &mut Sink, mut after: impl FnMut(usize, &mut Sink)) {
        let view = View {
            shared: self.pipeline.shared(),
            live_ports: &[1, 2],
            now: 0,
            counters: &self.counters,
            floods: &NoFloods,
        };
        for (index, slot) in self.memory.chunks_exact_mut(STRIDE).enumerate() {
            if index % BURST == 0 {
                self.worker.begin();
            }
            let mut passage = Passage::new(Packet::new(slot, HEADROOM, self.lens[index]), 1);
            self.worker.process(&mut passage, &view, sink);
            after(index, sink);
        }
    }

    fn check(&mut self, expected: &str) {
        let expected: Vec<Option<u32>> = expected.lines().map(|line| line.parse().ok()).collect();
        let mut sink = Sink::default();
        self.pass(&mut sink, |index, sink| {
            assert_eq!(sink.last.take(), expected[index], "frame {index}");
        });
        println!("all {} frames go where they are expected", expected.len());
    }

    fn measure(&mut self) {
        let mut cycles: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let mut sink = Sink::default();
                let begun = processor_cycles().unwrap_or(0);
                self.pass(&mut sink, |_, _| {});
                (processor_cycles().unwrap_or(0) - begun) as f64 / self.lens.len() as f64
            })
            .collect();
        cycles.sort_by(f64::total_cmp);
        println!(
            "{:.1} cycles a frame (median of {ROUNDS} passes; least {:.1}, most {:.1})",
            cycles[ROUNDS / 2],
            cycles[0],
            cycles[ROUNDS - 1]
        );
    }
}

/// How long a single flow-mod takes until frames meet it.
fn updates(pipeline: &mut Pipeline, engine: &mut Engine, changes: &[tables::Placed<Change>]) {
    let Some(Change::Flow(first)) = changes.first().map(|change| &change.value) else {
        return;
    };
    let removed = FlowMod {
        command: brimful_openflow::FlowCommand::DeleteStrict,
        ..(**first).clone()
    };
    let mut times: Vec<f64> = (0..201)
        .map(|round| {
            let change = if round % 2 == 0 { &removed } else { first };
            let begun = Instant::now();
            let changes = pipeline.flow_mod(change, 0).unwrap();
            engine.apply(&changes);
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{:.1} us for one flow-mod (median of {}; most {:.1})",
        times[100],
        times.len(),
        times[200]
    );
}
