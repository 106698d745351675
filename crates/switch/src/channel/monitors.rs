//! Changes of entries that a controller wants to be notified of (OF 1.4.1 section 7.3.5.17).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use brimful_openflow::wire::{FlowEvent, FlowMonitor, FlowUpdate, Message, Part, Reply, Version};
use brimful_openflow::{ErrorCode, ErrorMessage, GROUP_ANY, TABLE_ALL, port};
use brimful_pipeline::{Change, Demands, FlowEntry, Pipeline, demands_of};

use super::reasons::removal_reason;
use crate::watch::{Author, Authored};

/// Bits of a monitor's flags.
mod flag {
    pub(super) const INITIAL: u16 = 1;
    pub(super) const ADD: u16 = 1 << 1;
    pub(super) const REMOVED: u16 = 1 << 2;
    pub(super) const MODIFY: u16 = 1 << 3;
    pub(super) const INSTRUCTIONS: u16 = 1 << 4;
    pub(super) const NO_ABBREVIATIONS: u16 = 1 << 5;
    pub(super) const ONLY_OWN: u16 = 1 << 6;
    pub(super) const ALL: u16 = 0x7f;
}
/// Numbers of events.
const INITIAL: u16 = 0;
const ADDED: u16 = 1;
const REMOVED: u16 = 2;
const MODIFIED: u16 = 3;
/// Commands of a monitor.
const ADD: u8 = 0;
const MODIFY: u8 = 1;
const DELETE: u8 = 2;
/// Monitors of one controller.
const MOST_MONITORS: usize = 256;
/// Events of one message: an event with its match and instructions has some hundred bytes.
const MOST_EVENTS: usize = 60;

/// What one controller wants to be notified of.
#[derive(Debug, Default)]
pub(super) struct Monitors {
    by_id: BTreeMap<u32, Monitor>,
    /// While it does not follow: entries that came or changed since, by table and rank, and whether they are new.
    paused: Option<HashMap<(u8, u64), bool>>,
}

#[derive(Debug)]
struct Monitor {
    wanted: FlowMonitor,
    demands: Demands,
}

impl Monitor {
    fn concerns(&self, entry: &FlowEntry) -> bool {
        let wanted = &self.wanted;
        (wanted.table == TABLE_ALL || wanted.table == entry.table)
            && (wanted.out_port == port::ANY || entry.outputs_to(wanted.out_port))
            && (wanted.out_group == GROUP_ANY || entry.uses_group(wanted.out_group))
            && entry.meets(&self.demands)
    }
}

impl Monitors {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Begins, changes and ends monitors as asked for; gives the entries that are there already.
    ///
    /// # Errors
    /// At the first one that cannot be; those before it have been done.
    pub(super) fn change(
        &mut self,
        wanted: &[FlowMonitor],
        pipeline: &Pipeline,
    ) -> Result<Vec<FlowEvent>, ErrorMessage> {
        let mut events = Vec::new();
        for one in wanted {
            self.change_one(one, pipeline)?;
            if one.command != DELETE && one.flags & flag::INITIAL != 0 {
                let monitor = &self.by_id[&one.monitor];
                let tables = 0..pipeline.limits().tables;
                let entries = tables.flat_map(|table| pipeline.entries(table));
                let entries = entries.filter(|entry| monitor.concerns(entry));
                events.extend(entries.map(|entry| full(INITIAL, entry, 0, one.flags)));
            }
        }
        Ok(events)
    }

    fn change_one(&mut self, wanted: &FlowMonitor, pipeline: &Pipeline) -> Result<(), ErrorMessage> {
        let number = wanted.monitor;
        let is_there = self.by_id.contains_key(&number);
        match wanted.command {
            ADD if is_there => return Err(ErrorCode::MONITOR_EXISTS.because(format!("monitor {number} is there"))),
            ADD if self.by_id.len() == MOST_MONITORS => {
                return Err(ErrorCode::MONITOR_INVALID.because(format!("there are {MOST_MONITORS} monitors")));
            }
            MODIFY | DELETE if !is_there => {
                return Err(ErrorCode::MONITOR_UNKNOWN.because(format!("there is no monitor {number}")));
            }
            DELETE => {
                self.by_id.remove(&number);
                return Ok(());
            }
            ADD | MODIFY => {}
            other => return Err(ErrorCode::MONITOR_COMMAND.because(format!("there is no command {other}"))),
        }
        if wanted.flags & !flag::ALL != 0 {
            return Err(ErrorCode::MONITOR_FLAGS.because(format!("flags {:#x} are not known", wanted.flags)));
        }
        if wanted.table != TABLE_ALL && wanted.table >= pipeline.limits().tables {
            return Err(ErrorCode::MONITOR_TABLE.because(format!("there is no table {}", wanted.table)));
        }
        let monitor = Monitor {
            wanted: wanted.clone(),
            demands: demands_of(&wanted.matching),
        };
        self.by_id.insert(number, monitor);
        Ok(())
    }

    /// What changes mean to this controller. One that does not follow is notified of that once, and later what it has
    /// missed.
    pub(super) fn events(
        &mut self,
        changes: &[Change],
        authors: &[Authored],
        connection: u64,
        follows: bool,
    ) -> Vec<FlowEvent> {
        let mut events = Vec::new();
        if self.is_empty() {
            return events;
        }
        if !follows && self.paused.is_none() {
            self.paused = Some(HashMap::new());
            events.push(FlowEvent::Paused);
        }
        let mut authors = authors.iter().peekable();
        for (index, change) in changes.iter().enumerate() {
            while authors.next_if(|(end, _)| *end <= index).is_some() {}
            let author = authors.peek().map(|(_, author)| *author);
            let own = author.filter(|author| author.connection == connection);
            events.extend(self.event(change, own));
        }
        // One message of the controller's own is reported once.
        events.dedup_by(|one, before| matches!(one, FlowEvent::Abbreviated(_)) && one == before);
        events
    }

    fn event(&mut self, change: &Change, own: Option<Author>) -> Option<FlowEvent> {
        let (wanted, entry, event, reason) = match change {
            Change::Installed(entry) => (flag::ADD, entry, ADDED, 0),
            Change::Replaced { new, .. } => (flag::MODIFY, new, MODIFIED, 0),
            Change::Removed { entry, reason } => {
                let reason = removal_reason(*reason, Version::V14);
                (flag::REMOVED, entry, REMOVED, reason)
            }
            Change::Shared(_) => return None,
        };
        let concerned = self.by_id.values().filter(|monitor| {
            let flags = monitor.wanted.flags;
            flags & wanted != 0 && (flags & flag::ONLY_OWN == 0 || own.is_some()) && monitor.concerns(entry)
        });
        let flags = concerned
            .map(|monitor| monitor.wanted.flags)
            .reduce(|all, more| all | more)?;
        if let Some(missed) = &mut self.paused {
            let key = (entry.table, entry.rank());
            if event == REMOVED {
                // One that came while nothing was reported has never been there for the controller.
                let was_new = missed.remove(&key);
                return (was_new != Some(true)).then(|| full(REMOVED, entry, reason, flags));
            }
            missed.entry(key).or_insert(event == ADDED);
            return None;
        }
        match own {
            Some(author) if flags & flag::NO_ABBREVIATIONS == 0 => Some(FlowEvent::Abbreviated(author.transaction)),
            _ => Some(full(event, entry, reason, flags)),
        }
    }

    /// Whether the controller has missed something that it can be notified of now.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// What the controller has missed.
    pub(super) fn resume(&mut self, pipeline: &Pipeline) -> Vec<FlowEvent> {
        let Some(missed) = self.paused.take() else {
            return Vec::new();
        };
        let flags = self.by_id.values().fold(0, |all, monitor| all | monitor.wanted.flags);
        let mut missed: Vec<_> = missed.into_iter().collect();
        missed.sort_unstable();
        let missed = missed.into_iter().filter_map(|((table, rank), is_new)| {
            let entry = pipeline.entry(table, rank)?;
            Some(full(if is_new { ADDED } else { MODIFIED }, entry, 0, flags))
        });
        missed.chain([FlowEvent::Resumed]).collect()
    }
}

fn full(event: u16, entry: &Arc<FlowEntry>, reason: u8, flags: u16) -> FlowEvent {
    let with_instructions = flags & flag::INSTRUCTIONS != 0;
    let instructions = if with_instructions { entry.given() } else { Vec::new() };
    FlowEvent::Full(
        event,
        FlowUpdate {
            table: entry.table,
            reason,
            idle_timeout_s: entry.idle_timeout_s,
            hard_timeout_s: entry.hard_timeout_s,
            priority: entry.priority,
            cookie: entry.cookie,
            matching: entry.matching(),
            instructions,
        },
    )
}

/// The messages that events fit into.
pub(super) fn messages(events: Vec<FlowEvent>, last_flags: u16) -> Vec<Message> {
    let mut parts: Vec<Message> = Vec::new();
    let count = events.len();
    let mut events = events.into_iter();
    let mut sent = 0;
    loop {
        let updates: Vec<FlowEvent> = events.by_ref().take(MOST_EVENTS).collect();
        sent += updates.len();
        let flags = if sent < count {
            brimful_openflow::wire::MORE
        } else {
            last_flags
        };
        parts.push(Message::MultipartReply(Part {
            flags,
            content: Reply::FlowMonitor(updates),
        }));
        if sent == count {
            return parts;
        }
    }
}

#[cfg(test)]
mod tests {
    use brimful_openflow::{FieldMatch, FlowMod, Match, MatchField};
    use brimful_pipeline::{Limits, delete_everything};

    use super::*;

    const ME: u64 = 3;

    fn monitor(command: u8, flags: u16) -> FlowMonitor {
        FlowMonitor {
            monitor: 1,
            out_port: port::ANY,
            out_group: GROUP_ANY,
            flags,
            table: TABLE_ALL,
            command,
            matching: Match::default(),
        }
    }

    fn add(number: u128) -> FlowMod {
        let field = FieldMatch {
            field: MatchField::InPort,
            value: number,
            mask: None,
        };
        FlowMod::add(0, 1, Match { fields: vec![field] }, Vec::new())
    }

    fn kinds(events: &[FlowEvent]) -> Vec<u16> {
        let kind = |event: &FlowEvent| match event {
            FlowEvent::Full(kind, _) => *kind,
            FlowEvent::Abbreviated(_) => 4,
            FlowEvent::Paused => 5,
            FlowEvent::Resumed => 6,
        };
        events.iter().map(kind).collect()
    }

    #[test]
    fn monitors_are_added_changed_and_deleted() {
        let (mut monitors, pipeline) = (Monitors::default(), Pipeline::new(Limits::default()));
        let mut code = |command, flags, table| {
            let wanted = FlowMonitor {
                table,
                ..monitor(command, flags)
            };
            monitors
                .change(&[wanted], &pipeline)
                .map_err(|error| ErrorCode(error.kind, error.code))
        };
        assert_eq!(code(MODIFY, 2, 0), Err(ErrorCode::MONITOR_UNKNOWN));
        assert_eq!(code(ADD, 0x80, 0), Err(ErrorCode::MONITOR_FLAGS));
        assert_eq!(code(ADD, 2, 254), Err(ErrorCode::MONITOR_TABLE));
        assert_eq!(code(9, 2, 0), Err(ErrorCode::MONITOR_COMMAND));
        assert_eq!(code(ADD, 2, 0), Ok(Vec::new()));
        assert_eq!(code(ADD, 2, 0), Err(ErrorCode::MONITOR_EXISTS));
        assert_eq!(code(DELETE, 0, 0), Ok(Vec::new()));
        assert_eq!(code(DELETE, 0, 0), Err(ErrorCode::MONITOR_UNKNOWN));
    }

    #[test]
    fn changes_of_others_are_told_in_full_and_own_ones_in_short() {
        let (mut monitors, mut pipeline) = (Monitors::default(), Pipeline::new(Limits::default()));
        pipeline.flow_mod(&add(1), 0).unwrap();
        let first = monitors.change(&[monitor(ADD, 0x0f)], &pipeline).unwrap();
        assert_eq!(kinds(&first), [INITIAL]);
        let changes = pipeline.flow_mod(&add(2), 0).unwrap();
        let author = |connection| {
            let transaction = 77;
            [(
                1,
                Author {
                    connection,
                    transaction,
                },
            )]
        };
        assert_eq!(kinds(&monitors.events(&changes, &author(9), ME, true)), [ADDED]);
        let own = monitors.events(&changes, &author(ME), ME, true);
        assert_eq!(own, [FlowEvent::Abbreviated(77)]);
        let changes = pipeline.flow_mod(&delete_everything(), 0).unwrap();
        assert_eq!(kinds(&monitors.events(&changes, &[], ME, true)), [REMOVED, REMOVED]);
    }

    #[test]
    fn what_a_controller_misses_it_is_told_later() {
        let (mut monitors, mut pipeline) = (Monitors::default(), Pipeline::new(Limits::default()));
        monitors.change(&[monitor(ADD, 0x0f)], &pipeline).unwrap();
        let mut told = |changes: &[Change], follows| kinds(&monitors.events(changes, &[], ME, follows));
        let first = pipeline.flow_mod(&add(1), 0).unwrap();
        assert_eq!(told(&first, true), [ADDED]);
        let second = pipeline.flow_mod(&add(2), 0).unwrap();
        assert_eq!(told(&second, false), [5]);
        let third = pipeline.flow_mod(&add(3), 0).unwrap();
        assert!(told(&third, false).is_empty());
        let delete = |number| FlowMod {
            command: brimful_openflow::FlowCommand::Delete,
            ..add(number)
        };
        // The controller knows the first, and never heard of the third.
        assert_eq!(told(&pipeline.flow_mod(&delete(1), 0).unwrap(), false), [REMOVED]);
        assert!(told(&pipeline.flow_mod(&delete(3), 0).unwrap(), false).is_empty());
        assert_eq!(kinds(&monitors.resume(&pipeline)), [ADDED, 6]);
    }
}
