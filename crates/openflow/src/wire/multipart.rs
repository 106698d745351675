use std::fmt;

use super::{
    Aggregate, Description, Experimenter, FlowFilter, FlowMonitor, FlowStatistics, FlowUpdate, GroupDescription,
    GroupFeatures, GroupStatistics, MeterConfiguration, MeterFeatures, MeterStatistics, Port, PortStatistics,
    QueueDescription, QueueSelector, QueueStatistics, Reader, Selector, TableDescription, TableFeatures,
    TableStatistics, Version, Wire, WithLength, Writer,
};
use crate::{ErrorCode, ErrorMessage};

/// That more parts of the same request or reply follow.
pub const MORE: u16 = 1;

/// Requests or replies of several parts: what each number has for content.
macro_rules! parts {
    ($(#[$meta:meta])* $name:ident {
        $($kind:ident $(($content:ident: $type:ty))? = $number:literal $(since $version:ident)?,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "the names are the specification's")]
        pub enum $name {
            $($kind $(($type))?,)*
        }

        impl Content for $name {
            fn number(&self) -> u16 {
                match self {
                    $(Self::$kind { .. } => $number,)*
                }
            }

            fn decode(number: u16, reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
                match number {
                    $($number $(if reader.version >= Version::$version)? => {
                        Ok(Self::$kind $((<$type as Wire>::decode(reader)?))?)
                    })*
                    _ => Err(ErrorCode::BAD_MULTIPART.because(format!("there is no multipart type {number}"))),
                }
            }

            fn encode(&self, writer: &mut Writer) {
                match self {
                    $(Self::$kind $(($content))? => { $($content.encode(writer);)? })*
                }
            }

            fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind $(($content))? => {
                        formatter.write_str(stringify!($kind))?;
                        $(
                            formatter.write_str(" ")?;
                            $content.text(formatter)?;
                        )?
                    })*
                }
                Ok(())
            }
        }
    };
}

parts! {
    /// What is asked for.
    Request {
        Description = 0,
        Flow(filter: FlowFilter) = 1,
        Aggregate(filter: FlowFilter) = 2,
        Table = 3,
        Port(port: Selector) = 4,
        Queue(queue: QueueSelector) = 5,
        Group(group: Selector) = 6,
        GroupDescription = 7,
        GroupFeatures = 8,
        Meter(meter: Selector) = 9,
        MeterConfiguration(meter: Selector) = 10,
        MeterFeatures = 11,
        TableFeatures(tables: Vec<WithLength<0, TableFeatures>>) = 12,
        PortDescription = 13,
        TableDescription = 14 since V14,
        QueueDescription(queue: QueueSelector) = 15 since V14,
        FlowMonitor(monitors: Vec<FlowMonitor>) = 16 since V14,
        Experimenter(content: Experimenter) = 0xffff,
    }
}

parts! {
    /// What is given.
    Reply {
        Description(description: Box<Description>) = 0,
        Flow(flows: Vec<WithLength<0, FlowStatistics>>) = 1,
        Aggregate(aggregate: Aggregate) = 2,
        Table(tables: Vec<TableStatistics>) = 3,
        Port(ports: Vec<PortStatistics>) = 4,
        Queue(queues: Vec<QueueStatistics>) = 5,
        Group(groups: Vec<WithLength<0, GroupStatistics>>) = 6,
        GroupDescription(groups: Vec<WithLength<0, GroupDescription>>) = 7,
        GroupFeatures(features: GroupFeatures) = 8,
        Meter(meters: Vec<MeterStatistics>) = 9,
        MeterConfiguration(meters: Vec<WithLength<0, MeterConfiguration>>) = 10,
        MeterFeatures(features: MeterFeatures) = 11,
        TableFeatures(tables: Vec<WithLength<0, TableFeatures>>) = 12,
        PortDescription(ports: Vec<Port>) = 13,
        TableDescription(tables: Vec<WithLength<0, TableDescription>>) = 14 since V14,
        QueueDescription(queues: Vec<QueueDescription>) = 15 since V14,
        FlowMonitor(updates: Vec<FlowEvent>) = 16 since V14,
        Experimenter(content: Experimenter) = 0xffff,
    }
}

/// One part of a request or a reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part<T> {
    /// Whether more parts follow: [`MORE`].
    pub flags: u16,
    /// The content.
    pub content: T,
}

/// What parts have for content: its number stands before the flags, itself after them.
pub trait Content: Sized {
    /// The number.
    fn number(&self) -> u16;
    /// Reads the content of a number.
    ///
    /// # Errors
    /// As [`Wire::decode`].
    fn decode(number: u16, reader: &mut Reader<'_>) -> Result<Self, ErrorMessage>;
    /// Writes the content.
    fn encode(&self, writer: &mut Writer);
    /// Writes it for people.
    ///
    /// # Errors
    /// When the formatter has one.
    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: Content> Wire for Part<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let (number, flags) = (u16::decode(reader)?, u16::decode(reader)?);
        reader.take(4)?;
        let content = T::decode(number, reader)?;
        Ok(Self { flags, content })
    }

    fn encode(&self, writer: &mut Writer) {
        self.content.number().encode(writer);
        self.flags.encode(writer);
        writer.pad(4);
        self.content.encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content.text(formatter)?;
        formatter.write_str(if self.flags & MORE == 0 { "" } else { " more" })
    }
}

/// A change of entries that a monitor reports (1.4).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FlowEvent {
    /// 0 there already, 1 added, 2 removed, 3 modified.
    Full(u16, FlowUpdate),
    /// By the controller's own message with this transaction id.
    Abbreviated(u32),
    /// Updates are left out from here on,
    Paused,
    /// and are complete again.
    Resumed,
}

impl Wire for FlowEvent {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let length = usize::from(reader.peek_u16(0)?);
        let bytes = reader.take_part(length, ErrorCode::BAD_LENGTH)?;
        let mut part = reader.within(bytes, ErrorCode::BAD_LENGTH);
        part.take(2)?;
        let event = u16::decode(&mut part)?;
        let update = match event {
            0..=3 => Self::Full(event, Wire::decode(&mut part)?),
            4 => Self::Abbreviated(Wire::decode(&mut part)?),
            5 | 6 => {
                part.take(4)?;
                if event == 5 { Self::Paused } else { Self::Resumed }
            }
            _ => return Err(ErrorCode::BAD_MULTIPART.because(format!("there is no flow update {event}"))),
        };
        part.finish()?;
        Ok(update)
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        writer.pad(2);
        match self {
            Self::Full(event, update) => {
                event.encode(writer);
                update.encode(writer);
            }
            Self::Abbreviated(transaction) => {
                4_u16.encode(writer);
                transaction.encode(writer);
            }
            Self::Paused | Self::Resumed => {
                (if *self == Self::Paused { 5_u16 } else { 6 }).encode(writer);
                writer.pad(4);
            }
        }
        writer.set_length(start, start);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(event, update) => {
                write!(formatter, "event={event},")?;
                update.text(formatter)
            }
            Self::Abbreviated(transaction) => write!(formatter, "event=abbreviated,xid={transaction}"),
            Self::Paused => formatter.write_str("event=paused"),
            Self::Resumed => formatter.write_str("event=resumed"),
        }
    }
}
