//! Values of fields, as code.

use std::mem::offset_of;

use brimful_frame::{Field, Header, Headers};
use brimful_openflow::{MatchField, Source};
use cranelift_codegen::ir::condcodes::IntCC::{Equal, NotEqual};
use cranelift_codegen::ir::{Block, Value, types};

use super::emit::Emit;
use super::parse::Parsed;
use crate::context::Context;

/// Some bits of a field: those from `shift` on, 64 at most.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    pub(crate) field: MatchField,
    pub(crate) shift: u32,
}

impl Parsed {
    /// Whether the frame has a field; `None` where every frame has it.
    pub(crate) fn has(&self, emit: &mut Emit<'_>, field: MatchField) -> Option<Value> {
        let Source::Frame(place) = field.info().source else {
            return None;
        };
        match place {
            Field::EthDst | Field::EthSrc | Field::EthType | Field::VlanVid => None,
            Field::Ipv6Exthdr => Some(self.is_there(emit, Header::Ipv6)),
            _ => {
                let mut places = place.info().places.iter();
                let first = self.is_there(emit, places.next()?.0);
                Some(places.fold(first, |known, (header, _)| {
                    let other = self.is_there(emit, *header);
                    emit.or(known, other)
                }))
            }
        }
    }

    fn is_there(&self, emit: &mut Emit<'_>, header: Header) -> Value {
        let at = self.offset(emit, header);
        emit.is_number(NotEqual, at, 0)
    }

    /// Goes to `missing` unless the frame has all of these fields.
    pub(crate) fn demand(&self, emit: &mut Emit<'_>, fields: &[MatchField], missing: Block) {
        let mut asked: Vec<Header> = Vec::new();
        for &field in fields {
            if let Source::Frame(place) = field.info().source
                && let [(header, _)] = place.info().places
            {
                if asked.contains(header) {
                    continue;
                }
                asked.push(*header);
            }
            if let Some(has) = self.has(emit, field) {
                emit.unless(has, missing);
            }
        }
    }

    /// The value of some bits of a field that the frame has.
    pub(crate) fn value(&self, emit: &mut Emit<'_>, bits: Bits) -> Value {
        let context = emit.context;
        match bits.field.info().source {
            Source::Pipeline => {
                let place = match bits.field {
                    MatchField::InPort => offset_of!(Context, in_port),
                    MatchField::InPhyPort => offset_of!(Context, in_phy_port),
                    MatchField::Metadata => offset_of!(Context, metadata),
                    _ => offset_of!(Context, tunnel_id),
                };
                let value = emit.load(types::I64, context, place);
                emit.shift_right(value, bits.shift)
            }
            Source::Frame(Field::VlanVid) => {
                let value = self.vlan(emit);
                emit.shift_right(value, bits.shift)
            }
            Source::Frame(Field::Ipv6Exthdr) => {
                let place = offset_of!(Context, headers) + offset_of!(Headers, ipv6_extensions);
                let value = emit.load(types::I16, context, place);
                let value = emit.widen(value);
                emit.shift_right(value, bits.shift)
            }
            Source::Frame(place) => match place.info().places {
                [(header, bit)] => {
                    let at = self.place(emit, *header);
                    read(emit, at, *bit, place, bits.shift)
                }
                [(one, bit), (other, other_bit), ..] => {
                    let (at, other_at) = (self.offset(emit, *one), self.offset(emit, *other));
                    let is_one = emit.is_number(NotEqual, at, 0);
                    let at = emit.add(self.frame, at);
                    let other_at = emit.add(self.frame, other_at);
                    let value = read(emit, at, *bit, place, bits.shift);
                    let other_value = read(emit, other_at, *other_bit, place, bits.shift);
                    emit.choose(is_one, value, other_value)
                }
                [] => emit.number(0),
            },
        }
    }

    /// The address at which a header begins.
    pub(crate) fn place(&self, emit: &mut Emit<'_>, header: Header) -> Value {
        if header == Header::Ethernet {
            return self.frame;
        }
        let at = self.offset(emit, header);
        emit.add(self.frame, at)
    }

    /// VLAN id and the bit that there is a tag; 0 where there is none.
    fn vlan(&self, emit: &mut Emit<'_>) -> Value {
        let at = self.offset(emit, Header::VlanTag);
        let is_untagged = emit.is_number(Equal, at, 0);
        let place = emit.add(self.frame, at);
        // Without a tag this reads the frame's first bytes, which are there.
        let control = emit.load_bytes(place, 0, 2);
        let id = emit.mask(control, 0xfff);
        let present = emit.number(0x1000);
        let tagged = emit.or(id, present);
        let none = emit.number(0);
        emit.choose(is_untagged, none, tagged)
    }
}

/// Reads bits of a field that begins `bit` bits behind an address.
fn read(emit: &mut Emit<'_>, at: Value, bit: u32, place: Field, shift: u32) -> Value {
    let field_bits = place.info().bits;
    let count = (field_bits - shift).min(64);
    let last = bit + field_bits - shift;
    let first = last - count;
    let (first_byte, last_byte) = (first / 8, (last - 1) / 8);
    let value = emit.load_bytes(at, first_byte as usize, (last_byte - first_byte + 1) as usize);
    let value = emit.shift_right(value, 7 - (last - 1) % 8);
    emit.mask(value, u64::MAX >> (64 - count))
}
