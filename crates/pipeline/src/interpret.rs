//! The interpreter: what a frame meets, entry by entry. It is slow and plain; compiled code has to equal it.

use brimful_frame::Headers;

use crate::execute::{Next, finish, run_instructions};
use crate::{Environment, FlowEntry, Outputs, Passage, Pipeline};

/// What happened in one table.
#[derive(Clone, Debug)]
pub struct Step {
    /// The table.
    pub table: u8,
    /// The entry that the frame met; `None` for none.
    pub entry: Option<std::sync::Arc<FlowEntry>>,
}

impl Pipeline {
    /// Sends a frame through the tables from the first one on.
    pub fn process(&self, passage: &mut Passage<'_>, environment: &dyn Environment, outputs: &mut dyn Outputs) {
        self.trace(passage, environment, outputs);
    }

    /// The same, and reports which entries it met.
    pub fn trace(
        &self,
        passage: &mut Passage<'_>,
        environment: &dyn Environment,
        outputs: &mut dyn Outputs,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut number = 0;
        loop {
            let table = &self.tables[usize::from(number)];
            let bytes = passage.packet.len() as u64;
            environment.count(table.lookups, bytes);
            let headers = Headers::parse(&passage.packet);
            let entry = table
                .by_rank
                .values()
                .rev()
                .find(|entry| matches(entry, passage, &headers));
            steps.push(Step {
                table: number,
                entry: entry.cloned(),
            });
            let Some(entry) = entry else {
                return steps;
            };
            environment.count(table.matches, bytes);
            environment.count(entry.counter, bytes);
            match run_instructions(entry, passage, environment, outputs) {
                Next::Table(next) => number = next,
                Next::Dropped => return steps,
                Next::Done => {
                    finish(passage, environment, outputs);
                    return steps;
                }
            }
        }
    }
}

fn matches(entry: &FlowEntry, passage: &Passage<'_>, headers: &Headers) -> bool {
    entry.demands.iter().all(|(field, value, mask)| {
        passage
            .read(*field, headers)
            .is_some_and(|found| found & mask == *value)
    })
}
