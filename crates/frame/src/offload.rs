//! What hosts leave to network cards: checksums that are still to be finished, and several segments in one frame.
//!
//! A host with default settings sends TCP and UDP with nothing but the sum of the pseudo header in the checksum field,
//! and up to 64 KB of a stream behind one header. A switch in software is the card.

use crate::headers::{Header, Headers};
use crate::splice::crc32c;
use crate::{Checksum, EtherType, IpProtocol, header_len};

/// Where the checksum lies in its header.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const SCTP_CHECKSUM: usize = 8;
const SCTP_CHECKSUM_LEN: usize = 4;
const TCP_SEQUENCE: usize = 4;
const TCP_FLAGS: usize = 13;
/// Flags that only the last segment has, and only the first one.
const FIN_AND_PUSH: u8 = 0x09;
const CONGESTION_WINDOW_REDUCED: u8 = 0x80;

/// Finishes a checksum over all that begins at `start`: the field `offset` bytes behind it holds the sum of the pseudo
/// header, or nothing in the case of SCTP. False, and nothing done, where the frame does not reach that far.
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let field = start + offset;
    if offset == SCTP_CHECKSUM {
        let end = Transport::find(frame).map_or(frame.len(), |transport| transport.end);
        return finish_sctp(frame, start, end.max(start));
    }
    if field + 2 > frame.len() {
        return false;
    }
    let sum = Checksum::new().with_bytes(&frame[start..]).finish();
    put_sum(frame, field, sum);
    true
}

/// Finishes a checksum of which nobody has told whether it is finished.
///
/// One that holds exactly the sum of the pseudo header is taken for unfinished. Where it was finished and has that value
/// by chance, it stays as it is: what is stored is the same sum. A missing sum of SCTP is 0 likewise.
pub fn finish_untold_checksum(frame: &mut [u8]) {
    let Some(transport) = Transport::find(frame) else {
        return;
    };
    let Transport { at, end, protocol, .. } = transport;
    let offset = match protocol {
        IpProtocol::TCP => TCP_CHECKSUM,
        IpProtocol::UDP => UDP_CHECKSUM,
        _ => {
            if frame[at + SCTP_CHECKSUM..][..SCTP_CHECKSUM_LEN] == [0; SCTP_CHECKSUM_LEN] {
                finish_sctp(frame, at, end);
            }
            return;
        }
    };
    let stored = [frame[at + offset], frame[at + offset + 1]];
    let is_none = protocol == IpProtocol::UDP && stored == [0, 0];
    if !is_none && stored == transport.pseudo_sum(frame, end - at).to_be_bytes() {
        let sum = Checksum::new().with_bytes(&frame[at..end]).finish();
        put_sum(frame, at + offset, sum);
    }
}

fn finish_sctp(frame: &mut [u8], at: usize, end: usize) -> bool {
    let field = at + SCTP_CHECKSUM;
    if field + SCTP_CHECKSUM_LEN > end {
        return false;
    }
    frame[field..][..SCTP_CHECKSUM_LEN].fill(0);
    let sum = crc32c(&frame[at..end]).to_le_bytes();
    frame[field..][..SCTP_CHECKSUM_LEN].copy_from_slice(&sum);
    true
}

/// 0 would say of UDP that there is none (RFC 768); the two zeros of the sum mean the same to everybody else.
fn put_sum(frame: &mut [u8], field: usize, sum: u16) {
    let sum = if sum == 0 { 0xffff } else { sum };
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Where what IP carries lies, of a packet that is no fragment.
#[derive(Clone, Copy)]
struct Transport {
    network: usize,
    at: usize,
    /// Where the IP packet ends: padding of Ethernet is not part of it.
    end: usize,
    protocol: IpProtocol,
    is_v6: bool,
}

impl Transport {
    /// Of TCP, UDP and SCTP, where all of the packet is there.
    fn find(frame: &[u8]) -> Option<Self> {
        let headers = Headers::parse(frame);
        if headers.is_fragment {
            return None;
        }
        let at = [Header::Tcp, Header::Udp, Header::Sctp]
            .into_iter()
            .find_map(|header| headers.offset(header))?;
        let (network, len, is_v6) = if let Some(network) = headers.offset(Header::Ipv4) {
            (network, word(frame, network + 2), false)
        } else {
            let network = headers.offset(Header::Ipv6)?;
            (network, header_len::IPV6 + word(frame, network + 4), true)
        };
        let end = network + len;
        (end <= frame.len()).then_some(Self {
            network,
            at,
            end,
            protocol: IpProtocol(headers.ip_protocol),
            is_v6,
        })
    }

    /// The sum of the pseudo header for so many bytes, folded and not inverted.
    fn pseudo_sum(&self, frame: &[u8], len: usize) -> u16 {
        let addresses = if self.is_v6 { 8..40 } else { 12..20 };
        let addresses = &frame[self.network + addresses.start..self.network + addresses.end];
        let sum = Checksum::new()
            .with_bytes(addresses)
            .with_word(u16::from(self.protocol.0))
            .with_word(len as u16);
        !sum.finish()
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// Several segments of TCP or UDP in one frame: the headers once, then what the segments carry.
///
/// Places are counted from the end of the frame, so that they hold whatever is pushed in front of IP or popped.
///
/// ```
/// use brimful_frame::Merged;
/// assert!(Merged::find(&[0; 60], 1448).is_none());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Merged {
    network: usize,
    transport: usize,
    payload: usize,
    size: usize,
    protocol: IpProtocol,
    is_v6: bool,
}

/// How a card is told of the checksum of a merged frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PartialSum {
    /// Where summing begins.
    pub start: usize,
    /// How far behind that the field is.
    pub offset: usize,
    /// What the field is to hold: the sum of the pseudo header.
    pub value: u16,
}

impl Merged {
    /// A frame with segments that carry `size` bytes each, the last one perhaps less; `None` where it is no such frame.
    pub fn find(frame: &[u8], size: usize) -> Option<Self> {
        let Transport {
            network,
            at,
            end,
            protocol,
            is_v6,
        } = Transport::find(frame)?;
        let header_len = match protocol {
            IpProtocol::TCP => (usize::from(frame[at + 12] >> 4) * 4).max(header_len::TCP),
            IpProtocol::UDP => header_len::UDP,
            _ => return None,
        };
        let is_whole = end == frame.len() && at + header_len < end;
        (is_whole && size > 0).then(|| Self {
            network: end - network,
            transport: end - at,
            payload: end - at - header_len,
            size: size.min(end - at - header_len),
            protocol,
            is_v6,
        })
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.payload.div_ceil(self.size)
    }

    /// Bytes that a segment carries, all but the last.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether it is TCP; else UDP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == IpProtocol::TCP
    }

    /// Whether it is IPv6; else IPv4.
    pub fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// Bytes of all headers of a frame that is so long by now.
    pub fn headers_len(&self, frame_len: usize) -> usize {
        frame_len - self.payload
    }

    /// With segments that are no longer than frames may be. The datagrams of UDP cannot be made smaller.
    #[must_use]
    pub fn within(mut self, frame_len: usize, longest: usize) -> Option<Self> {
        let room = longest.saturating_sub(self.headers_len(frame_len));
        if self.size > room {
            if room == 0 || !self.is_tcp() {
                return None;
            }
            self.size = room;
        }
        Some(self)
    }

    /// Whether a card finds the headers: IP directly behind Ethernet, or behind one tag.
    pub fn is_plain(&self, frame: &[u8]) -> bool {
        let network = frame.len() - self.network;
        let ip = if self.is_v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let type_at = |at: usize| EtherType(word(frame, at) as u16);
        let ethernet_len = header_len::ADDRESSES + 2;
        type_at(network - 2) == ip
            && (network == ethernet_len
                || network == ethernet_len + header_len::TAG && type_at(header_len::ADDRESSES) == EtherType::VLAN)
            && self.is_still_itself(frame)
    }

    /// Whether nobody has written another protocol into IP.
    fn is_still_itself(&self, frame: &[u8]) -> bool {
        self.is_v6 || frame[frame.len() - self.network + 9] == self.protocol.0
    }

    /// What a card needs to finish the checksums of all segments, whatever has been done to the addresses meanwhile.
    pub fn partial_sum(&self, frame: &[u8]) -> PartialSum {
        let transport = self.transport_in(frame.len());
        PartialSum {
            start: transport.at,
            offset: self.checksum_offset(),
            value: transport.pseudo_sum(frame, self.transport),
        }
    }

    /// Appends segment `index` to `out`, complete.
    pub fn cut(&self, frame: &[u8], index: usize, out: &mut Vec<u8>) {
        let from = index * self.size;
        let carried = self.size.min(self.payload - from);
        let headers_len = self.headers_len(frame.len());
        let begin = out.len();
        out.extend_from_slice(&frame[..headers_len]);
        out.extend_from_slice(&frame[headers_len + from..][..carried]);
        let segment = &mut out[begin..];
        let end = segment.len();
        let Transport { network, at, .. } = self.transport_in(frame.len());
        if self.is_v6 {
            put_word(segment, network + 4, end - network - header_len::IPV6);
        } else {
            put_word(segment, network + 2, end - network);
            let identification = word(segment, network + 4) + index;
            put_word(segment, network + 4, identification);
            put_word(segment, network + 10, 0);
            let behind = network + usize::from(segment[network] & 0xf) * 4;
            let sum = Checksum::new().with_bytes(&segment[network..behind]);
            put_word(segment, network + 10, usize::from(sum.finish()));
        }
        if self.is_tcp() {
            let sequence = &mut segment[at + TCP_SEQUENCE..][..4];
            let first = u32::from_be_bytes([sequence[0], sequence[1], sequence[2], sequence[3]]);
            sequence.copy_from_slice(&first.wrapping_add(from as u32).to_be_bytes());
            if index > 0 {
                segment[at + TCP_FLAGS] &= !CONGESTION_WINDOW_REDUCED;
            }
            if from + carried < self.payload {
                segment[at + TCP_FLAGS] &= !FIN_AND_PUSH;
            }
        } else {
            put_word(segment, at + 4, end - at);
        }
        let field = at + self.checksum_offset();
        put_word(segment, field, 0);
        let pseudo = self.transport_in(frame.len()).pseudo_sum(segment, end - at);
        let sum = Checksum::new().with_word(pseudo).with_bytes(&segment[at..end]);
        put_sum(segment, field, sum.finish());
    }

    fn checksum_offset(&self) -> usize {
        if self.is_tcp() { TCP_CHECKSUM } else { UDP_CHECKSUM }
    }

    fn transport_in(&self, frame_len: usize) -> Transport {
        Transport {
            network: frame_len - self.network,
            at: frame_len - self.transport,
            end: frame_len,
            protocol: self.protocol,
            is_v6: self.is_v6,
        }
    }
}

fn put_word(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame as the definitions have it, its checksum summed in the plainest way.
    #[derive(Clone, Debug)]
    struct Made {
        tags: usize,
        is_v6: bool,
        protocol: u8,
        payload: Vec<u8>,
        addresses: [u8; 32],
        sequence: u32,
        flags: u8,
        identification: u16,
    }

    impl Made {
        fn header(&self) -> Vec<u8> {
            let len = (8 + self.payload.len()) as u16;
            match self.protocol {
                6 => [
                    &[0, 80, 1, 2][..],
                    &self.sequence.to_be_bytes(),
                    &[9, 9, 9, 9, 0x80, self.flags, 4, 0, 0, 0, 0, 0],
                    &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
                ]
                .concat(),
                17 => [&[0, 53, 3, 4][..], &len.to_be_bytes(), &[0, 0]].concat(),
                _ => vec![0, 1, 0, 2, 1, 1, 1, 1, 0, 0, 0, 0],
            }
        }

        fn network(&self) -> usize {
            14 + 4 * self.tags
        }

        fn transport(&self) -> usize {
            self.network() + if self.is_v6 { 40 } else { 20 }
        }

        fn field(&self) -> usize {
            self.transport() + if self.protocol == 6 { 16 } else { 6 }
        }

        /// The sum of the pseudo header in 16-bit words.
        fn pseudo(&self) -> u32 {
            let addresses = if self.is_v6 {
                &self.addresses[..]
            } else {
                &self.addresses[..8]
            };
            let len = self.header().len() + self.payload.len();
            naive(addresses) + u32::from(self.protocol) + len as u32
        }

        /// With the checksum that is to be finished, or with the one that is.
        fn frame(&self, is_finished: bool) -> Vec<u8> {
            let mut bytes = vec![2; 12];
            (0..self.tags).for_each(|_| bytes.extend([0x81, 0, 0, 7]));
            let header = self.header();
            let len = (header.len() + self.payload.len()) as u16;
            if self.is_v6 {
                bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                bytes.extend(len.to_be_bytes());
                bytes.extend([self.protocol, 64]);
                bytes.extend(self.addresses);
            } else {
                bytes.extend([8, 0, 0x45, 0]);
                bytes.extend((len + 20).to_be_bytes());
                bytes.extend(self.identification.to_be_bytes());
                bytes.extend([0x40, 0, 64, self.protocol, 0, 0]);
                bytes.extend(&self.addresses[..8]);
                let at = self.network();
                let sum = !folded(naive(&bytes[at..at + 20]));
                bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            }
            bytes.extend(header);
            bytes.extend(&self.payload);
            let at = self.transport();
            if self.protocol == 132 {
                let sum = if is_finished { crc32c(&bytes[at..]) } else { 0 };
                bytes[at + 8..at + 12].copy_from_slice(&sum.to_le_bytes());
                return bytes;
            }
            let mut sum = folded(self.pseudo());
            if is_finished {
                sum = !folded(self.pseudo() + naive(&bytes[at..]));
                sum = if sum == 0 { 0xffff } else { sum };
            }
            bytes[self.field()..self.field() + 2].copy_from_slice(&sum.to_be_bytes());
            bytes
        }

        fn offset(&self) -> usize {
            match self.protocol {
                6 => 16,
                17 => 6,
                _ => 8,
            }
        }
    }

    fn naive(bytes: &[u8]) -> u32 {
        let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        u32::from(folded(
            bytes
                .chunks(2)
                .map(word)
                .fold(0, |sum, next| u32::from(folded(sum)) + next),
        ))
    }

    fn folded(sum: u32) -> u16 {
        let once = (sum & 0xffff) + (sum >> 16);
        ((once & 0xffff) + (once >> 16)) as u16
    }

    fn any_frame(protocols: &'static [u8], payload: std::ops::Range<usize>) -> impl Strategy<Value = Made> {
        (
            (0..3_usize, any::<bool>(), proptest::sample::select(protocols)),
            (proptest::collection::vec(any::<u8>(), payload), any::<[u8; 32]>()),
            (any::<u32>(), any::<u8>(), any::<u16>()),
        )
            .prop_map(
                |((tags, is_v6, protocol), (payload, addresses), (sequence, flags, identification))| Made {
                    tags,
                    is_v6,
                    protocol,
                    payload,
                    addresses,
                    sequence,
                    flags,
                    identification,
                },
            )
    }

    proptest! {
        #[test]
        fn finished_sums_are_those_of_the_definition(made in any_frame(&[6, 17, 132], 0..600), padding in 0..20_usize) {
            let mut told = made.frame(false);
            prop_assert!(finish_checksum(&mut told, made.transport(), made.offset()));
            prop_assert_eq!(&told, &made.frame(true));
            let mut untold = made.frame(false);
            untold.extend(std::iter::repeat_n(0xa5, padding));
            finish_untold_checksum(&mut untold);
            prop_assert_eq!(&untold[..told.len()], &told[..]);
        }

        #[test]
        fn a_finished_sum_stays(made in any_frame(&[6, 17, 132], 0..200)) {
            let mut frame = made.frame(true);
            finish_untold_checksum(&mut frame);
            prop_assert_eq!(frame, made.frame(true));
        }

        #[test]
        fn segments_are_what_the_sender_would_have_sent(made in any_frame(&[6, 17], 1..4000), size in 1..1500_usize) {
            let frame = made.frame(false);
            let merged = Merged::find(&frame, size).unwrap();
            let parts: Vec<&[u8]> = made.payload.chunks(size).collect();
            prop_assert_eq!(merged.segments(), parts.len());
            for (index, part) in parts.iter().enumerate() {
                let mut out = vec![9];
                merged.cut(&frame, index, &mut out);
                let mut flags = made.flags;
                flags &= if index > 0 { 0x7f } else { 0xff };
                flags &= if index + 1 < parts.len() { !0x09 } else { 0xff };
                let expected = Made {
                    payload: part.to_vec(),
                    sequence: made.sequence.wrapping_add((index * size) as u32),
                    identification: made.identification.wrapping_add(index as u16),
                    flags,
                    ..made.clone()
                };
                prop_assert_eq!(&out[1..], expected.frame(true), "segment {}", index);
            }
        }

        #[test]
        fn a_partial_sum_is_that_of_the_addresses_as_they_are(made in any_frame(&[6, 17], 1..300), pushed in 0..3_usize) {
            let frame = made.frame(false);
            let merged = Merged::find(&frame, 100).unwrap();
            // Something has been pushed, and a checksum has been changed by the rules for finished ones.
            let mut frame = [&vec![7; 4 * pushed][..], &frame].concat();
            let field = made.field() + 4 * pushed;
            frame[field] ^= 0x55;
            let sum = merged.partial_sum(&frame);
            prop_assert_eq!((sum.start, sum.offset), (made.transport() + 4 * pushed, made.offset()));
            prop_assert_eq!(sum.value, folded(made.pseudo()));
        }

        #[test]
        fn any_bytes_are_finished_or_left(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), start in 0..220_usize) {
            let len = bytes.len();
            finish_untold_checksum(&mut bytes);
            finish_checksum(&mut bytes, start, 8);
            finish_checksum(&mut bytes, start, 16);
            prop_assert_eq!(bytes.len(), len);
            if let Some(merged) = Merged::find(&bytes, 20) {
                (0..merged.segments()).for_each(|index| merged.cut(&bytes, index, &mut Vec::new()));
            }
        }
    }

    fn plain() -> Made {
        Made {
            tags: 0,
            is_v6: false,
            protocol: 6,
            payload: vec![1; 3000],
            addresses: [3; 32],
            sequence: 1,
            flags: 0x18,
            identification: 1,
        }
    }

    #[test]
    fn segments_fit_the_port_that_they_leave_by() {
        let frame = plain().frame(false);
        let merged = Merged::find(&frame, 1448).unwrap();
        assert_eq!(merged.headers_len(frame.len()), 66);
        assert_eq!(merged.within(frame.len(), 1514), Some(merged));
        assert_eq!(merged.within(frame.len(), 1066).unwrap().size(), 1000);
        assert_eq!(merged.within(frame.len(), 66), None);
        let datagrams = Made {
            protocol: 17,
            ..plain()
        };
        let frame = datagrams.frame(false);
        let merged = Merged::find(&frame, 1448).unwrap();
        assert_eq!(merged.within(frame.len(), 1066), None);
    }

    #[test]
    fn cards_find_headers_behind_one_tag() {
        for (tags, is_plain) in [(0, true), (1, true), (2, false)] {
            let frame = Made { tags, ..plain() }.frame(false);
            let merged = Merged::find(&frame, 1000).unwrap();
            assert_eq!(merged.is_plain(&frame), is_plain, "{tags} tags");
            let labelled = [&frame[..12], &[0x88, 0x47, 0, 0, 1, 0x40], &frame[14..]].concat();
            assert!(!merged.is_plain(&labelled), "{tags} tags and a label");
        }
        let mut frame = plain().frame(false);
        let merged = Merged::find(&frame, 1000).unwrap();
        frame[23] = 17;
        assert!(!merged.is_plain(&frame), "another protocol");
    }

    #[test]
    fn fragments_and_cut_packets_are_left_alone() {
        let frame = plain().frame(false);
        let mut fragment = frame.clone();
        fragment[20] |= 0x20;
        let before = fragment.clone();
        finish_untold_checksum(&mut fragment);
        assert_eq!(fragment, before);
        assert_eq!(Merged::find(&fragment, 1000), None);
        assert_eq!(Merged::find(&frame[..2000], 1000), None);
    }
}
