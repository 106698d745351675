use std::net::Ipv4Addr;

use crate::error::{array_at, check_len, u16_at};
use crate::{Checksum, Malformed};

const FORMAT: &str = "IPv4";
const DONT_FRAGMENT: u16 = 0x4000;

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

/// An IPv4 header without options, as written here: never fragmented, identification 0 (RFC 6864).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ipv4Header {
    /// Sender.
    pub source: Ipv4Addr,
    /// Receiver.
    pub destination: Ipv4Addr,
    /// Time to live.
    pub hop_limit: u8,
    /// What follows.
    pub protocol: IpProtocol,
    /// Bytes that follow.
    pub payload_len: u16,
}

impl Ipv4Header {
    /// Bytes that it takes.
    pub const LEN: usize = 20;

    /// Writes it to the start of `buffer`, checksum included, and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::LEN`], or header and payload together exceed 65535 bytes.
    pub fn emit(&self, buffer: &mut [u8]) -> usize {
        let total = self.payload_len.checked_add(Self::LEN as u16);
        let total = total.expect("an IPv4 packet has 65535 bytes at most");
        let header = &mut buffer[..Self::LEN];
        header.fill(0);
        header[0] = 0x45;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
        header[8] = self.hop_limit;
        header[9] = self.protocol.0;
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        let checksum = Checksum::new().with_bytes(header).finish();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        Self::LEN
    }
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
    /// When version or a length is wrong. The checksum is a matter of its own: [`Self::checksum_is_right`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, Ipv4Header::LEN)?;
        if bytes[0] >> 4 != 4 {
            return Err(malformed("version", bytes[0] >> 4));
        }
        let header_len = usize::from(bytes[0] & 0x0f) * 4;
        if header_len < Ipv4Header::LEN {
            return Err(malformed("header length", bytes[0] & 0x0f));
        }
        let total = usize::from(u16_at(bytes, 2));
        check_len(FORMAT, bytes, total.max(header_len))?;
        let bytes = &bytes[..total.max(header_len)];
        Ok(Self { bytes, header_len })
    }

    /// Sender.
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from(array_at::<4>(self.bytes, 12))
    }

    /// Receiver.
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from(array_at::<4>(self.bytes, 16))
    }

    /// Time to live.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[8]
    }

    /// What follows.
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.bytes[9])
    }

    /// Whether this is a part of a packet: more fragments follow, or some came before.
    pub fn is_fragment(&self) -> bool {
        u16_at(self.bytes, 6) & 0x3fff != 0
    }

    /// Whether the header checksum fits.
    pub fn checksum_is_right(&self) -> bool {
        let header = &self.bytes[..self.header_len];
        Checksum::new().with_bytes(header).is_intact()
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

    #[test]
    fn header_with_a_known_checksum() {
        let header = Ipv4Header {
            source: Ipv4Addr::new(192, 0, 2, 1),
            destination: Ipv4Addr::new(192, 0, 2, 2),
            hop_limit: 64,
            protocol: IpProtocol::UDP,
            payload_len: 8,
        };
        let mut bytes = [0; 20];
        header.emit(&mut bytes);
        // 4500 + 001c + 4000 + 4011 + c000 + 0201 + c000 + 0202 = 24930, folded 4932.
        assert_eq!(u16_at(&bytes, 10), !0x4932);
    }

    proptest! {
        #[test]
        fn round_trip(source: [u8; 4], destination: [u8; 4], hop_limit: u8, protocol: u8, payload_len in 0..200_u16) {
            let header = Ipv4Header {
                source: source.into(),
                destination: destination.into(),
                hop_limit,
                protocol: IpProtocol(protocol),
                payload_len,
            };
            let mut bytes = vec![0; 20 + usize::from(payload_len) + 7];
            header.emit(&mut bytes);
            let view = Ipv4View::parse(&bytes).unwrap();
            prop_assert!(view.checksum_is_right() && !view.is_fragment());
            prop_assert_eq!(view.payload().len(), usize::from(payload_len));
            prop_assert_eq!((view.source(), view.destination()), (header.source, header.destination));
            prop_assert_eq!((view.hop_limit(), view.protocol()), (hop_limit, header.protocol));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), force: bool) {
            if force && !bytes.is_empty() {
                bytes[0] = 0x40 | bytes[0] & 0x0f;
            }
            if let Ok(view) = Ipv4View::parse(&bytes) {
                let _ = (view.checksum_is_right(), view.pseudo_header(), view.payload(), view.source());
            }
        }
    }
}
