use std::sync::Arc;

use crate::{Change, Pipeline, Shared};

/// A state of the tables that can be gone back to.
#[derive(Debug)]
pub struct Checkpoint {
    shared: Arc<Shared>,
    retired: usize,
}

impl Pipeline {
    /// Begins changes that are done together or not at all: [`Self::keep`] or [`Self::roll_back`] ends them.
    pub fn checkpoint(&mut self) -> Checkpoint {
        self.counters.begin_log();
        Checkpoint {
            shared: Arc::clone(&self.shared),
            retired: self.retired.len(),
        }
    }

    /// Keeps the changes since a checkpoint.
    pub fn keep(&mut self, _: Checkpoint) {
        self.counters.end_log();
    }

    /// Undoes changes, which have to be all of those since a checkpoint, in their order. No other reader may have
    /// learnt of them. Idle entries among those that had gone are taken to have been used `now`.
    pub fn roll_back(&mut self, checkpoint: Checkpoint, changes: &[Change], now: u64) {
        for change in changes.iter().rev() {
            match change {
                Change::Installed(entry) => self.take_out(entry),
                Change::Replaced { old: entry, .. } | Change::Removed { entry, .. } => self.put_back(entry, now),
                Change::Shared(_) => {}
            }
        }
        self.shared = checkpoint.shared;
        self.retired.truncate(checkpoint.retired);
        self.counters.undo();
    }
}

#[cfg(test)]
mod tests {
    use brimful_openflow::{Action, FieldMatch, FlowCommand, FlowMod, Instruction, Match, MatchField, port};

    use super::*;
    use crate::Limits;

    fn flow(number: u128, out: u32) -> FlowMod {
        let field = FieldMatch {
            field: MatchField::InPort,
            value: number,
            mask: None,
        };
        let output = Action::Output { port: out, max_len: 0 };
        let instructions = vec![Instruction::ApplyActions(vec![output])];
        FlowMod::add(0, 7, Match { fields: vec![field] }, instructions)
    }

    #[test]
    fn everything_is_as_it_was() {
        let mut pipeline = Pipeline::new(Limits::default());
        let block = pipeline.counters.block();
        for number in 1..=3 {
            pipeline.flow_mod(&flow(number, 1), 0).unwrap();
        }
        for entry in pipeline.entries(0) {
            block.count(entry.counter, 60);
        }
        let state = |pipeline: &Pipeline| {
            let entries = pipeline.entries(0);
            let entries = entries.map(|entry| (entry.matching(), entry.given(), pipeline.counters.read(entry.counter)));
            entries.collect::<Vec<_>>()
        };
        let before = state(&pipeline);
        let checkpoint = pipeline.checkpoint();
        let mut changes = Vec::new();
        let delete = FlowMod {
            command: FlowCommand::Delete,
            ..flow(2, 1)
        };
        for change in [flow(1, 2), delete, flow(2, 3), flow(4, 1), flow(4, 2)] {
            changes.extend(pipeline.flow_mod(&change, 5).unwrap());
        }
        assert_ne!(state(&pipeline), before);
        pipeline.roll_back(checkpoint, &changes, 6);
        assert_eq!(state(&pipeline), before);
        assert!(pipeline.take_retired().is_empty());
        // What comes next gets counters that nothing else has.
        let added = pipeline.flow_mod(&flow(9, port::IN_PORT), 7).unwrap();
        let [Change::Installed(entry)] = &added[..] else {
            panic!("{added:?}");
        };
        let shares = |other: &&Arc<crate::FlowEntry>| other.counter == entry.counter;
        assert_eq!(pipeline.entries(0).filter(shares).count(), 1);
    }
}
