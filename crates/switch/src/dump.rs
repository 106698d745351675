//! Tables of a switch as text that is read again.

use brimful_openflow::{Bucket, FlowMod, GroupMod, MeterMod, ModCommand};
use brimful_pipeline::{FlowEntry, Pipeline};

use crate::control::Switch;
use crate::tables::{ovs, tab};

/// Everything, groups and meters first: flows need them.
pub fn dump(switch: &Switch, as_records: bool, counters: bool) -> String {
    let pipeline = switch.pipeline.read();
    let entries = (0..pipeline.limits().tables).flat_map(|table| pipeline.entries(table));
    if as_records {
        let flows: Vec<FlowMod> = entries.map(|entry| flow_of(entry)).collect();
        return tab::write_records(&flows);
    }
    let mut lines = shared_lines(&pipeline);
    for entry in entries {
        let mut line = ovs::write_flow(&flow_of(entry));
        if counters {
            let count = pipeline.counters.read(entry.counter);
            line = format!("n_packets={},n_bytes={},{line}", count.packets, count.bytes);
        }
        lines.push(line);
    }
    // Each line ends, the last one too.
    lines.push(String::new());
    lines.join("\n")
}

fn shared_lines(pipeline: &Pipeline) -> Vec<String> {
    let shared = pipeline.shared();
    let mut meters: Vec<_> = shared.meters.values().collect();
    meters.sort_by_key(|meter| meter.meter);
    let mut groups: Vec<_> = shared.groups.values().collect();
    groups.sort_by_key(|group| group.installed_at);
    let meters = meters.into_iter().map(|meter| {
        ovs::write_meter(&MeterMod {
            command: ModCommand::Add,
            flags: meter.flags,
            meter: meter.meter,
            bands: meter.bands.clone(),
        })
    });
    let groups = groups.into_iter().map(|group| {
        let buckets: Vec<Bucket> = group.buckets.clone();
        ovs::write_group(&GroupMod {
            command: ModCommand::Add,
            group_type: group.group_type,
            group: group.group,
            buckets,
        })
    });
    meters.chain(groups).collect()
}

/// The flow-mod that makes an entry.
pub(crate) fn flow_of(entry: &FlowEntry) -> FlowMod {
    FlowMod {
        cookie: entry.cookie,
        flags: entry.flags,
        importance: entry.importance,
        idle_timeout_s: entry.idle_timeout_s,
        hard_timeout_s: entry.hard_timeout_s,
        ..FlowMod::add(entry.table, entry.priority, entry.matching.clone(), entry.given.clone())
    }
}
