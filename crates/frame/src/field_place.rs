//! Where fields of headers lie, and how they are written over zero bits.

use crate::Checksum;

/// Where a field is: bits within a window of whole 16-bit words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FieldPlace {
    pub(crate) offset: usize,
    pub(crate) width: Width,
    pub(crate) shift: u32,
    pub(crate) bits: u32,
    pub(crate) is_in_network_sum: bool,
    pub(crate) is_in_transport_sum: bool,
}

/// Bytes of the window of a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Width {
    Two,
    Four,
    Six,
    Sixteen,
}

impl FieldPlace {
    /// The largest value that the field can have.
    pub fn largest(self) -> u128 {
        u128::MAX >> (128 - self.bits)
    }

    /// Writes a value over zero bits.
    pub(crate) fn set(self, bytes: &mut [u8], value: u128) {
        let window = &mut bytes[self.offset..];
        match self.width {
            Width::Two => or(window, ((value as u16) << self.shift).to_be_bytes()),
            Width::Four => or(window, ((value as u32) << self.shift).to_be_bytes()),
            Width::Six => window[..6].copy_from_slice(&value.to_be_bytes()[10..]),
            Width::Sixteen => window[..16].copy_from_slice(&value.to_be_bytes()),
        }
    }

    /// What a value adds to a sum.
    pub(crate) fn sum(self, value: u128) -> Checksum {
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
