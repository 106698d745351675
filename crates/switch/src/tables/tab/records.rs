//! The second generation: records of linc's protocol library, as they are printed.

use brimful_openflow::{
    Action, ErrorCode, FieldMatch, FlowMod, Instruction, MAX_LEN_NO_BUFFER, Match, MatchField, flow_flag,
};

use super::entries::{field_named, short_action, value_of};
use super::{Flaw, Term, Value};
use crate::tables::values::RESERVED_PORTS;

/// Names of the library's for bits of a flow's flags.
pub(crate) const FLAGS: [(u16, &str); 5] = [
    (flow_flag::SEND_FLOW_REMOVED, "send_flow_rem"),
    (flow_flag::CHECK_OVERLAP, "check_overlap"),
    (flow_flag::RESET_COUNTS, "reset_counts"),
    (flow_flag::NO_PACKET_COUNTS, "no_pkt_counts"),
    (flow_flag::NO_BYTE_COUNTS, "no_byt_counts"),
];

/// A flow entry.
pub(crate) fn flow<'t>(table: u8, term: &Term<'t>, fields: &[Term<'t>]) -> Result<FlowMod, Flaw<'t>> {
    let [_, priority, matching, cookie, flags, _, hard, idle, instructions] = fields else {
        return Err(term.flaw("a flow_entry has nine fields, the last one its instructions"));
    };
    let list = instructions
        .list()
        .ok_or_else(|| instructions.flaw("the instructions must be a list"))?;
    let instructions = list.iter().map(instruction).collect::<Result<_, _>>()?;
    let mut flow = FlowMod::add(
        table,
        priority.number_as("the priority")?,
        read_match(matching)?,
        instructions,
    );
    flow.cookie = cookie.number_as("the cookie")?;
    flow.flags = read_flags(flags)?;
    flow.hard_timeout_s = seconds(hard)?;
    flow.idle_timeout_s = seconds(idle)?;
    Ok(flow)
}

fn read_match<'t>(term: &Term<'t>) -> Result<Match, Flaw<'t>> {
    let Some(("ofp_match", [fields])) = term.tagged() else {
        return Err(term.flaw("a match is {ofp_match,[...]}"));
    };
    let list = fields.list().ok_or_else(|| fields.flaw("the fields must be a list"))?;
    let mut fields = list.iter().map(read_field).collect::<Result<Vec<_>, _>>()?;
    fields.sort_by_key(|said| said.field);
    Ok(Match { fields })
}

fn read_field<'t>(term: &Term<'t>) -> Result<FieldMatch, Flaw<'t>> {
    let Some(("ofp_field", [_, name, has_mask, value, mask])) = term.tagged() else {
        return Err(term.flaw("a field is {ofp_field,openflow_basic,Name,HasMask,Value,Mask}"));
    };
    let field = field_named(name.atom().unwrap_or(name.part), name)?;
    let value = value_of(field, value)?;
    let mask = match has_mask.atom() {
        Some("true") => Some(value_of(field, mask)?).filter(|&mask| mask != field.largest()),
        _ => None,
    };
    Ok(FieldMatch { field, value, mask })
}

fn read_flags<'t>(term: &Term<'t>) -> Result<u16, Flaw<'t>> {
    let list = term.list().ok_or_else(|| term.flaw("the flags must be a list"))?;
    list.iter().try_fold(0, |flags, flag| {
        let known = FLAGS.iter().find(|(_, name)| flag.atom() == Some(name));
        let bit = known
            .ok_or_else(|| Flaw::coded(flag.part, ErrorCode::FLOW_FLAGS, "there is no such flag"))?
            .0;
        Ok(flags | bit)
    })
}

/// A time as `{MegaSeconds,Seconds,MicroSeconds}`, the first being `infinity` where there is none.
fn seconds<'t>(term: &Term<'t>) -> Result<u16, Flaw<'t>> {
    let Value::Tuple(parts) = &term.value else {
        return Err(term.flaw("a timeout is {infinity,0,0} or {MegaSeconds,Seconds,MicroSeconds}"));
    };
    match parts.as_slice() {
        [first, _, _] if first.atom() == Some("infinity") => Ok(0),
        [mega, seconds, _] if mega.number() == Some(0) => seconds.number_as("the seconds of a timeout"),
        _ => Err(term.flaw("a timeout is {infinity,0,0} or {0,Seconds,0}")),
    }
}

fn instruction<'t>(term: &Term<'t>) -> Result<Instruction, Flaw<'t>> {
    let actions = |list: &Term<'t>| {
        let list = list.list().ok_or_else(|| list.flaw("the actions must be a list"))?;
        list.iter().map(action).collect::<Result<Vec<_>, _>>()
    };
    Ok(match term.tagged() {
        Some(("ofp_instruction_meter", [_, meter])) => Instruction::Meter(meter.number_as("the meter")?),
        Some(("ofp_instruction_apply_actions", [_, list])) => Instruction::ApplyActions(actions(list)?),
        Some(("ofp_instruction_clear_actions", [_])) => Instruction::ClearActions,
        Some(("ofp_instruction_write_actions", [_, list])) => Instruction::WriteActions(actions(list)?),
        Some(("ofp_instruction_write_metadata", [_, value, mask])) => Instruction::WriteMetadata {
            value: value.number_as("the metadata")?,
            mask: if mask.atom() == Some("undefined") {
                u64::MAX
            } else {
                mask.number_as("the mask")?
            },
        },
        Some(("ofp_instruction_goto_table", [_, table])) => Instruction::GotoTable(table.number_as("the table")?),
        _ => {
            return Err(Flaw::coded(
                term.part,
                ErrorCode::INSTRUCTION_UNKNOWN,
                "there is no such instruction",
            ));
        }
    })
}

fn action<'t>(term: &Term<'t>) -> Result<Action, Flaw<'t>> {
    let Some((name, fields)) = term.tagged() else {
        return Err(term.flaw("an action is a record such as {ofp_action_output,16,2,no_buffer}"));
    };
    Ok(match (name, fields) {
        ("ofp_action_output", [_, to, max_len]) => Action::Output {
            port: port_of(to)?,
            max_len: match max_len.atom() {
                Some("no_buffer") => MAX_LEN_NO_BUFFER,
                _ => max_len.number_as("the length")?,
            },
        },
        ("ofp_action_set_field", [_, field]) => set_field(field)?,
        _ => {
            let own = name.strip_prefix("ofp_action_").unwrap_or_default();
            short_action(term, own, fields.get(1..).unwrap_or_default())?
        }
    })
}

fn set_field<'t>(term: &Term<'t>) -> Result<Action, Flaw<'t>> {
    let FieldMatch { field, value, .. } = read_field(term)?;
    let present = if field == MatchField::VlanVid { 0x1000 } else { 0 };
    Ok(Action::SetField {
        field,
        value: value | present,
    })
}

fn port_of<'t>(term: &Term<'t>) -> Result<u32, Flaw<'t>> {
    let reserved = RESERVED_PORTS.iter().find(|(_, name)| term.atom() == Some(name));
    reserved.map_or_else(|| term.number_as("the port"), |&(number, _)| Ok(number))
}
