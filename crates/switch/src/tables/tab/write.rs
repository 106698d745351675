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

/// Actions in the order in which an action set is executed, by which the library numbers them.
const ORDER: &str = "copy_ttl_in pop_vlan pop_mpls pop_pbb push_mpls push_pbb push_vlan copy_ttl_out dec_mpls_ttl \
                     dec_nw_ttl set_mpls_ttl set_nw_ttl set_field set_queue group output";

fn action(action: &Action) -> String {
    match *action {
        Action::SetField { field: set, value } => {
            let said = FieldMatch {
                field: set,
                value,
                mask: None,
            };
            format!("{{ofp_action_set_field,13,{}}}", field(&said))
        }
        Action::Output { port, max_len } => {
            let named = RESERVED_PORTS.iter().find(|&&(number, _)| number == port);
            let port = named.map_or_else(|| port.to_string(), |(_, name)| (*name).to_owned());
            let max_len = match max_len {
                MAX_LEN_NO_BUFFER => "no_buffer".to_owned(),
                bytes => bytes.to_string(),
            };
            format!("{{ofp_action_output,16,{port},{max_len}}}")
        }
        _ => {
            let (name, _) = action.name().unwrap_or_default();
            let number = ORDER.split(' ').take_while(|other| *other != name).count() + 1;
            let argument = action.argument_text().replace(":0x", ",16#").replace(':', ",");
            format!("{{ofp_action_{name},{number}{argument}}}")
        }
    }
}
