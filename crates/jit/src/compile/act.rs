//! What happens to a frame that has met a rule, as code: one piece for each shape.

use std::mem::{offset_of, size_of};

use brimful_frame::Header;
use brimful_openflow::MatchField;
use brimful_pipeline::{CounterBlock, CounterCell};
use cranelift_codegen::ir::condcodes::IntCC::{Equal, NotEqual};
use cranelift_codegen::ir::{Block, InstBuilder, JumpTableData, Value, types};

use super::emit::Emit;
use super::helpers;
use super::parse::{Needs, Parsed};
use crate::context::{CodeRule, Context, RuleValue, verdict};
use crate::shape::{End, Shape, Step};

/// What the steps of a shape look at.
pub(crate) fn needs_of(shape: &Shape, needs: &mut Needs) {
    for step in &shape.steps {
        match step {
            Step::SetField(MatchField::Ipv4Src | MatchField::Ipv4Dst) => {
                for header in [Header::Ipv4, Header::Tcp, Header::Udp] {
                    needs.header(header);
                }
            }
            Step::SetField(MatchField::IpDscp | MatchField::IpEcn) => needs.header(Header::Ipv4),
            Step::SetField(_) | Step::WriteMetadata => {}
        }
    }
}

/// Counts a frame and its bytes in the cell of a counter.
pub(crate) fn write_count(emit: &mut Emit<'_>, parsed: &Parsed, counter: Value) {
    let context = emit.context;
    let cells = emit.load(types::I64, context, offset_of!(Context, counters));
    let offset = emit.times(counter, size_of::<CounterCell>() as u64);
    let cell = emit.add(cells, offset);
    let packets = emit.load(types::I64, cell, CounterBlock::PACKETS_AT);
    let packets = emit.plus(packets, 1);
    emit.store(packets, cell, CounterBlock::PACKETS_AT);
    let bytes = emit.load(types::I64, cell, CounterBlock::BYTES_AT);
    let bytes = emit.add(bytes, parsed.len);
    emit.store(bytes, cell, CounterBlock::BYTES_AT);
}

/// Writes what happens to a frame that has met the rule with a value. `shapes` have the numbers from 1 on.
pub(crate) fn write_actions(emit: &mut Emit<'_>, parsed: &Parsed, shapes: &[Shape], value: Value) {
    let high = emit.shift_right(value, RuleValue::COUNTER_SHIFT);
    let counter = emit.mask(high, RuleValue::COUNTER_MASK);
    write_count(emit, parsed, counter);
    let number = emit.shift_right(value, RuleValue::SHAPE_SHIFT);
    let interpret = emit.cold_block();
    let blocks: Vec<Block> = shapes.iter().map(|_| emit.block()).collect();
    match blocks.as_slice() {
        [] => emit.jump(interpret),
        [only] => {
            let is_known = emit.is_number(Equal, number, 1);
            emit.branch(is_known, *only, interpret);
        }
        _ => write_switch(emit, number, &blocks, interpret),
    }
    for (index, (shape, block)) in shapes.iter().zip(&blocks).enumerate() {
        emit.begin(*block);
        let rule = Rule {
            value,
            counter,
            shape: index as u64 + 1,
        };
        write_shape(emit, parsed, shape, rule, interpret);
    }
    emit.begin(interpret);
    let context = emit.context;
    let function = emit.load(types::I64, context, offset_of!(Context, interpret));
    let verdict = emit.call_value(function, &[context, value]);
    emit.give(verdict);
}

fn write_switch(emit: &mut Emit<'_>, number: Value, blocks: &[Block], interpret: Block) {
    let index = emit.plus(number, u64::MAX);
    let index = emit.narrow(types::I32, index);
    let pool = &mut emit.builder.func.dfg.value_lists;
    let targets: Vec<_> = blocks
        .iter()
        .map(|block| cranelift_codegen::ir::BlockCall::new(*block, [], pool))
        .collect();
    let default = cranelift_codegen::ir::BlockCall::new(interpret, [], pool);
    let table = emit.builder.create_jump_table(JumpTableData::new(default, &targets));
    emit.builder.ins().br_table(index, table);
}

#[derive(Clone, Copy)]
struct Rule {
    value: Value,
    counter: Value,
    shape: u64,
}

fn write_shape(emit: &mut Emit<'_>, parsed: &Parsed, shape: &Shape, rule: Rule, interpret: Block) {
    let context = emit.context;
    if shape.uses_action_set {
        let has_set = emit.load(types::I64, context, offset_of!(Context, has_action_set));
        let has_none = emit.is_number(Equal, has_set, 0);
        emit.unless(has_none, interpret);
    }
    let mut port = emit.mask(rule.value, 0xffff_ffff);
    if !shape.steps.is_empty() {
        let numbers = write_numbers(emit, rule, interpret);
        let mut next = 0;
        for step in &shape.steps {
            write_step(emit, parsed, *step, numbers, next);
            next += step.numbers();
        }
        // Not from the value, which may be of another time than the numbers.
        port = emit.load(types::I64, numbers, next * size_of::<u64>());
    }
    match shape.end {
        End::Drop => {
            let verdict = emit.number(verdict::DROP);
            emit.give(verdict);
        }
        End::Goto(table) => {
            let verdict = emit.number(verdict::GOTO | u64::from(table));
            emit.give(verdict);
        }
        End::Output => {
            let in_port = emit.load(types::I64, context, offset_of!(Context, in_port));
            // OF 1.3.5 section 5.10: to the port it came in by only as OFPP_IN_PORT.
            let is_back = emit.is(Equal, port, in_port);
            let output = emit.number(verdict::OUTPUT);
            let output = emit.or(port, output);
            let nothing = emit.number(verdict::DROP);
            let verdict = emit.choose(is_back, nothing, output);
            emit.give(verdict);
        }
    }
}

/// The numbers of the rule, if it still has this shape.
fn write_numbers(emit: &mut Emit<'_>, rule: Rule, interpret: Block) -> Value {
    let context = emit.context;
    let rules = emit.load(types::I64, context, offset_of!(Context, rules));
    let offset = emit.times(rule.counter, size_of::<u64>() as u64);
    let place = emit.add(rules, offset);
    let code_rule = emit.load_shared(place, 0);
    let shape = emit.load(types::I64, code_rule, offset_of!(CodeRule, shape));
    let is_same = emit.is_number(Equal, shape, rule.shape);
    emit.unless(is_same, interpret);
    emit.plus(code_rule, offset_of!(CodeRule, numbers) as u64)
}

fn write_step(emit: &mut Emit<'_>, parsed: &Parsed, step: Step, numbers: Value, next: usize) {
    let context = emit.context;
    let number = emit.load(types::I64, numbers, next * size_of::<u64>());
    let field = match step {
        Step::WriteMetadata => {
            let mask = emit.load(types::I64, numbers, (next + 1) * size_of::<u64>());
            let old = emit.load(types::I64, context, offset_of!(Context, metadata));
            let kept = emit.builder.ins().band_not(old, mask);
            let new = emit.or(kept, number);
            emit.store(new, context, offset_of!(Context, metadata));
            return;
        }
        Step::SetField(field) => field,
    };
    match field {
        MatchField::EthDst => write_address(emit, parsed.frame, 0, number),
        MatchField::EthSrc => write_address(emit, parsed.frame, 6, number),
        MatchField::TunnelId => emit.store(number, context, offset_of!(Context, tunnel_id)),
        MatchField::Ipv4Src => write_ipv4_address(emit, parsed, 12, number),
        MatchField::Ipv4Dst => write_ipv4_address(emit, parsed, 16, number),
        MatchField::IpDscp => write_traffic_class(emit, parsed, field, number, 2, 0xfc),
        MatchField::IpEcn => write_traffic_class(emit, parsed, field, number, 0, 0x03),
        _ => write_by_helper(emit, field, number),
    }
}

fn write_address(emit: &mut Emit<'_>, frame: Value, at: usize, number: Value) {
    let high = emit.shift_left(number, 16);
    let bytes = emit.builder.ins().bswap(high);
    let first = emit.narrow(types::I32, bytes);
    emit.store(first, frame, at);
    let rest = emit.shift_right(bytes, 32);
    let rest = emit.narrow(types::I16, rest);
    emit.store(rest, frame, at + 4);
}

fn write_ipv4_address(emit: &mut Emit<'_>, parsed: &Parsed, place: u64, number: Value) {
    let (there, done) = (emit.block(), emit.block());
    let at = parsed.offset(emit, Header::Ipv4);
    let is_there = emit.is_number(NotEqual, at, 0);
    emit.branch(is_there, there, done);
    emit.begin(there);
    let (tcp, udp) = (parsed.offset(emit, Header::Tcp), parsed.offset(emit, Header::Udp));
    let header = emit.add(parsed.frame, at);
    let place = emit.number(place);
    emit.call(
        helpers::set_ipv4_address as *const u8,
        &[parsed.frame, header, place, tcp, udp, number],
    );
    emit.jump(done);
    emit.begin(done);
}

fn write_traffic_class(emit: &mut Emit<'_>, parsed: &Parsed, field: MatchField, number: Value, shift: u32, mask: u64) {
    let (there, other, done) = (emit.block(), emit.cold_block(), emit.block());
    let at = parsed.offset(emit, Header::Ipv4);
    let is_there = emit.is_number(NotEqual, at, 0);
    emit.branch(is_there, there, other);
    emit.begin(there);
    let header = emit.add(parsed.frame, at);
    let bits = emit.shift_left(number, shift);
    let mask = emit.number(mask);
    emit.call(helpers::set_traffic_class as *const u8, &[header, mask, bits]);
    emit.jump(done);
    emit.begin(other);
    write_by_helper(emit, field, number);
    emit.jump(done);
    emit.begin(done);
}

fn write_by_helper(emit: &mut Emit<'_>, field: MatchField, number: Value) {
    let context = emit.context;
    let field = emit.number(field as u64);
    emit.call(helpers::set_field as *const u8, &[context, field, number]);
}
