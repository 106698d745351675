//! Fields written in place, with the checksums that cover them (RFC 1624 equation 3).

use crate::field::{Covering, Field, read_bits, write_bits};
use crate::headers::{Header, Headers, extension};
use crate::offload::is_on_a_route;

/// What became of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Write {
    /// The field has the value, and checksums that cover it fit.
    Written,
    /// The frame does not have the field and stays as it is.
    Missing,
    /// The write would destroy the frame, which stays as it is: a checksum that covers the field needs bytes that are
    /// not here (SCTP in fragments).
    Protected,
}

/// The polynomial of `CRC32c`, bits reversed (RFC 9260 appendix A).
const CRC32C_POLYNOMIAL: u32 = 0x82f6_3b78;

/// Where a header keeps the checksum over what it carries.
const TCP: (Header, usize) = (Header::Tcp, 16);
const UDP: (Header, usize) = (Header::Udp, 6);
const ICMPV6: (Header, usize) = (Header::Icmpv6, 2);
const ICMPV4: (Header, usize) = (Header::Icmpv4, 2);

impl Field {
    /// Writes a value in place and puts right the checksums that cover it. Bits above the field's are ignored, as is
    /// the bit of [`Field::VlanVid`] that says that there is a tag.
    ///
    /// After a change of [`Field::IpProto`] the checksum of what IP carries is where the protocol before has it, and right
    /// for the new one's pseudo header.
    pub fn write(self, frame: &mut [u8], headers: &Headers, value: u128) -> Write {
        let Some(first_bit) = self.bit_offset(headers) else {
            return Write::Missing;
        };
        let (first_stored, bits) = self.stored();
        let first_bit = first_bit + first_stored as usize;
        let value = value & (u128::MAX >> (128 - bits));
        let sctp = self.sctp(headers);
        if sctp.is_some() && headers.is_fragment {
            return Write::Protected;
        }
        let sctp = sctp.map(|at| SctpSum::of(frame, headers, at));
        let covering = self.checksums(frame, headers);
        if covering.iter().any(Option::is_some) {
            let before = read_bits(frame, first_bit, bits);
            let change = Change::write(frame, first_bit, bits, value);
            let [network, segment] = covering;
            if let Some(sum) = network {
                sum.update(frame, change);
            }
            if let Some(sum) = segment {
                // The pseudo header has the protocol at the end of a word, wherever it lies in the frame.
                let is_moved = self == Self::IpProto;
                let change = if is_moved {
                    Change::between(before, value)
                } else {
                    change
                };
                sum.update(frame, change);
            }
        } else {
            write_bits(frame, first_bit, bits, value);
        }
        if let Some(sum) = sctp {
            sum.update(frame, headers);
        }
        Write::Written
    }

    fn sctp(self, headers: &Headers) -> Option<usize> {
        matches!(self, Self::SctpSrc | Self::SctpDst)
            .then(|| headers.offset(Header::Sctp))
            .flatten()
    }

    /// Whether it is a destination that the packet reaches on its way to another one.
    fn is_next_station(self, frame: &[u8], headers: &Headers) -> bool {
        let network = match self {
            Self::Ipv4Dst => headers.offset(Header::Ipv4),
            Self::Ipv6Dst if headers.ipv6_extensions & extension::ROUTER != 0 => headers.offset(Header::Ipv6),
            _ => None,
        };
        network.is_some_and(|at| is_on_a_route(frame, at))
    }

    /// The Internet checksums that cover it, that of the network header first.
    fn checksums(self, frame: &[u8], headers: &Headers) -> [Option<CoveringSum>; 2] {
        let network = || {
            let at = headers.offset(Header::Ipv4)? + 10;
            Some(CoveringSum { at, is_udp: false })
        };
        let segment = |offsets: &[(Header, usize)]| {
            let (header, at) = offsets
                .iter()
                .find_map(|&(header, offset)| Some((header, headers.offset(header)? + offset)))?;
            let is_udp = header == Header::Udp;
            // RFC 768: the sender made none.
            let is_none = is_udp && frame[at..at + 2] == [0, 0];
            (!is_none).then_some(CoveringSum { at, is_udp })
        };
        match self.info().covering {
            Covering::Nothing => [None, None],
            Covering::Network if self == Self::IpProto => [network(), segment(&[TCP, UDP, ICMPV6])],
            Covering::Network => [network(), None],
            Covering::Addresses if self.is_next_station(frame, headers) => [network(), None],
            Covering::Addresses => [network(), segment(&[TCP, UDP, ICMPV6])],
            Covering::Segment => [None, segment(&[TCP, UDP, ICMPV6, ICMPV4])],
        }
    }
}

/// An Internet checksum that covers a field.
#[derive(Clone, Copy)]
struct CoveringSum {
    at: usize,
    is_udp: bool,
}

/// What a write adds to the sum of the words around the field.
#[derive(Clone, Copy)]
struct Change(u32);

impl Change {
    fn write(frame: &mut [u8], first_bit: usize, bits: u32, value: u128) -> Self {
        // Ethernet, tags, IP and what it carries have headers of even length: words begin at even offsets.
        let first = first_bit / 8;
        let last = (first_bit + bits as usize - 1) / 8;
        let start = first & !1;
        let end = (last | 1) + 1;
        let before = sum_words(&frame[start..end]);
        write_bits(frame, first_bit, bits, value);
        let after = sum_words(&frame[start..end]);
        Self(fold(after + (!before & 0xffff)))
    }

    /// Of a word that has one value instead of another.
    fn between(before: u128, after: u128) -> Self {
        Self(fold(after as u32 + (!before as u32 & 0xffff)))
    }
}

impl CoveringSum {
    fn update(self, frame: &mut [u8], change: Change) {
        let bytes = &mut frame[self.at..self.at + 2];
        let old = u32::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        let mut new = !fold((!old & 0xffff) + change.0) as u16;
        if self.is_udp && new == 0 {
            // 0 would say that there is none (RFC 768).
            new = 0xffff;
        }
        bytes.copy_from_slice(&new.to_be_bytes());
    }
}

fn sum_words(bytes: &[u8]) -> u32 {
    let words = bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    fold(words.sum())
}

fn fold(sum: u32) -> u32 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once & 0xffff) + (once >> 16)
}

/// The checksum of SCTP before a write: it sums all that IP carries (RFC 9260 section 6.8).
struct SctpSum {
    at: usize,
    before: u32,
}

impl SctpSum {
    fn of(frame: &[u8], headers: &Headers, at: usize) -> Self {
        let before = Self::sum(&frame[at..ip_end(frame, headers)]);
        Self { at, before }
    }

    /// The sum of a segment with zeros where its checksum stands.
    fn sum(segment: &[u8]) -> u32 {
        crc32c_of(&[&segment[..8], &[0; 4], &segment[12..]])
    }

    /// Changes the stored sum as the segment has changed: one that was wrong stays wrong. It is little-endian on the
    /// wire (RFC 9260 appendix A); a frame whose sender wrote it the other way round keeps that order, so that a
    /// receiver that took it before takes it now.
    fn update(&self, frame: &mut [u8], headers: &Headers) {
        let end = ip_end(frame, headers);
        let segment = &mut frame[self.at..end];
        let after = Self::sum(segment);
        let stored = [segment[8], segment[9], segment[10], segment[11]];
        let new = if stored == self.before.to_be_bytes() {
            after.to_be_bytes()
        } else {
            (u32::from_le_bytes(stored) ^ self.before ^ after).to_le_bytes()
        };
        segment[8..12].copy_from_slice(&new);
    }
}

/// Where the IP packet ends: padding of Ethernet is not part of it.
fn ip_end(frame: &[u8], headers: &Headers) -> usize {
    let length_at = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let end = match (headers.offset(Header::Ipv4), headers.offset(Header::Ipv6)) {
        (Some(at), _) => at + length_at(at + 2),
        (_, Some(at)) => at + 40 + length_at(at + 4),
        _ => frame.len(),
    };
    end.min(frame.len())
}

/// The checksum of SCTP.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_of(&[bytes])
}

/// The same over parts that follow one another.
fn crc32c_of(parts: &[&[u8]]) -> u32 {
    const TABLE: [u32; 256] = crc32c_table();
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(u32::MAX, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

const fn crc32c_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ CRC32C_POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

/// The value of a field that the frame has, whatever it means to a match.
pub(crate) fn raw(field: Field, frame: &[u8], headers: &Headers) -> Option<u128> {
    Some(read_bits(frame, field.bit_offset(headers)?, field.info().bits))
}
