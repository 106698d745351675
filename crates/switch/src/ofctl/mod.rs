//! `brimful switch ofctl`: asks any switch of OpenFlow 1.3 or 1.4, changes what it does, and shows what it says.

mod changes;
mod commands;
mod configuration;
mod connection;
mod difference;
mod extensions;
mod length;
mod lines;
mod nicira;
mod ports;
mod queries;
mod relay;
mod stream;
mod text;

use std::cell::Cell;
use std::io::Write;
use std::num::NonZeroU64;

use brimful_openflow::FlowMod;
use brimful_openflow::wire::{AsyncConfiguration, EventMask, Message, Part, Reply, Request};
use thiserror::Error;

use crate::notice::say;
use crate::tables::ovs::{self, Known, PortNames};
use crate::tables::{Change, TableError};
use commands::Command;
pub use commands::{Ofctl, in_order};
use connection::{Connection, line, unreadable};
use lines::{Lines, Planned};
use stream::{OVERHEARD, Place, SPOKEN};

/// All queues of a port.
const QUEUE_ALL: u32 = 0xffff_ffff;
/// All reasons of packet-ins, port-statuses and flow-removeds of 1.3.
const ALL_REASONS: [u32; 6] = [7, 7, 7, 7, 15, 15];

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

/// How it went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// What was compared differs.
    Differs,
}

type Done = Result<(), OfctlError>;

/// Does it, and prints what comes of it.
///
/// # Errors
/// In one line.
pub fn run(asked: &Ofctl, out: &mut (dyn Write + Send)) -> Result<Outcome, OfctlError> {
    // What cannot be read is reported before a connection is made.
    let lines = Lines::of(asked)?;
    let names_ports = match &lines {
        Some(lines) => lines.name_ports()?,
        None => asked.command.check()?,
    };
    if asked.wants_bundle() && lines.is_none() && !matches!(asked.command, Command::ModPort { .. }) {
        let text = "--bundle is for changes: leave it out";
        return Err(OfctlError::Usage(text.to_owned()));
    }
    let versions = asked.versions();
    if versions.is_empty() {
        let text = "bundles need OpenFlow 1.4: use -O OpenFlow14 or leave -O out";
        return Err(OfctlError::Usage(text.to_owned()));
    }
    if let Command::DiffFlows { other } = &asked.command {
        return print_difference(&difference::between(&asked.switch, other, &versions)?, out);
    }
    if let Command::Snoop { controller, count } = &asked.command {
        let count = count.map(NonZeroU64::get);
        let place = Place::read(&asked.switch, OVERHEARD)?;
        match controller {
            None => watch(&mut Connection::open(&place, &versions)?, count, out)?,
            Some(controller) => relay::run(&place, &Place::read(controller, SPOKEN)?, count, out)?,
        }
        return Ok(Outcome::Done);
    }
    let mut switch = Connection::open(&Place::read(&asked.switch, SPOKEN)?, &versions)?;
    let known_names;
    let names = if names_ports {
        known_names = ports::names(&mut switch)?;
        PortNames::These(&known_names)
    } else {
        PortNames::Reserved
    };
    let changes = match (&asked.command, &lines) {
        (Command::ReplaceFlows { .. }, Some(lines)) => {
            let wanted = difference::by_match(lines.flows(names)?);
            difference::changes(&difference::of_switch(&mut switch)?, &wanted)
        }
        (Command::ModPort { port, changes }, _) => vec![ports::modification(&mut switch, port, changes)?],
        (Command::SetFrags { mode }, _) => vec![configuration::of_fragments(&mut switch, *mode)?],
        (Command::PacketOut { words }, _) => packets(words, names)?,
        (_, Some(lines)) => lines.read(names)?,
        (command, None) => return command.ask(&mut switch, names, out).map(|()| Outcome::Done),
    };
    length::check(&changes)?;
    if asked.wants_bundle() {
        changes::make_together(&mut switch, &changes)?;
    } else {
        changes::make(&mut switch, &changes)?;
    }
    Ok(Outcome::Done)
}

fn print_difference(lines: &[String], out: &mut dyn Write) -> Result<Outcome, OfctlError> {
    lines.iter().try_for_each(|line| print(out, line))?;
    Ok(if lines.is_empty() {
        Outcome::Done
    } else {
        Outcome::Differs
    })
}

impl Command {
    /// Whether it names ports. What is wrong whatever they are called is found here.
    fn check(&self) -> Result<bool, OfctlError> {
        let is_used = Cell::new(false);
        let any = PortNames::Any(&is_used);
        match self {
            Self::DumpFlows { filter, .. } | Self::DumpAggregate { filter } => {
                let (_, notes) = selection(filter.as_deref(), any)?;
                notes.into_iter().for_each(say);
            }
            Self::PacketOut { words } => {
                packets(words, any)?;
            }
            Self::ModPort { changes, .. } => {
                ports::bits(changes)?;
            }
            _ => {}
        }
        Ok(is_used.get())
    }
}

/// The packet-outs of the command line: one, or in the older form as many as there are packets.
fn packets(words: &[String], names: PortNames<'_>) -> Result<Vec<Planned>, OfctlError> {
    let known = Known {
        names,
        has_tunnels: true,
        command: None,
    };
    let texts: Vec<String> = match words {
        [in_port, actions, packets @ ..] if !packets.is_empty() => packets
            .iter()
            .map(|packet| format!("in_port={in_port},packet={packet},actions={actions}"))
            .collect(),
        words => vec![words.join(",")],
    };
    let read = texts.iter().map(|text| {
        let message = Message::PacketOut(ovs::read_packet_out(text, &known)?);
        let origin = String::new();
        Ok(Planned { message, origin })
    });
    read.collect()
}

/// The deletion of which flows are meant; those of all tables where no table is named. And what was not taken as it stands.
fn selection(line: Option<&str>, names: PortNames<'_>) -> Result<(FlowMod, Vec<String>), OfctlError> {
    let line = line.unwrap_or_default();
    let known = Known {
        names,
        ..Known::default()
    };
    let tables = ovs::read_for("flow", &format!("delete {line}"), &known)?;
    let notes = tables.notes_of("flow").collect();
    match tables.changes.into_iter().next().map(|change| change.value) {
        Some(Change::Flow(flow)) => Ok((*flow, notes)),
        _ => Err(OfctlError::Usage(format!("{line:?} selects no flows"))),
    }
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

/// Asks for something and gives all that the parts of the reply hold.
fn gather<T: Clone>(
    switch: &mut Connection,
    request: Request,
    content: impl Fn(&Reply) -> Option<&[T]>,
) -> Result<Vec<T>, OfctlError> {
    let request = Message::MultipartRequest(Part {
        flags: 0,
        content: request,
    });
    let mut all = Vec::new();
    switch.ask_in_parts(&request, |received| {
        let found = match &received.message {
            Ok(Message::MultipartReply(part)) => content(&part.content),
            Ok(_) => None,
            Err(error) => return Err(unreadable(error)),
        };
        all.extend_from_slice(found.ok_or_else(|| unexpected(&line(received)))?);
        Ok(())
    })?;
    Ok(all)
}

/// Prints messages as they come, until `count` have come or the connection ends.
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
