//! Frames run by machine code: the engine of `brimful-jit` behind the seam of [`crate::plane`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brimful_jit::{Engine, Worker};
use brimful_pipeline::{Change, CounterBlock, Outputs, Passage, Shared, View};

use crate::plane::{Path, Plane, SharedPipeline};
use crate::ports::PortView;

/// For how long a burst is waited for before others may use the processor.
const LONGEST_BURST: Duration = Duration::from_micros(200);

/// Tables as machine code.
pub struct Compiled {
    pipeline: SharedPipeline,
    engine: Engine,
    groups: Arc<Groups>,
    /// Threads may still be running frames with groups and meters as they were.
    has_new_groups: bool,
}

/// Groups and meters as they are now; threads look again when the generation has changed.
struct Groups {
    current: Mutex<Arc<Shared>>,
    generation: AtomicU64,
    /// While threads have to wait between bursts.
    is_closed: AtomicBool,
}

/// While it is there, threads wait between bursts; also if what is done meanwhile panics, they go on then.
struct Closed<'g>(&'g Groups);

struct CompiledPath {
    worker: Worker,
    counters: Arc<CounterBlock>,
    groups: Arc<Groups>,
    shared: Arc<Shared>,
    generation: u64,
}

impl Compiled {
    /// For these tables. `seed` makes the hashes of this switch its own.
    ///
    /// # Errors
    /// When code cannot be written for this processor.
    pub fn new(pipeline: SharedPipeline, seed: u64) -> Result<Self, String> {
        let engine = Engine::new(&pipeline.read(), seed)?;
        let shared = Arc::clone(pipeline.read().shared());
        Ok(Self {
            pipeline,
            engine,
            groups: Arc::new(Groups {
                current: Mutex::new(shared),
                generation: AtomicU64::new(0),
                is_closed: AtomicBool::new(false),
            }),
            has_new_groups: false,
        })
    }
}

impl Plane for Compiled {
    fn path(&mut self) -> Box<dyn Path> {
        let counters = self.pipeline.write().counters.block();
        Box::new(CompiledPath {
            worker: self.engine.worker(Arc::clone(&counters)),
            counters,
            shared: self.groups.current(),
            groups: Arc::clone(&self.groups),
            generation: 0,
        })
    }

    fn apply(&mut self, changes: &[Change]) {
        // In their order: a group is there before entries that use it, and goes after them. Threads see entries at once, but
        // groups with their next burst: before entries that may use new groups, they have begun one.
        for part in changes.split_inclusive(|change| matches!(change, Change::Shared(_))) {
            let adds = |change: &Change| matches!(change, Change::Installed(_) | Change::Replaced { .. });
            if self.has_new_groups && part.iter().any(adds) {
                self.settle();
            }
            self.engine.apply(part);
            if let Some(Change::Shared(shared)) = part.last() {
                self.groups.replace(shared);
                self.has_new_groups = true;
            }
        }
    }

    fn apply_together(&mut self, changes: &[Change]) {
        let groups = Arc::clone(&self.groups);
        let closed = Closed::new(&groups);
        // A thread that begins a burst after this sees that it has to wait.
        self.settle();
        self.apply(changes);
        drop(closed);
    }

    fn settle(&mut self) {
        self.has_new_groups = false;
        let moment = self.engine.mark();
        let begun = Instant::now();
        while !moment.has_passed() {
            // Spin first: a burst takes microseconds, and a yield may cost a whole scheduler slice.
            if begun.elapsed() < LONGEST_BURST {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn tend(&mut self) {
        self.engine.tend();
    }

    fn compilations(&self) -> (u64, Duration) {
        self.engine.compilations()
    }

    fn has_failed(&self) -> bool {
        self.engine.has_failed()
    }

    fn explain(&self, table: u8, with_code: bool) -> String {
        let form = format!("table {table}: {}", self.engine.explain(table));
        if !with_code {
            return form;
        }
        let code = self
            .engine
            .disassemble(table)
            .unwrap_or_else(|error| format!("no code: {error}"));
        format!("{form}\n{code}")
    }
}

impl<'g> Closed<'g> {
    fn new(groups: &'g Groups) -> Self {
        groups.is_closed.store(true, Ordering::SeqCst);
        Self(groups)
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.is_closed.store(false, Ordering::SeqCst);
    }
}

impl Groups {
    fn current(&self) -> Arc<Shared> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, shared: &Arc<Shared>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(shared);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl Path for CompiledPath {
    fn begin(&mut self) {
        self.worker.begin();
        while self.groups.is_closed.load(Ordering::SeqCst) {
            self.worker.rest();
            std::thread::yield_now();
            self.worker.begin();
        }
        let generation = self.groups.generation.load(Ordering::Acquire);
        if generation != self.generation {
            self.generation = generation;
            self.shared = self.groups.current();
        }
    }

    fn rest(&mut self) {
        self.worker.rest();
    }

    fn process(&mut self, passage: &mut Passage<'_>, ports: &PortView, now: u64, outputs: &mut dyn Outputs) {
        let view = View {
            shared: &self.shared,
            live_ports: &ports.live,
            now,
            counters: &self.counters,
            floods: ports,
        };
        self.worker.process(passage, &view, outputs);
    }
}

#[cfg(test)]
mod tests {
    use brimful_frame::Packet;
    use brimful_pipeline::{Limits, PacketIn, Pipeline};

    use super::*;
    use crate::tables;

    #[derive(Default)]
    struct Sent(u32);

    impl Outputs for Sent {
        fn output(&mut self, _: &[u8], _: u32, _: u32) {
            self.0 += 1;
        }

        fn packet_in(&mut self, _: PacketIn<'_>) {}

        fn cut_short(&mut self, _: u32) {}
    }

    /// How often a frame leaves.
    fn sent(path: &mut dyn Path) -> u32 {
        let (mut frame, mut sent) = ([0; 60], Sent::default());
        let mut passage = Passage::new(Packet::new(&mut frame, 0, 60), 1);
        path.process(&mut passage, &PortView::default(), 0, &mut sent);
        sent.0
    }

    /// The changes that lines make.
    fn changed(pipeline: &SharedPipeline, lines: &str) -> Vec<Change> {
        let tables = tables::read("rules.flows", lines, 0).unwrap();
        let mut pipeline = pipeline.write();
        let changed = tables.changes.iter().map(|change| match &change.value {
            tables::Change::Flow(flow) => pipeline.flow_mod(flow, 0),
            tables::Change::Group(group) => pipeline.group_mod(group, 0),
            tables::Change::Meter(meter) => pipeline.meter_mod(meter, 0),
        });
        changed.flat_map(Result::unwrap).collect()
    }

    /// A burst that has begun before a group came does not meet the entry that came with it.
    #[test]
    fn no_frame_meets_a_new_entry_with_the_groups_from_before() {
        let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
        let mut plane = Compiled::new(pipeline.clone(), 7).unwrap();
        let mut path = plane.path();
        plane.apply(&changed(&pipeline, "priority=1,actions=output:2"));
        path.begin();
        let changes = changed(
            &pipeline,
            "group_id=7,type=indirect,bucket=actions=output:2\npriority=2,actions=group:7",
        );
        let mut has_lost = false;
        std::thread::scope(|scope| {
            let applied = scope.spawn(|| plane.apply(&changes));
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(50) {
                has_lost |= sent(&mut *path) != 1;
            }
            while !applied.is_finished() {
                path.begin();
                has_lost |= sent(&mut *path) != 1;
            }
        });
        assert!(!has_lost);
        path.begin();
        assert_eq!(sent(&mut *path), 1);
    }
}
