//! Ports by their names, and changes of them.

use std::collections::BTreeMap;

use brimful_openflow::wire::{Message, Port, PortMod, PortModProperty, Reply, Request, port_config};

use super::connection::Connection;
use super::lines::Planned;
use super::{OfctlError, gather};
use crate::tables::ovs::{Known, PortNames};

/// What changes of a port are called, the bit of its configuration, and whether they set it.
const CHANGES: [(&str, u32, bool); 8] = [
    ("up", port_config::PORT_DOWN, false),
    ("down", port_config::PORT_DOWN, true),
    ("receive", port_config::NO_RECEIVE, false),
    ("no-receive", port_config::NO_RECEIVE, true),
    ("forward", port_config::NO_FORWARD, false),
    ("no-forward", port_config::NO_FORWARD, true),
    ("packet-in", port_config::NO_PACKET_IN, false),
    ("no-packet-in", port_config::NO_PACKET_IN, true),
];

/// The ports of a switch.
pub(super) fn all(switch: &mut Connection) -> Result<Vec<Port>, OfctlError> {
    gather(switch, Request::PortDescription, |reply| match reply {
        Reply::PortDescription(ports) => Some(ports.as_slice()),
        _ => None,
    })
}

/// Their numbers by their names.
pub(super) fn names(switch: &mut Connection) -> Result<BTreeMap<String, u32>, OfctlError> {
    let named = all(switch)?.into_iter().map(|port| {
        let bytes = &port.name.0;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        (String::from_utf8_lossy(&bytes[..end]).into_owned(), port.number)
    });
    Ok(named.collect())
}

/// The number of a port that was named on the command line.
pub(super) fn number(switch: &mut Connection, text: &str) -> Result<u32, OfctlError> {
    if let Some(number) = Known::default().port(text) {
        return Ok(number);
    }
    let names = names(switch)?;
    let known = Known {
        names: PortNames::These(&names),
        ..Known::default()
    };
    known.port(text).ok_or_else(|| no_port(text))
}

/// Which bits of a port's configuration change, and to what.
pub(super) fn bits(changes: &[String]) -> Result<(u32, u32), OfctlError> {
    let (mut config, mut mask) = (0, 0);
    for wanted in changes {
        let found = CHANGES.iter().find(|(name, ..)| name == wanted);
        let (_, bit, sets) = found.ok_or_else(|| {
            let names = CHANGES.map(|(name, ..)| name).join(", ");
            OfctlError::Usage(format!(
                "mod-port: {wanted} is no change of a port in OpenFlow 1.3: use {names}"
            ))
        })?;
        mask |= bit;
        config = if *sets { config | bit } else { config & !bit };
    }
    Ok((config, mask))
}

/// The message that changes them.
pub(super) fn modification(switch: &mut Connection, text: &str, changes: &[String]) -> Result<Planned, OfctlError> {
    let (config, mask) = bits(changes)?;
    let number = number(switch, text)?;
    let port = all(switch)?.into_iter().find(|port| port.number == number);
    let address = port.ok_or_else(|| no_port(text))?.address;
    Ok(Planned {
        origin: String::new(),
        message: Message::PortMod(PortMod {
            number,
            address,
            config,
            mask,
            // What it offers stays.
            properties: vec![PortModProperty::Ethernet(0, 0)],
        }),
    })
}

fn no_port(text: &str) -> OfctlError {
    OfctlError::Usage(format!("the switch has no port {text}: `show` lists its ports"))
}
