//! The syntax of `ovs-ofctl`: a flow, a group or a meter a line.

mod actions;
mod known;
mod lines;
mod matching;
mod packet_out;
mod words;
mod write;

use std::collections::BTreeMap;

use brimful_openflow::{FlowCommand, ModCommand};

use super::place::{Flaw, Place, Placed, TableError, Text};
use super::{Change, Tables};

pub use known::{Known, PortNames};
pub(crate) use lines::METER_ALL;
pub use packet_out::read_packet_out;
pub(crate) use write::{action_text, instruction_text, match_name};
pub use write::{write_flow, write_group, write_meter, write_tables};

/// Reads the lines of a file; `file` is its name, for messages.
///
/// # Errors
/// At the first line that cannot be read.
pub fn read(file: &str, text: &str) -> Result<Tables, TableError> {
    read_for(file, text, &Known::default())
}

/// The same with what is known of the switch that they are for.
///
/// # Errors
/// At the first line that cannot be read.
pub fn read_for(file: &str, text: &str, known: &Known<'_>) -> Result<Tables, TableError> {
    let source = Text { file, text };
    let mut tables = Tables::default();
    for (number, raw) in text.lines().enumerate() {
        let line = raw.split('#').next().unwrap_or(raw);
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let place = Place {
            line: u32::try_from(number + 1).unwrap_or(u32::MAX),
            column: indent as u32 + 1,
        };
        let (value, notes) = change(line, known).map_err(|flaw| source.error(flaw))?;
        let placed = |value| Placed { place, value };
        tables.notes.extend(notes.into_iter().map(placed));
        tables.changes.push(Placed { place, value });
    }
    Ok(tables)
}

/// Reads the match of a frame's headers as `brimful switch trace` takes it: `in_port=1,tcp,nw_dst=10.0.0.1`. Ports have
/// these names.
///
/// # Errors
/// When a word is none of a match's.
pub fn read_match(text: &str, ports: &BTreeMap<String, u32>) -> Result<brimful_openflow::Match, TableError> {
    let source = Text { file: "match", text };
    let read = || {
        let mut reading = matching::Reading::of(Known {
            names: PortNames::These(ports),
            ..Known::default()
        });
        let mut words = words::Words::of(text);
        while let Some(word) = words.next()? {
            if !reading.take(word)? {
                return Err(Flaw::syntax(
                    word.whole,
                    format!("there is no match field {}", word.key),
                ));
            }
        }
        reading.settle()?;
        Ok(reading.finish().0)
    };
    read().map_err(|flaw| source.error(flaw))
}

/// A line may begin with what to do; what it is about is said by its first key.
fn change<'t>(line: &'t str, known: &Known<'t>) -> Result<(Change, Vec<String>), Flaw<'t>> {
    let (command, rest) = split_command(without_kind(line));
    let command = command.or(known.command);
    let to_mod = || match command {
        None | Some("add") => Ok(ModCommand::Add),
        Some("modify") => Ok(ModCommand::Modify),
        Some("delete") => Ok(ModCommand::Delete),
        Some(other) => Err(Flaw::syntax(line, format!("{other} is for flows only"))),
    };
    let first = words::Words::of(rest).next()?.map_or("", |word| word.key);
    Ok(match first {
        "group_id" => (Change::Group(lines::group(rest, to_mod()?, known)?), Vec::new()),
        "meter" => (Change::Meter(lines::meter(rest, to_mod()?)?), Vec::new()),
        _ => {
            let command = match command {
                None | Some("add") => FlowCommand::Add,
                Some("modify") => FlowCommand::Modify,
                Some("modify_strict") => FlowCommand::ModifyStrict,
                Some("delete") => FlowCommand::Delete,
                Some(_) => FlowCommand::DeleteStrict,
            };
            let (flow, notes) = lines::flow(rest, command, known)?;
            (Change::Flow(Box::new(flow)), notes)
        }
    })
}

/// Files of bundles say first what a line is about, as in `flow add ...`.
fn without_kind(line: &str) -> &str {
    let rest = line.split_once(|letter: char| letter.is_ascii_whitespace());
    match rest {
        Some(("flow" | "group" | "meter", rest)) => rest.trim_start(),
        _ => line,
    }
}

fn split_command(line: &str) -> (Option<&str>, &str) {
    let end = line
        .find(|letter: char| letter.is_ascii_whitespace())
        .unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    match word {
        "add" | "modify" | "modify_strict" | "delete" | "delete_strict" => (Some(word), rest.trim_start()),
        _ => (None, line),
    }
}

#[cfg(test)]
mod tests;
