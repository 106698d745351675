//! Messages of the connection itself and of what a controller wants to be notified of.

use std::fmt;

use super::describe::{properties, structure};
use super::{Age, Data, PacketQueue, Reader, TableModProperty, Version, Wire, WithLength, Writer, statistics};
use crate::{Action, ErrorMessage, Match};

properties! {
    /// What a hello says.
    HelloElement {
        /// The versions that the sender speaks: bit n of the first word stands for version n.
        VersionBitmap(Vec<u32>) = 1,
    }
}

structure! {
    /// The first message of either side.
    Hello {
        elements: Vec<HelloElement>;
    }
}

impl Hello {
    /// One that offers versions.
    pub fn offering(versions: &[Version]) -> Self {
        let bitmap = versions.iter().fold(0, |bitmap, version| bitmap | 1 << *version as u32);
        let elements = vec![HelloElement::VersionBitmap(1, vec![bitmap])];
        Self { elements }
    }

    /// The version that both sides are to speak, if there is one: the highest in both bitmaps, or without a bitmap the
    /// smaller of the versions of both hellos (OF 1.3.5 section 6.3.1).
    pub fn negotiate(&self, version_of_hello: u8, ours: &[Version]) -> Option<Version> {
        let bitmap = self.elements.iter().find_map(|element| match element {
            HelloElement::VersionBitmap(_, words) => Some(words.first().copied().unwrap_or(0)),
            HelloElement::Other(..) => None,
        });
        let highest = *ours.iter().max()?;
        if let Some(bitmap) = bitmap {
            let both = ours.iter().filter(|version| bitmap >> **version as u32 & 1 == 1);
            return both.copied().max();
        }
        let smaller = version_of_hello.min(highest as u8);
        ours.iter().copied().find(|version| *version as u8 == smaller)
    }
}

structure! {
    /// What was wrong with a message, and its first bytes.
    ErrorBody {
        kind: u16;
        code: u16;
        data: Data;
    }
}

structure! {
    /// What the switch is able to do.
    Features {
        datapath: u64;
        buffers: u32;
        tables: u8;
        auxiliary: u8, pad 2;
        /// Bits: 1 flow, 2 table, 4 port, 8 group statistics, 32 reassembles fragments, 64 queue statistics, 256 blocks
        /// loops.
        capabilities: u32, pad 4;
    }
}

structure! {
    /// How fragments are treated, and how much of a packet goes to controllers at a table miss.
    Configuration {
        flags: u16;
        miss_send_len: u16;
    }
}

structure! {
    /// A frame for the controller.
    PacketIn {
        buffer: u32;
        total_len: u16;
        reason: u8;
        table: u8;
        cookie: u64;
        matching: Match, pad 2;
        data: Data;
    }
}

/// A frame from the controller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PacketOut {
    /// The buffer that holds it, or none.
    pub buffer: u32,
    /// Where it is taken to have come in.
    pub in_port: u32,
    /// What happens to it.
    pub actions: Vec<Action>,
    /// It, unless in a buffer.
    pub data: Vec<u8>,
}

impl Wire for PacketOut {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let (buffer, in_port) = (Wire::decode(reader)?, Wire::decode(reader)?);
        let length = usize::from(u16::decode(reader)?);
        reader.take(6)?;
        let bytes = reader.take_part(length, reader.wrong_length)?;
        let mut part = reader.within(bytes, reader.wrong_length);
        let actions = Wire::decode(&mut part)?;
        let Data(data) = Wire::decode(reader)?;
        Ok(Self {
            buffer,
            in_port,
            actions,
            data,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        self.buffer.encode(writer);
        self.in_port.encode(writer);
        let at = writer.bytes.len();
        writer.pad(8);
        self.actions.encode(writer);
        writer.set_length(at + 8, at);
        writer.bytes.extend_from_slice(&self.data);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "buffer={},in_port={},actions=", self.buffer, self.in_port)?;
        self.actions.text(formatter)?;
        write!(formatter, ",data={} bytes", self.data.len())
    }
}

structure! {
    /// That an entry went.
    FlowRemoved {
        cookie: u64;
        priority: u16;
        reason: u8;
        table: u8;
        age: Age;
        idle_timeout_s: u16;
        hard_timeout_s: u16;
        packets: u64;
        bytes: u64;
        matching: Match;
    }
}

structure! {
    /// Which role a controller has or wants: 0 unchanged, 1 equal, 2 master, 3 slave.
    Role {
        role: u32, pad 4;
        generation: u64;
    }
}

structure! {
    /// That a controller's role is another one (1.4).
    RoleStatus {
        role: u32;
        /// 0 another controller asked, 1 configuration, 2 experimenter.
        reason: u8, pad 3;
        generation: u64;
        properties: Data;
    }
}

structure! {
    /// Queues of which port.
    QueueConfigurationRequest {
        port: u32, pad 4;
    }
}

structure! {
    /// Queues of a port (1.3).
    QueueConfiguration {
        port: u32, pad 4;
        queues: Vec<PacketQueue>;
    }
}

/// Changes the configuration of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TableMod {
    /// Or all.
    pub table: u8,
    /// Bits: 4 eviction, 8 vacancy events (1.4).
    pub config: u32,
    /// How it makes room (1.4).
    pub properties: Vec<TableModProperty>,
}

impl Wire for TableMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let table = u8::decode(reader)?;
        reader.take(3)?;
        let config = u32::decode(reader)?;
        let since_14 = reader.version >= Version::V14;
        let properties = if since_14 { Wire::decode(reader)? } else { Vec::new() };
        Ok(Self {
            table,
            config,
            properties,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        self.table.encode(writer);
        writer.pad(3);
        self.config.encode(writer);
        if writer.version >= Version::V14 {
            self.properties.encode(writer);
        }
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "table={},config={:#x},", self.table, self.config)?;
        self.properties.text(formatter)
    }
}

structure! {
    /// That a table is another one now (1.4).
    TableStatus {
        /// 3 vacancy down, 4 vacancy up.
        reason: u8, pad 7;
        table: WithLength<0, statistics::TableDescription>;
    }
}

structure! {
    /// Another controller's change of groups or meters (1.4): its message.
    RequestForward {
        request: Data;
    }
}

structure! {
    /// What happens to a bundle (1.4): 0 open, 2 close, 4 commit, 6 discard; replies have the next number.
    BundleControl {
        bundle: u32;
        kind: u16;
        /// Bits: 1 atomic, 2 ordered.
        flags: u16;
        properties: Data;
    }
}

structure! {
    /// A message for a bundle, and properties after it (1.4).
    BundleAdd {
        bundle: u32, pad 2;
        flags: u16;
        message: Data;
    }
}

/// Which reasons of one kind of event a controller wants to be notified of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EventMask {
    /// The number of the property of 1.4: packet-in, port status, flow removed, role status, table status, request
    /// forward, each first for slaves and then for masters and equals.
    pub event: u16,
    /// A bit for every reason.
    pub mask: u32,
}

properties! {
    EventProperty {
        Mask(u32) = 0..=11,
    }
}

/// What a controller wants to be notified of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AsyncConfiguration {
    /// Kind by kind; six of them in 1.3, masters first.
    pub masks: Vec<EventMask>,
}

const EVENTS_OF_13: [u16; 6] = [1, 0, 3, 2, 5, 4];

impl Wire for AsyncConfiguration {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let mut masks = Vec::new();
        if reader.version == Version::V13 {
            for event in EVENTS_OF_13 {
                let mask = u32::decode(reader)?;
                masks.push(EventMask { event, mask });
            }
            return Ok(Self { masks });
        }
        for property in Vec::<EventProperty>::decode(reader)? {
            match property {
                EventProperty::Mask(event, mask) => masks.push(EventMask { event, mask }),
                EventProperty::Other(event, _) => {
                    return Err(crate::ErrorCode::PROPERTY_TYPE.because(format!("there is no event {event}")));
                }
            }
        }
        Ok(Self { masks })
    }

    fn encode(&self, writer: &mut Writer) {
        if writer.version == Version::V13 {
            for event in EVENTS_OF_13 {
                let given = self.masks.iter().find(|one| one.event == event);
                given.map_or(0, |one| one.mask).encode(writer);
            }
            return;
        }
        for one in &self.masks {
            EventProperty::Mask(one.event, one.mask).encode(writer);
        }
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.masks.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}event {}={:#x}", one.event, one.mask)?;
        }
        Ok(())
    }
}
