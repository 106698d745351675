//! Flows and groups with what OpenFlow does not have: matches, actions and instructions of Open vSwitch and others, from
//! the bytes of a reply. What has a name is printed by it, the rest as `nxm(class,field)=hex` and the like, so that the
//! rest of an entry is never missing.

use std::fmt::Write;

use brimful_openflow::wire::{HEADER_BYTES, Reader, Version, Wire};
use brimful_openflow::{Action, FlowMod, GroupMod, GroupType, Instruction, Match, ModCommand};

use super::nicira::{self, hex, number};
use crate::tables::ovs;

/// The header of a message and that of a multipart reply.
const REPLY_HEADERS: usize = HEADER_BYTES + 8;
/// Statistics of a flow before its match.
const FLOW_HEADERS: usize = 48;
/// A group's description and a bucket before what they hold.
const GROUP_HEADERS: usize = 8;
const BUCKET_HEADERS: usize = 16;
const VERSION: Version = Version::V13;
/// Numbers of instructions that hold actions, of the action that sets a field, and of all that is an experimenter's.
const WRITE_ACTIONS: u16 = 3;
const APPLY_ACTIONS: u16 = 4;
const SET_FIELD: u16 = 25;
const EXPERIMENTER: u16 = 0xffff;
/// Class `OFPXMC_EXPERIMENTER`: fields begin with the experimenter.
const EXPERIMENTER_CLASS: u16 = 0xffff;

/// Lines of a reply about flows; `None` where not even their lengths can be read.
pub(super) fn flows(message: &[u8], counters: bool) -> Option<Vec<String>> {
    pieces(message.get(REPLY_HEADERS..)?, 0)?
        .into_iter()
        .map(|entry| flow(entry, counters))
        .collect()
}

/// Lines of a reply about groups.
pub(super) fn groups(message: &[u8]) -> Option<Vec<String>> {
    pieces(message.get(REPLY_HEADERS..)?, 0)?
        .into_iter()
        .map(group)
        .collect()
}

fn flow(entry: &[u8], counters: bool) -> Option<String> {
    let mut at = 2;
    let mut take = |len: usize| {
        at += len;
        number(entry.get(at - len..at)?)
    };
    let table = take(1)? as u8;
    take(1)?;
    let (seconds, nanoseconds) = (take(4)?, take(4)?);
    let mut head = FlowMod::add(table, take(2)? as u16, Match::default(), Vec::new());
    head.idle_timeout_s = take(2)? as u16;
    head.hard_timeout_s = take(2)? as u16;
    head.flags = take(2)? as u16;
    take(4)?;
    head.cookie = take(8)?;
    let (packets, bytes) = (take(8)?, take(8)?);
    let matching = entry.get(FLOW_HEADERS..)?;
    let match_len = number(matching.get(2..4)?)? as usize;
    let mut unknown = Vec::new();
    let mut rest = matching.get(4..match_len)?;
    while !rest.is_empty() {
        let (field, behind) = rest.split_at_checked(4 + usize::from(*rest.get(3)?))?;
        match known_field(field) {
            Some(known) => head.matching.fields.extend(known.fields),
            None => unknown.push(field_text(field)?),
        }
        rest = behind;
    }
    let instructions = pieces(matching.get(match_len.next_multiple_of(8)..)?, 2)?;
    let instructions: Option<Vec<String>> = instructions.into_iter().map(instruction).collect();
    let actions = instructions?.join(",");
    // What a line ends with that has no instructions.
    let line = ovs::write_flow(&head);
    let line = line.strip_suffix("actions=drop")?;
    let mut text = String::new();
    if counters {
        let millis = nanoseconds / 1_000_000;
        let _ = write!(
            text,
            "duration={seconds}.{millis:03}s,n_packets={packets},n_bytes={bytes},"
        );
    }
    text += line;
    for word in unknown {
        text += &word;
        text.push(',');
    }
    let _ = write!(text, "actions={}", if actions.is_empty() { "drop" } else { &actions });
    Some(text)
}

fn group(entry: &[u8]) -> Option<String> {
    let types = [
        GroupType::All,
        GroupType::Select,
        GroupType::Indirect,
        GroupType::FastFailover,
    ];
    let head = GroupMod {
        command: ModCommand::Add,
        group_type: *types.get(usize::from(*entry.get(2)?))?,
        group: number(entry.get(4..8)?)? as u32,
        buckets: Vec::new(),
    };
    let mut text = ovs::write_group(&head);
    for bucket in pieces(entry.get(GROUP_HEADERS..)?, 0)? {
        let (weight, port) = (number(bucket.get(2..4)?)?, number(bucket.get(4..8)?)?);
        let watched = number(bucket.get(8..12)?)?;
        text += ",bucket=";
        for (name, value, usual) in [
            ("weight", weight, u64::from(head.group_type == GroupType::Select)),
            ("watch_port", port, u64::from(u32::MAX)),
            ("watch_group", watched, u64::from(u32::MAX)),
        ] {
            if value != usual {
                let _ = write!(text, "{name}={value},");
            }
        }
        let _ = write!(text, "actions={}", actions(bucket.get(BUCKET_HEADERS..)?)?);
    }
    Some(text)
}

fn instruction(bytes: &[u8]) -> Option<String> {
    if let Ok(known) = Instruction::decode(&mut Reader::new(bytes, VERSION)) {
        return Some(ovs::instruction_text(&known));
    }
    let kind = number(bytes.get(..2)?)? as u16;
    Some(match kind {
        APPLY_ACTIONS => actions(bytes.get(8..)?)?,
        WRITE_ACTIONS => format!("write_actions({})", actions(bytes.get(8..)?)?),
        EXPERIMENTER => format!("experimenter({})={}", hex(bytes.get(4..8)?), hex(&bytes[8..])),
        other => format!("instruction({other})={}", hex(bytes.get(4..)?)),
    })
}

/// A list of actions, as one text.
fn actions(bytes: &[u8]) -> Option<String> {
    let texts: Option<Vec<String>> = pieces(bytes, 2)?.into_iter().map(action).collect();
    let text = texts?.join(",");
    Some(if text.is_empty() { "drop".to_owned() } else { text })
}

fn action(bytes: &[u8]) -> Option<String> {
    if let Ok(known) = Action::decode(&mut Reader::new(bytes, VERSION)) {
        return Some(ovs::action_text(&known));
    }
    let kind = number(bytes.get(..2)?)? as u16;
    Some(match kind {
        SET_FIELD => {
            let field = bytes.get(4..)?;
            let field = field.get(..4 + usize::from(*field.get(3)?))?;
            let (name, value) = field_text(field)?
                .split_once('=')
                .map(|(name, value)| (name.to_owned(), value.to_owned()))?;
            format!("set_field:{value}->{name}")
        }
        EXPERIMENTER => {
            let named = nicira::action(bytes.get(4..)?, actions);
            named.unwrap_or_else(|| format!("experimenter({})={}", hex(&bytes[4..8]), hex(&bytes[8..])))
        }
        other => format!("action({other})={}", hex(bytes.get(4..)?)),
    })
}

/// A field that OpenFlow has, of its bytes with their header.
fn known_field(field: &[u8]) -> Option<Match> {
    let len = 4 + field.len();
    let mut bytes = vec![0, 1, (len >> 8) as u8, len as u8];
    bytes.extend_from_slice(field);
    bytes.resize(len.next_multiple_of(8), 0);
    Match::decode(&mut Reader::new(&bytes, VERSION)).ok()
}

/// Another one, as `name=value/mask`.
fn field_text(field: &[u8]) -> Option<String> {
    let (class, number_and_mask) = (number(field.get(..2)?)? as u16, *field.get(2)?);
    let (place, has_mask) = (number_and_mask >> 1, number_and_mask & 1 == 1);
    let content = field.get(4..)?;
    let (experimenter, content) = if class == EXPERIMENTER_CLASS {
        content.split_at_checked(4)?
    } else {
        (&[][..], content)
    };
    let (value, mask) = content.split_at(if has_mask { content.len() / 2 } else { content.len() });
    let name = nicira::field_name(class, place, experimenter).map_or_else(
        || match experimenter {
            [] => format!("nxm({class:#x},{place})"),
            of => format!("nxm({class:#x},{place},{})", hex(of)),
        },
        ToOwned::to_owned,
    );
    let mut text = format!(
        "{name}={}",
        nicira::value_text(&name, value, mask).unwrap_or_else(|| hex(value))
    );
    if has_mask && !text.contains(['+', '-']) {
        text.push('/');
        text += &hex(mask);
    }
    Some(text)
}

/// What follows one another, each with its length in 16 bits at a place; `None` where a length cannot be.
fn pieces(mut bytes: &[u8], length_at: usize) -> Option<Vec<&[u8]>> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let length = number(bytes.get(length_at..length_at + 2)?)? as usize;
        if length < length_at + 2 {
            return None;
        }
        let (piece, rest) = bytes.split_at_checked(length)?;
        pieces.push(piece);
        bytes = rest;
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(digits: &str) -> Vec<u8> {
        let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
        let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(octet).collect()
    }

    /// A reply with one flow of table 3: its match without padding, and its actions.
    fn reply(fields: &str, actions: &str) -> Vec<u8> {
        let (fields, actions) = (bytes(fields), bytes(actions));
        let match_len = 4 + fields.len();
        let mut matching = vec![0, 1, 0, match_len as u8];
        matching.extend(fields);
        matching.resize(match_len.next_multiple_of(8), 0);
        let mut entry = vec![0, 0, 3, 0, 0, 0, 0, 9, 0x1d, 0xcd, 0x65, 0x00, 0, 7];
        entry.resize(24, 0);
        entry.extend([0; 7]);
        entry.push(5);
        entry.extend([0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 120]);
        entry.extend(matching);
        entry.extend([0, 4, 0, 8 + actions.len() as u8, 0, 0, 0, 0]);
        entry.extend(actions);
        let len = entry.len() as u16;
        entry[..2].copy_from_slice(&len.to_be_bytes());
        let mut message = vec![0; REPLY_HEADERS];
        message.extend(entry);
        message
    }

    #[test]
    fn what_open_vswitch_has_is_printed_beside_the_rest() {
        // in_port=1, reg3=5/0xff, ct_state=+est+trk, a field of an unknown class; load, resubmit, note, exit, output.
        let fields = "80000004 00000001 00010708 00000005000000ff 0001d308 0000002200000022 1234 0a 02 abcd";
        let load = "ffff 0018 00002320 0007 001f 00010604 0000000000000007";
        let resubmit = "ffff 0010 00002320 000e fff8 05 000000";
        let note = "ffff 0010 00002320 0008 112233000000";
        let exit = "ffff 0010 00002320 0011 000000000000";
        let other = "ffff 0010 00001234 0011 000000000000";
        let register = "0019 0010 00010004 00000009 00000000";
        let output = "0000 0010 00000002 0000 000000000000";
        let all = [load, resubmit, note, exit, other, register, output].concat();
        let expected = "table=3,priority=7,cookie=0x5,in_port=1,reg3=0x5/0xff,ct_state=+est+trk,nxm(0x1234,5)=0xabcd,\
            actions=load:0x7->reg3[0..31],resubmit(,5),note:11.22.33.00.00.00,exit,experimenter(0x1234)=0x11000000000000,\
            set_field:0x9->reg0,output:2";
        assert_eq!(flows(&reply(fields, &all), false), Some(vec![expected.to_owned()]));
        let counted = flows(&reply(fields, &all), true).unwrap();
        assert_eq!(
            counted[0],
            format!("duration=9.500s,n_packets=2,n_bytes=120,{expected}")
        );
    }

    #[test]
    fn replies_that_are_cut_or_changed_are_read_or_refused() {
        let whole = reply(
            "80000004 00000001 00010708 00000005000000ff",
            "ffff 0010 00002320 000e fff8 05 000000",
        );
        for end in 0..whole.len() {
            let _ = flows(&whole[..end], true);
            for octet in [0, 1, 3, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[end] = octet;
                let _ = (flows(&changed, true), groups(&changed));
            }
        }
    }
}
