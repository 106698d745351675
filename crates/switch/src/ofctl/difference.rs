//! In which flows two switches differ, or a switch and a file.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use brimful_openflow::wire::{FlowFilter, Message, Reply, Request, Version, WithLength};
use brimful_openflow::{
    Action, FlowCommand, FlowMod, GROUP_ANY, Instruction, MAX_LEN_NO_BUFFER, Match, TABLE_ALL, flow_flag, port,
};

use super::connection::Connection;
use super::lines::{Lines, Planned};
use super::stream::{Place, SPOKEN};
use super::{OfctlError, gather, ports, text};
use crate::tables::ovs::{self, PortNames};

/// Flows by table, priority and match.
pub(super) type Flows = BTreeMap<(u8, Reverse<u16>, String), FlowMod>;

/// Where flows are.
enum Source {
    /// In lines, some of which may name ports.
    File(Lines, bool),
    Switch(Connection),
}

impl Source {
    fn open(text: &str, versions: &[Version]) -> Result<Self, OfctlError> {
        Ok(match Lines::of_flows(text)? {
            Some(lines) => {
                let names_ports = lines.name_ports()?;
                Self::File(lines, names_ports)
            }
            None => Self::Switch(Connection::open(&Place::read(text, SPOKEN)?, versions)?),
        })
    }

    fn flows(&mut self, names: PortNames<'_>) -> Result<Flows, OfctlError> {
        match self {
            Self::File(lines, _) => Ok(by_match(lines.flows(names)?)),
            Self::Switch(switch) => of_switch(switch),
        }
    }
}

/// The differences of two sources, each of which is a file or a switch.
pub(super) fn between(one: &str, other: &str, versions: &[Version]) -> Result<Vec<String>, OfctlError> {
    let mut here = Source::open(one, versions)?;
    let mut there = Source::open(other, versions)?;
    let names = match (&mut here, &mut there) {
        (Source::Switch(switch), Source::File(_, true)) | (Source::File(_, true), Source::Switch(switch)) => {
            ports::names(switch)?
        }
        _ => BTreeMap::new(),
    };
    let names = PortNames::These(&names);
    Ok(lines(&here.flows(names)?, &there.flows(names)?))
}

/// All flows of a switch.
pub(super) fn of_switch(switch: &mut Connection) -> Result<Flows, OfctlError> {
    let all = FlowFilter {
        table: TABLE_ALL,
        out_port: port::ANY,
        out_group: GROUP_ANY,
        cookie: 0,
        cookie_mask: 0,
        matching: Match::default(),
    };
    let found = gather(switch, Request::Flow(all), |reply| match reply {
        Reply::Flow(flows) => Some(flows.as_slice()),
        _ => None,
    })?;
    Ok(by_match(found.iter().map(|WithLength(flow)| text::flow_mod(flow))))
}

/// Flows by what distinguishes them; of those that are there twice, the last one counts.
pub(super) fn by_match(flows: impl IntoIterator<Item = FlowMod>) -> Flows {
    let keyed = flows.into_iter().map(|flow| {
        let flow = normal(flow);
        ((flow.table, Reverse(flow.priority), flow.matching.to_string()), flow)
    });
    keyed.collect()
}

/// A line for each flow of one side only, and two for each that is another one there.
fn lines(here: &Flows, there: &Flows) -> Vec<String> {
    let mut keys: Vec<_> = here.keys().chain(there.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let sides = keys.into_iter().map(|key| (here.get(key), there.get(key)));
    let different = sides.filter(|(here, there)| here != there);
    different
        .flat_map(|(here, there)| {
            let line = |sign, flow: &FlowMod| format!("{sign}{}", ovs::write_flow(flow));
            [here.map(|flow| line('-', flow)), there.map(|flow| line('+', flow))]
        })
        .flatten()
        .collect()
}

/// What makes flows of others: what is too much goes first.
pub(super) fn changes(from: &Flows, to: &Flows) -> Vec<Planned> {
    let gone = from
        .iter()
        .filter(|(key, _)| !to.contains_key(key))
        .map(|(_, flow)| FlowMod {
            command: FlowCommand::DeleteStrict,
            flags: 0,
            cookie: 0,
            instructions: Vec::new(),
            ..flow.clone()
        });
    let new = to.iter().filter_map(|(key, flow)| {
        let known = from.get(key);
        let others = known.map(|known| FlowMod {
            instructions: flow.instructions.clone(),
            ..known.clone()
        });
        let command = if others.as_ref() == Some(flow) {
            // It keeps what it has counted.
            FlowCommand::ModifyStrict
        } else {
            FlowCommand::Add
        };
        (known != Some(flow)).then(|| FlowMod {
            command,
            ..flow.clone()
        })
    });
    let planned = gone.chain(new).map(|flow| Planned {
        origin: format!("{}: ", ovs::write_flow(&flow)),
        message: Message::FlowMod(flow),
    });
    planned.collect()
}

/// A flow without what makes no difference: switches leave it out or give it in another order.
fn normal(mut flow: FlowMod) -> FlowMod {
    flow.flags &= flow_flag::SEND_FLOW_REMOVED;
    flow.matching.fields.sort_by_key(|said| said.field);
    flow.matching.fields.retain(|said| said.mask != Some(0));
    for said in &mut flow.matching.fields {
        said.mask = said.mask.filter(|mask| *mask != said.field.largest());
    }
    flow.instructions
        .retain(|instruction| *instruction != Instruction::ApplyActions(Vec::new()));
    for instruction in &mut flow.instructions {
        if let Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) = instruction {
            actions.iter_mut().for_each(without_length);
        }
    }
    flow
}

/// Only what goes to a controller is cut to a length.
fn without_length(action: &mut Action) {
    if let Action::Output { port, max_len } = action
        && *port != port::CONTROLLER
    {
        *max_len = MAX_LEN_NO_BUFFER;
    }
}
