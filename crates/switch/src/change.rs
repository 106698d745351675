//! How a switch changes its tables.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use brimful_netdev::MonotonicTime;
use brimful_openflow::{ErrorMessage, GROUP_ALL, GroupMod, GroupType, MeterMod, ModCommand, flow_flag};
use brimful_pipeline::{Change, Pipeline, delete_everything};

use crate::control::Switch;
use crate::events::RemovedEvent;
use crate::tables::{self, Placed, TableError, Tables};
use crate::vacancy::Thresholds;
use crate::watch::{Author, Authored, TableChange};

/// Changes between the one that is made and the one that memory is fetched for.
const AHEAD: usize = 8;
/// `OFPM_ALL` of OF 1.3.5 section 7.3.4.5.
const METER_ALL: u32 = 0xffff_ffff;

impl Switch {
    /// Puts what a file says in the place of everything, or on top of it; nothing changes where the file has an error.
    ///
    /// # Errors
    /// At the first change that cannot be.
    pub fn load(&mut self, file: &str, tables: &Tables, replaces: bool) -> Result<(), TableError> {
        if replaces {
            // Tried out on empty tables first.
            let mut trial = self.pipeline.read().emptied();
            apply_all(&mut trial, file, tables, 0, &mut Vec::new())?;
        }
        let now = MonotonicTime::now().0;
        let mut pipeline = self.pipeline.write();
        let mut changes = Vec::new();
        if replaces {
            changes = remove_all(&mut pipeline, now);
        }
        let done = apply_all(&mut pipeline, file, tables, now, &mut changes);
        drop(pipeline);
        // Also those before an error: the tables have had them. No frame meets a table that has been emptied and not yet
        // been filled.
        self.hand_over(&changes, &[], replaces);
        self.settle();
        done
    }

    /// Does changes one after the other, and gives the errors of those that cannot be, by their index. Data-plane threads
    /// may still run the tables as they were until [`Self::settle`].
    pub(crate) fn change_all(
        &mut self,
        wanted: Vec<TableChange>,
        author: impl Fn(usize) -> Author,
    ) -> Vec<(usize, ErrorMessage)> {
        let now = MonotonicTime::now().0;
        let follows_flows = self.follows_flows();
        let mut pipeline = self.pipeline.write();
        let (mut changes, mut authors, mut errors) = (Vec::with_capacity(wanted.len()), Vec::new(), Vec::new());
        for (index, change) in fetched_ahead(wanted).enumerate() {
            if let Err(error) = change.apply(&mut pipeline, now, &mut changes) {
                errors.push((index, error));
            }
            if follows_flows {
                authors.push((changes.len(), author(index)));
            }
        }
        drop(pipeline);
        self.take_over(&changes, &authors);
        errors
    }

    /// Does all of these changes or none of them; gives the error of the first that cannot be, by its index. Where they
    /// are atomic, no frame meets some of them without the others.
    pub(crate) fn change_together(
        &mut self,
        wanted: Vec<TableChange>,
        is_atomic: bool,
        author: impl Fn(usize) -> Author,
    ) -> Result<(), (usize, ErrorMessage)> {
        let now = MonotonicTime::now().0;
        let follows_flows = self.follows_flows();
        let mut pipeline = self.pipeline.write();
        let checkpoint = pipeline.checkpoint();
        let (mut changes, mut authors) = (Vec::with_capacity(wanted.len()), Vec::new());
        for (index, change) in fetched_ahead(wanted).enumerate() {
            if let Err(error) = change.apply(&mut pipeline, now, &mut changes) {
                pipeline.roll_back(checkpoint, &changes, now);
                return Err((index, error));
            }
            if follows_flows {
                authors.push((changes.len(), author(index)));
            }
        }
        pipeline.keep(checkpoint);
        drop(pipeline);
        self.hand_over(&changes, &authors, is_atomic);
        Ok(())
    }

    /// Puts these in the place of everything; what cannot be is left out.
    pub(crate) fn replace_all(&mut self, wanted: Vec<TableChange>) {
        let now = MonotonicTime::now().0;
        let mut pipeline = self.pipeline.write();
        let mut changes = remove_all(&mut pipeline, now);
        for change in wanted {
            // What cannot be is left out.
            let _ = change.apply(&mut pipeline, now, &mut changes);
        }
        drop(pipeline);
        self.hand_over(&changes, &[], true);
        self.settle();
    }

    /// Does one change; when it returns, every data-plane thread runs it.
    ///
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub fn change(&mut self, change: TableChange) -> Result<(), ErrorMessage> {
        let now = MonotonicTime::now().0;
        let mut changes = Vec::new();
        change.apply(&mut self.pipeline.write(), now, &mut changes)?;
        self.take_over(&changes, &[]);
        self.settle();
        Ok(())
    }

    /// Has the data plane take over changes, and reports them to the watcher.
    pub(crate) fn take_over(&mut self, changes: &[Change], authors: &[Authored]) {
        self.hand_over(changes, authors, false);
    }

    /// The same; where it is atomic, no frame meets some of the changes without the others.
    pub(crate) fn hand_over(&mut self, changes: &[Change], authors: &[Authored], is_atomic: bool) {
        if changes.is_empty() {
            return;
        }
        if is_atomic {
            self.plane.apply_together(changes);
        } else {
            self.plane.apply(changes);
        }
        self.is_unsettled = true;
        self.revision.fetch_add(1, Relaxed);
        let Some(watcher) = self.watcher.clone() else {
            return;
        };
        if watcher.follows_flows() {
            watcher.flows_changed(changes, authors);
        }
        let removed = self.removed(changes);
        if !removed.is_empty() {
            watcher.removed(&removed);
        }
        if !self.vacancies.is_empty() {
            let pipeline = self.pipeline.read();
            for (table, crossing) in self.vacancies.look(&pipeline) {
                watcher.table_crossed(&pipeline, &self.vacancies, table, crossing);
            }
        }
    }

    /// Waits until every data-plane thread runs the tables as they are.
    pub(crate) fn settle(&mut self) {
        if !std::mem::take(&mut self.is_unsettled) {
            return;
        }
        self.plane.settle();
        let mut pipeline = self.pipeline.write();
        // No thread counts with them any more.
        let retired = pipeline.take_retired();
        pipeline.counters.take_back(retired);
    }

    /// Whether a table makes room, and when it speaks up.
    pub(crate) fn configure_table(&mut self, table: u8, evicts: bool, thresholds: Option<Thresholds>) {
        let mut pipeline = self.pipeline.write();
        pipeline.set_eviction(table, evicts);
        self.vacancies.set(table, thresholds, &pipeline);
    }

    fn follows_flows(&self) -> bool {
        self.watcher.as_ref().is_some_and(|watcher| watcher.follows_flows())
    }

    /// The entries among changes whose controllers want to know that they went.
    fn removed(&self, changes: &[Change]) -> Vec<RemovedEvent> {
        let (pipeline, now) = (self.pipeline.read(), MonotonicTime::now().0);
        let removed = changes.iter().filter_map(|change| match change {
            Change::Removed { entry, reason } if entry.flags & flow_flag::SEND_FLOW_REMOVED != 0 => {
                Some(RemovedEvent {
                    entry: Arc::clone(entry),
                    reason: *reason,
                    count: pipeline.counters.read(entry.counter),
                    age_ns: now.saturating_sub(entry.installed_at),
                })
            }
            _ => None,
        });
        removed.collect()
    }
}

pub(crate) fn remove_all(pipeline: &mut Pipeline, now: u64) -> Vec<Change> {
    let groups = GroupMod {
        command: ModCommand::Delete,
        group_type: GroupType::All,
        group: GROUP_ALL,
        buckets: Vec::new(),
    };
    let meters = MeterMod {
        command: ModCommand::Delete,
        flags: 0,
        meter: METER_ALL,
        bands: Vec::new(),
    };
    // Deletions of everything cannot fail.
    let done = [
        pipeline.flow_mod(&delete_everything(), now),
        pipeline.group_mod(&groups, now),
        pipeline.meter_mod(&meters, now),
    ];
    done.into_iter().flatten().flatten().collect()
}

pub(crate) fn apply_all(
    pipeline: &mut Pipeline,
    file: &str,
    tables: &Tables,
    now: u64,
    changes: &mut Vec<Change>,
) -> Result<(), TableError> {
    for Placed { place, value } in &tables.changes {
        let done = match value {
            tables::Change::Flow(flow) => pipeline.flow_mod(flow, now),
            tables::Change::Group(group) => pipeline.group_mod(group, now),
            tables::Change::Meter(meter) => pipeline.meter_mod(meter, now),
        };
        changes.extend(done.map_err(|error| TableError::refused(file, *place, &error))?);
    }
    Ok(())
}

/// Changes one after the other, memory being fetched for later ones meanwhile.
fn fetched_ahead(changes: Vec<TableChange>) -> impl Iterator<Item = TableChange> {
    let mut changes = changes.into_iter();
    std::iter::from_fn(move || {
        if let Some(later) = changes.as_slice().get(AHEAD) {
            later.prefetch();
        }
        changes.next()
    })
}
