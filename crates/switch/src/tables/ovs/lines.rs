//! Lines of flows, groups and meters.

use brimful_openflow::{
    Band, BandType, Bucket, ErrorCode, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, Match,
    MeterMod, ModCommand, TABLE_ALL, flow_flag, meter_flag, port,
};

use super::actions::{actions, instructions};
use super::known::Known;
use super::matching::Reading;
use super::words::{Word, Words};
use crate::tables::place::Flaw;
use crate::tables::values::number_as;

/// `OFP_DEFAULT_PRIORITY` of OF 1.3.5 section A.3.4.1.
pub(crate) const DEFAULT_PRIORITY: u16 = 0x8000;

/// All meters.
pub(crate) const METER_ALL: u32 = 0xffff_ffff;

/// A flow: its match and what it is given, then its actions to the end of the line. And notes about it.
pub(crate) fn flow<'t>(
    line: &'t str,
    command: FlowCommand,
    known: &Known<'t>,
) -> Result<(FlowMod, Vec<String>), Flaw<'t>> {
    let mut flow = FlowMod::add(0, DEFAULT_PRIORITY, Match::default(), Vec::new());
    flow.command = command;
    let is_deletion = matches!(command, FlowCommand::Delete | FlowCommand::DeleteStrict);
    // As Open vSwitch has it: of all tables, unless the line names one.
    if is_deletion {
        flow.table = TABLE_ALL;
    }
    let mut matching = Reading::of(*known);
    let (before, after) = split_at_actions(line);
    let mut words = Words::of(before);
    while let Some(word) = words.next()? {
        if !matching.take(word)? && !attribute(&mut flow, word, known)? {
            let detail = format!("there is no match field {}", word.key);
            return Err(Flaw::coded(word.whole, ErrorCode::MATCH_FIELD, detail));
        }
    }
    matching.settle()?;
    match after {
        Some(text) if !is_deletion => flow.instructions = instructions(text, &matching)?,
        Some(text) => return Err(Flaw::syntax(text, "a deletion has no actions")),
        None if is_deletion => {}
        None => {
            return Err(Flaw::syntax(
                line,
                "the flow says no actions: add actions=drop if it has none",
            ));
        }
    }
    let (matching, notes) = matching.finish();
    flow.matching = matching;
    Ok((flow, notes))
}

/// A group: `group_id=1,type=select,bucket=weight:2,actions=output:1,bucket=output:2`.
pub(crate) fn group<'t>(line: &'t str, command: ModCommand, known: &Known<'t>) -> Result<GroupMod, Flaw<'t>> {
    let mut parts = split_before(line, "bucket");
    let head = parts.remove(0);
    let (mut group, mut group_type) = (None, None);
    let mut words = Words::of(head);
    while let Some(word) = words.next()? {
        match word.key {
            "group_id" => group = Some(number_or_all(word, GROUP_ALL)?),
            "type" => group_type = Some(type_of_group(word)?),
            key => return Err(Flaw::syntax(word.whole, format!("a group has no {key}"))),
        }
    }
    let group = group.ok_or_else(|| Flaw::syntax(line, "the group says no group_id"))?;
    let group_type = match (group_type, command) {
        (Some(group_type), _) => group_type,
        (None, ModCommand::Delete) => GroupType::All,
        (None, _) => return Err(Flaw::syntax(line, "the group says no type")),
    };
    Ok(GroupMod {
        command,
        group_type,
        group,
        buckets: parts
            .into_iter()
            .map(|text| bucket(text, usual_weight(group_type), known))
            .collect::<Result<_, _>>()?,
    })
}

/// A meter: `meter=1,kbps,burst,band=type=drop,rate=1000,burst_size=100`.
pub(crate) fn meter(line: &str, command: ModCommand) -> Result<MeterMod, Flaw<'_>> {
    let mut parts = split_before(line, "band");
    let head = parts.remove(0);
    let mut meter = None;
    let mut flags = 0;
    let mut words = Words::of(head);
    while let Some(word) = words.next()? {
        match word.key {
            "meter" => meter = Some(number_or_all(word, METER_ALL)?),
            "kbps" => flags |= meter_flag::KBPS,
            "pktps" => flags |= meter_flag::PACKETS,
            "burst" => flags |= meter_flag::BURST,
            "stats" => flags |= meter_flag::STATISTICS,
            key => return Err(Flaw::syntax(word.whole, format!("a meter has no {key}"))),
        }
    }
    let mut bands = Vec::new();
    for part in parts {
        read_bands(part, &mut bands)?;
    }
    Ok(MeterMod {
        command,
        flags,
        meter: meter.ok_or_else(|| Flaw::syntax(line, "the meter says no number"))?,
        bands,
    })
}

/// Which group or meter; deletions may be of all.
fn number_or_all(word: Word<'_>, all: u32) -> Result<u32, Flaw<'_>> {
    let text = word.need_value()?;
    if text.eq_ignore_ascii_case("all") {
        return Ok(all);
    }
    number_as(text, word.key)
}

/// What is not a match: where a flow goes and how long it stays.
fn attribute<'t>(flow: &mut FlowMod, word: Word<'t>, known: &Known<'t>) -> Result<bool, Flaw<'t>> {
    match word.key {
        "table" => flow.table = number_as(word.need_value()?, "table")?,
        "priority" => flow.priority = number_as(word.need_value()?, "priority")?,
        "idle_timeout" => flow.idle_timeout_s = number_as(word.need_value()?, "idle_timeout")?,
        "hard_timeout" => flow.hard_timeout_s = number_as(word.need_value()?, "hard_timeout")?,
        "importance" => flow.importance = number_as(word.need_value()?, "importance")?,
        "cookie" => {
            let text = word.need_value()?;
            let (cookie, mask) = text.split_once('/').unwrap_or((text, "0"));
            flow.cookie = number_as(cookie, "cookie")?;
            flow.cookie_mask = if mask == "-1" {
                u64::MAX
            } else {
                number_as(mask, "mask of cookie")?
            };
        }
        "out_port" => {
            let text = word.need_value()?;
            let found = known.port(text);
            flow.out_port = found.ok_or_else(|| Flaw::syntax(text, format!("there is no port {text}")))?;
        }
        "out_group" => flow.out_group = number_as(word.need_value()?, "out_group")?,
        "send_flow_rem" => flow.flags |= flow_flag::SEND_FLOW_REMOVED,
        "check_overlap" => flow.flags |= flow_flag::CHECK_OVERLAP,
        "reset_counts" => flow.flags |= flow_flag::RESET_COUNTS,
        "no_packet_counts" => flow.flags |= flow_flag::NO_PACKET_COUNTS,
        "no_byte_counts" => flow.flags |= flow_flag::NO_BYTE_COUNTS,
        // What a dump says of the past.
        "duration" | "n_packets" | "n_bytes" | "idle_age" | "hard_age" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

/// What stands before `actions=` and after it.
pub(super) fn split_at_actions(line: &str) -> (&str, Option<&str>) {
    let Some(start) = line.find("action") else {
        return (line, None);
    };
    let after = &line[start..];
    let tail = after.strip_prefix("actions").unwrap_or(&after["action".len()..]);
    match tail.strip_prefix(['=', ':']) {
        Some(text) => (&line[..start], Some(text)),
        None => (line, None),
    }
}

/// Cuts before each `NAME=` and `NAMEs=`, which go.
fn split_before<'t>(line: &'t str, name: &str) -> Vec<&'t str> {
    let mut starts = Vec::new();
    for (at, _) in line.match_indices(name) {
        let is_word = line[..at].ends_with(|letter: char| letter == ',' || letter.is_ascii_whitespace());
        let tail = &line[at + name.len()..];
        let tail = tail.strip_prefix('s').unwrap_or(tail);
        if let (true, Some(content)) = (is_word, tail.strip_prefix('=')) {
            starts.push((at, line.len() - content.len()));
        }
    }
    let ends = starts.iter().map(|&(at, _)| at).chain([line.len()]);
    let begins = [0].into_iter().chain(starts.iter().map(|&(_, content)| content));
    begins.zip(ends).map(|(begin, end)| &line[begin..end]).collect()
}

fn type_of_group(word: Word<'_>) -> Result<GroupType, Flaw<'_>> {
    Ok(match word.need_value()? {
        "all" => GroupType::All,
        "select" => GroupType::Select,
        "indirect" => GroupType::Indirect,
        "ff" | "fast_failover" => GroupType::FastFailover,
        other => {
            let detail = format!("there is no group type {other}: use all, select, indirect or fast_failover");
            return Err(Flaw::coded(word.value, ErrorCode::GROUP_TYPE, detail));
        }
    })
}

/// The weight of a bucket that says none: those of a select group have even shares.
pub(super) fn usual_weight(group_type: GroupType) -> u16 {
    u16::from(group_type == GroupType::Select)
}

fn bucket<'t>(text: &'t str, weight: u16, known: &Known<'t>) -> Result<Bucket, Flaw<'t>> {
    let mut bucket = Bucket {
        weight,
        watch_port: port::ANY,
        watch_group: GROUP_ANY,
        actions: Vec::new(),
    };
    let (mut before, mut listed) = split_at_actions(text);
    if listed.is_none() {
        // Without `actions=` they follow what the bucket is given.
        let mut words = Words::of(text);
        let mut rest = text;
        while let Some(word) = words.next()? {
            if !is_of_bucket(word.key) {
                rest = &text[word.whole.as_ptr() as usize - text.as_ptr() as usize..];
                break;
            }
            rest = "";
        }
        before = &text[..text.len() - rest.len()];
        listed = Some(rest);
    }
    let mut words = Words::of(before);
    while let Some(word) = words.next()? {
        let value = word.need_value()?;
        match word.key {
            "weight" => bucket.weight = number_as(value, "weight")?,
            "watch_group" => bucket.watch_group = number_as(value, "watch_group")?,
            "watch_port" => {
                let found = known.port(value);
                bucket.watch_port = found.ok_or_else(|| Flaw::syntax(value, format!("there is no port {value}")))?;
            }
            "bucket_id" => {}
            key => return Err(Flaw::syntax(word.whole, format!("a bucket has no {key}"))),
        }
    }
    // A bucket knows no match: names that depend on one cannot be used.
    bucket.actions = actions(listed.unwrap_or(""), &Reading::of(*known))?;
    Ok(bucket)
}

fn is_of_bucket(key: &str) -> bool {
    matches!(key, "weight" | "watch_port" | "watch_group" | "bucket_id")
}

fn read_bands<'t>(text: &'t str, bands: &mut Vec<Band>) -> Result<(), Flaw<'t>> {
    let first = bands.len();
    let mut words = Words::of(text);
    while let Some(word) = words.next()? {
        if word.key == "type" {
            let band_type = match word.need_value()? {
                "drop" => BandType::Drop,
                "dscp_remark" => BandType::DscpRemark(0),
                other => {
                    let detail = format!("there is no band type {other}: use drop or dscp_remark");
                    return Err(Flaw::coded(word.value, ErrorCode::METER_BAND, detail));
                }
            };
            bands.push(Band {
                band_type,
                rate: 0,
                burst: 0,
            });
            continue;
        }
        let Some(band) = bands[first..].last_mut() else {
            return Err(Flaw::syntax(
                word.whole,
                "a band begins with type=drop or type=dscp_remark",
            ));
        };
        let value = word.need_value()?;
        match word.key {
            "rate" => band.rate = number_as(value, "rate")?,
            "burst_size" => band.burst = number_as(value, "burst_size")?,
            "prec_level" if band.band_type != BandType::Drop => {
                band.band_type = BandType::DscpRemark(number_as(value, "prec_level")?);
            }
            key => return Err(Flaw::syntax(word.whole, format!("this band has no {key}"))),
        }
    }
    Ok(())
}
