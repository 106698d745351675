//! Which entries a modification, a deletion or a question is about.

use std::sync::Arc;

use brimful_openflow::{FlowCommand, FlowMod, GROUP_ANY, TABLE_ALL, port};

use crate::entry::covers;
use crate::prepare::{Preparer, Selecting};
use crate::table::Table;
use crate::{Demands, FlowEntry};

/// Which entries a modification or deletion is about.
pub(crate) struct Selection<'c> {
    table: u8,
    /// The hash of the only entry that there can be.
    strict: Option<u64>,
    priority: u16,
    demands: &'c Demands,
    cookie: u64,
    cookie_mask: u64,
}

impl<'c> Selection<'c> {
    pub(crate) fn of(wanted: &'c FlowEntry, how: &Selecting) -> Self {
        Self {
            table: wanted.table,
            strict: how.is_strict.then_some(wanted.key_hash),
            priority: wanted.priority,
            demands: &wanted.demands,
            cookie: wanted.cookie,
            cookie_mask: how.cookie_mask,
        }
    }

    /// What a deletion or a question is about.
    pub(crate) fn asked(change: &FlowMod, demands: &'c Demands, preparer: &Preparer) -> Self {
        let is_strict = matches!(change.command, FlowCommand::ModifyStrict | FlowCommand::DeleteStrict);
        Self {
            table: change.table,
            strict: is_strict.then(|| preparer.key_hash(change.priority, demands)),
            priority: change.priority,
            demands,
            cookie: change.cookie,
            cookie_mask: change.cookie_mask,
        }
    }

    /// The entries among those of all tables.
    pub(crate) fn entries(&self, tables: &[Table]) -> Vec<Arc<FlowEntry>> {
        let has_cookie = |entry: &FlowEntry| (entry.cookie ^ self.cookie) & self.cookie_mask == 0;
        let tables = tables.iter().enumerate();
        let tables = tables.filter(|(number, _)| self.table == TABLE_ALL || usize::from(self.table) == *number);
        let mut selected = Vec::new();
        for (_, table) in tables {
            if let Some(key_hash) = self.strict {
                let entry = table.find(key_hash, self.priority, self.demands);
                selected.extend(entry.filter(|entry| has_cookie(entry)).cloned());
            } else {
                let entries = table
                    .by_rank
                    .values()
                    .filter(|entry| covers(self.demands, &entry.demands) && has_cookie(entry));
                selected.extend(entries.cloned());
            }
        }
        selected
    }
}

/// Whether an entry sends to this port and uses this group, as far as they are given.
pub(crate) fn sends_to(entry: &FlowEntry, out_port: u32, out_group: u32) -> bool {
    (out_port == port::ANY || entry.outputs_to(out_port)) && (out_group == GROUP_ANY || entry.uses_group(out_group))
}
