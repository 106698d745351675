//! The first generation: `{flow,Matches,{instr,Meter,Apply,ClearOrWrite,Metadata,Goto}}`, the first that matches wins.

use std::collections::HashSet;

use brimful_openflow::{
    Action, ErrorCode, FieldMatch, FlowMod, Instruction, MAX_LEN_NO_BUFFER, Match, MatchField, Prerequisite, port,
};

use super::{Change, Flaw, Place, Placed, Term};

/// `OFPVID_PRESENT` of OF 1.3.5 section 7.2.3.7.
const VLAN_PRESENT: u128 = 0x1000;

/// Entries of a file, whose order is that of their priorities.
#[derive(Debug)]
pub(crate) struct Entries {
    table: u8,
    entries: Vec<(Place, Vec<Match>, Vec<Instruction>)>,
}

impl Entries {
    pub(crate) fn new(table: u8) -> Self {
        let entries = Vec::new();
        Self { table, entries }
    }

    pub(crate) fn take<'t>(&mut self, place: Place, term: &Term<'t>, slots: &[Term<'t>]) -> Result<(), Flaw<'t>> {
        let [matches, instructions] = slots else {
            return Err(term.flaw("a flow is {flow,Matches,{instr,...}}"));
        };
        let fields = read_fields(matches)?;
        let instructions = read_instructions(instructions)?;
        self.entries.push((place, expand(fields), instructions));
        Ok(())
    }

    /// One flow for each match. Where there are more entries than priorities, neighbours share one: of equal priority
    /// the earlier wins, so that an entry that repeats a match could never be reached and is left out.
    pub(crate) fn finish(self) -> Vec<Placed<Change>> {
        let most = usize::from(u16::MAX);
        let sharing = self.entries.len().div_ceil(most).max(1);
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        for (index, (place, matches, instructions)) in self.entries.into_iter().enumerate() {
            let priority = (most - index / sharing) as u16;
            for matching in matches {
                if seen.insert(matching.clone()) {
                    let flow = FlowMod::add(self.table, priority, matching, instructions.clone());
                    let value = Change::Flow(Box::new(flow));
                    changes.push(Placed { place, value });
                }
            }
        }
        changes
    }
}

fn read_fields<'t>(matches: &Term<'t>) -> Result<Vec<FieldMatch>, Flaw<'t>> {
    let list = matches
        .list()
        .ok_or_else(|| matches.flaw("the matches must be a list"))?;
    list.iter().map(read_field).collect()
}

fn read_field<'t>(term: &Term<'t>) -> Result<FieldMatch, Flaw<'t>> {
    let Some((name, rest @ ([_] | [_, _]))) = term.tagged() else {
        return Err(term.flaw("a match is {Field,Value} or {Field,Value,Mask}"));
    };
    let field = field_named(name, term)?;
    let value = value_of(field, &rest[0])?;
    let mask = match rest.get(1) {
        None => None,
        Some(mask) if matches!(mask.atom(), Some("nomask" | "undefined")) => None,
        Some(mask) => Some(value_of(field, mask)?).filter(|&mask| mask != field.largest()),
    };
    if field == MatchField::VlanVid && value != 0 {
        // 16#1000/16#1000 is any tag; otherwise only the number of the tag counts.
        let is_any = mask == Some(VLAN_PRESENT);
        let value = VLAN_PRESENT | if is_any { 0 } else { value & 0xfff };
        let mask = mask.map(|mask| mask | VLAN_PRESENT);
        return Ok(FieldMatch { field, value, mask });
    }
    Ok(FieldMatch { field, value, mask })
}

pub(crate) fn field_named<'t>(name: &str, term: &Term<'t>) -> Result<MatchField, Flaw<'t>> {
    MatchField::from_name(name).ok_or_else(|| {
        Flaw::coded(
            term.part,
            ErrorCode::MATCH_FIELD,
            format!("there is no match field {name}"),
        )
    })
}

pub(crate) fn value_of<'t>(field: MatchField, term: &Term<'t>) -> Result<u128, Flaw<'t>> {
    let fitting = term.number().filter(|&value| value <= field.largest());
    fitting.ok_or_else(|| {
        let detail = format!(
            "{field} is {}: use a whole number of at most {} bits",
            term.part,
            field.info().bits
        );
        Flaw::coded(term.part, ErrorCode::MATCH_VALUE, detail)
    })
}

/// The matches of OpenFlow that together mean what fields of this generation mean: there, a field implies the headers
/// that have it, of IPv4 and IPv6 alike. None where headers cannot occur together: such an entry never matches.
fn expand(fields: Vec<FieldMatch>) -> Vec<Match> {
    let mut open = vec![fields];
    let mut done = Vec::new();
    while let Some(mut fields) = open.pop() {
        match missing(&fields) {
            Missing::Nothing => {
                fields.sort_by_key(|said| said.field);
                fields.dedup();
                let is_twice = fields.windows(2).any(|pair| pair[0].field == pair[1].field);
                done.extend((!is_twice).then_some(Match { fields }));
            }
            Missing::Impossible => {}
            Missing::Field(field, values) => {
                // The last is taken up first.
                for &value in values.iter().rev() {
                    let mut fields = fields.clone();
                    fields.push(FieldMatch {
                        field,
                        value,
                        mask: None,
                    });
                    open.push(fields);
                }
            }
            Missing::Tag => fields_with_tag(fields, &mut open),
        }
    }
    done
}

enum Missing {
    Nothing,
    Impossible,
    Field(MatchField, &'static [u128]),
    Tag,
}

fn fields_with_tag(mut fields: Vec<FieldMatch>, open: &mut Vec<Vec<FieldMatch>>) {
    fields.push(FieldMatch {
        field: MatchField::VlanVid,
        value: VLAN_PRESENT,
        mask: Some(VLAN_PRESENT),
    });
    open.push(fields);
}

/// The first prerequisite that a match does not say, those of prerequisites included.
fn missing(fields: &[FieldMatch]) -> Missing {
    let find = |field| fields.iter().find(|said| said.field == field);
    for said in fields {
        match said.field.info().prerequisite {
            Prerequisite::None => {}
            Prerequisite::Present(field) if find(field).is_some() => {}
            Prerequisite::Present(_) => return Missing::Impossible,
            Prerequisite::Tagged => match find(MatchField::VlanVid) {
                Some(tag) if tag.value & VLAN_PRESENT == 0 => return Missing::Impossible,
                Some(_) => {}
                None => return Missing::Tag,
            },
            Prerequisite::OneOf(field, values) => match find(field) {
                Some(other) if other.mask.is_none() && values.contains(&other.value) => {}
                Some(_) => return Missing::Impossible,
                None => return Missing::Field(field, values),
            },
        }
    }
    Missing::Nothing
}

fn read_instructions<'t>(term: &Term<'t>) -> Result<Vec<Instruction>, Flaw<'t>> {
    let Some(("instr", [meter, apply, write, metadata, goto])) = term.tagged() else {
        return Err(term.flaw("instructions are {instr,Meter,Apply,ClearOrWrite,Metadata,Goto}"));
    };
    let mut list = Vec::new();
    match slot(meter)? {
        None => {}
        Some(("meter", [number])) => list.push(Instruction::Meter(number.number_as("the meter")?)),
        Some(_) => return Err(unknown(meter)),
    }
    match slot(apply)? {
        None => {}
        Some(("apply", [actions])) => list.push(Instruction::ApplyActions(read_actions(actions)?)),
        Some(_) => return Err(unknown(apply)),
    }
    match slot(write)? {
        None => {}
        Some(("write", [actions])) => list.push(Instruction::WriteActions(read_actions(actions)?)),
        Some(("clear", [actions])) => {
            list.push(Instruction::ClearActions);
            let actions = read_actions(actions)?;
            list.extend((!actions.is_empty()).then_some(Instruction::WriteActions(actions)));
        }
        Some(_) => return Err(unknown(write)),
    }
    match slot(metadata)? {
        None => {}
        Some(("metadata", [value, mask])) => {
            let mask: u64 = mask.number_as("the mask of the metadata")?;
            let value: u64 = value.number_as("the metadata")?;
            let value = value & mask;
            list.push(Instruction::WriteMetadata { value, mask });
        }
        Some(_) => return Err(unknown(metadata)),
    }
    match slot(goto)? {
        None => {}
        Some(("goto", [table])) => list.push(Instruction::GotoTable(table.number_as("the table")?)),
        Some(_) => return Err(unknown(goto)),
    }
    Ok(list)
}

type Slot<'t, 's> = Option<(&'t str, &'s [Term<'t>])>;

fn slot<'t, 's>(term: &'s Term<'t>) -> Result<Slot<'t, 's>, Flaw<'t>> {
    if term.atom() == Some("undefined") {
        return Ok(None);
    }
    term.tagged().map(Some).ok_or_else(|| unknown(term))
}

fn unknown<'t>(term: &Term<'t>) -> Flaw<'t> {
    let detail = format!("{} is no instruction of this place", term.part);
    Flaw::coded(term.part, ErrorCode::INSTRUCTION_UNKNOWN, detail)
}

fn read_actions<'t>(term: &Term<'t>) -> Result<Vec<Action>, Flaw<'t>> {
    let list = term.list().ok_or_else(|| term.flaw("actions must be a list"))?;
    list.iter().map(read_action).collect()
}

fn read_action<'t>(term: &Term<'t>) -> Result<Action, Flaw<'t>> {
    let simple = term.atom().map(|name| (name, &[] as &[Term<'t>]));
    Ok(match simple.or_else(|| term.tagged()) {
        Some(("output", [to])) => Action::Output {
            port: match to.atom() {
                Some("controller") => port::CONTROLLER,
                Some("in_port") => port::IN_PORT,
                Some("all") => port::ALL,
                Some("flood") => port::FLOOD,
                _ => to.number_as("the port")?,
            },
            max_len: MAX_LEN_NO_BUFFER,
        },
        Some(("set_field", [name, value])) => {
            let field = field_named(name.atom().unwrap_or(name.part), name)?;
            let value = value_of(field, value)?;
            Action::SetField { field, value }
        }
        Some(("queue", fields)) => short_action(term, "set_queue", fields)?,
        Some((name, fields)) => short_action(term, name, fields)?,
        None => return Err(term.flaw("an action is a name, or a tuple that begins with one")),
    })
}

/// The action of 8 bytes with a name, and the fields behind it.
pub(crate) fn short_action<'t>(term: &Term<'t>, name: &str, fields: &[Term<'t>]) -> Result<Action, Flaw<'t>> {
    match Action::named(name, fields.first().and_then(Term::number)) {
        Some(Ok(action)) if fields.len() < 2 && action.argument_text().is_empty() == fields.is_empty() => Ok(action),
        Some(Err(bits)) => Err(term.flaw(format!("{name} needs a whole number of at most {bits} bits"))),
        _ => {
            let detail = format!("there is no action {}", term.part);
            Err(Flaw::coded(term.part, ErrorCode::ACTION_TYPE, detail))
        }
    }
}
