//! What switches answer, as lines.

use brimful_openflow::wire::{FlowStatistics, Port, QueueStatistics, Reply, TableStatistics, WithLength};
use brimful_openflow::{FlowMod, GroupMod, MeterMod, ModCommand};

use crate::tables::ovs;

type Lines = Option<Vec<String>>;

/// The flow-mod that makes an entry.
pub(super) fn flow_mod(flow: &FlowStatistics) -> FlowMod {
    FlowMod {
        cookie: flow.cookie,
        flags: flow.flags,
        importance: flow.importance.0,
        idle_timeout_s: flow.idle_timeout_s,
        hard_timeout_s: flow.hard_timeout_s,
        ..FlowMod::add(
            flow.table,
            flow.priority,
            flow.matching.clone(),
            flow.instructions.clone(),
        )
    }
}

pub(super) fn flow(flow: &FlowStatistics, counters: bool) -> String {
    let line = ovs::write_flow(&flow_mod(flow));
    if !counters {
        return line;
    }
    let age = format!("{}.{:03}", flow.age.seconds, flow.age.nanoseconds / 1_000_000);
    format!(
        "duration={age}s,n_packets={},n_bytes={},{line}",
        flow.packets, flow.bytes
    )
}

/// Tables that follow one another and say the same are one line.
pub(super) fn tables(tables: &[TableStatistics]) -> Vec<String> {
    let said = |table: &TableStatistics| (table.active, table.lookups, table.matches);
    let runs = tables.chunk_by(|one, next| said(one) == said(next) && one.table.checked_add(1) == Some(next.table));
    let line = |run: &[TableStatistics]| {
        let (first, last) = (run.first()?, run.last()?);
        let which = match run.len() {
            1 => format!("table {}", first.table),
            _ => format!("tables {} to {}", first.table, last.table),
        };
        let (active, lookups, matches) = said(first);
        Some(format!("{which}: active={active},lookup={lookups},matched={matches}"))
    };
    runs.filter_map(line).collect()
}

pub(super) fn aggregate(reply: &Reply) -> Lines {
    match reply {
        Reply::Aggregate(sums) => Some(vec![format!(
            "n_packets={},n_bytes={},flow_count={}",
            sums.packets, sums.bytes, sums.flows
        )]),
        _ => None,
    }
}

pub(super) fn queue_counts(reply: &Reply) -> Lines {
    match reply {
        Reply::Queue(queues) => {
            let line = |QueueStatistics(queue): &QueueStatistics| {
                // What a queue does not count is all ones.
                let count = |value: u64| {
                    if value == u64::MAX {
                        "?".to_owned()
                    } else {
                        value.to_string()
                    }
                };
                format!(
                    "port {} queue {}: n_packets={},n_bytes={},n_errors={}",
                    queue.port,
                    queue.queue,
                    count(queue.packets),
                    count(queue.bytes),
                    count(queue.errors)
                )
            };
            Some(queues.iter().map(line).collect())
        }
        _ => None,
    }
}

pub(super) fn description(reply: &Reply) -> Lines {
    match reply {
        Reply::Description(description) => Some(vec![format!("description: {description}")]),
        _ => None,
    }
}

pub(super) fn port(port: &Port) -> String {
    format!("port {port}")
}

pub(super) fn port_counts(reply: &Reply) -> Lines {
    match reply {
        // What a port does not count is all ones.
        Reply::Port(ports) => {
            let line =
                |port: &brimful_openflow::wire::PortStatistics| port.to_string().replace(&u64::MAX.to_string(), "?");
            Some(ports.iter().map(line).collect())
        }
        _ => None,
    }
}

pub(super) fn group(reply: &Reply) -> Lines {
    let Reply::GroupDescription(groups) = reply else {
        return None;
    };
    let line = |WithLength(group): &WithLength<0, brimful_openflow::wire::GroupDescription>| {
        ovs::write_group(&GroupMod {
            command: ModCommand::Add,
            group_type: group.group_type,
            group: group.group,
            buckets: group.buckets.clone(),
        })
    };
    Some(groups.iter().map(line).collect())
}

pub(super) fn group_counts(reply: &Reply) -> Lines {
    match reply {
        Reply::Group(groups) => Some(
            groups
                .iter()
                .map(|WithLength(group)| format!("counted: {group}"))
                .collect(),
        ),
        _ => None,
    }
}

pub(super) fn meter(reply: &Reply) -> Lines {
    let Reply::MeterConfiguration(meters) = reply else {
        return None;
    };
    let line = |WithLength(meter): &WithLength<0, brimful_openflow::wire::MeterConfiguration>| {
        ovs::write_meter(&MeterMod {
            command: ModCommand::Add,
            flags: meter.flags,
            meter: meter.meter,
            bands: meter.bands.clone(),
        })
    };
    Some(meters.iter().map(line).collect())
}

pub(super) fn meter_counts(reply: &Reply) -> Lines {
    match reply {
        Reply::Meter(meters) => Some(meters.iter().map(|meter| format!("counted: {meter}")).collect()),
        _ => None,
    }
}
