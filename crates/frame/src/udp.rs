use crate::Malformed;
use crate::error::{check_len, u16_at};
use crate::header_len::UDP;

const FORMAT: &str = "UDP";

/// A view of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Checks the lengths.
    ///
    /// # Errors
    /// When the datagram is shorter than its header or than its length field says.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, UDP)?;
        let len = usize::from(u16_at(bytes, 4));
        if len < UDP {
            return Err(Malformed::Field {
                format: FORMAT,
                field: "length",
                value: len as u32,
            });
        }
        check_len(FORMAT, bytes, len)?;
        Ok(Self { bytes: &bytes[..len] })
    }

    /// What the datagram carries.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[UDP..]
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
                prop_assert_eq!(view.payload().len() + UDP, usize::from(len));
            }
        }
    }
}
