use crate::error::{check_len, u16_at};
use crate::header_len::IPV4;
use crate::{Checksum, Malformed};

const FORMAT: &str = "IPv4";

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// ICMP for IPv6.
    pub const ICMPV6: Self = Self(58);
    /// SCTP.
    pub const SCTP: Self = Self(132);
}

/// A view of an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> Ipv4View<'a> {
    /// Checks version and lengths; bytes after the packet (padding) are cut off.
    ///
    /// # Errors
    /// When version or a length is wrong. The checksum is not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, IPV4)?;
        if bytes[0] >> 4 != 4 {
            return Err(malformed("version", bytes[0] >> 4));
        }
        let header_len = usize::from(bytes[0] & 0x0f) * 4;
        if header_len < IPV4 {
            return Err(malformed("header length", bytes[0] & 0x0f));
        }
        let total = usize::from(u16_at(bytes, 2));
        check_len(FORMAT, bytes, total.max(header_len))?;
        let bytes = &bytes[..total.max(header_len)];
        Ok(Self { bytes, header_len })
    }

    /// What follows.
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.bytes[9])
    }

    /// Whether this is a part of a packet: more fragments follow, or some came before.
    pub fn is_fragment(&self) -> bool {
        u16_at(self.bytes, 6) & 0x3fff != 0
    }

    /// The sum that an upper layer's checksum starts from (RFC 768).
    pub fn pseudo_header(&self) -> Checksum {
        Checksum::new()
            .with_bytes(&self.bytes[12..20])
            .with_word(u16::from(self.protocol().0))
            .with_word(self.payload().len() as u16)
    }

    /// Bytes of the header, options included.
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// What the packet carries.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }
}

fn malformed(field: &'static str, value: u8) -> Malformed {
    Malformed::Field {
        format: FORMAT,
        field,
        value: u32::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_where_they_belong(options in 0..=10_usize, protocol: u8, flags: u16, payload_len in 0..200_usize) {
            let header_len = IPV4 + 4 * options;
            let total = header_len + payload_len;
            let mut bytes = vec![0; total + 7];
            bytes[0] = 0x45 + options as u8;
            bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            bytes[6..8].copy_from_slice(&flags.to_be_bytes());
            bytes[9] = protocol;
            let view = Ipv4View::parse(&bytes).unwrap();
            prop_assert_eq!((view.header_len(), view.payload().len()), (header_len, payload_len));
            prop_assert_eq!((view.protocol().0, view.is_fragment()), (protocol, flags & 0x3fff != 0));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), force: bool) {
            if force && !bytes.is_empty() {
                bytes[0] = 0x40 | bytes[0] & 0x0f;
            }
            if let Ok(view) = Ipv4View::parse(&bytes) {
                let _ = (view.pseudo_header(), view.payload(), view.is_fragment());
            }
        }
    }
}
