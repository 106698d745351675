//! What switches answer, as lines.

use brimful_openflow::wire::{FlowStatistics, Reply, WithLength};
use brimful_openflow::{FlowMod, GroupMod, MeterMod, ModCommand};

use crate::tables::ovs;

type Lines = Option<Vec<String>>;

pub(super) fn flow(flow: &FlowStatistics, counters: bool) -> String {
    let line = ovs::write_flow(&FlowMod {
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
    });
    if !counters {
        return line;
    }
    let age = format!("{}.{:03}", flow.age.seconds, flow.age.nanoseconds / 1_000_000);
    format!(
        "duration={age}s,n_packets={},n_bytes={},{line}",
        flow.packets, flow.bytes
    )
}

pub(super) fn description(reply: &Reply) -> Lines {
    match reply {
        Reply::Description(description) => Some(vec![format!("description: {description}")]),
        _ => None,
    }
}

pub(super) fn ports(reply: &Reply) -> Lines {
    match reply {
        Reply::PortDescription(ports) => Some(ports.iter().map(|port| format!("port {port}")).collect()),
        _ => None,
    }
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
