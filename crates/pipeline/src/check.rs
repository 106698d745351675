//! What a flow-mod may say (OF 1.3.5 sections 6.4 and 7.2), and the error for what it may not.

use brimful_openflow::{
    Action, Bucket, ErrorCode, ErrorMessage, FieldMatch, Instruction, Match, MatchField, Prerequisite, port,
};

use crate::entry::InstructionOrder;
use crate::{Instructions, Shared};

type Checked = Result<(), ErrorMessage>;

/// The bit of `vlan_vid` that says that there is a tag.
const VLAN_PRESENT: u128 = 0x1000;

/// Checks a match; prerequisites only where `strict`.
pub(crate) fn check_match(matching: &Match, strict: bool) -> Checked {
    for (index, field) in matching.fields.iter().enumerate() {
        let (name, largest) = (field.field, field.field.largest());
        if matching.fields[..index].iter().any(|other| other.field == name) {
            return Err(ErrorCode::MATCH_DUPLICATE.because(format!("{name} stands twice")));
        }
        if field.value > largest {
            return Err(
                ErrorCode::MATCH_VALUE.because(format!("{name}={:#x} has more bits than the field", field.value))
            );
        }
        match field.mask {
            Some(mask) if !name.info().maskable && mask != largest => {
                return Err(ErrorCode::MATCH_MASK.because(format!("{name} takes no mask")));
            }
            Some(mask) if mask > largest => {
                return Err(
                    ErrorCode::MATCH_MASK.because(format!("the mask {mask:#x} of {name} has more bits than the field"))
                );
            }
            Some(mask) if field.value & !mask != 0 => {
                let said = Match { fields: vec![*field] };
                let text = format!("{said} has bits that its mask leaves out");
                return Err(ErrorCode::MATCH_WILDCARDS.because(text));
            }
            None if name == MatchField::VlanVid && field.value != 0 && field.value & VLAN_PRESENT == 0 => {
                let text = format!("vlan_vid={:#x} lacks the bit 0x1000 for a tag", field.value);
                return Err(ErrorCode::MATCH_VALUE.because(text));
            }
            _ => {}
        }
    }
    // OF 1.3.5 section 7.2.3.6: what a field needs stands before it.
    let is_missing = |(index, field): &(usize, &FieldMatch)| {
        field.field.info().prerequisite != Prerequisite::None
            && !Known::of_fields(&matching.fields[..*index]).allows(field.field)
    };
    let missing = matching.fields.iter().enumerate().find(|one| strict && is_missing(one));
    missing.map_or(Ok(()), |(_, field)| {
        let text = format!("{} needs {} before it", field.field, needed(field.field));
        Err(ErrorCode::MATCH_PREREQUISITE.because(text))
    })
}

/// Sorts instructions by kind, and checks them as far as that takes no groups and meters.
pub(crate) fn check_instructions(
    given: Vec<Instruction>,
    matching: &Match,
    table: u8,
    tables: u8,
    strict: bool,
) -> Result<(Instructions, InstructionOrder), ErrorMessage> {
    let mut instructions = Instructions::default();
    let order = InstructionOrder::of(&given)
        .ok_or_else(|| ErrorCode::INSTRUCTION_UNSUPPORTED.because("an instruction stands twice"))?;
    for instruction in given {
        match instruction {
            // OF 1.3.5 section 5.9: entries of the last table cannot have this instruction.
            Instruction::GotoTable(next) if table + 1 == tables => {
                let text = format!("goto_table:{next} from table {table}, which is the last one");
                return Err(ErrorCode::INSTRUCTION_UNSUPPORTED.because(text));
            }
            Instruction::GotoTable(next) if next <= table || next >= tables => {
                let text = format!(
                    "goto_table:{next} from table {table}: the next table is one from {} to {}",
                    table + 1,
                    tables - 1
                );
                return Err(ErrorCode::INSTRUCTION_TABLE.because(text));
            }
            Instruction::GotoTable(next) => instructions.goto = Some(next),
            Instruction::WriteMetadata { value, mask } => instructions.metadata = Some((value, mask)),
            Instruction::WriteActions(actions) => instructions.write = actions,
            Instruction::ApplyActions(actions) => instructions.apply = actions,
            Instruction::ClearActions => instructions.clear = true,
            Instruction::Meter(meter) => instructions.meter = Some(meter),
        }
    }
    let mut known = Known::of(matching);
    known.strict = strict;
    check_actions(&instructions.apply, &mut known)?;
    check_actions(&instructions.write, &mut known)?;
    Ok((instructions, order))
}

/// Checks that the meter and the groups of instructions are there.
pub(crate) fn check_references(instructions: &Instructions, shared: &Shared) -> Checked {
    if let Some(meter) = instructions.meter
        && !shared.meters.contains_key(&meter)
    {
        return Err(ErrorCode::METER_UNKNOWN.because(format!("there is no meter {meter}")));
    }
    check_actions_references(&instructions.apply, shared)?;
    check_actions_references(&instructions.write, shared)
}

/// Checks the buckets' actions of a group.
pub(crate) fn check_buckets(buckets: &[Bucket], shared: &Shared) -> Checked {
    buckets.iter().try_for_each(|bucket| {
        // A group has no match: its fields are those of whatever frame comes.
        let mut known = Known {
            strict: false,
            ..Known::default()
        };
        check_actions(&bucket.actions, &mut known)?;
        check_actions_references(&bucket.actions, shared)
    })
}

/// Checks the actions of a packet-out.
///
/// # Errors
/// The error for the first action that cannot be.
pub fn check_packet_out(actions: &[Action], shared: &Shared) -> Result<(), ErrorMessage> {
    let mut known = Known::default();
    actions.iter().try_for_each(|action| match action {
        Action::Output { port: port::TABLE, .. } => Ok(()),
        _ => check_action(action, &mut known),
    })?;
    check_actions_references(actions, shared)
}

/// Checks that the groups and queues of actions are there.
fn check_actions_references(actions: &[Action], shared: &Shared) -> Checked {
    actions.iter().try_for_each(|action| match action {
        // OF 1.3.5 section 7.4.4: a queue that no port has is as a port that will never be there.
        Action::SetQueue(queue) if !shared.has_queue(*queue) => {
            Err(ErrorCode::ACTION_QUEUE.because(format!("no port has a queue {queue}")))
        }
        Action::Group(group) if !shared.groups.contains_key(group) => {
            Err(ErrorCode::ACTION_OUT_GROUP.because(format!("there is no group {group}")))
        }
        _ => Ok(()),
    })
}

fn check_actions(actions: &[Action], known: &mut Known<'_>) -> Checked {
    actions.iter().try_for_each(|action| check_action(action, known))
}

fn check_action(action: &Action, known: &mut Known<'_>) -> Checked {
    match *action {
        Action::Output { port: number, .. } => check_port(number),
        Action::PushVlan(ether_type) => {
            known.tagged = true;
            check_type("push_vlan", ether_type, &[0x8100, 0x88a8])
        }
        Action::PushMpls(ether_type) => {
            known.set(MatchField::EthType, ether_type.into());
            check_type("push_mpls", ether_type, &[0x8847, 0x8848])
        }
        Action::PushPbb(ether_type) => {
            known.set(MatchField::EthType, ether_type.into());
            check_type("push_pbb", ether_type, &[0x88e7])
        }
        Action::PopMpls(ether_type) => {
            known.set(MatchField::EthType, ether_type.into());
            Ok(())
        }
        Action::PopPbb => {
            // What the customer's frame carries is not known.
            known.strict = false;
            Ok(())
        }
        Action::SetField { field, value } => check_set_field(field, value, known),
        _ => Ok(()),
    }
}

fn check_port(number: u32) -> Checked {
    let is_reserved = matches!(
        number,
        // LOCAL is optional (OF 1.3.5 section 4.5), and not to be had here.
        port::IN_PORT | port::NORMAL | port::FLOOD | port::ALL | port::CONTROLLER
    );
    if is_reserved || (1..=port::MAX).contains(&number) {
        return Ok(());
    }
    Err(ErrorCode::ACTION_OUT_PORT.because(format!("output to port {number:#x}: there is no such port")))
}

fn check_type(action: &str, ether_type: u16, allowed: &[u16]) -> Checked {
    if allowed.contains(&ether_type) {
        return Ok(());
    }
    let text = format!("{action}:{ether_type:#06x}: its EtherType is one of {allowed:#06x?}");
    Err(ErrorCode::ACTION_ARGUMENT.because(text))
}

fn check_set_field(field: MatchField, value: u128, known: &mut Known<'_>) -> Checked {
    if matches!(
        field,
        MatchField::InPort | MatchField::InPhyPort | MatchField::Metadata | MatchField::Ipv6Exthdr
    ) {
        return Err(ErrorCode::ACTION_SET_TYPE.because(format!("{field} cannot be set")));
    }
    if value > field.largest() {
        return Err(ErrorCode::ACTION_SET_ARGUMENT.because(format!("{field}={value:#x} has more bits than the field")));
    }
    if known.strict && !known.allows(field) {
        let text = format!("set_field of {field} needs {} in the match", needed(field));
        return Err(ErrorCode::ACTION_MATCH_INCONSISTENT.because(text));
    }
    if matches!(
        field,
        MatchField::EthType | MatchField::IpProto | MatchField::Icmpv6Type
    ) {
        known.set(field, value);
    }
    Ok(())
}

/// What is known of every frame that meets an entry.
#[derive(Default)]
struct Known<'m> {
    matched: &'m [FieldMatch],
    /// What actions have set: later ones come last.
    set: Vec<(MatchField, u128)>,
    tagged: bool,
    strict: bool,
}

impl<'m> Known<'m> {
    fn of(matching: &'m Match) -> Self {
        Self::of_fields(&matching.fields)
    }

    fn of_fields(fields: &'m [FieldMatch]) -> Self {
        let vlan = fields.iter().find(|field| field.field == MatchField::VlanVid);
        Self {
            matched: fields,
            set: Vec::new(),
            tagged: vlan.is_some_and(|field| field.value & VLAN_PRESENT != 0),
            strict: true,
        }
    }

    fn set(&mut self, field: MatchField, value: u128) {
        self.set.push((field, value));
    }

    fn value(&self, field: MatchField) -> Option<u128> {
        let set = self.set.iter().rev().find(|(other, _)| *other == field);
        if let Some((_, value)) = set {
            return Some(*value);
        }
        let is_exact = |one: &&FieldMatch| one.field == field && one.mask.is_none_or(|mask| mask == field.largest());
        self.matched.iter().find(is_exact).map(|one| one.value)
    }

    fn allows(&self, field: MatchField) -> bool {
        match field.info().prerequisite {
            Prerequisite::None => true,
            Prerequisite::Present(other) => self.matched.iter().any(|one| one.field == other),
            Prerequisite::Tagged => self.tagged,
            // What the other one needs is checked with the other one.
            Prerequisite::OneOf(other, values) => self.value(other).is_some_and(|value| values.contains(&value)),
        }
    }
}

fn needed(field: MatchField) -> String {
    match field.info().prerequisite {
        Prerequisite::None => "nothing".into(),
        Prerequisite::Present(other) => other.to_string(),
        Prerequisite::Tagged => "vlan_vid with a tag".into(),
        Prerequisite::OneOf(other, values) => {
            let values: Vec<String> = values
                .iter()
                .map(|value| {
                    if other == MatchField::EthType {
                        format!("{value:#06x}")
                    } else {
                        value.to_string()
                    }
                })
                .collect();
            format!("{other}={}", values.join(" or "))
        }
    }
}
