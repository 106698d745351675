//! Random changes for the tests of readers and writers.

use brimful_openflow::{
    Action, Band, BandType, Bucket, FieldMatch, FlowMod, GROUP_ANY, GroupMod, GroupType, Instruction, MATCH_FIELDS,
    Match, MatchField, MeterMod, ModCommand, Prerequisite, port,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A flow whose match has the prerequisites of its fields, fields in the order of their numbers.
pub(crate) fn any_flow() -> impl Strategy<Value = FlowMod> {
    let identity = (any::<u8>(), any::<u16>(), any::<u64>(), 0..32_u16, any::<[u16; 3]>());
    (identity, any_match(), any_instructions()).prop_map(|(identity, matching, instructions)| {
        let (table, priority, cookie, flags, [idle_timeout_s, hard_timeout_s, importance]) = identity;
        FlowMod {
            cookie,
            flags,
            idle_timeout_s,
            hard_timeout_s,
            importance,
            ..FlowMod::add(table, priority, matching, instructions)
        }
    })
}

pub(crate) fn any_group() -> impl Strategy<Value = GroupMod> {
    let types = [
        GroupType::All,
        GroupType::Select,
        GroupType::Indirect,
        GroupType::FastFailover,
    ];
    let bucket = (
        any::<u16>(),
        option::of(0..9_u32),
        option::of(0..9_u32),
        vec(any_action(), 1..4),
    );
    let bucket = bucket.prop_map(|(weight, watch_port, watch_group, actions)| Bucket {
        weight,
        watch_port: watch_port.unwrap_or(port::ANY),
        watch_group: watch_group.unwrap_or(GROUP_ANY),
        actions,
    });
    (any_command(), select(types.to_vec()), any::<u32>(), vec(bucket, 0..4)).prop_map(
        |(command, group_type, group, buckets)| GroupMod {
            command,
            group_type,
            group,
            buckets,
        },
    )
}

pub(crate) fn any_meter() -> impl Strategy<Value = MeterMod> {
    let band = (option::of(any::<u8>()), any::<u32>(), any::<u32>()).prop_map(|(levels, rate, burst)| Band {
        band_type: levels.map_or(BandType::Drop, BandType::DscpRemark),
        rate,
        burst,
    });
    (any_command(), 0..16_u16, any::<u32>(), vec(band, 0..4)).prop_map(|(command, flags, meter, bands)| MeterMod {
        command,
        flags,
        meter,
        bands,
    })
}

fn any_command() -> impl Strategy<Value = ModCommand> {
    select(&[ModCommand::Add, ModCommand::Modify, ModCommand::Delete][..])
}

pub(crate) fn any_match() -> impl Strategy<Value = Match> {
    let row = select(&MATCH_FIELDS[..]);
    vec((row, any::<u128>(), option::of(any::<u128>()), any::<u8>()), 0..4).prop_map(|rows| {
        let mut fields = Vec::new();
        for (row, value, mask, choice) in rows {
            put(&mut fields, row.field, value, mask.filter(|_| row.maskable), choice);
        }
        fields.sort_by_key(|said: &FieldMatch| said.field);
        Match { fields }
    })
}

/// Adds a field after its prerequisites, unless the match already says otherwise.
fn put(fields: &mut Vec<FieldMatch>, field: MatchField, value: u128, mask: Option<u128>, choice: u8) {
    if fields.iter().any(|said| said.field == field) {
        return;
    }
    match field.info().prerequisite {
        Prerequisite::None => {}
        Prerequisite::Present(other) => put(fields, other, u128::from(choice), None, choice),
        Prerequisite::Tagged => put(fields, MatchField::VlanVid, 0x1000 | u128::from(choice), None, choice),
        Prerequisite::OneOf(other, values) => {
            put(fields, other, values[usize::from(choice) % values.len()], None, choice);
            let allowed =
                |said: &FieldMatch| said.field == other && said.mask.is_none() && values.contains(&said.value);
            if !fields.iter().any(allowed) {
                return;
            }
        }
    }
    let largest = field.largest();
    let mask = mask
        .map(|mask| mask & largest)
        .filter(|&mask| mask != 0 && mask != largest);
    let value = value & mask.unwrap_or(largest);
    fields.push(FieldMatch { field, value, mask });
}

fn any_instructions() -> impl Strategy<Value = Vec<Instruction>> {
    let metadata = option::of((any::<u64>(), any::<u64>()));
    let write = option::of(vec(any_action(), 1..4));
    let apply = option::of(vec(any_action(), 1..5));
    (
        option::of(any::<u32>()),
        apply,
        any::<bool>(),
        write,
        metadata,
        option::of(any::<u8>()),
    )
        .prop_map(|(meter, apply, clear, write, metadata, goto)| {
            let mut list: Vec<Instruction> = meter.map(Instruction::Meter).into_iter().collect();
            list.extend(apply.map(Instruction::ApplyActions));
            list.extend(clear.then_some(Instruction::ClearActions));
            list.extend(write.map(Instruction::WriteActions));
            list.extend(metadata.map(|(value, mask)| Instruction::WriteMetadata { value, mask }));
            list.extend(goto.map(Instruction::GotoTable));
            list
        })
}

fn any_action() -> impl Strategy<Value = Action> {
    let set = (select(&MATCH_FIELDS[..]), any::<u128>()).prop_map(|(row, value)| {
        let present = if row.field == MatchField::VlanVid { 0x1000 } else { 0 };
        Action::SetField {
            field: row.field,
            value: value & row.field.largest() | present,
        }
    });
    let reserved = select(&[port::IN_PORT, port::ALL, port::FLOOD, port::NORMAL, port::LOCAL][..]);
    let max_len = 0xffff;
    prop_oneof![
        (0..9_u32).prop_map(move |port| Action::Output { port, max_len }),
        reserved.prop_map(move |port| Action::Output { port, max_len }),
        any::<u16>().prop_map(|max_len| Action::Output {
            port: port::CONTROLLER,
            max_len
        }),
        any::<u8>().prop_map(Action::SetMplsTtl),
        any::<u8>().prop_map(Action::SetNwTtl),
        any::<u16>().prop_map(Action::PushVlan),
        any::<u16>().prop_map(Action::PushMpls),
        any::<u16>().prop_map(Action::PopMpls),
        any::<u16>().prop_map(Action::PushPbb),
        any::<u32>().prop_map(Action::SetQueue),
        any::<u32>().prop_map(Action::Group),
        select(
            &[
                Action::CopyTtlIn,
                Action::CopyTtlOut,
                Action::DecMplsTtl,
                Action::DecNwTtl,
                Action::PopVlan,
                Action::PopPbb,
            ][..]
        ),
        set,
    ]
}
