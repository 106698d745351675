//! Actions and instructions: `set_field:02:00:00:00:00:01->eth_dst,output:2,goto_table:1`.

use brimful_openflow::{Action, ErrorCode, Instruction, MAX_LEN_NO_BUFFER, MatchField, port};

use super::known::Known;
use super::matching::{Dependent, Reading, VLAN_PRESENT, field_named};
use super::words::{Word, Words};
use crate::tables::place::Flaw;
use crate::tables::values::{number, number_as, value};

/// Extensions of Open vSwitch's that OpenFlow 1.3 has no message for.
const EXTENSIONS: &[&str] = &[
    "bundle",
    "bundle_load",
    "check_pkt_larger",
    "clone",
    "conjunction",
    "ct",
    "ct_clear",
    "dec_nsh_ttl",
    "debug_recirc",
    "debug_slow",
    "decap",
    "delete_field",
    "encap",
    "exit",
    "fin_timeout",
    "learn",
    "load",
    "move",
    "multipath",
    "nat",
    "note",
    "pop",
    "pop_queue",
    "push",
    "resubmit",
    "sample",
];

/// Names of actions that Open vSwitch has for those of OpenFlow.
pub(super) const OWN_NAMES: [(&str, &str); 3] = [
    ("set_nw_ttl", "mod_nw_ttl"),
    ("dec_nw_ttl", "dec_ttl"),
    ("pop_vlan", "strip_vlan"),
];

/// The instructions of a flow entry, in the order in which they are executed.
pub(crate) fn instructions<'t>(text: &'t str, matching: &Reading<'t>) -> Result<Vec<Instruction>, Flaw<'t>> {
    let mut list = ActionList::new(matching);
    let mut found = Vec::new();
    let mut words = Words::of(text);
    while let Some(word) = words.next()? {
        if let Some(instruction) = instruction(word, matching)? {
            let is_twin = |other: &Instruction| std::mem::discriminant(other) == std::mem::discriminant(&instruction);
            if found.iter().any(is_twin) {
                return Err(Flaw::syntax(word.whole, format!("{} is there twice", word.key)));
            }
            found.push(instruction);
        } else {
            list.take(word)?;
        }
    }
    let actions = list.finish(text)?;
    if !actions.is_empty() {
        found.push(Instruction::ApplyActions(actions));
    }
    found.sort_by_key(|instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions => 2,
        Instruction::WriteActions(_) => 3,
        Instruction::WriteMetadata { .. } => 4,
        Instruction::GotoTable(_) => 5,
    });
    Ok(found)
}

/// Actions where there are no instructions, as in buckets.
pub(crate) fn actions<'t>(text: &'t str, matching: &Reading<'t>) -> Result<Vec<Action>, Flaw<'t>> {
    let mut list = ActionList::new(matching);
    let mut words = Words::of(text);
    while let Some(word) = words.next()? {
        list.take(word)?;
    }
    list.finish(text)
}

fn instruction<'t>(word: Word<'t>, matching: &Reading<'t>) -> Result<Option<Instruction>, Flaw<'t>> {
    Ok(Some(match word.key {
        "meter" => Instruction::Meter(number_as(word.need_value()?, "meter")?),
        "clear_actions" => Instruction::ClearActions,
        "apply_actions" => Instruction::ApplyActions(actions(word.value, matching)?),
        "write_actions" => Instruction::WriteActions(actions(word.value, matching)?),
        "goto_table" => Instruction::GotoTable(number_as(word.need_value()?, "goto_table")?),
        "write_metadata" => {
            let text = word.need_value()?;
            let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffffffffffff"));
            Instruction::WriteMetadata {
                value: number_as(value, "write_metadata")?,
                mask: number_as(mask, "mask of write_metadata")?,
            }
        }
        _ => return Ok(None),
    }))
}

struct ActionList<'t, 'm> {
    matching: &'m Reading<'t>,
    actions: Vec<Action>,
    drops: bool,
    /// Whether a tag is there by now.
    is_tagged: bool,
}

impl<'t, 'm> ActionList<'t, 'm> {
    fn new(matching: &'m Reading<'t>) -> Self {
        Self {
            matching,
            actions: Vec::new(),
            drops: false,
            is_tagged: matching.is_tagged(),
        }
    }

    fn finish(self, text: &'t str) -> Result<Vec<Action>, Flaw<'t>> {
        if self.drops && !self.actions.is_empty() {
            return Err(Flaw::syntax(
                text,
                "drop stands alone: leave it or the other actions out",
            ));
        }
        Ok(self.actions)
    }

    fn take(&mut self, word: Word<'t>) -> Result<(), Flaw<'t>> {
        let action = match word.key {
            "drop" => {
                self.drops = true;
                return Ok(());
            }
            "enqueue" => return self.enqueue(word),
            "set_field" => set_field(word)?,
            "mod_vlan_vid" | "mod_vlan_pcp" => return self.set_tag(word),
            "mod_tp_src" => self.set_dependent(Dependent::TransportSource, word)?,
            "mod_tp_dst" => self.set_dependent(Dependent::TransportDestination, word)?,
            "mod_nw_src" => set(MatchField::Ipv4Src, word)?,
            "mod_nw_dst" => set(MatchField::Ipv4Dst, word)?,
            "mod_dl_src" => set(MatchField::EthSrc, word)?,
            "mod_dl_dst" => set(MatchField::EthDst, word)?,
            "mod_nw_ecn" => set(MatchField::IpEcn, word)?,
            "set_mpls_label" => set(MatchField::MplsLabel, word)?,
            "set_mpls_tc" => set(MatchField::MplsTc, word)?,
            "set_tunnel" | "set_tunnel64" => self.set_tunnel(word)?,
            "mod_nw_tos" => {
                let tos = number(word.need_value()?).filter(|tos| tos & !0xfc == 0);
                let tos = tos.ok_or_else(|| bad_argument(word, "its lower 2 bits are 0, and it has 8"))?;
                Action::SetField {
                    field: MatchField::IpDscp,
                    value: tos >> 2,
                }
            }
            _ => plain(word, self.matching.known())?,
        };
        self.is_tagged |= matches!(action, Action::PushVlan(_));
        self.actions.push(action);
        Ok(())
    }

    fn enqueue(&mut self, word: Word<'t>) -> Result<(), Flaw<'t>> {
        let (port, queue) = word.need_value()?.split_once([':', ',']).unwrap_or((word.value, ""));
        self.actions.push(Action::SetQueue(number_as(queue, "queue")?));
        self.actions.push(output(port, self.matching.known())?);
        Ok(())
    }

    /// As Open vSwitch has it: a frame without a tag gets one.
    fn set_tag(&mut self, word: Word<'t>) -> Result<(), Flaw<'t>> {
        let is_vid = word.key == "mod_vlan_vid";
        let field = if is_vid {
            MatchField::VlanVid
        } else {
            MatchField::VlanPcp
        };
        let most = if is_vid { 0xfff } else { 7 };
        let value = number(word.need_value()?).filter(|&value| value <= most);
        let value = value.ok_or_else(|| bad_argument(word, "too large for a tag"))?;
        if !self.is_tagged {
            self.actions.push(Action::PushVlan(0x8100));
            self.is_tagged = true;
        }
        let value = if is_vid { VLAN_PRESENT | value } else { value };
        self.actions.push(Action::SetField { field, value });
        Ok(())
    }

    /// A tunnel is where its number matters; where there is none, the action would do nothing and look well.
    fn set_tunnel(&self, word: Word<'t>) -> Result<Action, Flaw<'t>> {
        if self.matching.known().has_tunnels {
            return set(MatchField::TunnelId, word);
        }
        let detail = format!(
            "{}: this switch has no tunnels: to mark frames for later tables, use set_field:NUMBER->tunnel_id",
            word.whole
        );
        Err(Flaw::coded(word.whole, ErrorCode::ACTION_SET_TYPE, detail))
    }

    fn set_dependent(&self, name: Dependent, word: Word<'t>) -> Result<Action, Flaw<'t>> {
        let field = self.matching.dependent(name).ok_or_else(|| {
            let detail = format!("{} needs a match on tcp, udp or sctp", word.key);
            Flaw::coded(word.whole, ErrorCode::ACTION_MATCH_INCONSISTENT, detail)
        })?;
        set(field, word)
    }
}

fn plain<'t>(word: Word<'t>, known: &Known<'_>) -> Result<Action, Flaw<'t>> {
    let own = OWN_NAMES.iter().find(|(_, own)| *own == word.key);
    let is_extended = word.key == "dec_ttl" && !word.value.is_empty();
    match Action::named(own.map_or(word.key, |(name, _)| name), number(word.value)) {
        Some(Ok(action)) if !is_extended => return Ok(action),
        Some(Err(bits)) => {
            let (key, value) = (word.key, word.need_value()?);
            let detail = format!("{key} is {value:?}: use a whole number of at most {bits} bits");
            return Err(Flaw::syntax(value, detail));
        }
        _ => {}
    }
    Ok(match word.key {
        "output" => output(word.need_value()?, known)?,
        "controller" | "CONTROLLER" => controller(word)?,
        key if EXTENSIONS.contains(&key) || key == "dec_ttl" => {
            let detail = format!("{} is an extension of Open vSwitch's, not of OpenFlow 1.3", word.whole);
            return Err(Flaw::coded(word.whole, ErrorCode::ACTION_EXPERIMENTER, detail));
        }
        key if word.value.is_empty() && known.port(key).is_some() => output(key, known)?,
        key => {
            let detail = format!("there is no action {key}");
            return Err(Flaw::coded(word.whole, ErrorCode::ACTION_TYPE, detail));
        }
    })
}

fn output<'t>(text: &'t str, known: &Known<'_>) -> Result<Action, Flaw<'t>> {
    let port = known.port(text).ok_or_else(|| {
        let detail = format!("there is no port {text}: use a number or a name such as IN_PORT");
        Flaw::coded(text, ErrorCode::ACTION_OUT_PORT, detail)
    })?;
    Ok(Action::Output {
        port,
        max_len: MAX_LEN_NO_BUFFER,
    })
}

/// `controller`, `controller:BYTES` or `controller(max_len=BYTES)`.
fn controller(word: Word<'_>) -> Result<Action, Flaw<'_>> {
    let text = word.value.strip_prefix("max_len=").unwrap_or(word.value);
    let max_len = if text.is_empty() {
        MAX_LEN_NO_BUFFER
    } else {
        number_as(text, "max_len of controller")?
    };
    Ok(Action::Output {
        port: port::CONTROLLER,
        max_len,
    })
}

fn set(field: MatchField, word: Word<'_>) -> Result<Action, Flaw<'_>> {
    let value = value(field, word.need_value()?).map_err(as_argument)?;
    Ok(Action::SetField { field, value })
}

fn set_field(word: Word<'_>) -> Result<Action, Flaw<'_>> {
    let text = word.need_value()?;
    let Some((text, name)) = text.split_once("->") else {
        return Err(Flaw::syntax(word.whole, "set_field needs VALUE->FIELD"));
    };
    let field = set_field_named(name).ok_or_else(|| {
        Flaw::coded(
            name,
            ErrorCode::ACTION_SET_TYPE,
            format!("there is no field {name} to set"),
        )
    })?;
    if text.contains('/') {
        return Err(Flaw::coded(
            text,
            ErrorCode::ACTION_SET_LENGTH,
            "set_field of OpenFlow 1.3 has no mask",
        ));
    }
    let value = value(field, text).map_err(as_argument)?;
    let present = if field == MatchField::VlanVid { VLAN_PRESENT } else { 0 };
    Ok(Action::SetField {
        field,
        value: value | present,
    })
}

fn set_field_named(name: &str) -> Option<MatchField> {
    Some(match name {
        "nw_src" | "ip_src" => MatchField::Ipv4Src,
        "nw_dst" | "ip_dst" => MatchField::Ipv4Dst,
        "nw_proto" => MatchField::IpProto,
        "icmp_type" => MatchField::Icmpv4Type,
        "icmp_code" => MatchField::Icmpv4Code,
        name => return field_named(name),
    })
}

/// A bad value, of an action and not of a match.
fn as_argument(flaw: Flaw<'_>) -> Flaw<'_> {
    Flaw {
        code: Some(ErrorCode::ACTION_SET_ARGUMENT),
        ..flaw
    }
}

fn bad_argument<'t>(word: Word<'t>, detail: &str) -> Flaw<'t> {
    Flaw::coded(
        word.whole,
        ErrorCode::ACTION_SET_ARGUMENT,
        format!("{}: {detail}", word.whole),
    )
}
