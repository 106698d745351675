//! Flow tables, groups and meters from files, and into them: the syntax of `ovs-ofctl`, and that of linc's `.tab` files.

pub mod ovs;
mod place;
#[cfg(test)]
mod testing;
mod values;

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
}
