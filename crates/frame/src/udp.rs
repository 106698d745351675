use crate::error::{check_len, u16_at};
use crate::{Checksum, Malformed};

const FORMAT: &str = "UDP";

/// The two ports of a UDP datagram.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct UdpPorts {
    /// Sender.
    pub source: u16,
    /// Receiver.
    pub destination: u16,
}

/// A view of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Bytes of the header.
    pub const HEADER_LEN: usize = 8;

    /// Checks the lengths.
    ///
    /// # Errors
    /// When the datagram is shorter than its header or than its length field says.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, Self::HEADER_LEN)?;
        let len = usize::from(u16_at(bytes, 4));
        if len < Self::HEADER_LEN {
            return Err(Malformed::Field {
                format: FORMAT,
                field: "length",
                value: len as u32,
            });
        }
        check_len(FORMAT, bytes, len)?;
        Ok(Self { bytes: &bytes[..len] })
    }

    /// Both ports.
    pub fn ports(&self) -> UdpPorts {
        UdpPorts {
            source: u16_at(self.bytes, 0),
            destination: u16_at(self.bytes, 2),
        }
    }

    /// Whether the datagram carries a checksum at all; over IPv4 it may leave it out.
    pub fn has_checksum(&self) -> bool {
        u16_at(self.bytes, 6) != 0
    }

    /// Whether the checksum fits, given the sum of the pseudo header.
    pub fn checksum_is_right(&self, pseudo_header: Checksum) -> bool {
        pseudo_header.with_bytes(self.bytes).is_intact()
    }

    /// What the datagram carries.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Self::HEADER_LEN..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40), len in 0..50_u8) {
            let mut bytes = bytes;
            if bytes.len() > 5 {
                bytes[4..6].copy_from_slice(&[0, len]);
            }
            if let Ok(view) = UdpView::parse(&bytes) {
                let _ = (view.ports(), view.has_checksum(), view.payload());
                let _ = view.checksum_is_right(Checksum::new());
            }
        }
    }
}
