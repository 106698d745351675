//! Modifications, deletions and questions: which entries they are about, and what becomes of those.

use std::sync::Arc;

use brimful_openflow::{ErrorMessage, FlowCommand, FlowMod, GROUP_ANY, TABLE_ALL, flow_flag, port};

use crate::check::check_references;
use crate::entry::covers;
use crate::prepare::Selecting;
use crate::{Change, Demands, FlowEntry, Pipeline, Removal, demands_of};

/// Which entries a modification or deletion is about.
struct Selection<'c> {
    table: u8,
    /// The hash of the only entry that there can be.
    strict: Option<u64>,
    priority: u16,
    demands: &'c Demands,
    cookie: u64,
    cookie_mask: u64,
}

impl Pipeline {
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub(crate) fn modify(
        &mut self,
        wanted: &FlowEntry,
        how: &Selecting,
        now: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), ErrorMessage> {
        check_references(&wanted.instructions, &self.shared)?;
        for old in self.selected(&Selection::of(wanted, how)) {
            let mut new = (*old).clone();
            new.given = wanted.given;
            new.instructions.clone_from(&wanted.instructions);
            let new = Arc::new(new);
            if wanted.flags & flow_flag::RESET_COUNTS != 0 {
                self.counters.reset(new.counter);
                self.timeouts.watch(&new, || 0, now);
            }
            let table = &mut self.tables[usize::from(new.table)];
            table.by_rank.insert(new.rank(), Arc::clone(&new));
            changes.push(Change::Replaced { old, new });
        }
        Ok(())
    }

    pub(crate) fn delete(&mut self, wanted: &FlowEntry, how: &Selecting, changes: &mut Vec<Change>) {
        let mut gone = self.selected(&Selection::of(wanted, how));
        gone.retain(|entry| sends_to(entry, how.out_port, how.out_group));
        changes.extend(gone.iter().map(|entry| self.remove(entry, Removal::Delete)));
    }

    /// The entries that a deletion would take out: what statistics of flows are asked for by, too.
    pub fn select(&self, change: &FlowMod) -> Vec<Arc<FlowEntry>> {
        let demands = demands_of(&change.matching);
        let is_strict = matches!(change.command, FlowCommand::ModifyStrict | FlowCommand::DeleteStrict);
        let mut selected = self.selected(&Selection {
            table: change.table,
            strict: is_strict.then(|| self.preparer.key_hash(change.priority, &demands)),
            priority: change.priority,
            demands: &demands,
            cookie: change.cookie,
            cookie_mask: change.cookie_mask,
        });
        selected.retain(|entry| sends_to(entry, change.out_port, change.out_group));
        selected
    }

    fn selected(&self, wanted: &Selection<'_>) -> Vec<Arc<FlowEntry>> {
        let has_cookie = |entry: &FlowEntry| (entry.cookie ^ wanted.cookie) & wanted.cookie_mask == 0;
        let tables = self.tables.iter().enumerate();
        let tables = tables.filter(|(number, _)| wanted.table == TABLE_ALL || usize::from(wanted.table) == *number);
        let mut selected = Vec::new();
        for (_, table) in tables {
            if let Some(key_hash) = wanted.strict {
                let entry = table.find(key_hash, wanted.priority, wanted.demands);
                selected.extend(entry.filter(|entry| has_cookie(entry)).cloned());
            } else {
                let entries = table
                    .by_rank
                    .values()
                    .filter(|entry| covers(wanted.demands, &entry.demands) && has_cookie(entry));
                selected.extend(entries.cloned());
            }
        }
        selected
    }
}

impl<'c> Selection<'c> {
    fn of(wanted: &'c FlowEntry, how: &Selecting) -> Self {
        Self {
            table: wanted.table,
            strict: how.is_strict.then_some(wanted.key_hash),
            priority: wanted.priority,
            demands: &wanted.demands,
            cookie: wanted.cookie,
            cookie_mask: how.cookie_mask,
        }
    }
}

/// Whether an entry sends to this port and uses this group, as far as they are given.
fn sends_to(entry: &FlowEntry, out_port: u32, out_group: u32) -> bool {
    (out_port == port::ANY || entry.outputs_to(out_port)) && (out_group == GROUP_ANY || entry.uses_group(out_group))
}
