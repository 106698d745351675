use std::collections::BTreeMap;
use std::sync::Arc;

use brimful_openflow::{ErrorCode, ErrorMessage, FlowMod, flow_flag};

use crate::check::check_references;
use crate::prepare::{Preparer, Selecting};
use crate::selection::{Selection, sends_to};
use crate::table::Table;
use crate::timeouts::Timeouts;
use crate::{CounterId, Counters, FlowEntry, PreparedFlowMod, Shared, demands_of};

/// How much a pipeline holds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Flow tables, 254 at most.
    pub tables: u8,
    /// Entries of one table.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tables: 254,
            entries: 1 << 20,
        }
    }
}

/// Why an entry went (OF 1.3.5 section 7.4.2, 1.4.1 section 7.4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum Removal {
    IdleTimeout,
    HardTimeout,
    Delete,
    GroupDelete,
    MeterDelete,
    Eviction,
}

/// What has changed, for the data plane that runs frames through the tables.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new entry.
    Installed(Arc<FlowEntry>),
    /// An entry in the place of another one of the same match, priority, order and counter.
    Replaced {
        /// The one before.
        old: Arc<FlowEntry>,
        /// The one from now on.
        new: Arc<FlowEntry>,
    },
    /// An entry less.
    Removed {
        /// It.
        entry: Arc<FlowEntry>,
        /// Why.
        reason: Removal,
    },
    /// Other groups or meters.
    Shared(Arc<Shared>),
}

/// Flow tables, groups and meters, and every rule of how they change. One thread owns it; others learn by [`Change`]s.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) limits: Limits,
    pub(crate) tables: Vec<Table>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) timeouts: Timeouts,
    /// Counts of everything.
    pub counters: Counters,
    next_order: u64,
    pub(crate) retired: Vec<CounterId>,
    pub(crate) preparer: Preparer,
}

impl Pipeline {
    /// Empty tables.
    ///
    /// # Panics
    /// When there are more than 254 tables, or none.
    pub fn new(limits: Limits) -> Self {
        assert!((1..=254).contains(&limits.tables), "1 to 254 tables");
        let mut counters = Counters::default();
        let mut counter = || counters.give().expect("the first numbers are free");
        let tables = (0..limits.tables)
            .map(|_| Table {
                by_key: Vec::new(),
                by_rank: BTreeMap::new(),
                lookups: counter(),
                matches: counter(),
                evicts: false,
            })
            .collect();
        Self {
            limits,
            tables,
            shared: Arc::default(),
            timeouts: Timeouts::default(),
            counters,
            next_order: 0,
            retired: Vec::new(),
            preparer: Preparer::new(limits.tables),
        }
    }

    /// Empty tables of the same limits, and the same queues.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let mut empty = Self::new(self.limits);
        empty.shared = Arc::new(Shared {
            queues: self.shared.queues.clone(),
            ..Shared::default()
        });
        empty
    }

    /// Says which queues ports have: actions may name no others.
    pub fn set_queues(&mut self, queues: Arc<[u32]>) {
        Arc::make_mut(&mut self.shared).queues = Some(queues);
    }

    /// How much it holds.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Groups and meters.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Entries of a table, the first one asked first.
    pub fn entries(&self, table: u8) -> impl Iterator<Item = &Arc<FlowEntry>> {
        self.tables
            .get(usize::from(table))
            .into_iter()
            .flat_map(|table| table.by_rank.values().rev())
    }

    /// The entry of a table with a rank.
    pub fn entry(&self, table: u8, rank: u64) -> Option<&Arc<FlowEntry>> {
        self.tables.get(usize::from(table))?.by_rank.get(&rank)
    }

    /// How many entries a table has.
    pub fn len(&self, table: u8) -> usize {
        self.tables
            .get(usize::from(table))
            .map_or(0, |table| table.by_rank.len())
    }

    /// Whether no table has an entry.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.by_rank.is_empty())
    }

    /// The counters of a table: frames that were looked up, and those that met an entry.
    pub fn table_counters(&self, table: u8) -> (CounterId, CounterId) {
        let table = &self.tables[usize::from(table)];
        (table.lookups, table.matches)
    }

    /// Whether entries of a table make room for others when it is full (1.4).
    pub fn set_eviction(&mut self, table: u8, evicts: bool) {
        if let Some(table) = self.tables.get_mut(usize::from(table)) {
            table.evicts = evicts;
        }
    }

    /// Whether they do.
    pub fn evicts(&self, table: u8) -> bool {
        self.tables.get(usize::from(table)).is_some_and(|table| table.evicts)
    }

    /// Counters of what has gone. They go back to [`Counters::take_back`] once no data-plane thread can be using them.
    pub fn take_retired(&mut self) -> Vec<CounterId> {
        std::mem::take(&mut self.retired)
    }

    /// The entries that a deletion would take out: what statistics of flows are asked for by, too.
    pub fn select(&self, change: &FlowMod) -> Vec<Arc<FlowEntry>> {
        let demands = demands_of(&change.matching);
        let mut selected = Selection::asked(change, &demands, &self.preparer).entries(&self.tables);
        selected.retain(|entry| sends_to(entry, change.out_port, change.out_group));
        selected
    }

    /// What does everything about flow-mods that takes no tables: other threads may have one of their own.
    pub fn preparer(&self) -> Preparer {
        self.preparer.clone()
    }

    /// Does a flow-mod at a moment of the owner's clock, in nanoseconds.
    ///
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub fn flow_mod(&mut self, change: &FlowMod, now: u64) -> Result<Vec<Change>, ErrorMessage> {
        self.change(change, now, true)
    }

    /// The same without asking for prerequisites: a rule on a field holds for all frames that have the field. Tables
    /// from files may be written so.
    ///
    /// # Errors
    /// As [`Self::flow_mod`].
    pub fn flow_mod_without_prerequisites(&mut self, change: &FlowMod, now: u64) -> Result<Vec<Change>, ErrorMessage> {
        self.change(change, now, false)
    }

    fn change(&mut self, change: &FlowMod, now: u64, strict: bool) -> Result<Vec<Change>, ErrorMessage> {
        let prepared = self.preparer.prepare_as(change.clone(), strict)?;
        let mut changes = Vec::new();
        self.prepared_flow_mod(prepared, now, &mut changes)?;
        Ok(changes)
    }

    /// Does a flow-mod that a [`Preparer`] of these tables has prepared; what has changed comes to the end of `changes`.
    ///
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub fn prepared_flow_mod(
        &mut self,
        change: PreparedFlowMod,
        now: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), ErrorMessage> {
        match change.selecting {
            None => self.add(change.entry, now, changes),
            Some(how) if how.deletes => {
                self.delete(&change.entry, &how, changes);
                Ok(())
            }
            Some(how) => self.modify(&change.entry, &how, now, changes),
        }
    }

    fn add(&mut self, mut new: Arc<FlowEntry>, now: u64, changes: &mut Vec<Change>) -> Result<(), ErrorMessage> {
        check_references(&new.instructions, &self.shared)?;
        let table = &self.tables[usize::from(new.table)];
        if new.flags & flow_flag::CHECK_OVERLAP != 0
            && let Some(other) = table.overlapping(new.priority, &new.demands)
        {
            let text = format!(
                "it overlaps an entry of priority {} with cookie {:#x}",
                other.priority, other.cookie
            );
            return Err(ErrorCode::FLOW_OVERLAP.because(text));
        }
        let old = table.find(new.key_hash, new.priority, &new.demands).cloned();
        let (order, counter) = if let Some(old) = &old {
            // OF 1.3.5 section 6.4: its duration begins anew, its counts go over unless they are to be reset.
            if new.flags & flow_flag::RESET_COUNTS != 0 {
                self.counters.reset(old.counter);
            }
            (old.order, old.counter)
        } else {
            self.make_room(&new, changes)?;
            let order = self.next_order;
            self.next_order += 1;
            (order, self.counters.give().ok_or_else(no_counter)?)
        };
        // It has no other owner yet, so that nothing is copied.
        let entry = Arc::make_mut(&mut new);
        (entry.order, entry.counter, entry.installed_at) = (order, counter, now);
        self.put_in_place(&new, now);
        if let Some(old) = old {
            changes.push(Change::Replaced { old, new });
        } else {
            self.tables[usize::from(new.table)].index(&new);
            // Made in its place: a push would copy it there in pieces that wait for all stores before them.
            changes.extend(std::iter::once_with(|| Change::Installed(new)));
        }
        Ok(())
    }

    fn put_in_place(&mut self, entry: &Arc<FlowEntry>, now: u64) {
        self.timeouts
            .watch(entry, || self.counters.read(entry.counter).packets, now);
        let table = &mut self.tables[usize::from(entry.table)];
        table.by_rank.insert(entry.rank(), Arc::clone(entry));
    }

    /// OF 1.4.1 section 5.5: the least important goes first; it stays where the new one matters no more.
    fn make_room(&mut self, new: &FlowEntry, changes: &mut Vec<Change>) -> Result<(), ErrorMessage> {
        if self.counters.is_exhausted() {
            return Err(no_counter());
        }
        let table = &self.tables[usize::from(new.table)];
        if table.by_rank.len() < self.limits.entries {
            return Ok(());
        }
        let least = table
            .by_rank
            .values()
            .min_by_key(|entry| (entry.importance, entry.order));
        match least {
            Some(least) if table.evicts && least.importance < new.importance => {
                let least = Arc::clone(least);
                changes.push(self.remove(&least, Removal::Eviction));
                Ok(())
            }
            _ => {
                Err(ErrorCode::FLOW_TABLE_FULL
                    .because(format!("table {} has {} entries", new.table, self.limits.entries)))
            }
        }
    }

    fn modify(
        &mut self,
        wanted: &FlowEntry,
        how: &Selecting,
        now: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), ErrorMessage> {
        check_references(&wanted.instructions, &self.shared)?;
        for old in Selection::of(wanted, how).entries(&self.tables) {
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

    fn delete(&mut self, wanted: &FlowEntry, how: &Selecting, changes: &mut Vec<Change>) {
        let mut gone = Selection::of(wanted, how).entries(&self.tables);
        gone.retain(|entry| sends_to(entry, how.out_port, how.out_group));
        changes.extend(gone.iter().map(|entry| self.remove(entry, Removal::Delete)));
    }

    /// Takes an entry out; its counter stays its own.
    pub(crate) fn take_out(&mut self, entry: &Arc<FlowEntry>) {
        let table = &mut self.tables[usize::from(entry.table)];
        table.by_rank.remove(&entry.rank());
        table.forget(entry);
        self.timeouts.forget(entry);
    }

    /// Puts an entry where it was.
    pub(crate) fn put_back(&mut self, entry: &Arc<FlowEntry>, now: u64) {
        let table = &mut self.tables[usize::from(entry.table)];
        if table.find(entry.key_hash, entry.priority, &entry.demands).is_none() {
            table.index(entry);
        }
        self.put_in_place(entry, now);
    }

    pub(crate) fn remove(&mut self, entry: &Arc<FlowEntry>, reason: Removal) -> Change {
        self.take_out(entry);
        self.retired.push(entry.counter);
        Change::Removed {
            entry: Arc::clone(entry),
            reason,
        }
    }
}

fn no_counter() -> ErrorMessage {
    ErrorCode::FLOW_TABLE_FULL.because("no counter is left")
}
