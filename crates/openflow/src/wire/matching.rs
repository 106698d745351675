use std::fmt;

use super::buffer::padding;
use super::{Reader, Version, Wire, Writer};
use crate::{ErrorCode, ErrorMessage, FieldMatch, Match, MatchField};

/// Class `OFPXMC_OPENFLOW_BASIC`.
const BASIC: u16 = 0x8000;
/// Type `OFPMT_OXM`.
const OXM: u16 = 1;
/// Bytes of a field with the least: those of its header and one.
const SHORTEST_FIELD: usize = 5;

impl MatchField {
    /// How many bytes its value takes on the wire: 20 bits take 4, all others as few as they can.
    pub const fn wire_bytes(self) -> usize {
        match self.info().bits {
            20 => 4,
            bits => bits.div_ceil(8) as usize,
        }
    }

    /// Its header on the wire: class, number, whether there is a mask, length.
    pub const fn header(self, has_mask: bool) -> u32 {
        let length = self.wire_bytes() << has_mask as u32;
        (BASIC as u32) << 16 | (self as u32) << 9 | (has_mask as u32) << 8 | length as u32
    }
}

/// Which errors a field's reader gives: fields of matches and those of actions have their own.
pub(super) struct FieldErrors {
    pub(super) unknown: ErrorCode,
    pub(super) length: ErrorCode,
    pub(super) mask: ErrorCode,
}

const IN_MATCH: FieldErrors = FieldErrors {
    unknown: ErrorCode::MATCH_FIELD,
    length: ErrorCode::MATCH_LENGTH,
    mask: ErrorCode::MATCH_MASK,
};

#[inline]
pub(super) fn decode_field(reader: &mut Reader<'_>, errors: &FieldErrors) -> Result<FieldMatch, ErrorMessage> {
    let class = u16::decode(reader)?;
    let [number, length] = reader.array()?;
    let (number, has_mask) = (number >> 1, number & 1 == 1);
    let bytes = reader.take_part(usize::from(length), errors.length)?;
    let mut content = reader.within(bytes, errors.length);
    let since_14 = |field| field == MatchField::PbbUca;
    let field = MatchField::from_number(number)
        .filter(|field| class == BASIC && (reader.version >= Version::V14 || !since_14(*field)))
        .ok_or_else(|| {
            errors
                .unknown
                .because(format!("there is no match field {number} of class {class:#06x}"))
        })?;
    if has_mask && !field.info().maskable {
        return Err(errors.mask.because(format!("{field} takes no mask")));
    }
    let mut number = || -> Result<u128, ErrorMessage> {
        let bytes = content.take(field.wire_bytes())?;
        let (high, low) = bytes.split_at(bytes.len().saturating_sub(8));
        let half = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Ok(u128::from(half(high)) << 64 | u128::from(half(low)))
    };
    let value = number()?;
    let mask = if has_mask { Some(number()?) } else { None };
    content.finish()?;
    Ok(FieldMatch { field, value, mask })
}

pub(super) fn encode_field(one: &FieldMatch, writer: &mut Writer) {
    one.field.header(one.mask.is_some()).encode(writer);
    let start = 16 - one.field.wire_bytes();
    for number in [Some(one.value), one.mask].into_iter().flatten() {
        writer.bytes.extend_from_slice(&number.to_be_bytes()[start..]);
    }
}

impl Wire for Match {
    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let outer = std::mem::replace(&mut reader.wrong_length, ErrorCode::MATCH_LENGTH);
        let (kind, length) = (u16::decode(reader)?, usize::from(u16::decode(reader)?));
        if kind != OXM {
            return Err(ErrorCode::MATCH_TYPE.because(format!("there is no match of type {kind}")));
        }
        let Some(inside) = length.checked_sub(4) else {
            return Err(reader.complain(format!("a match of {length} bytes")));
        };
        let bytes = reader.take_part(inside, ErrorCode::MATCH_LENGTH)?;
        let mut part = reader.within(bytes, ErrorCode::MATCH_LENGTH);
        reader.take(padding(length))?;
        reader.wrong_length = outer;
        let mut fields = Vec::with_capacity(inside / SHORTEST_FIELD);
        while !part.is_empty() {
            fields.push(decode_field(&mut part, &IN_MATCH)?);
        }
        Ok(Self { fields })
    }

    fn encode(&self, writer: &mut Writer) {
        let start = writer.bytes.len();
        OXM.encode(writer);
        writer.pad(2);
        for one in &self.fields {
            encode_field(one, writer);
        }
        writer.set_length(start, start + 2);
        writer.align(start);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.fields.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { "," })?;
            one.text(formatter)?;
        }
        Ok(())
    }
}

impl FieldMatch {
    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=", self.field)?;
        write_value(self.field, self.value, formatter)?;
        if let Some(mask) = self.mask {
            formatter.write_str("/")?;
            write_value(self.field, mask, formatter)?;
        }
        Ok(())
    }
}

/// Writes a value as people write that field: addresses as such, ports in decimal, other wide ones in hexadecimal.
pub(super) fn write_value(field: MatchField, value: u128, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    use MatchField as F;
    match field {
        F::Ipv4Src | F::Ipv4Dst | F::ArpSpa | F::ArpTpa => {
            write!(formatter, "{}", std::net::Ipv4Addr::from_bits(value as u32))
        }
        F::Ipv6Src | F::Ipv6Dst | F::Ipv6NdTarget => write!(formatter, "{}", std::net::Ipv6Addr::from_bits(value)),
        _ if field.info().bits == 48 => {
            let bytes: [u8; 16] = value.to_be_bytes();
            super::EthernetAddress(std::array::from_fn(|index| bytes[10 + index])).text(formatter)
        }
        F::EthType | F::VlanVid => write!(formatter, "{value:#06x}"),
        F::Metadata | F::TunnelId | F::Ipv6Flabel | F::Ipv6Exthdr | F::PbbIsid => write!(formatter, "{value:#x}"),
        _ => write!(formatter, "{value}"),
    }
}
