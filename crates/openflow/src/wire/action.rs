use std::fmt;

use super::matching::{FieldErrors, decode_field, encode_field, write_value};
use super::{Reader, Wire, Writer};
use crate::{Action, ErrorCode, ErrorMessage, FieldMatch, Instruction, port};

const IN_SET_FIELD: FieldErrors = FieldErrors {
    unknown: ErrorCode::ACTION_SET_TYPE,
    length: ErrorCode::ACTION_SET_LENGTH,
    mask: ErrorCode::ACTION_SET_TYPE,
};
/// What experimenters call their actions and instructions.
pub const EXPERIMENTER: u16 = 0xffff;
/// Number of the action "output".
const OUTPUT: u16 = 0;
/// Number of the action "set field".
const SET_FIELD: u16 = 25;

/// The table of actions of 8 bytes: number, name, and the number that stands in their last four bytes from the left.
macro_rules! short_actions {
    ($($kind:ident $(($argument:ident: $type:ty))? = $number:literal $text:literal,)*) => {
        fn decode_short(number: u16, reader: &mut Reader<'_>) -> Result<Option<Action>, ErrorMessage> {
            let mut content = reader.clone();
            let action = match number {
                $($number => Action::$kind $((<$type>::decode(&mut content)?))?,)*
                _ => return Ok(None),
            };
            reader.take(4)?;
            Ok(Some(action))
        }

        fn encode_short(action: &Action, writer: &mut Writer) {
            match action {
                $(Action::$kind $(($argument))? => {
                    u16::encode(&$number, writer);
                    writer.pad(2);
                    $($argument.encode(writer);)?
                })*
                Action::Output { .. } | Action::SetField { .. } => unreachable!("these are not short"),
            }
        }

        impl Action {
            /// The action of 8 bytes with a name, and its argument if it has one; how many bits that has if it is too large
            /// or missing. Nothing where there is none of this name.
            pub fn named(name: &str, argument: Option<u128>) -> Option<Result<Self, u32>> {
                Some(match name {
                    $($text => short_actions!(@named argument $kind $($type)?),)*
                    _ => return None,
                })
            }

            /// The name of an action of 8 bytes, and its argument.
            pub fn name(&self) -> Option<(&'static str, Option<u32>)> {
                Some(match *self {
                    $(Self::$kind $(($argument))? => ($text, short_actions!(@number $($argument)?)),)*
                    Self::Output { .. } | Self::SetField { .. } => return None,
                })
            }
        }

        /// Numbers of all actions that there are.
        pub const ACTION_NUMBERS: &[u16] = &[OUTPUT, SET_FIELD, $($number),*];
    };
    (@named $number:ident $kind:ident) => {
        Ok(Self::$kind)
    };
    (@named $number:ident $kind:ident $type:ty) => {
        $number.and_then(|number| number.try_into().ok()).map(Self::$kind).ok_or(<$type>::BITS)
    };
    (@number) => {
        None
    };
    (@number $argument:ident) => {
        Some($argument.into())
    };
}

short_actions! {
    CopyTtlOut = 11 "copy_ttl_out",
    CopyTtlIn = 12 "copy_ttl_in",
    SetMplsTtl(ttl: u8) = 15 "set_mpls_ttl",
    DecMplsTtl = 16 "dec_mpls_ttl",
    PushVlan(ethertype: u16) = 17 "push_vlan",
    PopVlan = 18 "pop_vlan",
    PushMpls(ethertype: u16) = 19 "push_mpls",
    PopMpls(ethertype: u16) = 20 "pop_mpls",
    SetQueue(queue: u32) = 21 "set_queue",
    Group(group: u32) = 22 "group",
    SetNwTtl(ttl: u8) = 23 "set_nw_ttl",
    DecNwTtl = 24 "dec_nw_ttl",
    PushPbb(ethertype: u16) = 26 "push_pbb",
    PopPbb = 27 "pop_pbb",
}

impl Action {
    /// What follows the name of an action of 8 bytes in texts: `EtherType`s have hexadecimal digits.
    pub fn argument_text(&self) -> String {
        use Action::{PopMpls, PushMpls, PushPbb, PushVlan};
        match (self, self.name()) {
            (PushVlan(ethertype) | PushMpls(ethertype) | PopMpls(ethertype) | PushPbb(ethertype), _) => {
                format!(":{ethertype:#06x}")
            }
            (_, Some((_, Some(number)))) => format!(":{number}"),
            _ => String::new(),
        }
    }
}

impl Wire for Action {
    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        reader.wrong_length = ErrorCode::ACTION_LENGTH;
        let length = usize::from(reader.peek_u16(2)?);
        let bytes = reader.take_part(length, ErrorCode::ACTION_LENGTH)?;
        let mut part = reader.within(bytes, ErrorCode::ACTION_LENGTH);
        let number = u16::decode(&mut part)?;
        part.take(2)?;
        if length % 8 != 0 {
            return Err(part.complain(format!("an action of {length} bytes")));
        }
        let action = match number {
            OUTPUT => {
                let output = Self::Output {
                    port: u32::decode(&mut part)?,
                    max_len: u16::decode(&mut part)?,
                };
                part.take(6)?;
                output
            }
            SET_FIELD => {
                let FieldMatch { field, value, mask } = decode_field(&mut part, &IN_SET_FIELD)?;
                if mask.is_some() {
                    return Err(ErrorCode::ACTION_SET_TYPE.because("a field to set has no mask"));
                }
                if part.left() > 7 {
                    return Err(ErrorCode::ACTION_SET_LENGTH.because("more than one field"));
                }
                part.take(part.left())?;
                if value > field.largest() {
                    return Err(ErrorCode::ACTION_SET_ARGUMENT.because(format!("{value:#x} is too large for {field}")));
                }
                Self::SetField { field, value }
            }
            EXPERIMENTER => return Err(ErrorCode::ACTION_EXPERIMENTER.because("no experimenter's action is known")),
            _ => decode_short(number, &mut part)?
                .ok_or_else(|| ErrorCode::ACTION_TYPE.because(format!("there is no action {number}")))?,
        };
        part.finish()?;
        Ok(action)
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        match *self {
            Self::Output { port, max_len } => {
                OUTPUT.encode(writer);
                writer.pad(2);
                port.encode(writer);
                max_len.encode(writer);
                writer.pad(6);
            }
            Self::SetField { field, value } => {
                SET_FIELD.encode(writer);
                writer.pad(2);
                let mask = None;
                encode_field(&FieldMatch { field, value, mask }, writer);
            }
            _ => encode_short(self, writer),
        }
        writer.align(start);
        writer.set_length(start, start + 2);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Output { port, max_len } => {
                formatter.write_str("output:")?;
                text_port(port, formatter)?;
                if port == port::CONTROLLER && max_len != crate::MAX_LEN_NO_BUFFER {
                    write!(formatter, ":{max_len}")?;
                }
                Ok(())
            }
            Self::SetField { field, value } => {
                formatter.write_str("set_field:")?;
                write_value(field, value, formatter)?;
                write!(formatter, "->{field}")
            }
            _ => {
                let (name, _) = self.name().unwrap_or_default();
                write!(formatter, "{name}{}", self.argument_text())
            }
        }
    }
}

/// Reserved ports by their names, others by their numbers.
fn text_port(number: u32, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = match number {
        port::IN_PORT => "in_port",
        port::TABLE => "table",
        port::NORMAL => "normal",
        port::FLOOD => "flood",
        port::ALL => "all",
        port::CONTROLLER => "controller",
        port::LOCAL => "local",
        port::ANY => "any",
        _ => return write!(formatter, "{number}"),
    };
    formatter.write_str(name)
}

fn text_actions(actions: &[Action], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, action) in actions.iter().enumerate() {
        formatter.write_str(if index == 0 { "" } else { "," })?;
        action.text(formatter)?;
    }
    Ok(())
}

impl Wire for Instruction {
    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        reader.wrong_length = ErrorCode::INSTRUCTION_LENGTH;
        let length = usize::from(reader.peek_u16(2)?);
        let bytes = reader.take_part(length, ErrorCode::INSTRUCTION_LENGTH)?;
        let mut part = reader.within(bytes, ErrorCode::INSTRUCTION_LENGTH);
        let number = u16::decode(&mut part)?;
        part.take(2)?;
        if length % 8 != 0 {
            return Err(part.complain(format!("an instruction of {length} bytes")));
        }
        let instruction = match number {
            1 => {
                let table = u8::decode(&mut part)?;
                part.take(3)?;
                Self::GotoTable(table)
            }
            2 => {
                part.take(4)?;
                Self::WriteMetadata {
                    value: u64::decode(&mut part)?,
                    mask: u64::decode(&mut part)?,
                }
            }
            3 | 4 => {
                part.take(4)?;
                let actions = Vec::decode(&mut part)?;
                part.wrong_length = ErrorCode::INSTRUCTION_LENGTH;
                if number == 3 {
                    Self::WriteActions(actions)
                } else {
                    Self::ApplyActions(actions)
                }
            }
            5 => {
                part.take(4)?;
                Self::ClearActions
            }
            6 => Self::Meter(u32::decode(&mut part)?),
            EXPERIMENTER => {
                return Err(ErrorCode::INSTRUCTION_EXPERIMENTER.because("no experimenter's instruction is known"));
            }
            _ => return Err(ErrorCode::INSTRUCTION_UNKNOWN.because(format!("there is no instruction {number}"))),
        };
        part.finish()?;
        Ok(instruction)
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        let number: u16 = match self {
            Self::GotoTable(_) => 1,
            Self::WriteMetadata { .. } => 2,
            Self::WriteActions(_) => 3,
            Self::ApplyActions(_) => 4,
            Self::ClearActions => 5,
            Self::Meter(_) => 6,
        };
        number.encode(writer);
        writer.pad(2);
        match self {
            Self::GotoTable(table) => table.encode(writer),
            Self::Meter(meter) => meter.encode(writer),
            Self::ClearActions => writer.pad(4),
            Self::WriteMetadata { value, mask } => {
                writer.pad(4);
                value.encode(writer);
                mask.encode(writer);
            }
            Self::WriteActions(actions) | Self::ApplyActions(actions) => {
                writer.pad(4);
                actions.encode(writer);
            }
        }
        writer.align(start);
        writer.set_length(start, start + 2);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GotoTable(table) => write!(formatter, "goto_table:{table}"),
            Self::Meter(meter) => write!(formatter, "meter:{meter}"),
            Self::ClearActions => formatter.write_str("clear_actions"),
            Self::WriteMetadata { value, mask } => write!(formatter, "write_metadata:{value:#x}/{mask:#x}"),
            Self::ApplyActions(actions) => text_actions(actions, formatter),
            Self::WriteActions(actions) => {
                formatter.write_str("write_actions(")?;
                text_actions(actions, formatter)?;
                formatter.write_str(")")
            }
        }
    }
}
