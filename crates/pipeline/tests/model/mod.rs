//! Changes of tables made of bytes, done by the pipeline and by a model that is nothing but lists; the fuzzer uses it, too.
#![allow(clippy::expect_used, reason = "a module of tests")]

use brimful_openflow::wire::{Message, Version};
use brimful_openflow::{
    Action, Bucket, ErrorCode, FieldMatch, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType,
    Instruction, Match, MatchField, ModCommand, NO_BUFFER, TABLE_ALL, flow_flag, port,
};
use brimful_pipeline::{Limits, Pipeline};

const TABLES: u8 = 3;
const ENTRIES: usize = 6;
/// Bytes of one change.
const STEP: usize = 8;

/// An entry, as the model has it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Entry {
    table: u8,
    priority: u16,
    cookie: u64,
    /// Field, value and mask.
    fields: Vec<(MatchField, u128, u128)>,
    out_port: Option<u32>,
    group: Option<u32>,
    importance: u16,
}

#[derive(Clone, Debug, Default)]
struct Model {
    entries: Vec<Entry>,
    groups: Vec<u32>,
    evicts: Vec<u8>,
}

/// What a frame would need to meet both.
fn overlaps(one: &Entry, other: &Entry) -> bool {
    one.fields.iter().all(|(field, value, mask)| {
        let same = other.fields.iter().find(|(name, ..)| name == field);
        same.is_none_or(|(_, theirs, their_mask)| (value ^ theirs) & mask & their_mask == 0)
    })
}

fn covers(wide: &Entry, narrow: &Entry) -> bool {
    wide.fields.iter().all(|(field, value, mask)| {
        let same = narrow.fields.iter().find(|(name, ..)| name == field);
        same.is_some_and(|(_, theirs, their_mask)| their_mask & mask == *mask && theirs & mask == *value)
    })
}

impl Model {
    fn flow_mod(&mut self, change: &FlowMod) -> Result<(), ErrorCode> {
        let wanted = entry_of(change);
        let deletes = matches!(change.command, FlowCommand::Delete | FlowCommand::DeleteStrict);
        if change.table >= TABLES && !(deletes && change.table == TABLE_ALL) {
            return Err(ErrorCode::FLOW_TABLE);
        }
        if !deletes && wanted.group.is_some_and(|group| !self.groups.contains(&group)) {
            return Err(ErrorCode::ACTION_OUT_GROUP);
        }
        let is_same = |entry: &Entry| {
            (entry.table, entry.priority, &entry.fields) == (wanted.table, wanted.priority, &wanted.fields)
        };
        let is_strict = matches!(change.command, FlowCommand::ModifyStrict | FlowCommand::DeleteStrict);
        let is_meant = |entry: &Entry| {
            (change.table == TABLE_ALL || entry.table == change.table)
                && (entry.cookie ^ change.cookie) & change.cookie_mask == 0
                && if is_strict {
                    (entry.priority, &entry.fields) == (wanted.priority, &wanted.fields)
                } else {
                    covers(&wanted, entry)
                }
        };
        match change.command {
            FlowCommand::Add => {
                let hinders = |other: &Entry| {
                    other.table == wanted.table && other.priority == wanted.priority && overlaps(other, &wanted)
                };
                if change.flags & flow_flag::CHECK_OVERLAP != 0 && self.entries.iter().any(hinders) {
                    return Err(ErrorCode::FLOW_OVERLAP);
                }
                if let Some(old) = self.entries.iter_mut().find(|entry| is_same(entry)) {
                    *old = wanted;
                    return Ok(());
                }
                self.make_room(&wanted)?;
                self.entries.push(wanted);
            }
            FlowCommand::Modify | FlowCommand::ModifyStrict => {
                for entry in self.entries.iter_mut().filter(|entry| is_meant(entry)) {
                    (entry.out_port, entry.group) = (wanted.out_port, wanted.group);
                }
            }
            FlowCommand::Delete | FlowCommand::DeleteStrict => self.entries.retain(|entry| {
                let by_port = change.out_port == port::ANY || entry.out_port == Some(change.out_port);
                let by_group = change.out_group == GROUP_ANY || entry.group == Some(change.out_group);
                !(is_meant(entry) && by_port && by_group)
            }),
        }
        Ok(())
    }

    /// Entries are in the order in which they came.
    fn make_room(&mut self, wanted: &Entry) -> Result<(), ErrorCode> {
        let of_table = |entry: &&Entry| entry.table == wanted.table;
        if self.entries.iter().filter(of_table).count() < ENTRIES {
            return Ok(());
        }
        let least = self.entries.iter().filter(of_table).map(|entry| entry.importance).min();
        let least = least.filter(|least| self.evicts.contains(&wanted.table) && *least < wanted.importance);
        let least = least.ok_or(ErrorCode::FLOW_TABLE_FULL)?;
        let is_least = |entry: &Entry| entry.table == wanted.table && entry.importance == least;
        let index = self.entries.iter().position(is_least).expect("it is there");
        self.entries.remove(index);
        Ok(())
    }

    fn group_mod(&mut self, change: &GroupMod) -> Result<(), ErrorCode> {
        let is_there = self.groups.contains(&change.group);
        match change.command {
            ModCommand::Add if is_there => return Err(ErrorCode::GROUP_EXISTS),
            ModCommand::Modify if !is_there => return Err(ErrorCode::GROUP_UNKNOWN),
            ModCommand::Add => self.groups.push(change.group),
            ModCommand::Modify => {}
            ModCommand::Delete => {
                let is_gone = |group: u32| change.group == GROUP_ALL || change.group == group;
                self.groups.retain(|group| !is_gone(*group));
                self.entries.retain(|entry| !entry.group.is_some_and(is_gone));
            }
        }
        Ok(())
    }

    fn sorted(&self) -> (Vec<Entry>, Vec<u32>) {
        let (mut entries, mut groups) = (self.entries.clone(), self.groups.clone());
        entries.sort();
        groups.sort_unstable();
        (entries, groups)
    }
}

fn entry_of(change: &FlowMod) -> Entry {
    let mut fields: Vec<_> = change
        .matching
        .fields
        .iter()
        .map(|field| (field.field, field.value, field.mask.unwrap_or(field.field.largest())))
        .filter(|(_, _, mask)| *mask != 0)
        .collect();
    fields.sort();
    let (mut out_port, mut group) = (None, None);
    for instruction in &change.instructions {
        if let Instruction::ApplyActions(actions) = instruction {
            for action in actions {
                match action {
                    Action::Output { port, .. } => out_port = Some(*port),
                    Action::Group(number) => group = Some(*number),
                    _ => {}
                }
            }
        }
    }
    Entry {
        table: change.table,
        priority: change.priority,
        cookie: change.cookie,
        fields,
        out_port,
        group,
        importance: change.importance,
    }
}

fn pick<T: Copy>(of: &[T], byte: u8) -> T {
    of[usize::from(byte) % of.len()]
}

fn change_of(step: [u8; STEP]) -> Message {
    if step[0] & 7 == 7 {
        return Message::GroupMod(GroupMod {
            command: pick(&[ModCommand::Add, ModCommand::Modify, ModCommand::Delete], step[1]),
            group_type: GroupType::All,
            group: pick(&[1, 2, 3, GROUP_ALL], step[2] % if step[1] % 3 == 2 { 4 } else { 3 }),
            buckets: vec![Bucket {
                weight: 0,
                watch_port: port::ANY,
                watch_group: GROUP_ANY,
                actions: Vec::new(),
            }],
        });
    }
    let field = |field, value, mask| FieldMatch { field, value, mask };
    let mut fields = Vec::new();
    if step[1] & 3 != 0 {
        fields.push(field(MatchField::InPort, u128::from(step[1] & 3), None));
    }
    let address = u128::from(step[1] >> 2 & 3);
    match step[1] >> 4 & 3 {
        0 => {}
        1 => fields.push(field(MatchField::EthDst, address, None)),
        2 => fields.push(field(MatchField::EthDst, address & 1, Some(1))),
        _ => fields.push(field(MatchField::EthDst, address & 2, Some(2))),
    }
    let action = match step[2] & 3 {
        3 => Action::Group(pick(&[1, 2, 3], step[2] >> 2)),
        number => Action::Output {
            port: u32::from(number) + 1,
            max_len: 0,
        },
    };
    let commands = [
        FlowCommand::Add,
        FlowCommand::Add,
        FlowCommand::Add,
        FlowCommand::Modify,
        FlowCommand::ModifyStrict,
        FlowCommand::Delete,
        FlowCommand::DeleteStrict,
    ];
    Message::FlowMod(FlowMod {
        cookie: u64::from(step[3] & 3),
        cookie_mask: pick(&[0, 0, 1, 3], step[3] >> 2),
        table: pick(&[0, 0, 0, 1, 2, 3, TABLE_ALL], step[4]),
        command: pick(&commands, step[0]),
        idle_timeout_s: 0,
        hard_timeout_s: 0,
        priority: u16::from(step[5] & 1),
        buffer: NO_BUFFER,
        out_port: pick(&[port::ANY, port::ANY, 1, 2], step[5] >> 1),
        out_group: pick(&[GROUP_ANY, GROUP_ANY, GROUP_ANY, 1], step[5] >> 3),
        flags: pick(&[0, 0, flow_flag::CHECK_OVERLAP, flow_flag::RESET_COUNTS], step[6]),
        importance: u16::from(step[6] >> 2 & 3),
        matching: Match { fields },
        instructions: vec![Instruction::ApplyActions(vec![action])],
    })
}

fn state_of(pipeline: &Pipeline) -> (Vec<Entry>, Vec<u32>) {
    let mut entries = Vec::new();
    for table in 0..TABLES {
        for entry in pipeline.entries(table) {
            let change = FlowMod {
                cookie: entry.cookie,
                importance: entry.importance,
                ..FlowMod::add(table, entry.priority, entry.matching(), entry.given())
            };
            entries.push(entry_of(&change));
        }
        assert_eq!(pipeline.len(table), pipeline.entries(table).count());
    }
    entries.sort();
    let mut groups: Vec<u32> = pipeline.shared().groups.keys().copied().collect();
    groups.sort_unstable();
    (entries, groups)
}

/// Does the changes that bytes stand for, one by one or several together, and compares the tables after each. Gives how
/// many were done and how many refused.
pub(crate) fn run(bytes: &[u8]) -> (usize, usize) {
    let limits = Limits {
        tables: TABLES,
        entries: ENTRIES,
    };
    let (mut pipeline, mut model) = (Pipeline::new(limits), Model::default());
    let (mut done, mut refused) = (0, 0);
    let mut steps = bytes.as_chunks::<STEP>().0.iter().peekable();
    while let Some(step) = steps.next() {
        if step[7] & 0x1f == 0x1f {
            let (table, evicts) = (step[0] % TABLES, step[1] & 1 == 1);
            pipeline.set_eviction(table, evicts);
            model.evicts.retain(|other| *other != table);
            model.evicts.extend(evicts.then_some(table));
            continue;
        }
        // The next ones are done together with this one.
        let together = usize::from(step[7] >> 5);
        let mut bundle = vec![*step];
        while bundle.len() <= together
            && let Some(next) = steps.next()
        {
            bundle.push(*next);
        }
        let before = (model.clone(), state_of(&pipeline));
        let checkpoint = pipeline.checkpoint();
        let mut changes = Vec::new();
        let mut failed = false;
        for step in &bundle {
            // Over the wire, as a controller would send it.
            let wire = change_of(*step).encode(1, Version::V14);
            let message = Message::decode(&wire, Version::V14).expect("what was encoded is decoded");
            let (found, expected) = match &message {
                Message::FlowMod(change) => (pipeline.flow_mod(change, 1), model.flow_mod(change)),
                Message::GroupMod(change) => (pipeline.group_mod(change, 1), model.group_mod(change)),
                other => unreachable!("{other}"),
            };
            let code = found.as_ref().err().map(|error| ErrorCode(error.kind, error.code));
            assert_eq!(code, expected.err(), "{message}");
            if let Ok(more) = found {
                changes.extend(more);
                done += 1;
            } else {
                refused += 1;
                failed = true;
                break;
            }
        }
        if failed && !changes.is_empty() {
            pipeline.roll_back(checkpoint, &changes, 1);
            model = before.0;
            assert_eq!(state_of(&pipeline), before.1);
        } else {
            pipeline.keep(checkpoint);
        }
        assert_eq!(state_of(&pipeline), model.sorted());
        let retired = pipeline.take_retired();
        pipeline.counters.take_back(retired);
    }
    // No counter belongs to two.
    let mut counters: Vec<_> = (0..TABLES)
        .flat_map(|table| pipeline.entries(table))
        .map(|entry| entry.counter)
        .collect();
    counters.extend(pipeline.shared().groups.values().map(|group| group.counter));
    let count = counters.len();
    counters.sort_unstable();
    counters.dedup();
    assert_eq!(counters.len(), count);
    (done, refused)
}
