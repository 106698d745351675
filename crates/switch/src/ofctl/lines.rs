//! Lines that say what is to change: from where they are, and what they mean to a switch with certain ports.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use brimful_openflow::FlowMod;
use brimful_openflow::wire::Message;

use super::OfctlError;
use super::commands::{Command, Ofctl};
use crate::files::{read_all, read_text};
use crate::notice::say;
use crate::tables::ovs::{self, Known, PortNames};
use crate::tables::{Change, Placed, Tables};

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// What lines may be about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Any,
    Flows,
    Groups,
    Meters,
}

/// Lines before the ports of the switch are known.
pub(super) struct Lines {
    /// Whose they are, for messages.
    file: String,
    text: String,
    /// What a line does that begins with no command.
    command: Option<&'static str>,
    kind: Kind,
    /// Whether they were given one by one.
    are_arguments: bool,
}

/// A change, and which line says it, for messages.
pub(super) struct Planned {
    pub(super) message: Message,
    pub(super) origin: String,
}

impl Kind {
    /// What it is called as one.
    fn name(self) -> &'static str {
        match self {
            Self::Any | Self::Flows => "flow",
            Self::Groups => "group",
            Self::Meters => "meter",
        }
    }

    fn of(change: &Change) -> Self {
        match change {
            Change::Flow(_) => Self::Flows,
            Change::Group(_) => Self::Groups,
            Change::Meter(_) => Self::Meters,
        }
    }
}

impl Lines {
    /// The lines of a command that changes something; none of others.
    pub(super) fn of(asked: &Ofctl) -> Result<Option<Self>, OfctlError> {
        use Command as C;
        let strictly = |strict, usual| Some(if asked.strict { strict } else { usual });
        Ok(Some(match &asked.command {
            C::AddFlow { lines } => Self::given(lines, None, Kind::Any)?,
            C::AddFlows { file } | C::Bundle { file } => Self::of_file(file, Kind::Any)?,
            C::ModFlows { line } => {
                let command = strictly("modify_strict", "modify");
                Self::given(std::slice::from_ref(line), command, Kind::Flows)?
            }
            C::DelFlows { line } => {
                let command = strictly("delete_strict", "delete");
                Self::deleting(line.as_deref(), command, Kind::Flows)?
            }
            C::ReplaceFlows { file } => Self::of_file(file, Kind::Flows)?,
            C::AddGroup { lines } => Self::given(lines, None, Kind::Groups)?,
            C::AddGroups { file } => Self::of_file(file, Kind::Groups)?,
            C::ModGroup { line } => Self::given(std::slice::from_ref(line), Some("modify"), Kind::Groups)?,
            C::DelGroups { line } => Self::deleting(line.as_deref(), Some("delete"), Kind::Groups)?,
            C::AddMeter { lines } => Self::given(lines, None, Kind::Meters)?,
            C::ModMeter { line } => Self::given(std::slice::from_ref(line), Some("modify"), Kind::Meters)?,
            C::DelMeters { line } => Self::deleting(line.as_deref(), Some("delete"), Kind::Meters)?,
            _ => return Ok(None),
        }))
    }

    fn given(lines: &[String], command: Option<&'static str>, kind: Kind) -> Result<Self, OfctlError> {
        if lines == [STANDARD_INPUT] {
            let lines = Self::of_file(Path::new(STANDARD_INPUT), kind)?;
            return Ok(Self { command, ..lines });
        }
        Ok(Self {
            file: kind.name().to_owned(),
            text: lines.join("\n"),
            command,
            kind,
            are_arguments: true,
        })
    }

    /// What is to go; everything where nothing is said.
    fn deleting(line: Option<&str>, command: Option<&'static str>, kind: Kind) -> Result<Self, OfctlError> {
        let key = match kind {
            Kind::Any | Kind::Flows => None,
            Kind::Groups => Some("group_id"),
            Kind::Meters => Some("meter"),
        };
        let line = match (line, key) {
            (None, None) => "delete".to_owned(),
            (None, Some(key)) => format!("{key}=all"),
            (Some(line), Some(key)) if line != STANDARD_INPUT && !line.contains('=') => format!("{key}={line}"),
            (Some(line), _) => line.to_owned(),
        };
        Self::given(&[line], command, kind)
    }

    fn of_file(path: &Path, kind: Kind) -> Result<Self, OfctlError> {
        let is_input = path == Path::new(STANDARD_INPUT);
        let file = if is_input {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let read = if is_input {
            read_all(&mut io::stdin())
        } else {
            read_text(path)
        };
        let text = read.map_err(|error| OfctlError::Usage(format!("{file}: {error}")))?;
        Ok(Self {
            file,
            text,
            command: None,
            kind,
            are_arguments: false,
        })
    }

    /// The flows of a file; nothing where this is no file but a switch.
    pub(super) fn of_flows(source: &str) -> Result<Option<Self>, OfctlError> {
        let path = Path::new(source);
        let is_file = source == STANDARD_INPUT || path.metadata().is_ok_and(|found| !found.file_type().is_socket());
        is_file.then(|| Self::of_file(path, Kind::Flows)).transpose()
    }

    /// Whether a line names a port. What is wrong with lines whatever the ports are called is found here.
    pub(super) fn name_ports(&self) -> Result<bool, OfctlError> {
        let is_used = Cell::new(false);
        let tables = self.tables(PortNames::Any(&is_used))?;
        tables.notes_of(&self.file).for_each(say);
        Ok(is_used.get())
    }

    /// What they say, where ports have these names.
    pub(super) fn read(&self, names: PortNames<'_>) -> Result<Vec<Planned>, OfctlError> {
        let changes = self.tables(names)?.changes;
        let is_alone = changes.len() == 1;
        let planned = changes.into_iter().map(|Placed { place, value }| Planned {
            origin: match (self.are_arguments, is_alone) {
                (true, true) => String::new(),
                (true, false) => format!("line {}: ", place.line),
                (false, _) => format!("{}:{}: ", self.file, place.line),
            },
            message: match value {
                Change::Flow(flow) => Message::FlowMod(*flow),
                Change::Group(group) => Message::GroupMod(group),
                Change::Meter(meter) => Message::MeterMod(meter),
            },
        });
        Ok(planned.collect())
    }

    /// The flows that are to be there, where lines say nothing else.
    pub(super) fn flows(&self, names: PortNames<'_>) -> Result<Vec<FlowMod>, OfctlError> {
        let flows = self
            .tables(names)?
            .changes
            .into_iter()
            .map(|change| match change.value {
                Change::Flow(flow) if flow.command == brimful_openflow::FlowCommand::Add => Ok(*flow),
                _ => {
                    let text = format!("{}:{}: this is no flow to have", self.file, change.place.line);
                    Err(OfctlError::Usage(text))
                }
            });
        flows.collect()
    }

    fn tables(&self, names: PortNames<'_>) -> Result<Tables, OfctlError> {
        let known = Known {
            names,
            // Open vSwitch and others have.
            has_tunnels: true,
            command: self.command,
        };
        let tables = ovs::read_for(&self.file, &self.text, &known)?;
        let stranger = tables
            .changes
            .iter()
            .find(|change| self.kind != Kind::Any && Kind::of(&change.value) != self.kind);
        if let Some(Placed { place, .. }) = stranger {
            let (file, wanted) = (&self.file, self.kind.name());
            let text = format!("{file}:{}:{}: this is no {wanted}", place.line, place.column);
            return Err(OfctlError::Usage(text));
        }
        Ok(tables)
    }
}
