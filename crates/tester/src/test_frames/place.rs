//! Where fields of test frames lie, and how they are written over the zero bits of a template.

use brimful_frame::{Checksum, Covering, Field};

/// Where a field is: bits within a window of whole 16-bit words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FieldPlace {
    offset: usize,
    width: Width,
    shift: u32,
    bits: u32,
    pub(super) is_in_network_sum: bool,
    pub(super) is_in_transport_sum: bool,
}

/// Bytes of the window of a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Width {
    Two,
    Four,
    Six,
    Sixteen,
}

/// Which checksums a frame has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sums {
    /// That of the header of IPv4.
    pub(super) of_network: bool,
    /// A pseudo header in that of what IP carries.
    pub(super) has_pseudo_header: bool,
}

impl FieldPlace {
    /// The place of a field of the table, given where the header begins that it is counted from.
    ///
    /// # Panics
    /// When the field is neither within 32 bits from an even offset nor a whole address.
    pub(super) fn of(field: Field, header_offset: usize, header_bit: u32, sums: Sums) -> Self {
        let (first_stored, bits) = field.stored();
        let first = header_offset * 8 + (header_bit + first_stored) as usize;
        let end = first + bits as usize;
        // Headers have an even length, so that words begin at even offsets.
        let offset = (first / 8) & !1;
        let window = end.div_ceil(16) * 2 - offset;
        let width = match window {
            2 => Width::Two,
            4 => Width::Four,
            6 => Width::Six,
            16 => Width::Sixteen,
            _ => panic!("{field:?} lies in {window} bytes"),
        };
        let (is_in_network_sum, is_in_transport_sum) = match field.info().covering {
            Covering::Nothing => (false, false),
            Covering::Network => (sums.of_network, false),
            Covering::Addresses => (sums.of_network, sums.has_pseudo_header),
            Covering::Segment => (false, true),
        };
        Self {
            offset,
            width,
            shift: ((offset + window) * 8 - end) as u32,
            bits,
            is_in_network_sum,
            is_in_transport_sum,
        }
    }

    /// The largest value that the field can have.
    pub fn largest(self) -> u128 {
        u128::MAX >> (128 - self.bits)
    }

    /// Writes a value over zero bits.
    pub(super) fn set(self, bytes: &mut [u8], value: u128) {
        let window = &mut bytes[self.offset..];
        match self.width {
            Width::Two => or(window, ((value as u16) << self.shift).to_be_bytes()),
            Width::Four => or(window, ((value as u32) << self.shift).to_be_bytes()),
            Width::Six => window[..6].copy_from_slice(&value.to_be_bytes()[10..]),
            Width::Sixteen => window[..16].copy_from_slice(&value.to_be_bytes()),
        }
    }

    /// What a value adds to a sum.
    pub(super) fn sum(self, value: u128) -> Checksum {
        match self.width {
            Width::Two => Checksum::new().with_word((value as u16) << self.shift),
            Width::Four => Checksum::new().with_bytes(&((value as u32) << self.shift).to_be_bytes()),
            Width::Six | Width::Sixteen => Checksum::new().with_bytes(&value.to_be_bytes()),
        }
    }
}

fn or<const N: usize>(window: &mut [u8], bits: [u8; N]) {
    for (byte, bits) in window.iter_mut().zip(bits) {
        *byte |= bits;
    }
}
