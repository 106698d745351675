//! Changes that controllers ask for, and the watchers of what has changed.

use std::sync::Arc;

use brimful_openflow::{ErrorMessage, FlowMod, GroupMod, MeterMod};
use brimful_pipeline::{Change, Pipeline, PreparedFlowMod};

use crate::events::RemovedEvent;
use crate::ports::SwitchPort;
use crate::vacancy::{Crossing, Vacancies};

/// A change that a controller asks for.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// Of flow entries.
    Flow(Box<FlowMod>),
    /// The same, checked as far as that takes no tables.
    Prepared(PreparedFlowMod),
    /// Of groups.
    Group(GroupMod),
    /// Of meters.
    Meter(MeterMod),
}

/// Whose message made a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Author {
    /// The number of the connection.
    pub(crate) connection: u64,
    /// The message's transaction id.
    pub(crate) transaction: u32,
}

/// Changes up to an index, and who made them.
pub(crate) type Authored = (usize, Author);

/// What has become of a port: the reasons of its status (OF 1.3.5 section 7.4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum PortEvent {
    /// It has come.
    Added = 0,
    /// It has gone.
    Deleted = 1,
    /// Something about it is another.
    Modified = 2,
}

/// Called with what happens, on the thread that has the switch: it must not wait.
pub(crate) trait Watcher: Send + Sync {
    /// Whether it wants to know of changes of entries.
    fn follows_flows(&self) -> bool;
    /// Entries have changed; those that were not asked for come last.
    fn flows_changed(&self, changes: &[Change], authors: &[Authored]);
    /// Entries went whose controllers want to know.
    fn removed(&self, events: &[RemovedEvent]);
    /// A port has come, gone or changed.
    fn port_changed(&self, port: &Arc<SwitchPort>, event: PortEvent);
    /// How many controllers are there.
    fn controllers(&self) -> usize;
    /// A table has become full or empty enough.
    fn table_crossed(&self, tables: &Pipeline, vacancies: &Vacancies, table: u8, crossing: Crossing);
}

impl TableChange {
    /// Has the processor fetch what it begins to read with: another thread has made it.
    pub(crate) fn prefetch(&self) {
        if let Self::Prepared(change) = self {
            brimful_jit::prefetch(change.entry());
        }
    }

    /// Does it; what has changed comes to the end of `changes`.
    pub(crate) fn apply(
        self,
        pipeline: &mut Pipeline,
        now: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), ErrorMessage> {
        match self {
            Self::Prepared(change) => return pipeline.prepared_flow_mod(change, now, changes),
            Self::Flow(change) => changes.extend(pipeline.flow_mod(&change, now)?),
            Self::Group(change) => changes.extend(pipeline.group_mod(&change, now)?),
            Self::Meter(change) => changes.extend(pipeline.meter_mod(&change, now)?),
        }
        Ok(())
    }
}
