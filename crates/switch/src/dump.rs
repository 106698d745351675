//! Tables of a switch as text that is read again.

use std::sync::Arc;

use brimful_openflow::{FlowMod, GroupMod, MeterMod, ModCommand};
use brimful_pipeline::{FlowEntry, Pipeline, Shared};

use crate::control::Switch;
use crate::tables::{ovs, tab};
use crate::watch::TableChange;

/// Tables at one moment.
pub(crate) struct Snapshot {
    entries: Vec<Arc<FlowEntry>>,
    shared: Arc<Shared>,
}

/// Everything, groups and meters first: flows need them.
pub fn dump(switch: &Switch, as_records: bool, counters: bool) -> String {
    let pipeline = switch.pipeline.read();
    let snapshot = Snapshot::of(&pipeline);
    if as_records {
        let flows: Vec<FlowMod> = snapshot.entries.iter().map(|entry| flow_of(entry)).collect();
        return tab::write_records(&flows);
    }
    snapshot.text_with(|entry| {
        let count = pipeline.counters.read(entry.counter);
        if counters {
            format!("n_packets={},n_bytes={},", count.packets, count.bytes)
        } else {
            String::new()
        }
    })
}

impl Snapshot {
    /// Of tables as they are.
    pub(crate) fn of(pipeline: &Pipeline) -> Self {
        let entries = (0..pipeline.limits().tables).flat_map(|table| pipeline.entries(table));
        Self {
            entries: entries.cloned().collect(),
            shared: Arc::clone(pipeline.shared()),
        }
    }

    /// The changes that make them, from empty ones on.
    pub(crate) fn changes(&self) -> Vec<TableChange> {
        let flows = self
            .entries
            .iter()
            .map(|entry| TableChange::Flow(Box::new(flow_of(entry))));
        let meters = self.meters().map(TableChange::Meter);
        let groups = self.groups().map(TableChange::Group);
        meters.chain(groups).chain(flows).collect()
    }

    fn meters(&self) -> impl Iterator<Item = MeterMod> {
        let mut meters: Vec<_> = self.shared.meters.values().collect();
        meters.sort_by_key(|meter| meter.meter);
        meters.into_iter().map(|meter| MeterMod {
            command: ModCommand::Add,
            flags: meter.flags,
            meter: meter.meter,
            bands: meter.bands.clone(),
        })
    }

    /// Those that others lead to come first.
    fn groups(&self) -> impl Iterator<Item = GroupMod> {
        let mut groups: Vec<_> = self.shared.groups.values().collect();
        groups.sort_by_key(|group| group.installed_at);
        groups.into_iter().map(|group| GroupMod {
            command: ModCommand::Add,
            group_type: group.group_type,
            group: group.group,
            buckets: group.buckets.clone(),
        })
    }

    /// As text in the syntax of `ovs-ofctl`.
    pub(crate) fn text(&self) -> String {
        self.text_with(|_| String::new())
    }

    fn text_with(&self, before: impl Fn(&FlowEntry) -> String) -> String {
        let mut lines: Vec<String> = self.meters().map(|meter| ovs::write_meter(&meter)).collect();
        lines.extend(self.groups().map(|group| ovs::write_group(&group)));
        lines.extend(
            self.entries
                .iter()
                .map(|entry| before(entry) + &ovs::write_flow(&flow_of(entry))),
        );
        // Each line ends, the last one too.
        lines.push(String::new());
        lines.join("\n")
    }
}

/// The flow-mod that makes an entry.
pub(crate) fn flow_of(entry: &FlowEntry) -> FlowMod {
    FlowMod {
        cookie: entry.cookie,
        flags: entry.flags,
        importance: entry.importance,
        idle_timeout_s: entry.idle_timeout_s,
        hard_timeout_s: entry.hard_timeout_s,
        ..FlowMod::add(entry.table, entry.priority, entry.matching(), entry.given())
    }
}
