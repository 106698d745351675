//! What hosts leave to network cards: checksums that are still to be finished, and several segments in one frame.
//!
//! A host with default settings sends TCP and UDP with nothing but the sum of the pseudo header in the checksum field,
//! and up to 64 KB of a stream behind one header. A switch in software is the card.

#[cfg(test)]
mod tests;
mod train;

use crate::headers::{Header, Headers};
use crate::splice::crc32c;
use crate::{Checksum, EtherType, IpProtocol, header_len};

pub use train::Train;

/// Where the checksum lies in its header.
pub(crate) const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const SCTP_CHECKSUM: usize = 8;
const SCTP_CHECKSUM_LEN: usize = 4;
pub(crate) const TCP_SEQUENCE: usize = 4;
pub(crate) const TCP_FLAGS: usize = 13;
/// Flags that only the last segment has, and only the first one.
const FIN_AND_PUSH: u8 = 0x09;
const ACKNOWLEDGEMENT: u8 = 0x10;
pub(crate) const PUSH: u8 = 0x08;
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

/// Finishes a checksum of which it is not known whether it is finished.
///
/// One that holds exactly the sum of the pseudo header is taken for unfinished. Where it was finished and has that value
/// by chance, it stays as it is: what is stored is the same sum. A missing sum of SCTP is 0 likewise.
///
/// A segment of TCP that others may follow is left unfinished and given back: see [`Merged::find_unfinished`].
pub fn finish_untold_checksum(frame: &mut [u8]) -> Option<Merged> {
    let transport = Transport::find(frame)?;
    let segment = Merged::unfinished_at(frame, transport);
    if segment.is_none() {
        finish_untold_at(frame, transport);
    }
    segment
}

fn finish_untold_at(frame: &mut [u8], transport: Transport) {
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

    /// The sum of the pseudo header for this length, folded and not inverted.
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

pub(crate) fn word(bytes: &[u8], at: usize) -> usize {
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
    pub(crate) network: usize,
    pub(crate) transport: usize,
    pub(crate) payload: usize,
    pub(crate) size: usize,
    protocol: IpProtocol,
    pub(crate) is_v6: bool,
}

/// How a card learns of the checksum of a merged frame.
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
        Self::at(frame, Transport::find(frame)?, size)
    }

    fn at(frame: &[u8], transport: Transport, size: usize) -> Option<Self> {
        let Transport {
            network,
            at,
            end,
            protocol,
            is_v6,
        } = transport;
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

    /// A frame with one segment of TCP whose checksum is not finished, as hosts send that cannot merge: others may
    /// follow that belong to it ([`crate::Train`]). Nothing but data and acknowledgements is taken for such.
    pub fn find_unfinished(frame: &[u8]) -> Option<Self> {
        Self::unfinished_at(frame, Transport::find(frame)?)
    }

    fn unfinished_at(frame: &[u8], transport: Transport) -> Option<Self> {
        let Transport { at, end, protocol, .. } = transport;
        let flags = frame.get(at + TCP_FLAGS).filter(|_| protocol == IpProtocol::TCP)?;
        let sum = transport.pseudo_sum(frame, end - at);
        let is_data = flags & !PUSH == ACKNOWLEDGEMENT && word(frame, at + TCP_CHECKSUM) == usize::from(sum);
        is_data.then(|| Self::at(frame, transport, usize::MAX)).flatten()
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

    /// Whether no action has written another protocol into IP.
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

pub(crate) fn put_word(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}
