//! Compiled tables without a switch around them: rules go in, frames from memory run through, outputs are counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brimful_frame::Packet;
use brimful_jit::{Engine, Worker};
use brimful_pipeline::{CounterBlock, Floods, Limits, Outputs, PacketIn, Passage, Pipeline, View};
use brimful_switch::tables::{Change, Tables};

/// Room in front of a frame.
pub const HEADROOM: usize = 128;

#[derive(Debug)]
struct NoFloods;

impl Floods for NoFloods {
    fn ports(&self, _: u32, _: bool) -> &[u32] {
        &[]
    }
}

/// Counts; no frame is copied, as none is by the peers that discard theirs.
#[derive(Default)]
pub struct Sink {
    pub last: Option<u32>,
    sent: u64,
}

impl Outputs for Sink {
    fn output(&mut self, _: &[u8], port: u32, _: u32) {
        self.last = Some(port);
        self.sent += 1;
    }

    fn packet_in(&mut self, _: PacketIn<'_>) {}

    fn cut_short(&mut self, _: u32) {}
}

/// Tables, their code, and one worker.
pub struct Plane {
    pub pipeline: Pipeline,
    pub engine: Engine,
    pub worker: Worker,
    counters: Arc<CounterBlock>,
}

/// When rules that were taken in at once came to be in force, and to have code.
pub struct Loaded {
    pub in_force: Duration,
    pub compiled: Duration,
}

impl Plane {
    pub fn new() -> Self {
        let pipeline = Pipeline::new(Limits::default());
        let mut engine = Engine::new(&pipeline, 0x5eed).expect("machine code for this processor");
        let counters = Arc::new(CounterBlock::new());
        Self {
            worker: engine.worker(Arc::clone(&counters)),
            pipeline,
            engine,
            counters,
        }
    }

    /// Takes rules in, all at once; times count from `begun` on.
    pub fn load(&mut self, rules: &Tables, begun: Instant) -> Loaded {
        let mut changes = Vec::new();
        for change in &rules.changes {
            if let Change::Flow(flow) = &change.value {
                changes.extend(
                    self.pipeline
                        .flow_mod(flow, 0)
                        .unwrap_or_else(|error| panic!("{error}")),
                );
            }
        }
        self.engine.apply(&changes);
        let in_force = begun.elapsed();
        self.engine.settle();
        Loaded {
            in_force,
            compiled: begun.elapsed(),
        }
    }

    /// Sends a frame that lies behind the headroom of a buffer through the tables, within a burst.
    pub fn process(&mut self, buffer: &mut [u8], len: usize, sink: &mut Sink) {
        let view = View {
            shared: self.pipeline.shared(),
            live_ports: &[1, 2],
            now: 0,
            counters: &self.counters,
            floods: &NoFloods,
        };
        let mut passage = Passage::new(Packet::new(buffer, HEADROOM, len), 1);
        self.worker.process(&mut passage, &view, sink);
    }
}

/// The times at some shares of all, in microseconds, as words.
pub fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (times.len().saturating_sub(1) as f64 * share) as usize;
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    format!(
        "{:.1} us (median), {:.1} us (99 %), {:.1} us (99.9 %), {:.1} us (the slowest)",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}
