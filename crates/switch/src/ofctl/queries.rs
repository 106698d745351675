//! Commands that print what a switch says of itself, and change nothing.

use std::io::Write;
use std::num::NonZeroU64;

use brimful_openflow::wire::{Data, FlowFilter, Message, QueueSelector, Reply, Request, Selector, WithLength};
use brimful_openflow::{FlowMod, GROUP_ALL, port};

use super::commands::Command;
use super::connection::Connection;
use super::{
    Done, OfctlError, QUEUE_ALL, ask, configuration, everything, extensions, gather, list, ports, print, selection,
    text, unexpected, watch,
};
use crate::tables::ovs::{METER_ALL, PortNames};

impl Command {
    /// Asks for what it prints.
    pub(super) fn ask(&self, switch: &mut Connection, names: PortNames<'_>, out: &mut dyn Write) -> Done {
        match self {
            Self::Show => show(switch, out),
            Self::DumpDesc => list(switch, Request::Description, text::description, out),
            Self::DumpPortsDesc { port } => {
                let number = number_or_any(switch, port.as_deref())?;
                let all = ports::all(switch)?.into_iter();
                let mut wanted = all.filter(|port| number == port::ANY || port.number == number);
                wanted.try_for_each(|port| print(out, &text::port(&port)))
            }
            Self::DumpTables => dump_tables(switch, out),
            Self::DumpFlows { filter, no_counters } => {
                dump_flows(switch, selection(filter.as_deref(), names)?.0, !no_counters, out)
            }
            Self::DumpAggregate { filter } => {
                let wanted = filter_of(selection(filter.as_deref(), names)?.0);
                list(switch, Request::Aggregate(wanted), text::aggregate, out)
            }
            Self::DumpPorts { port } => {
                let number = number_or_any(switch, port.as_deref())?;
                list(switch, Request::Port(Selector { number }), text::port_counts, out)
            }
            Self::QueueStats { port, queue } => {
                let port = number_or_any(switch, port.as_deref())?;
                let queue = queue.unwrap_or(QUEUE_ALL);
                list(
                    switch,
                    Request::Queue(QueueSelector { port, queue }),
                    text::queue_counts,
                    out,
                )
            }
            Self::DumpGroups { group, counters } => {
                dump_groups(switch, *group, out)?;
                if *counters {
                    group_counts(switch, *group, out)
                } else {
                    Ok(())
                }
            }
            Self::DumpGroupStats { group } => group_counts(switch, *group, out),
            Self::DumpMeters { meter, counters } => {
                let request = Request::MeterConfiguration(meters(*meter));
                list(switch, request, text::meter, out)?;
                if *counters {
                    list(switch, Request::Meter(meters(*meter)), text::meter_counts, out)
                } else {
                    Ok(())
                }
            }
            Self::GetFrags => configuration::print_fragments(switch, out),
            Self::Probe => match switch.ask(&Message::EchoRequest(Data::default()))? {
                Message::EchoReply(_) => Ok(()),
                other => Err(unexpected(&other.to_string())),
            },
            Self::MeterStats { meter } => list(switch, Request::Meter(meters(*meter)), text::meter_counts, out),
            Self::Monitor { miss_len, count } => {
                if let Some(length) = miss_len {
                    configuration::set_miss_len(switch, *length)?;
                }
                switch.send(&Message::SetAsync(everything()))?;
                watch(switch, count.map(NonZeroU64::get), out)
            }
            // All others change something.
            _ => Ok(()),
        }
    }
}

fn number_or_any(switch: &mut Connection, text: Option<&str>) -> Result<u32, OfctlError> {
    // ALL is a destination; what counts for all ports is asked with ANY.
    match text.map(|text| ports::number(switch, text)).transpose()? {
        None | Some(port::ALL) => Ok(port::ANY),
        Some(number) => Ok(number),
    }
}

fn show(switch: &mut Connection, out: &mut dyn Write) -> Done {
    match switch.ask(&Message::FeaturesRequest)? {
        Message::FeaturesReply(features) => print(out, &format!("datapath {:016x}: {features}", features.datapath))?,
        other => return Err(unexpected(&other.to_string())),
    }
    print(out, &format!("configuration: {}", configuration::read(switch)?))?;
    list(switch, Request::Description, text::description, out)?;
    ports::all(switch)?
        .iter()
        .try_for_each(|port| print(out, &text::port(port)))
}

/// Tables that say the same are one line.
fn dump_tables(switch: &mut Connection, out: &mut dyn Write) -> Done {
    let tables = gather(switch, Request::Table, |reply| match reply {
        Reply::Table(tables) => Some(tables.as_slice()),
        _ => None,
    })?;
    text::tables(&tables).iter().try_for_each(|line| print(out, line))
}

/// A switch is asked for all groups: the request has room for one from OpenFlow 1.5 on.
fn dump_groups(switch: &mut Connection, group: Option<u32>, out: &mut dyn Write) -> Done {
    let wanted = group.filter(|&group| group != GROUP_ALL);
    let start = wanted.map_or_else(|| "group_id=".to_owned(), |group| format!("group_id={group},"));
    let only = |mut lines: Vec<String>| {
        lines.retain(|line| line.starts_with(&start));
        lines
    };
    let lines = |reply: &Reply| text::group(reply).map(only);
    let extended = |bytes: &[u8]| extensions::groups(bytes).map(only);
    ask(switch, Request::GroupDescription, lines, extended, out)
}

fn group_counts(switch: &mut Connection, group: Option<u32>, out: &mut dyn Write) -> Done {
    let number = group.unwrap_or(GROUP_ALL);
    list(switch, Request::Group(Selector { number }), text::group_counts, out)
}

fn meters(meter: Option<u32>) -> Selector {
    let number = meter.unwrap_or(METER_ALL);
    Selector { number }
}

fn filter_of(wanted: FlowMod) -> FlowFilter {
    FlowFilter {
        table: wanted.table,
        out_port: wanted.out_port,
        out_group: wanted.out_group,
        cookie: wanted.cookie,
        cookie_mask: wanted.cookie_mask,
        matching: wanted.matching,
    }
}

fn dump_flows(switch: &mut Connection, wanted: FlowMod, counters: bool, out: &mut dyn Write) -> Done {
    let request = Request::Flow(filter_of(wanted));
    let lines = |reply: &Reply| match reply {
        Reply::Flow(flows) => Some(
            flows
                .iter()
                .map(|WithLength(flow)| text::flow(flow, counters))
                .collect(),
        ),
        _ => None,
    };
    ask(switch, request, lines, |bytes| extensions::flows(bytes, counters), out)
}
