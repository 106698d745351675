//! Flow tables, groups and meters from files, and into them: the syntax of `ovs-ofctl`, and that of linc's `.tab` files.

pub mod genflow;
pub mod ovs;
mod place;
pub mod tab;
#[cfg(test)]
mod testing;
pub(crate) mod values;

use std::collections::BTreeMap;

use brimful_openflow::{FlowMod, GroupMod, MeterMod};

pub use place::{Place, Placed, TableError};

/// A change that a file asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Of a flow table.
    Flow(Box<FlowMod>),
    /// Of a group.
    Group(GroupMod),
    /// Of a meter.
    Meter(MeterMod),
}

/// What a file says, in its order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tables {
    /// Each change and where it stands.
    pub changes: Vec<Placed<Change>>,
    /// What was not taken as it was written, and where.
    pub notes: Vec<Placed<String>>,
}

impl Tables {
    /// What was not taken as it stands in a file, a line each.
    pub fn notes_of<'n>(&'n self, file: &'n str) -> impl Iterator<Item = String> + 'n {
        let note =
            move |Placed { place, value }: &Placed<String>| format!("{file}:{}:{}: {value}", place.line, place.column);
        self.notes.iter().map(note)
    }
}

/// Reads a file in the syntax of the end of its name: `.tab` is linc's, which goes into `table`; others are those of
/// `ovs-ofctl`.
///
/// # Errors
/// At the first place that cannot be read.
pub fn read(file: &str, text: &str, table: u8) -> Result<Tables, TableError> {
    read_for(file, text, table, &BTreeMap::new())
}

/// The same for a switch whose ports have these names.
///
/// # Errors
/// At the first place that cannot be read.
pub fn read_for(file: &str, text: &str, table: u8, ports: &BTreeMap<String, u32>) -> Result<Tables, TableError> {
    let is_tab = std::path::Path::new(file)
        .extension()
        .is_some_and(|ending| ending == "tab");
    if is_tab {
        tab::read(file, text, table)
    } else {
        let known = ovs::Known {
            names: ovs::PortNames::These(ports),
            ..ovs::Known::default()
        };
        ovs::read_for(file, text, &known)
    }
}
