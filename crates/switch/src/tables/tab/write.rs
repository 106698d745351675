//! Writes what `read` reads.

use std::fmt::Write;

use brimful_openflow::{Action, FieldMatch, FlowMod, Instruction, MAX_LEN_NO_BUFFER};

use super::records::FLAGS;
use crate::tables::values::RESERVED_PORTS;

/// Flows as records of the second generation, a line each. The table is the file's.
pub fn write_records<'f>(flows: impl IntoIterator<Item = &'f FlowMod>) -> String {
    let mut text = String::new();
    for (index, flow) in flows.into_iter().enumerate() {
        text += &write_record(index, flow);
        text.push('\n');
    }
    text
}

/// A flow as a record of the second generation, the how-manyth of its file.
pub fn write_record(index: usize, flow: &FlowMod) -> String {
    let fields = list(flow.matching.fields.iter().map(field));
    let flags = list(
        FLAGS
            .iter()
            .filter(|(bit, _)| flow.flags & bit != 0)
            .map(|(_, name)| (*name).to_owned()),
    );
    let instructions = list(flow.instructions.iter().map(instruction));
    let (hard, idle) = (timeout(flow.hard_timeout_s), timeout(flow.idle_timeout_s));
    format!(
        "{{flow_entry,{index},{},{{ofp_match,{fields}}},{},{flags},{{0,0,0}},{hard},{idle},{instructions}}}.",
        flow.priority,
        bits(u128::from(flow.cookie), 64),
    )
}

/// An entry of the first generation that sends frames with these fields to a port, or drops them.
pub fn write_entry(fields: &[FieldMatch], output: Option<u32>) -> String {
    let fields = list(fields.iter().map(|said| {
        let (name, value) = (said.field.info().name, said.value);
        match said.mask {
            Some(mask) => format!("{{{name},16#{value:x},16#{mask:x}}}"),
            None if said.field.info().maskable => format!("{{{name},16#{value:x},nomask}}"),
            None => format!("{{{name},{value}}}"),
        }
    }));
    let write = output.map_or_else(
        || "undefined".to_owned(),
        |port| format!("{{write,[{{output,{port}}}]}}"),
    );
    format!("{{flow,{fields},{{instr,undefined,undefined,{write},undefined,undefined}}}}.")
}

fn list(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(","))
}

fn timeout(seconds: u16) -> String {
    match seconds {
        0 => "{infinity,0,0}".to_owned(),
        seconds => format!("{{0,{seconds},0}}"),
    }
}

/// Bits in network order: whole octets, then what is left of one.
fn bits(value: u128, width: u32) -> String {
    let mut text = String::from("<<");
    for at in 0..width / 8 {
        let octet = value >> (width - 8 * (at + 1)) & 0xff;
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{octet}", if at == 0 { "" } else { "," });
    }
    let rest = width % 8;
    if rest > 0 {
        let last = value & ((1 << rest) - 1);
        let _ = write!(text, "{}{last}:{rest}", if width < 8 { "" } else { "," });
    }
    text + ">>"
}

fn field(said: &FieldMatch) -> String {
    let width = said.field.info().bits;
    let (has_mask, mask) = match said.mask {
        Some(mask) => (true, bits(mask, width)),
        None => (false, "undefined".to_owned()),
    };
    let value = bits(said.value, width);
    format!("{{ofp_field,openflow_basic,{},{has_mask},{value},{mask}}}", said.field)
}

/// The numbers are the library's: the order in which instructions are executed.
fn instruction(instruction: &Instruction) -> String {
    let actions = |actions: &[Action]| list(actions.iter().map(action));
    match instruction {
        Instruction::Meter(meter) => format!("{{ofp_instruction_meter,1,{meter}}}"),
        Instruction::ApplyActions(list) => format!("{{ofp_instruction_apply_actions,2,{}}}", actions(list)),
        Instruction::ClearActions => "{ofp_instruction_clear_actions,3}".to_owned(),
        Instruction::WriteActions(list) => format!("{{ofp_instruction_write_actions,4,{}}}", actions(list)),
        Instruction::WriteMetadata { value, mask } => {
            let [value, mask] = [*value, *mask].map(|number| bits(u128::from(number), 64));
            format!("{{ofp_instruction_write_metadata,5,{value},{mask}}}")
        }
        Instruction::GotoTable(table) => format!("{{ofp_instruction_goto_table,6,{table}}}"),
    }
}

/// The numbers are the library's: the order in which an action set is executed.
fn action(action: &Action) -> String {
    match *action {
        Action::CopyTtlIn => "{ofp_action_copy_ttl_in,1}".to_owned(),
        Action::PopVlan => "{ofp_action_pop_vlan,2}".to_owned(),
        Action::PopMpls(eth_type) => format!("{{ofp_action_pop_mpls,3,16#{eth_type:x}}}"),
        Action::PopPbb => "{ofp_action_pop_pbb,4}".to_owned(),
        Action::PushMpls(eth_type) => format!("{{ofp_action_push_mpls,5,16#{eth_type:x}}}"),
        Action::PushPbb(eth_type) => format!("{{ofp_action_push_pbb,6,16#{eth_type:x}}}"),
        Action::PushVlan(eth_type) => format!("{{ofp_action_push_vlan,7,16#{eth_type:x}}}"),
        Action::CopyTtlOut => "{ofp_action_copy_ttl_out,8}".to_owned(),
        Action::DecMplsTtl => "{ofp_action_dec_mpls_ttl,9}".to_owned(),
        Action::DecNwTtl => "{ofp_action_dec_nw_ttl,10}".to_owned(),
        Action::SetMplsTtl(ttl) => format!("{{ofp_action_set_mpls_ttl,11,{ttl}}}"),
        Action::SetNwTtl(ttl) => format!("{{ofp_action_set_nw_ttl,12,{ttl}}}"),
        Action::SetField { field: set, value } => {
            let said = FieldMatch {
                field: set,
                value,
                mask: None,
            };
            format!("{{ofp_action_set_field,13,{}}}", field(&said))
        }
        Action::SetQueue(queue) => format!("{{ofp_action_set_queue,14,{queue}}}"),
        Action::Group(group) => format!("{{ofp_action_group,15,{group}}}"),
        Action::Output { port, max_len } => {
            let named = RESERVED_PORTS.iter().find(|&&(number, _)| number == port);
            let port = named.map_or_else(|| port.to_string(), |(_, name)| (*name).to_owned());
            let max_len = match max_len {
                MAX_LEN_NO_BUFFER => "no_buffer".to_owned(),
                bytes => bytes.to_string(),
            };
            format!("{{ofp_action_output,16,{port},{max_len}}}")
        }
    }
}
