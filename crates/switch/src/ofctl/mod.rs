//! `brimful switch ofctl`: asks any switch of OpenFlow 1.3, changes its flows, and shows what it says.

mod connection;
mod extensions;
mod nicira;
mod relay;
mod stream;
mod text;

use std::io::Write;
use std::num::NonZeroU64;

use brimful_openflow::wire::{
    AsyncConfiguration, EventMask, FlowFilter, Message, Part, Reply, Request, Selector, WithLength,
};
use brimful_openflow::{FlowMod, GROUP_ALL, TABLE_ALL, port};
use clap::{Args, Subcommand};
use thiserror::Error;

use crate::notice::say;
use crate::tables::{Change, TableError, ovs};
use connection::{Connection, line, unreadable};
use stream::Place;

/// All meters.
const METER_ALL: u32 = 0xffff_ffff;
/// All reasons of packet-ins, port-statuses and flow-removeds of 1.3.
const ALL_REASONS: [u32; 6] = [7, 7, 7, 7, 15, 15];

/// Which switch, and what to do with it.
#[derive(Args)]
pub struct Ofctl {
    /// The switch, as tcp:HOST:PORT, unix:PATH, or ptcp:PORT to wait until it connects.
    switch: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the switch and its ports.
    Show,
    /// Print flows, one a line, in the syntax of `load` and `add-flow`.
    DumpFlows {
        /// Only these flows, such as table=1,ip,out_port=2,cookie=5/-1.
        filter: Option<String>,
        /// Omit counters and ages.
        #[arg(long)]
        no_counters: bool,
    },
    /// Add flows, such as `in_port=1,actions=output:2`. A line with `group_id` or `meter` adds a group or a meter.
    AddFlow {
        /// The flows, one each.
        #[arg(required = true)]
        lines: Vec<String>,
    },
    /// Change the instructions of existing flows.
    ModFlows {
        /// The flows and their new actions=...
        line: String,
        /// Only the flow with exactly this match and priority.
        #[arg(long)]
        strict: bool,
    },
    /// Delete flows; without an argument all of them.
    DelFlows {
        /// The flows.
        line: Option<String>,
        /// Only the flow with exactly this match and priority.
        #[arg(long)]
        strict: bool,
    },
    /// Print the counters of ports.
    DumpPorts {
        /// Only this port.
        port: Option<u32>,
    },
    /// Print groups, one a line.
    DumpGroups {
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
    },
    /// Print meters, one a line.
    DumpMeters {
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
    },
    /// Print the asynchronous messages of the switch as they arrive.
    Monitor {
        /// End after this number of messages.
        #[arg(long)]
        count: Option<NonZeroU64>,
    },
    /// Print all messages between a switch and its controller: from a snoop socket of Open vSwitch, or as a proxy.
    Snoop {
        /// Act as a proxy for this controller, as tcp:HOST:PORT, unix:PATH, or ptcp:PORT.
        #[arg(long)]
        controller: Option<String>,
        /// End after this number of messages.
        #[arg(long)]
        count: Option<NonZeroU64>,
    },
}

/// Why it could not be done.
#[derive(Debug, Error)]
pub enum OfctlError {
    /// What was asked for cannot be read.
    #[error("{0}")]
    Usage(String),
    /// The switch is not there, or does not do it.
    #[error("{0}")]
    Failed(String),
}

impl From<TableError> for OfctlError {
    fn from(error: TableError) -> Self {
        Self::Usage(error.to_string())
    }
}

type Done = Result<(), OfctlError>;

/// Does it, and prints what comes of it.
///
/// # Errors
/// In one line.
pub fn run(asked: &Ofctl, out: &mut (dyn Write + Send)) -> Done {
    // What cannot be read is told before anyone is connected to.
    let changes = asked.command.changes()?;
    let place = Place::read(&asked.switch)?;
    if let Command::Snoop { controller, count } = &asked.command {
        let count = count.map(NonZeroU64::get);
        return match controller {
            None => watch(&mut Connection::open(&place)?, count, out),
            Some(controller) => relay::run(&place, &Place::read(controller)?, count, out),
        };
    }
    let mut switch = Connection::open(&place)?;
    match &asked.command {
        Command::Show => show(&mut switch, out),
        Command::DumpFlows { filter, no_counters } => dump_flows(&mut switch, filter.as_deref(), !no_counters, out),
        Command::DumpPorts { port } => {
            let number = port.unwrap_or(port::ANY);
            list(&mut switch, Request::Port(Selector { number }), text::port_counts, out)
        }
        Command::DumpGroups { counters } => {
            ask(
                &mut switch,
                Request::GroupDescription,
                text::group,
                extensions::groups,
                out,
            )?;
            let wanted = Request::Group(Selector { number: GROUP_ALL });
            if *counters {
                list(&mut switch, wanted, text::group_counts, out)
            } else {
                Ok(())
            }
        }
        Command::DumpMeters { counters } => {
            let all = || Selector { number: METER_ALL };
            list(&mut switch, Request::MeterConfiguration(all()), text::meter, out)?;
            if *counters {
                list(&mut switch, Request::Meter(all()), text::meter_counts, out)
            } else {
                Ok(())
            }
        }
        Command::Monitor { count } => {
            switch.send(&Message::SetAsync(everything()))?;
            watch(&mut switch, count.map(NonZeroU64::get), out)
        }
        _ => switch.change(&changes),
    }
}

impl Command {
    /// What it changes in the tables.
    fn changes(&self) -> Result<Vec<Message>, OfctlError> {
        let read = |text: String| -> Result<Vec<Message>, OfctlError> {
            let tables = ovs::read("flow", &text)?;
            tables.notes_of("flow").for_each(say);
            let values = tables.changes.into_iter().map(|change| change.value);
            Ok(values.map(message_of).collect())
        };
        match self {
            Self::AddFlow { lines } => read(lines.join("\n")),
            Self::ModFlows { line, strict } => {
                read(format!("{} {line}", if *strict { "modify_strict" } else { "modify" }))
            }
            Self::DelFlows { line, strict } => {
                let mut change = selection(line.as_deref())?;
                if *strict {
                    change.command = brimful_openflow::FlowCommand::DeleteStrict;
                }
                Ok(vec![Message::FlowMod(change)])
            }
            Self::DumpFlows { filter, .. } => selection(filter.as_deref()).map(|_| Vec::new()),
            _ => Ok(Vec::new()),
        }
    }
}

fn message_of(change: Change) -> Message {
    match change {
        Change::Flow(flow) => Message::FlowMod(*flow),
        Change::Group(group) => Message::GroupMod(group),
        Change::Meter(meter) => Message::MeterMod(meter),
    }
}

/// The deletion of which flows are meant; those of all tables where no table is named.
fn selection(line: Option<&str>) -> Result<FlowMod, OfctlError> {
    let line = line.unwrap_or_default();
    let tables = ovs::read("flow", &format!("delete {line}"))?;
    tables.notes_of("flow").for_each(say);
    let change = tables.changes.into_iter().next().map(|change| change.value);
    let Some(Change::Flow(mut flow)) = change else {
        return Err(OfctlError::Usage(format!("{line:?} selects no flows")));
    };
    if !line.split([',', ' ']).any(|word| word.starts_with("table=")) {
        flow.table = TABLE_ALL;
    }
    Ok(*flow)
}

fn show(switch: &mut Connection, out: &mut dyn Write) -> Done {
    for (name, request) in [
        ("features", Message::FeaturesRequest),
        ("configuration", Message::GetConfigRequest),
    ] {
        match switch.ask(&request)? {
            Message::FeaturesReply(features) => {
                print(out, &format!("datapath {:016x}: {features}", features.datapath))?;
            }
            Message::GetConfigReply(configuration) => print(out, &format!("{name}: {configuration}"))?,
            other => return Err(unexpected(&other.to_string())),
        }
    }
    list(switch, Request::Description, text::description, out)?;
    list(switch, Request::PortDescription, text::ports, out)
}

fn dump_flows(switch: &mut Connection, filter: Option<&str>, counters: bool, out: &mut dyn Write) -> Done {
    let wanted = selection(filter)?;
    let request = Request::Flow(FlowFilter {
        table: wanted.table,
        out_port: wanted.out_port,
        out_group: wanted.out_group,
        cookie: wanted.cookie,
        cookie_mask: wanted.cookie_mask,
        matching: wanted.matching,
    });
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

/// Asks for something and prints each part of the reply.
fn list(
    switch: &mut Connection,
    request: Request,
    lines: impl Fn(&Reply) -> Option<Vec<String>>,
    out: &mut dyn Write,
) -> Done {
    ask(switch, request, lines, |_| None, out)
}

/// The same, where a part may have what OpenFlow does not have: its bytes are read then.
fn ask(
    switch: &mut Connection,
    request: Request,
    lines: impl Fn(&Reply) -> Option<Vec<String>>,
    extended: impl Fn(&[u8]) -> Option<Vec<String>>,
    out: &mut dyn Write,
) -> Done {
    let request = Message::MultipartRequest(Part {
        flags: 0,
        content: request,
    });
    switch.ask_in_parts(&request, |received| {
        let found = match &received.message {
            Ok(Message::MultipartReply(part)) => lines(&part.content),
            Ok(_) => None,
            Err(error) => Some(extended(&received.bytes).ok_or_else(|| unreadable(error))?),
        };
        let found = found.ok_or_else(|| unexpected(&line(received)))?;
        found.iter().try_for_each(|line| print(out, line))
    })
}

/// Prints messages as they come, until so many have come or the connection ends.
fn watch(switch: &mut Connection, count: Option<u64>, out: &mut dyn Write) -> Done {
    let mut left = count;
    while left != Some(0) {
        let Some(line) = switch.next_event()? else {
            return Ok(());
        };
        print(out, &line)?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

fn everything() -> AsyncConfiguration {
    let masks = ALL_REASONS.iter().zip(0..);
    AsyncConfiguration {
        masks: masks.map(|(&mask, event)| EventMask { event, mask }).collect(),
    }
}

fn print(out: &mut dyn Write, line: &str) -> Done {
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| OfctlError::Failed(error.to_string()))
}

fn unexpected(message: &str) -> OfctlError {
    OfctlError::Failed(format!("the switch answers with something else: {message}"))
}
