//! What compiled tables cost a frame: rules from an `ovs-ofctl` file, frames of a capture from memory, one thread.
//!
//! usage: `tables NAME.flows NAME.pcap [NAME.expect]`. Every frame is first checked against the interpreter, and against
//! the expected ports if they are given.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement shows its figure, and ends where its files are not what it needs"
)]

#[path = "../tests/soak/memory.rs"]
#[allow(unreachable_pub, reason = "a module that a test shares")]
mod memory;
#[path = "support/mod.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module that examples share")]
mod support;

use std::time::Instant;

use brimful_netdev::{Capture, processor_cycles};
use brimful_openflow::FlowMod;
use brimful_switch::tables::{self, Change};
use memory::resident_bytes;
use support::{HEADROOM, Plane, Sink, quantiles};

/// As in the switch itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STRIDE: usize = 256;
const BURST: usize = 64;
const ROUNDS: usize = 15;
const CHANGES: usize = 201;

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
    let mut plane = Plane::new();
    let before = resident_bytes().unwrap_or(0);
    let loaded = plane.load(&rules, Instant::now());
    println!(
        "{} rules: read {:.1} ms, in force after {:.1} ms, compiled after {:.1} ms, {:.1} MB of memory",
        plane.pipeline.len(0),
        read.as_secs_f64() * 1e3,
        loaded.in_force.as_secs_f64() * 1e3,
        loaded.compiled.as_secs_f64() * 1e3,
        resident_bytes().unwrap_or(0).saturating_sub(before) as f64 / 1e6,
    );
    println!("{}", plane.engine.explain(0));

    let frames = Capture::parse(std::fs::read(capture).unwrap()).unwrap();
    let mut bench = Bench::new(plane, &frames);
    if let [expected] = expected {
        bench.check(&std::fs::read_to_string(expected).unwrap());
    }
    bench.measure();
    bench.change(&rules.changes);
}

struct Bench {
    plane: Plane,
    memory: Vec<u8>,
    lens: Vec<usize>,
}

impl Bench {
    fn new(plane: Plane, frames: &Capture) -> Self {
        let mut memory = vec![0; frames.len() * STRIDE];
        let mut lens = Vec::new();
        for (index, slot) in memory.chunks_exact_mut(STRIDE).enumerate() {
            let frame = frames.frame(index).unwrap();
            slot[HEADROOM..HEADROOM + frame.len()].copy_from_slice(frame);
            lens.push(frame.len());
        }
        Self { plane, memory, lens }
    }

    fn pass(&mut self, sink: &mut Sink, mut after: impl FnMut(usize, &mut Sink)) {
        for (index, slot) in self.memory.chunks_exact_mut(STRIDE).enumerate() {
            if index % BURST == 0 {
                self.plane.worker.begin();
            }
            self.plane.process(slot, self.lens[index], sink);
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

    /// How long a single flow-mod takes until frames meet it.
    fn change(&mut self, changes: &[tables::Placed<Change>]) {
        let Some(Change::Flow(first)) = changes.first().map(|change| &change.value) else {
            return;
        };
        let removed = FlowMod {
            command: brimful_openflow::FlowCommand::DeleteStrict,
            ..(**first).clone()
        };
        let Plane { pipeline, engine, .. } = &mut self.plane;
        let times = (0..CHANGES).map(|round| {
            let change = if round % 2 == 0 { &removed } else { first };
            let begun = Instant::now();
            let changes = pipeline.flow_mod(change, 0).unwrap();
            engine.apply(&changes);
            begun.elapsed()
        });
        let mut times: Vec<_> = times.collect();
        println!(
            "{CHANGES} flow-mods one by one in force after {}",
            quantiles(&mut times)
        );
    }
}
