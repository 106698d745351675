//! Statistics and descriptions that controllers ask for.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{
    ACTION_NUMBERS, Age, Aggregate, Counts, Description, EthernetAddress, EthernetDescription, EthernetFeatures,
    FlowFilter, FlowStatistics, GroupDescription, GroupFeatures, GroupStatistics, MORE, Message, MeterConfiguration,
    MeterCounts, MeterFeatures, MeterStatistics, Name, Part, Port, PortCounts, PortProperty, PortStatistics,
    QueueCounts, QueueSelector, QueueStatistics, Reply, Request, TableStatistics, Version, Wire, WithLength, Writer,
    port_state,
};
use brimful_openflow::{ErrorCode, ErrorMessage, FlowCommand, FlowMod, GROUP_ALL};
use brimful_pipeline::{Count, CounterId, FlowEntry, GroupEntry, MeterEntry, Pipeline};

use super::queue_config::{QUEUE_ALL, ports};
use super::table_config::table_description;
use super::{queue_config, table_features};
use crate::control::Switch;
use crate::ports::SwitchPort;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of one part of a reply at most: messages end at 64 KiB.
const MOST_PART_BYTES: usize = 60_000;
/// All meters.
const METER_ALL: u32 = 0xffff_ffff;
/// Group types, by bits: all, select, indirect and fast failover.
const GROUP_TYPES: u32 = 0xf;
/// Weights, liveness, chaining and checks for loops.
const GROUP_CAPABILITIES: u32 = 0xf;
const MOST_GROUPS: u32 = 0xffff_ff00;
const MOST_METERS: u32 = 0xffff_0000;
/// Kilobits, packets, bursts and statistics.
const METER_CAPABILITIES: u32 = 0xf;
/// Drop and DSCP remark, by bits of their numbers.
const BAND_TYPES: u32 = 1 << 1 | 1 << 2;

type Replies = Result<Vec<Message>, ErrorMessage>;

/// The replies to a request, in as many parts as they need.
pub(super) fn replies(switch: &Switch, request: &Request, version: Version) -> Replies {
    let pipeline = switch.pipeline.read();
    let parts = Parts(version);
    Ok(match request {
        Request::Description => one(Reply::Description(Box::new(description(switch)))),
        Request::Flow(filter) => parts.of(flows(&pipeline, filter)?, Reply::Flow),
        Request::Aggregate(filter) => one(Reply::Aggregate(aggregate(&pipeline, filter)?)),
        Request::Table => parts.of(tables(&pipeline), Reply::Table),
        Request::Port(wanted) => {
            let chosen = ports(switch, wanted.number)?;
            parts.of(chosen.map(|port| port_statistics(&port)).collect(), Reply::Port)
        }
        Request::Queue(wanted) => parts.of(queues(switch, wanted)?, Reply::Queue),
        Request::Group(wanted) => parts.of(group_statistics(&pipeline, wanted.number), Reply::Group),
        Request::GroupDescription => parts.of(group_descriptions(&pipeline), Reply::GroupDescription),
        Request::GroupFeatures => one(Reply::GroupFeatures(GroupFeatures {
            types: GROUP_TYPES,
            capabilities: GROUP_CAPABILITIES,
            maximum: [MOST_GROUPS; 4],
            actions: [ACTION_NUMBERS.iter().fold(0, |bits, number| bits | 1 << number); 4],
        })),
        Request::Meter(wanted) => parts.of(meter_statistics(&pipeline, wanted.number)?, Reply::Meter),
        Request::MeterConfiguration(wanted) => parts.of(
            meter_configurations(&pipeline, wanted.number)?,
            Reply::MeterConfiguration,
        ),
        Request::MeterFeatures => one(Reply::MeterFeatures(MeterFeatures {
            maximum: MOST_METERS,
            band_types: BAND_TYPES,
            capabilities: METER_CAPABILITIES,
            maximum_bands: u8::MAX,
            maximum_colour: 0,
        })),
        Request::TableFeatures(wanted) => {
            if !wanted.is_empty() {
                table_features::check(&pipeline, version, wanted)?;
            }
            parts.of(table_features::all(&pipeline, version), Reply::TableFeatures)
        }
        Request::PortDescription => parts.of(
            switch.ports.all().iter().map(port_description).collect(),
            Reply::PortDescription,
        ),
        Request::TableDescription => {
            let tables = 0..pipeline.limits().tables;
            let description = |table| WithLength(table_description(&pipeline, &switch.vacancies, table));
            let descriptions = tables.map(description);
            parts.of(descriptions.collect(), Reply::TableDescription)
        }
        Request::QueueDescription(wanted) => {
            parts.of(queue_config::descriptions(switch, wanted)?, Reply::QueueDescription)
        }
        Request::Experimenter(content) => {
            return Err(
                ErrorCode::BAD_EXPERIMENTER.because(format!("experimenter {:#x} is not known", content.experimenter))
            );
        }
        Request::FlowMonitor(_) => return Err(ErrorCode::BAD_MULTIPART.because("monitors are begun elsewhere")),
    })
}

fn one(reply: Reply) -> Vec<Message> {
    vec![Message::MultipartReply(Part {
        flags: 0,
        content: reply,
    })]
}

/// Replies of a version, in parts.
#[derive(Clone, Copy)]
struct Parts(Version);

impl Parts {
    /// Splits a list into replies that fit into messages; all but the last say that more follow.
    fn of<T: Wire>(self, items: Vec<T>, reply: impl Fn(Vec<T>) -> Reply) -> Vec<Message> {
        let (mut lists, mut bytes) = (vec![Vec::new()], 0);
        for item in items {
            let mut writer = Writer::new(self.0);
            item.encode(&mut writer);
            bytes += writer.bytes.len();
            if bytes > MOST_PART_BYTES {
                lists.push(Vec::new());
                bytes = writer.bytes.len();
            }
            lists.last_mut().expect("there is one at least").push(item);
        }
        let last = lists.len() - 1;
        let part = |(index, list)| {
            let flags = if index < last { MORE } else { 0 };
            Message::MultipartReply(Part {
                flags,
                content: reply(list),
            })
        };
        lists.into_iter().enumerate().map(part).collect()
    }
}

fn description(switch: &Switch) -> Description {
    Description {
        manufacturer: Name::new("brimful"),
        hardware: Name::new("software"),
        software: Name::new(env!("CARGO_PKG_VERSION")),
        serial_number: Name::new(""),
        data_path: Name::new(&switch.name),
    }
}

fn age(since: u64) -> Age {
    let age = MonotonicTime::now().0.saturating_sub(since);
    Age {
        seconds: (age / 1_000_000_000) as u32,
        nanoseconds: (age % 1_000_000_000) as u32,
    }
}

fn selected(pipeline: &Pipeline, filter: &FlowFilter) -> Result<Vec<Arc<FlowEntry>>, ErrorMessage> {
    if filter.table != brimful_openflow::TABLE_ALL && filter.table >= pipeline.limits().tables {
        return Err(ErrorCode::BAD_TABLE.because(format!("there is no table {}", filter.table)));
    }
    Ok(pipeline.select(&FlowMod {
        command: FlowCommand::Delete,
        cookie: filter.cookie,
        cookie_mask: filter.cookie_mask,
        out_port: filter.out_port,
        out_group: filter.out_group,
        ..FlowMod::add(filter.table, 0, filter.matching.clone(), Vec::new())
    }))
}

fn flows(pipeline: &Pipeline, filter: &FlowFilter) -> Result<Vec<WithLength<0, FlowStatistics>>, ErrorMessage> {
    let statistics = |entry: &Arc<FlowEntry>| {
        let count = pipeline.counters.read(entry.counter);
        WithLength(FlowStatistics {
            table: entry.table,
            age: age(entry.installed_at),
            priority: entry.priority,
            idle_timeout_s: entry.idle_timeout_s,
            hard_timeout_s: entry.hard_timeout_s,
            flags: entry.flags,
            importance: brimful_openflow::wire::Importance(entry.importance),
            cookie: entry.cookie,
            packets: count.packets,
            bytes: count.bytes,
            matching: entry.matching(),
            instructions: entry.given(),
        })
    };
    Ok(selected(pipeline, filter)?.iter().map(statistics).collect())
}

fn aggregate(pipeline: &Pipeline, filter: &FlowFilter) -> Result<Aggregate, ErrorMessage> {
    let entries = selected(pipeline, filter)?;
    let counts = entries.iter().map(|entry| pipeline.counters.read(entry.counter));
    let sum = counts.fold(Count::default(), |sum, count| Count {
        packets: sum.packets + count.packets,
        bytes: sum.bytes + count.bytes,
    });
    Ok(Aggregate {
        packets: sum.packets,
        bytes: sum.bytes,
        flows: entries.len() as u32,
    })
}

fn tables(pipeline: &Pipeline) -> Vec<TableStatistics> {
    let statistics = |table| {
        let (lookups, matches) = pipeline.table_counters(table);
        TableStatistics {
            table,
            active: pipeline.len(table) as u32,
            lookups: pipeline.counters.read(lookups).packets,
            matches: pipeline.counters.read(matches).packets,
        }
    };
    (0..pipeline.limits().tables).map(statistics).collect()
}

fn port_statistics(port: &Arc<SwitchPort>) -> PortStatistics {
    let counts = &port.counts;
    PortStatistics {
        port: port.number,
        counts: PortCounts {
            received_packets: counts.received_frames.load(Relaxed),
            sent_packets: counts.sent_frames.load(Relaxed),
            received_bytes: counts.received_bytes.load(Relaxed),
            sent_bytes: counts.sent_bytes.load(Relaxed),
            receive_drops: counts.received_dropped.load(Relaxed),
            send_drops: counts.sent_dropped.load(Relaxed),
            receive_errors: u64::MAX,
            send_errors: counts.send_errors.load(Relaxed),
        },
        ethernet: None,
        age: age(port.made_at),
    }
}

/// A port as controllers see it.
pub(super) fn port_description(port: &Arc<SwitchPort>) -> Port {
    let mut state = if port.has_link() { 0 } else { port_state::LINK_DOWN };
    if port.is_live() {
        state |= port_state::LIVE;
    }
    let features = EthernetFeatures {
        current: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        current_speed: 0,
        maximum_speed: 0,
    };
    Port {
        number: port.number,
        address: EthernetAddress(port.address()),
        name: Name::new(&port.name),
        config: port.config(),
        state,
        properties: vec![PortProperty::Ethernet(0, EthernetDescription { features })],
    }
}

fn queues(switch: &Switch, wanted: &QueueSelector) -> Result<Vec<QueueStatistics>, ErrorMessage> {
    let ports = ports(switch, wanted.port).map_err(|error| ErrorCode::QUEUE_PORT.because(error.detail))?;
    let counts = ports.flat_map(|port| {
        let age = age(port.made_at);
        let counts = port.queue_counts().into_iter();
        counts.map(move |count| {
            QueueStatistics(QueueCounts {
                port: port.number,
                queue: count.queue,
                bytes: count.bytes,
                packets: count.frames,
                errors: count.dropped,
                age: age.clone(),
            })
        })
    });
    let counts = counts.filter(|counts| wanted.queue == QUEUE_ALL || counts.0.queue == wanted.queue);
    let counts: Vec<QueueStatistics> = counts.collect();
    if counts.is_empty() && wanted.queue != QUEUE_ALL {
        return Err(ErrorCode::QUEUE_UNKNOWN.because(format!("there is no queue {}", wanted.queue)));
    }
    Ok(counts)
}

fn counts(pipeline: &Pipeline, counters: &[CounterId]) -> Vec<Counts> {
    let read = |counter: &CounterId| {
        let Count { packets, bytes } = pipeline.counters.read(*counter);
        Counts { packets, bytes }
    };
    counters.iter().map(read).collect()
}

fn groups(pipeline: &Pipeline, wanted: u32) -> Vec<&Arc<GroupEntry>> {
    let groups = pipeline.shared().groups.values();
    let mut groups: Vec<_> = groups
        .filter(|group| wanted == GROUP_ALL || group.group == wanted)
        .collect();
    groups.sort_by_key(|group| group.group);
    groups
}

fn group_statistics(pipeline: &Pipeline, wanted: u32) -> Vec<WithLength<0, GroupStatistics>> {
    let references = |group: u32| {
        let tables = 0..pipeline.limits().tables;
        let entries = tables
            .flat_map(|table| pipeline.entries(table))
            .filter(|entry| entry.uses_group(group));
        let groups = pipeline
            .shared()
            .groups
            .values()
            .filter(|other| other.chained().any(|next| next == group));
        (entries.count() + groups.count()) as u32
    };
    let statistics = |group: &Arc<GroupEntry>| {
        let count = pipeline.counters.read(group.counter);
        WithLength(GroupStatistics {
            group: group.group,
            references: references(group.group),
            packets: count.packets,
            bytes: count.bytes,
            age: age(group.installed_at),
            buckets: counts(pipeline, &group.bucket_counters),
        })
    };
    groups(pipeline, wanted).into_iter().map(statistics).collect()
}

fn group_descriptions(pipeline: &Pipeline) -> Vec<WithLength<0, GroupDescription>> {
    let description = |group: &Arc<GroupEntry>| {
        WithLength(GroupDescription {
            group_type: group.group_type,
            group: group.group,
            buckets: group.buckets.clone(),
        })
    };
    groups(pipeline, GROUP_ALL).into_iter().map(description).collect()
}

fn meters(pipeline: &Pipeline, wanted: u32) -> Result<Vec<&Arc<MeterEntry>>, ErrorMessage> {
    let meters = pipeline.shared().meters.values();
    let mut meters: Vec<_> = meters
        .filter(|meter| wanted == METER_ALL || meter.meter == wanted)
        .collect();
    if meters.is_empty() && wanted != METER_ALL {
        return Err(ErrorCode::METER_UNKNOWN.because(format!("there is no meter {wanted}")));
    }
    meters.sort_by_key(|meter| meter.meter);
    Ok(meters)
}

fn meter_statistics(pipeline: &Pipeline, wanted: u32) -> Result<Vec<MeterStatistics>, ErrorMessage> {
    let flows = |meter: u32| {
        let tables = 0..pipeline.limits().tables;
        let entries = tables.flat_map(|table| pipeline.entries(table));
        entries.filter(|entry| entry.instructions.meter == Some(meter)).count() as u32
    };
    let statistics = |meter: &Arc<MeterEntry>| {
        let count = pipeline.counters.read(meter.counter);
        MeterStatistics {
            meter: meter.meter,
            counts: WithLength(MeterCounts {
                flows: flows(meter.meter),
                packets: count.packets,
                bytes: count.bytes,
                age: age(meter.installed_at),
                bands: counts(pipeline, &meter.band_counters),
            }),
        }
    };
    Ok(meters(pipeline, wanted)?.into_iter().map(statistics).collect())
}

fn meter_configurations(
    pipeline: &Pipeline,
    wanted: u32,
) -> Result<Vec<WithLength<0, MeterConfiguration>>, ErrorMessage> {
    let configuration = |meter: &Arc<MeterEntry>| {
        WithLength(MeterConfiguration {
            flags: meter.flags,
            meter: meter.meter,
            bands: meter.bands.clone(),
        })
    };
    Ok(meters(pipeline, wanted)?.into_iter().map(configuration).collect())
}
