//! The wire forms of flow-mods, group-mods and meter-mods.

use std::fmt;

use super::describe::numbered;
use super::{Reader, Version, Wire, Writer};
use crate::{Action, Band, BandType, Bucket, ErrorCode, ErrorMessage, FlowCommand, FlowMod, GroupMod, GroupType};
use crate::{MeterMod, ModCommand};

numbered!(FlowCommand: u8, else FLOW_COMMAND {
    Add = 0,
    Modify = 1,
    ModifyStrict = 2,
    Delete = 3,
    DeleteStrict = 4,
});
numbered!(GroupType: u8, else GROUP_TYPE {
    All = 0,
    Select = 1,
    Indirect = 2,
    FastFailover = 3,
});

/// Entries have an importance since 1.4; zeroes stand in its place before.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Importance(pub u16);

impl Wire for Importance {
    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let number = u16::decode(reader)?;
        Ok(Self(if reader.version >= Version::V14 { number } else { 0 }))
    }

    fn encode(&self, writer: &mut Writer) {
        let number = if writer.version >= Version::V14 { self.0 } else { 0 };
        number.encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(formatter)
    }
}

impl Wire for FlowMod {
    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        Ok(Self {
            cookie: Wire::decode(reader)?,
            cookie_mask: Wire::decode(reader)?,
            table: Wire::decode(reader)?,
            command: Wire::decode(reader)?,
            idle_timeout_s: Wire::decode(reader)?,
            hard_timeout_s: Wire::decode(reader)?,
            priority: Wire::decode(reader)?,
            buffer: Wire::decode(reader)?,
            out_port: Wire::decode(reader)?,
            out_group: Wire::decode(reader)?,
            flags: Wire::decode(reader)?,
            importance: Importance::decode(reader)?.0,
            matching: Wire::decode(reader)?,
            instructions: Wire::decode(reader)?,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        self.cookie.encode(writer);
        self.cookie_mask.encode(writer);
        self.table.encode(writer);
        self.command.encode(writer);
        self.idle_timeout_s.encode(writer);
        self.hard_timeout_s.encode(writer);
        self.priority.encode(writer);
        self.buffer.encode(writer);
        self.out_port.encode(writer);
        self.out_group.encode(writer);
        self.flags.encode(writer);
        Importance(self.importance).encode(writer);
        self.matching.encode(writer);
        self.instructions.encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.command.text(formatter)?;
        write!(formatter, " table={},priority={},", self.table, self.priority)?;
        for (name, value) in [
            ("idle_timeout", self.idle_timeout_s),
            ("hard_timeout", self.hard_timeout_s),
            ("flags", self.flags),
            ("importance", self.importance),
        ] {
            if value != 0 {
                write!(formatter, "{name}={value},")?;
            }
        }
        write!(formatter, "cookie={:#x},", self.cookie)?;
        self.matching.text(formatter)?;
        formatter.write_str(" instructions=")?;
        self.instructions.text(formatter)
    }
}

impl Wire for Bucket {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        reader.wrong_length = ErrorCode::GROUP_BUCKET;
        let length = usize::from(reader.peek_u16(0)?);
        let bytes = reader.take_part(length, ErrorCode::GROUP_BUCKET)?;
        let mut part = reader.within(bytes, ErrorCode::GROUP_BUCKET);
        part.take(2)?;
        let (weight, watch_port, watch_group) = (
            Wire::decode(&mut part)?,
            Wire::decode(&mut part)?,
            Wire::decode(&mut part)?,
        );
        part.take(4)?;
        let actions = Wire::decode(&mut part)?;
        Ok(Self {
            weight,
            watch_port,
            watch_group,
            actions,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        writer.pad(2);
        self.weight.encode(writer);
        self.watch_port.encode(writer);
        self.watch_group.encode(writer);
        writer.pad(4);
        Vec::<Action>::encode(&self.actions, writer);
        writer.set_length(start, start);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "bucket=weight:{},", self.weight)?;
        if self.watch_port != crate::port::ANY {
            write!(formatter, "watch_port:{},", self.watch_port)?;
        }
        if self.watch_group != crate::GROUP_ANY {
            write!(formatter, "watch_group:{},", self.watch_group)?;
        }
        formatter.write_str("actions=")?;
        self.actions.text(formatter)
    }
}

/// Commands of groups and of meters differ in the error alone.
fn command(number: u16, error: ErrorCode) -> Result<ModCommand, ErrorMessage> {
    Ok(match number {
        0 => ModCommand::Add,
        1 => ModCommand::Modify,
        2 => ModCommand::Delete,
        _ => return Err(error.because(format!("there is no command {number}"))),
    })
}

impl Wire for GroupMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let command = command(u16::decode(reader)?, ErrorCode::GROUP_COMMAND)?;
        let group_type = Wire::decode(reader)?;
        reader.take(1)?;
        Ok(Self {
            command,
            group_type,
            group: Wire::decode(reader)?,
            buckets: Wire::decode(reader)?,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        (self.command as u16).encode(writer);
        self.group_type.encode(writer);
        writer.pad(1);
        self.group.encode(writer);
        self.buckets.encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} group={},type=", self.command, self.group)?;
        self.group_type.text(formatter)?;
        formatter.write_str(" buckets=")?;
        self.buckets.text(formatter)
    }
}

impl Wire for Band {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let length = usize::from(reader.peek_u16(2)?);
        let bytes = reader.take_part(length, ErrorCode::BAD_LENGTH)?;
        let mut part = reader.within(bytes, ErrorCode::BAD_LENGTH);
        let number = u16::decode(&mut part)?;
        part.take(2)?;
        let (rate, burst) = (Wire::decode(&mut part)?, Wire::decode(&mut part)?);
        let level = u8::decode(&mut part)?;
        part.take(3)?;
        let band_type = match number {
            1 => BandType::Drop,
            2 => BandType::DscpRemark(level),
            _ => return Err(ErrorCode::METER_BAND.because(format!("there is no band of type {number}"))),
        };
        part.finish()?;
        Ok(Self { band_type, rate, burst })
    }

    fn encode(&self, writer: &mut Writer) {
        let (number, level): (u16, u8) = match self.band_type {
            BandType::Drop => (1, 0),
            BandType::DscpRemark(level) => (2, level),
        };
        number.encode(writer);
        16_u16.encode(writer);
        self.rate.encode(writer);
        self.burst.encode(writer);
        level.encode(writer);
        writer.pad(3);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.band_type {
            BandType::Drop => formatter.write_str("type=drop")?,
            BandType::DscpRemark(level) => write!(formatter, "type=dscp_remark,prec_level={level}")?,
        }
        write!(formatter, ",rate={},burst={}", self.rate, self.burst)
    }
}

impl Wire for MeterMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let command = command(u16::decode(reader)?, ErrorCode::METER_COMMAND)?;
        Ok(Self {
            command,
            flags: Wire::decode(reader)?,
            meter: Wire::decode(reader)?,
            bands: Wire::decode(reader)?,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        (self.command as u16).encode(writer);
        self.flags.encode(writer);
        self.meter.encode(writer);
        self.bands.encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:?} meter={},flags={:#x} bands=",
            self.command, self.meter, self.flags
        )?;
        self.bands.text(formatter)
    }
}
