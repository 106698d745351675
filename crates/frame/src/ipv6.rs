use std::net::Ipv6Addr;

use crate::error::{array_at, check_len, u16_at};
use crate::{Checksum, IpProtocol, Malformed};

const FORMAT: &str = "IPv6";

/// An IPv6 header, as written here: traffic class and flow label 0.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ipv6Header {
    /// Sender.
    pub source: Ipv6Addr,
    /// Receiver.
    pub destination: Ipv6Addr,
    /// Hop limit.
    pub hop_limit: u8,
    /// What follows.
    pub next_header: IpProtocol,
    /// Bytes that follow.
    pub payload_len: u16,
}

impl Ipv6Header {
    /// Bytes that it takes.
    pub const LEN: usize = 40;

    /// Writes it to the start of `buffer` and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::LEN`].
    pub fn emit(&self, buffer: &mut [u8]) -> usize {
        buffer[..4].copy_from_slice(&[0x60, 0, 0, 0]);
        buffer[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        buffer[6] = self.next_header.0;
        buffer[7] = self.hop_limit;
        buffer[8..24].copy_from_slice(&self.source.octets());
        buffer[24..40].copy_from_slice(&self.destination.octets());
        Self::LEN
    }
}

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
        check_len(FORMAT, bytes, Ipv6Header::LEN)?;
        if bytes[0] >> 4 != 6 {
            return Err(Malformed::Field {
                format: FORMAT,
                field: "version",
                value: u32::from(bytes[0] >> 4),
            });
        }
        let total = Ipv6Header::LEN + usize::from(u16_at(bytes, 4));
        check_len(FORMAT, bytes, total)?;
        Ok(Self { bytes: &bytes[..total] })
    }

    /// Sender.
    pub fn source(&self) -> Ipv6Addr {
        Ipv6Addr::from(array_at::<16>(self.bytes, 8))
    }

    /// Receiver.
    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from(array_at::<16>(self.bytes, 24))
    }

    /// Hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
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
        &self.bytes[Ipv6Header::LEN..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(source: [u8; 16], destination: [u8; 16], hop_limit: u8, next: u8, payload_len in 0..200_u16) {
            let header = Ipv6Header {
                source: source.into(),
                destination: destination.into(),
                hop_limit,
                next_header: IpProtocol(next),
                payload_len,
            };
            let mut bytes = vec![0; 40 + usize::from(payload_len) + 7];
            header.emit(&mut bytes);
            let view = Ipv6View::parse(&bytes).unwrap();
            prop_assert_eq!(view.payload().len(), usize::from(payload_len));
            prop_assert_eq!((view.source(), view.destination()), (header.source, header.destination));
            prop_assert_eq!((view.hop_limit(), view.next_header()), (hop_limit, header.next_header));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), force: bool) {
            if force && !bytes.is_empty() {
                bytes[0] = 0x60;
            }
            if let Ok(view) = Ipv6View::parse(&bytes) {
                let _ = (view.pseudo_header(), view.payload(), view.source(), view.destination());
            }
        }
    }
}
