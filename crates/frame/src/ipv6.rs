use crate::error::{check_len, u16_at};
use crate::header_len::IPV6;
use crate::{Checksum, IpProtocol, Malformed};

const FORMAT: &str = "IPv6";

/// A view of an IPv6 packet; extension headers are payload.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv6View<'a> {
    /// Checks version and lengths; bytes after the packet (padding) are cut off.
    ///
    /// # Errors
    /// When version or a length is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, IPV6)?;
        if bytes[0] >> 4 != 6 {
            return Err(Malformed::Field {
                format: FORMAT,
                field: "version",
                value: u32::from(bytes[0] >> 4),
            });
        }
        let total = IPV6 + usize::from(u16_at(bytes, 4));
        check_len(FORMAT, bytes, total)?;
        Ok(Self { bytes: &bytes[..total] })
    }

    /// What follows.
    pub fn next_header(&self) -> IpProtocol {
        IpProtocol(self.bytes[6])
    }

    /// The sum that an upper layer's checksum starts from (RFC 8200 section 8.1).
    pub fn pseudo_header(&self) -> Checksum {
        Checksum::new()
            .with_bytes(&self.bytes[8..40])
            .with_word(u16::from(self.next_header().0))
            .with_word(self.payload().len() as u16)
    }

    /// What the packet carries.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[IPV6..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_where_they_belong(next: u8, payload_len in 0..200_u16) {
            let mut bytes = vec![0; IPV6 + usize::from(payload_len) + 7];
            bytes[0] = 0x60;
            bytes[4..6].copy_from_slice(&payload_len.to_be_bytes());
            bytes[6] = next;
            let view = Ipv6View::parse(&bytes).unwrap();
            prop_assert_eq!((view.next_header().0, view.payload().len()), (next, usize::from(payload_len)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), force: bool) {
            if force && !bytes.is_empty() {
                bytes[0] = 0x60;
            }
            if let Ok(view) = Ipv6View::parse(&bytes) {
                let _ = (view.pseudo_header(), view.payload(), view.next_header());
            }
        }
    }
}
