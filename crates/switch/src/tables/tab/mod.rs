//! linc's `.tab` files: Erlang terms, one for each flow, in either of their two generations.

mod entries;
mod records;
mod terms;
mod write;

use super::place::{Flaw, Place, Placed, TableError, Text};
use super::{Change, Tables};

pub(super) use entries::{field_named, value_of};
pub(super) use terms::{Term, Terms, Value};
pub use write::{write_entry, write_record, write_records};

/// Reads a file into a table; `file` is its name, for messages.
///
/// # Errors
/// At the first term that cannot be read.
pub fn read(file: &str, text: &str, table: u8) -> Result<Tables, TableError> {
    let source = Text { file, text };
    read_terms(text, table).map_err(|flaw| source.error(flaw))
}

fn read_terms(text: &str, table: u8) -> Result<Tables, Flaw<'_>> {
    let mut entries = entries::Entries::new(table);
    let mut changes = Vec::new();
    let mut terms = Terms::of(text);
    let mut counting = Counting::new(text);
    while let Some(term) = terms.next()? {
        let place = counting.place(term.part);
        match term.tagged() {
            Some(("flow", slots)) => entries.take(place, &term, slots)?,
            Some(("flow_entry", fields)) => {
                let value = Change::Flow(Box::new(records::flow(table, &term, fields)?));
                changes.push(Placed { place, value });
            }
            _ => return Err(term.flaw("expected {flow,Matches,{instr,...}} or {flow_entry,...}")),
        }
    }
    changes.extend(entries.finish());
    Ok(Tables {
        changes,
        notes: Vec::new(),
    })
}

/// Places of parts that follow each other, each found from the one before.
struct Counting<'t> {
    text: &'t str,
    offset: usize,
    place: Place,
}

impl<'t> Counting<'t> {
    fn new(text: &'t str) -> Self {
        let place = Place { line: 1, column: 1 };
        Self { text, offset: 0, place }
    }

    fn place(&mut self, part: &'t str) -> Place {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        for letter in self.text[self.offset..offset].chars() {
            if letter == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.offset = offset;
        self.place
    }
}

#[cfg(test)]
mod tests;
