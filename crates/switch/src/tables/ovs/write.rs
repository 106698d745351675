//! Writes what `read` reads.

use std::fmt::Write;

use brimful_openflow::{
    Action, BandType, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, Instruction, MAX_LEN_NO_BUFFER,
    Match, MatchField, MeterMod, ModCommand, TABLE_ALL, flow_flag, meter_flag, port,
};

use super::actions::OWN_NAMES;
use super::lines::{DEFAULT_PRIORITY, METER_ALL, usual_weight};
use crate::tables::values::{port_text, write_mask, write_value};
use crate::tables::{Change, Tables};

const FLAGS: [(u16, &str); 5] = [
    (flow_flag::SEND_FLOW_REMOVED, "send_flow_rem"),
    (flow_flag::CHECK_OVERLAP, "check_overlap"),
    (flow_flag::RESET_COUNTS, "reset_counts"),
    (flow_flag::NO_PACKET_COUNTS, "no_packet_counts"),
    (flow_flag::NO_BYTE_COUNTS, "no_byte_counts"),
];

/// Words of a line.
#[derive(Default)]
struct Line(String);

/// All changes, a line each.
pub fn write_tables(tables: &Tables) -> String {
    let mut text = String::new();
    for change in &tables.changes {
        text += &match &change.value {
            Change::Flow(flow) => write_flow(flow),
            Change::Group(group) => write_group(group),
            Change::Meter(meter) => write_meter(meter),
        };
        text.push('\n');
    }
    text
}

/// A flow.
pub fn write_flow(flow: &FlowMod) -> String {
    let command = match flow.command {
        FlowCommand::Add => "",
        FlowCommand::Modify => "modify ",
        FlowCommand::ModifyStrict => "modify_strict ",
        FlowCommand::Delete => "delete ",
        FlowCommand::DeleteStrict => "delete_strict ",
    };
    let mut line = Line(command.to_owned());
    let is_deletion = matches!(flow.command, FlowCommand::Delete | FlowCommand::DeleteStrict);
    let usual_table = if is_deletion { TABLE_ALL } else { 0 };
    line.put_unless("table", u64::from(flow.table), u64::from(usual_table));
    line.put_unless("priority", u64::from(flow.priority), u64::from(DEFAULT_PRIORITY));
    line.put_unless("idle_timeout", u64::from(flow.idle_timeout_s), 0);
    line.put_unless("hard_timeout", u64::from(flow.hard_timeout_s), 0);
    line.put_unless("importance", u64::from(flow.importance), 0);
    if flow.cookie != 0 || flow.cookie_mask != 0 {
        line.word(&format!("cookie=0x{:x}", flow.cookie));
        if flow.cookie_mask != 0 {
            let _ = write!(line.0, "/0x{:x}", flow.cookie_mask);
        }
    }
    if flow.out_port != port::ANY {
        line.word(&format!("out_port={}", port_text(flow.out_port)));
    }
    line.put_unless("out_group", u64::from(flow.out_group), u64::from(GROUP_ANY));
    for (_, name) in FLAGS.iter().filter(|(flag, _)| flow.flags & flag != 0) {
        line.word(name);
    }
    write_match(&mut line, &flow.matching);
    if !is_deletion {
        line.word("actions=");
        write_instructions(&mut line.0, &flow.instructions);
    }
    line.0
}

/// A group.
pub fn write_group(group: &GroupMod) -> String {
    let mut line = Line(command_text(group.command).to_owned());
    line.word(&match group.group {
        GROUP_ALL => "group_id=all".to_owned(),
        number => format!("group_id={number}"),
    });
    line.word(match group.group_type {
        GroupType::All => "type=all",
        GroupType::Select => "type=select",
        GroupType::Indirect => "type=indirect",
        GroupType::FastFailover => "type=ff",
    });
    for bucket in &group.buckets {
        line.word("bucket=");
        let mut inside = Line::default();
        let usual = usual_weight(group.group_type);
        inside.put_unless("weight", u64::from(bucket.weight), u64::from(usual));
        if bucket.watch_port != port::ANY {
            inside.word(&format!("watch_port={}", port_text(bucket.watch_port)));
        }
        inside.put_unless("watch_group", u64::from(bucket.watch_group), u64::from(GROUP_ANY));
        inside.word("actions=");
        line.0 += &inside.0;
        write_actions(&mut line.0, &bucket.actions);
    }
    line.0
}

/// A meter.
pub fn write_meter(meter: &MeterMod) -> String {
    let mut line = Line(command_text(meter.command).to_owned());
    line.word(&match meter.meter {
        METER_ALL => "meter=all".to_owned(),
        number => format!("meter={number}"),
    });
    for (flag, name) in [
        (meter_flag::KBPS, "kbps"),
        (meter_flag::PACKETS, "pktps"),
        (meter_flag::BURST, "burst"),
        (meter_flag::STATISTICS, "stats"),
    ] {
        if meter.flags & flag != 0 {
            line.word(name);
        }
    }
    if !meter.bands.is_empty() {
        line.word("bands=");
    }
    for (index, band) in meter.bands.iter().enumerate() {
        line.0 += if index == 0 { "" } else { "," };
        line.0 += match band.band_type {
            BandType::Drop => "type=drop",
            BandType::DscpRemark(_) => "type=dscp_remark",
        };
        let _ = write!(line.0, ",rate={}", band.rate);
        line.put_unless("burst_size", u64::from(band.burst), 0);
        if let BandType::DscpRemark(levels) = band.band_type {
            let _ = write!(line.0, ",prec_level={levels}");
        }
    }
    line.0
}

impl Line {
    fn word(&mut self, word: &str) {
        if !self.0.is_empty() && !self.0.ends_with(' ') {
            self.0.push(',');
        }
        self.0 += word;
    }

    fn put_unless(&mut self, name: &str, value: u64, default: u64) {
        if value != default {
            self.word(&format!("{name}={value}"));
        }
    }
}

fn command_text(command: ModCommand) -> &'static str {
    match command {
        ModCommand::Add => "",
        ModCommand::Modify => "modify ",
        ModCommand::Delete => "delete ",
    }
}

fn write_match(line: &mut Line, matching: &Match) {
    for said in &matching.fields {
        line.word(match_name(said.field));
        line.0.push('=');
        write_value(&mut line.0, said.field, said.value);
        if let Some(mask) = said.mask {
            line.0.push('/');
            write_mask(&mut line.0, said.field, mask);
        }
    }
}

/// The names that Open vSwitch knows, too.
pub(crate) fn match_name(field: MatchField) -> &'static str {
    use MatchField as M;
    match field {
        M::Ipv4Src => "nw_src",
        M::Ipv4Dst => "nw_dst",
        M::IpProto => "ip_proto",
        M::Icmpv4Type => "icmp_type",
        M::Icmpv4Code => "icmp_code",
        M::Ipv6Flabel => "ipv6_label",
        M::Ipv6NdTarget => "nd_target",
        M::Ipv6NdSll => "nd_sll",
        M::Ipv6NdTll => "nd_tll",
        other => other.info().name,
    }
}

/// An instruction of a flow.
pub(crate) fn instruction_text(instruction: &Instruction) -> String {
    let mut text = String::new();
    write_instructions(&mut text, std::slice::from_ref(instruction));
    text
}

/// An action.
pub(crate) fn action_text(action: &Action) -> String {
    let mut text = String::new();
    write_action(&mut text, action);
    text
}

fn write_instructions(out: &mut String, instructions: &[Instruction]) {
    let start = out.len();
    for instruction in instructions {
        if out.len() > start {
            out.push(',');
        }
        let _ = match instruction {
            Instruction::Meter(meter) => write!(out, "meter:{meter}"),
            Instruction::ApplyActions(actions) => {
                write_actions(out, actions);
                Ok(())
            }
            Instruction::ClearActions => write!(out, "clear_actions"),
            Instruction::WriteActions(actions) => {
                out.push_str("write_actions(");
                if !actions.is_empty() {
                    write_actions(out, actions);
                }
                out.push(')');
                Ok(())
            }
            Instruction::WriteMetadata { value, mask } if *mask == u64::MAX => {
                write!(out, "write_metadata:0x{value:x}")
            }
            Instruction::WriteMetadata { value, mask } => write!(out, "write_metadata:0x{value:x}/0x{mask:x}"),
            Instruction::GotoTable(table) => write!(out, "goto_table:{table}"),
        };
    }
    if out.len() == start {
        out.push_str("drop");
    }
}

fn write_actions(out: &mut String, actions: &[Action]) {
    if actions.is_empty() {
        out.push_str("drop");
    }
    for (index, action) in actions.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_action(out, action);
    }
}

fn write_action(out: &mut String, action: &Action) {
    // Writing to a string cannot fail.
    let _ = match *action {
        Action::Output {
            port: port::CONTROLLER,
            max_len,
        } if max_len != MAX_LEN_NO_BUFFER => {
            write!(out, "controller:{max_len}")
        }
        Action::Output { port, .. } => write!(out, "output:{}", port_text(port)),
        Action::SetField { field, value } => {
            out.push_str("set_field:");
            write_value(out, field, value);
            write!(out, "->{}", set_name(field))
        }
        _ => {
            let (name, _) = action.name().unwrap_or_default();
            let own = OWN_NAMES[..2].iter().find(|(of, _)| *of == name);
            write!(out, "{}{}", own.map_or(name, |(_, own)| own), action.argument_text())
        }
    };
}

fn set_name(field: MatchField) -> &'static str {
    match field {
        MatchField::Ipv4Src => "ip_src",
        MatchField::Ipv4Dst => "ip_dst",
        other => match_name(other),
    }
}
