//! What the reader of lines knows of the switch that they are for.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::tables::values::port_number;

/// Names of ports that may stand for numbers.
#[derive(Clone, Copy, Debug, Default)]
pub enum PortNames<'n> {
    /// Those of reserved ports only.
    #[default]
    Reserved,
    /// Any, which is noted: so lines are checked before a switch is asked which ports it has.
    Any(&'n Cell<bool>),
    /// Those of a switch.
    These(&'n BTreeMap<String, u32>),
}

/// What is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'n> {
    /// Its ports.
    pub names: PortNames<'n>,
    /// Whether it may put frames into tunnels.
    pub has_tunnels: bool,
    /// What a line does that begins with no command; adding where this is none.
    pub command: Option<&'static str>,
}

/// As Linux has it for names of interfaces.
const MOST_NAME_BYTES: usize = 15;

impl Known<'_> {
    /// The number of a port: a number, the name of a reserved port, or one of the switch's names, which may stand in quotes.
    pub(crate) fn port(&self, text: &str) -> Option<u32> {
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match inside {
            Some(name) => self.named(name),
            None => port_number(text).or_else(|| self.named(text)),
        }
    }

    fn named(&self, name: &str) -> Option<u32> {
        match self.names {
            PortNames::Reserved => None,
            PortNames::Any(is_used) => {
                let can_be = (1..=MOST_NAME_BYTES).contains(&name.len()) && !name.contains('/');
                is_used.set(is_used.get() || can_be);
                can_be.then_some(1)
            }
            PortNames::These(ports) => ports.get(name).copied(),
        }
    }
}
