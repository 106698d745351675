//! How a frame finds its rule, as code: one piece for each group of rules.

use std::mem::{offset_of, size_of};
use std::ptr::from_ref;
use std::sync::Arc;

use brimful_openflow::MatchField;
use cranelift_codegen::ir::condcodes::IntCC::{Equal, UnsignedGreaterThan};
use cranelift_codegen::ir::{Block, Value, types};

use super::emit::Emit;
use super::fields::Bits;
use super::helpers;
use super::parse::{Needs, Parsed};
use crate::bitmap::{Bitmap, MISSING};
use crate::context::Context;
use crate::key::KeyLayout;
use crate::memory::Memory;
use crate::plan::{CodedRule, Group, PrefixGroup, TupleGroup};
use crate::tuple::{EMPTY, SLOT_HEAD, TOMBSTONE, Tuple, TupleCell};

/// Where code goes on with the value of a rule: the block takes it as its parameter.
#[derive(Clone, Copy)]
pub(crate) struct Found(pub(crate) Block);

impl Found {
    pub(crate) fn go(self, emit: &mut Emit<'_>, value: Value) {
        emit.jump_with(self.0, value);
    }
}

/// What a group looks at.
pub(crate) fn needs_of(group: &Group, needs: &mut Needs) {
    let mut fields: Vec<MatchField> = Vec::new();
    match group {
        Group::Rules(rules) => fields.extend(rules.iter().flat_map(|rule| rule.demands.iter().map(|demand| demand.0))),
        Group::Tuples(group) => fields.extend(
            group
                .tuples
                .iter()
                .flat_map(|tuple| tuple.shape.iter().map(|part| part.0)),
        ),
        Group::Prefixes(group) => {
            fields.push(group.field);
            fields.extend(group.constants.iter().map(|constant| constant.0));
        }
        Group::Bitmap(bitmap) => fields.extend(bitmap.octets.iter().map(|octet| octet.field)),
    }
    for field in fields {
        needs.field(field);
    }
}

/// Writes the look-up of a group: on with `found` for the first rule in it, else the code goes on behind.
pub(crate) fn write_group(emit: &mut Emit<'_>, parsed: &Parsed, group: &Group, found: Found) {
    let behind = emit.block();
    match group {
        Group::Rules(rules) => rules.iter().for_each(|rule| write_rule(emit, parsed, rule, found)),
        Group::Tuples(group) => write_tuples(emit, parsed, group, found),
        Group::Prefixes(group) => write_prefixes(emit, parsed, group, found, behind),
        Group::Bitmap(bitmap) => write_bitmap(emit, parsed, bitmap, found, behind),
    }
    emit.jump(behind);
    emit.begin(behind);
}

fn write_rule(emit: &mut Emit<'_>, parsed: &Parsed, rule: &CodedRule, found: Found) {
    let next = emit.block();
    demand_values(emit, parsed, &rule.demands, next);
    let cell = emit.address(from_ref(&*rule.cell));
    let value = emit.load_shared(cell, 0);
    let is_there = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    emit.unless(is_there, next);
    found.go(emit, value);
    emit.begin(next);
}

/// Goes to `missing` unless all fields are there and have these values.
fn demand_values(emit: &mut Emit<'_>, parsed: &Parsed, demands: &[(MatchField, u128, u128)], missing: Block) {
    let fields: Vec<MatchField> = demands.iter().map(|demand| demand.0).collect();
    parsed.demand(emit, &fields, missing);
    for &(field, value, mask) in demands {
        for shift in [0, 64] {
            let (value, mask) = ((value >> shift) as u64, (mask >> shift) as u64);
            if mask != 0 {
                let found = parsed.value(emit, Bits { field, shift });
                let found = emit.mask(found, mask);
                let is_equal = emit.is_number(Equal, found, value & mask);
                emit.unless(is_equal, missing);
            }
        }
    }
}

fn write_tuples(emit: &mut Emit<'_>, parsed: &Parsed, group: &TupleGroup, found: Found) {
    if let [tuple] = group.tuples.as_slice() {
        let next = emit.block();
        let slot = write_tuple(emit, parsed, tuple, next);
        found.go(emit, slot.value);
        emit.begin(next);
        return;
    }
    let (best, best_rank) = (emit.variable(EMPTY), emit.variable(0));
    let done = emit.block();
    for (tuple, ceiling) in group.tuples.iter().zip(group.ceilings.iter()) {
        let next = emit.block();
        let ceiling = emit.address(from_ref(ceiling));
        let highest = emit.load(types::I64, ceiling, 0);
        let rank = emit.get(best_rank);
        let can_be_beaten = emit.is(UnsignedGreaterThan, highest, rank);
        emit.unless(can_be_beaten, done);
        let slot = write_tuple(emit, parsed, tuple, next);
        let slot_rank = emit.load(types::I64, slot.place, 8);
        let is_better = emit.is(UnsignedGreaterThan, slot_rank, rank);
        emit.unless(is_better, next);
        emit.set(best, slot.value);
        emit.set(best_rank, slot_rank);
        emit.jump(next);
        emit.begin(next);
    }
    emit.jump(done);
    emit.begin(done);
    let (take, behind) = (emit.block(), emit.block());
    let value = emit.get(best);
    let is_any = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    emit.branch(is_any, take, behind);
    emit.begin(take);
    found.go(emit, value);
    emit.begin(behind);
}

struct Slot {
    place: Value,
    value: Value,
}

/// Finds the frame's slot in a tuple, or goes to `missing`.
fn write_tuple(emit: &mut Emit<'_>, parsed: &Parsed, tuple: &Tuple, missing: Block) -> Slot {
    let fields: Vec<MatchField> = tuple.shape.iter().map(|part| part.0).collect();
    parsed.demand(emit, &fields, missing);
    let key = write_key(emit, parsed, &tuple.layout);
    let mut hash = emit.number(tuple.factor);
    for word in &key {
        let mixed = emit.xor(hash, *word);
        let product = emit.times(mixed, tuple.factor);
        let high = emit.shift_right(product, 32);
        hash = emit.xor(product, high);
    }
    let cell = emit.address(from_ref::<TupleCell>(&tuple.cell));
    let memory = emit.load_shared(cell, offset_of!(TupleCell, memory));
    let index_mask = emit.load(types::I64, memory, offset_of!(Memory, index_mask));
    let slots = emit.load(types::I64, memory, offset_of!(Memory, slots));
    let first = emit.and(hash, index_mask);
    let index = emit.variable(0);
    emit.set(index, first);

    let (probe, occupied, next, hit) = (emit.block(), emit.block(), emit.cold_block(), emit.block());
    emit.jump(probe);
    emit.begin(probe);
    let here = emit.get(index);
    let offset = emit.times(here, (tuple.stride() * size_of::<u64>()) as u64);
    let place = emit.add(slots, offset);
    let value = emit.load_shared(place, 0);
    let is_used = emit.is_number(UnsignedGreaterThan, value, EMPTY);
    emit.branch(is_used, occupied, missing);

    emit.begin(occupied);
    let mut differs = emit.number(0);
    for (word, wanted) in key.iter().enumerate() {
        let stored = emit.load(types::I64, place, (SLOT_HEAD + word) * size_of::<u64>());
        let difference = emit.xor(stored, *wanted);
        differs = emit.or(differs, difference);
    }
    let is_key = emit.is_number(Equal, differs, 0);
    let is_rule = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    let is_hit = emit.and(is_key, is_rule);
    emit.branch(is_hit, hit, next);

    emit.begin(next);
    let after = emit.plus(here, 1);
    let after = emit.and(after, index_mask);
    emit.set(index, after);
    emit.jump(probe);

    emit.begin(hit);
    Slot { place, value }
}

fn write_key(emit: &mut Emit<'_>, parsed: &Parsed, layout: &KeyLayout) -> Vec<Value> {
    let mut key: Vec<Option<Value>> = vec![None; layout.words];
    for part in &layout.parts {
        let bits = Bits {
            field: part.field,
            shift: part.field_shift,
        };
        let value = parsed.value(emit, bits);
        let value = emit.mask(value, part.mask);
        let value = emit.shift_left(value, part.shift);
        key[part.word] = Some(match key[part.word] {
            None => value,
            Some(word) => emit.or(word, value),
        });
    }
    key.into_iter()
        .map(|word| word.unwrap_or_else(|| emit.number(0)))
        .collect()
}

fn write_prefixes(emit: &mut Emit<'_>, parsed: &Parsed, group: &PrefixGroup, found: Found, missing: Block) {
    demand_values(emit, parsed, &group.constants, missing);
    parsed.demand(emit, &[group.field], missing);
    let bits = Bits {
        field: group.field,
        shift: 0,
    };
    let address = parsed.value(emit, bits);
    let prefixes = emit.address(Arc::as_ptr(&group.root));
    let value = emit.call(helpers::find_prefix as *const u8, &[prefixes, address]);
    let is_rule = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    emit.unless(is_rule, missing);
    found.go(emit, value);
    let unreachable = emit.block();
    emit.begin(unreachable);
}

fn write_bitmap(emit: &mut Emit<'_>, parsed: &Parsed, bitmap: &Bitmap, found: Found, missing: Block) {
    let context = emit.context;
    let mut places = bitmap.octets.iter().enumerate().peekable();
    while let Some((first, octet)) = places.next() {
        let field = octet.field;
        let mut octets = vec![(first, octet.shift)];
        while let Some((index, octet)) = places.next_if(|(_, octet)| octet.field == field) {
            octets.push((index, octet.shift));
        }
        let done = emit.block();
        if let Some(has) = parsed.has(emit, field) {
            let (there, absent) = (emit.block(), emit.block());
            emit.branch(has, there, absent);
            emit.begin(absent);
            for (index, _) in &octets {
                let row = emit.number(MISSING as u64);
                store_row(emit, *index, row);
            }
            emit.jump(done);
            emit.begin(there);
        }
        for (index, shift) in octets {
            let row = parsed.value(emit, Bits { field, shift });
            let row = emit.mask(row, 0xff);
            store_row(emit, index, row);
        }
        emit.jump(done);
        emit.begin(done);
    }
    let bitmap = emit.address(from_ref(bitmap));
    let value = emit.call(helpers::find_bitmap as *const u8, &[bitmap, context]);
    let is_rule = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    emit.unless(is_rule, missing);
    found.go(emit, value);
    let unreachable = emit.block();
    emit.begin(unreachable);
}

fn store_row(emit: &mut Emit<'_>, index: usize, row: Value) {
    let context = emit.context;
    let row = emit.narrow(types::I16, row);
    emit.store(row, context, offset_of!(Context, rows) + index * size_of::<u16>());
}
