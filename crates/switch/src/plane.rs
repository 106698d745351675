//! The one seam between the switch and what runs frames through its tables.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use brimful_pipeline::{Change, CounterBlock, Outputs, Passage, Pipeline, View};

use crate::ports::PortView;

/// The tables, which one thread at a time changes.
#[derive(Clone, Debug)]
pub struct SharedPipeline(Arc<RwLock<Pipeline>>);

/// What runs frames through the tables, as the control thread sees it.
pub trait Plane: Send {
    /// What one more thread uses.
    fn path(&mut self) -> Box<dyn Path>;

    /// Takes over changes that the tables have just had: bursts that begin from now on meet the new rules.
    fn apply(&mut self, changes: &[Change]);

    /// The same, so that no frame meets some of the changes without the others.
    fn apply_together(&mut self, changes: &[Change]) {
        self.apply(changes);
    }

    /// Waits until every thread runs all that has been applied.
    fn settle(&mut self);

    /// Does what can wait until the control thread has nothing else to do.
    fn tend(&mut self) {}

    /// How often tables were compiled, and how long that took.
    fn compilations(&self) -> (u64, Duration) {
        (0, Duration::ZERO)
    }

    /// Whether a part of it has ended, so that it does not follow changes as it should any more.
    fn has_failed(&self) -> bool {
        false
    }

    /// How a table is run, for people; its machine code too, if asked for and there is any.
    fn explain(&self, table: u8, with_code: bool) -> String;
}

/// What a data-plane thread runs frames with.
pub trait Path: Send {
    /// Begins a burst: what was applied before holds for its frames.
    fn begin(&mut self) {}

    /// Says that there are no frames for now, so that no other thread waits for this one.
    fn rest(&mut self) {}

    /// Sends a frame through the tables at `now`, in nanoseconds of the switch's clock.
    fn process(&mut self, passage: &mut Passage<'_>, ports: &PortView, now: u64, outputs: &mut dyn Outputs);
}

/// The interpreter: the tables as they are.
#[derive(Debug)]
pub struct Interpreter(SharedPipeline);

#[derive(Debug)]
struct InterpretedPath {
    pipeline: SharedPipeline,
    counters: Arc<CounterBlock>,
}

impl SharedPipeline {
    /// To be shared.
    pub fn new(pipeline: Pipeline) -> Self {
        Self(Arc::new(RwLock::new(pipeline)))
    }

    /// As they are.
    pub fn read(&self) -> RwLockReadGuard<'_, Pipeline> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change them: for the owner of the switch.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Pipeline> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interpreter {
    /// For these tables.
    pub fn new(pipeline: SharedPipeline) -> Self {
        Self(pipeline)
    }
}

impl Plane for Interpreter {
    fn path(&mut self) -> Box<dyn Path> {
        Box::new(InterpretedPath {
            pipeline: self.0.clone(),
            counters: self.0.write().counters.block(),
        })
    }

    // The thread that changed the tables had them alone; frames read them as they are.
    fn apply(&mut self, _: &[Change]) {}

    fn settle(&mut self) {}

    fn explain(&self, table: u8, _: bool) -> String {
        let entries = self.0.read().len(table);
        format!("table {table}: {entries} entries, interpreted: asked one after another in the order of their priority")
    }
}

impl Path for InterpretedPath {
    fn process(&mut self, passage: &mut Passage<'_>, ports: &PortView, now: u64, outputs: &mut dyn Outputs) {
        let pipeline = self.pipeline.read();
        let view = View {
            shared: pipeline.shared(),
            live_ports: &ports.live,
            now,
            counters: &self.counters,
            floods: ports,
        };
        pipeline.process(passage, &view, outputs);
    }
}
