//! IP packets within one another, as tunnels make them.
//!
//! A host leaves the innermost checksum of TCP or UDP to its card, and segments behind all headers that its tunnels put
//! in front.

use super::word;
use crate::headers::{Chain, SNAP};
use crate::{Checksum, EtherType, IpProtocol, header_len};

const IPV4_IN_IP: IpProtocol = IpProtocol(4);
const IPV6_IN_IP: IpProtocol = IpProtocol(41);
pub(super) const GRE: IpProtocol = IpProtocol(47);
const ETHERNET_IN_GRE: u16 = 0x6558;
/// RFC 2784 and 2890: that a checksum, a key, a sequence number is there.
pub(super) const GRE_CHECKSUM: u8 = 0x80;
const GRE_KEY: u8 = 0x20;
const GRE_SEQUENCE: u8 = 0x10;
/// RFC 7348: that there is an identifier; and that a group stands beside it, as Linux has it.
const VXLAN: u8 = 0x08;
const VXLAN_GROUP: u8 = 0x88;
const VXLAN_LEN: usize = 8;
const GENEVE_LEN: usize = 8;
const LABEL_IS_LAST: u8 = 1;
/// The I-TAG's control information.
const PBB_LEN: usize = 4;
/// Bits of the fragment's place, and that others follow.
const FRAGMENT: usize = 0x3fff;

/// An IP packet that is no fragment, by where it lies in the frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Layer {
    pub(super) network: usize,
    /// Where what IP carries begins.
    pub(super) at: usize,
    /// Where the IP packet ends: padding of Ethernet is not part of it.
    pub(super) end: usize,
    pub(super) protocol: IpProtocol,
    pub(super) is_v6: bool,
    /// Where the address of the last receiver stands: not in the fixed header if there is a route to be followed.
    pub(super) destination: usize,
}

/// What lies at a place of a frame.
#[derive(Clone, Copy)]
enum Place {
    Ethernet(usize),
    Ip(usize),
}

/// The IP packets of a frame, the outermost first.
pub(super) struct Layers<'f> {
    frame: &'f [u8],
    next: Option<Place>,
    /// Where the packet around them ends.
    end: usize,
}

impl<'f> Layers<'f> {
    pub(super) fn of(frame: &'f [u8]) -> Self {
        Self {
            frame,
            next: Some(Place::Ethernet(0)),
            end: frame.len(),
        }
    }
}

impl Iterator for Layers<'_> {
    type Item = Layer;

    fn next(&mut self) -> Option<Layer> {
        let frame = &self.frame[..self.end];
        let layer = match self.next.take()? {
            Place::Ethernet(at) => Layer::read(frame, behind_ethernet(frame, at)?)?,
            Place::Ip(at) => Layer::read(frame, at)?,
        };
        self.end = layer.end;
        self.next = layer.inner(&frame[..layer.end]);
        Some(layer)
    }
}

/// Where IP begins behind a header of Ethernet, its tags and labels.
fn behind_ethernet(frame: &[u8], at: usize) -> Option<usize> {
    let mut at = at + header_len::ADDRESSES;
    loop {
        let ether_type = EtherType(word(frame.get(at..at + 2)?, 0) as u16);
        at += 2;
        match ether_type {
            EtherType::IPV4 | EtherType::IPV6 => return Some(at),
            EtherType::PBB => at += PBB_LEN + header_len::ADDRESSES,
            EtherType::MPLS | EtherType::MPLS_MULTICAST => loop {
                let label = frame.get(at..at + header_len::LABEL)?;
                at += header_len::LABEL;
                if label[2] & LABEL_IS_LAST != 0 {
                    return Some(at);
                }
            },
            tag if tag.is_tag() => at += 2,
            length if length.0 < EtherType::SMALLEST && frame.get(at..at + SNAP.len())? == SNAP => at += SNAP.len(),
            _ => return None,
        }
    }
}

impl Layer {
    /// The packet at a place, if all of it is there and it can be what its first byte says.
    fn read(frame: &[u8], network: usize) -> Option<Self> {
        match frame.get(network)? >> 4 {
            4 => Self::read_v4(frame, network),
            6 => Self::read_v6(frame, network),
            _ => None,
        }
        .filter(|layer| layer.at <= layer.end && layer.end <= frame.len())
    }

    fn read_v4(frame: &[u8], network: usize) -> Option<Self> {
        let header_len = usize::from(frame[network] & 0xf) * 4;
        let header = frame.get(network..network + header_len)?;
        if header_len < header_len::IPV4 || word(header, 6) & FRAGMENT != 0 {
            return None;
        }
        Some(Self {
            network,
            at: network + header_len,
            end: network + word(header, 2),
            protocol: IpProtocol(header[9]),
            is_v6: false,
            destination: network + last_of_source_route(header).unwrap_or(16),
        })
    }

    fn read_v6(frame: &[u8], network: usize) -> Option<Self> {
        let header = frame.get(network..network + header_len::IPV6)?;
        let end = network + header_len::IPV6 + word(header, 4);
        let chain = chain_of(frame, network);
        let may_be_read = !chain.is_opaque && !chain.is_fragment;
        may_be_read.then(|| Self {
            network,
            at: chain.at,
            end,
            protocol: IpProtocol(frame[chain.protocol_at]),
            is_v6: true,
            destination: last_of_route(frame, &chain).unwrap_or(network + 24),
        })
    }

    /// Where the checksum lies in the header of what IP carries, of those that a card finishes.
    pub(super) fn checksum_offset(&self) -> Option<usize> {
        let (len, offset) = match self.protocol {
            IpProtocol::TCP => (header_len::TCP, super::TCP_CHECKSUM),
            IpProtocol::UDP => (header_len::UDP, super::UDP_CHECKSUM),
            IpProtocol::SCTP => (header_len::SCTP, super::SCTP_CHECKSUM),
            _ => return None,
        };
        (self.at + len <= self.end).then_some(offset)
    }

    /// The sum of the pseudo header for this length, folded and not inverted.
    pub(super) fn pseudo_sum(&self, frame: &[u8], len: usize) -> u16 {
        let (source, address_len) = if self.is_v6 { (8, 16) } else { (12, 4) };
        let address = |at: usize| &frame[at..at + address_len];
        let sum = Checksum::new()
            .with_bytes(address(self.network + source))
            .with_bytes(address(self.destination))
            .with_word(u16::from(self.protocol.0))
            .with_word(len as u16);
        !sum.finish()
    }

    /// What this packet carries, if that is another one. `frame` ends with this packet.
    fn inner(&self, frame: &[u8]) -> Option<Place> {
        match self.protocol {
            IPV4_IN_IP | IPV6_IN_IP => Some(Place::Ip(self.at)),
            GRE => {
                let header = frame.get(self.at..self.at + 4)?;
                let optional = [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE];
                let words = optional.into_iter().filter(|flag| header[0] & flag != 0).count();
                let at = self.at + 4 + 4 * words;
                of_type(word(header, 2) as u16, at)
            }
            IpProtocol::UDP => inside_udp(frame, self.at + header_len::UDP),
            _ => None,
        }
    }
}

fn of_type(ether_type: u16, at: usize) -> Option<Place> {
    match EtherType(ether_type) {
        EtherType(ETHERNET_IN_GRE) => Some(Place::Ethernet(at)),
        EtherType::IPV4 | EtherType::IPV6 => Some(Place::Ip(at)),
        _ => None,
    }
}

/// VXLAN and Geneve by what their headers look like, as their ports may be any; else IP itself, whose header has to be
/// right.
fn inside_udp(frame: &[u8], at: usize) -> Option<Place> {
    let header = frame.get(at..at + 8)?;
    let is_vxlan = header[0] == VXLAN && header[1..4] == [0; 3] || header[0] == VXLAN_GROUP;
    if is_vxlan && header[7] == 0 {
        return Some(Place::Ethernet(at + VXLAN_LEN));
    }
    let geneve = of_type(
        word(header, 2) as u16,
        at + GENEVE_LEN + usize::from(header[0] & 0x3f) * 4,
    );
    if header[0] >> 6 == 0 && geneve.is_some() {
        return geneve;
    }
    let layer = Layer::read(frame, at)?;
    let is_right = layer.is_v6 || Checksum::new().with_bytes(&frame[at..layer.at]).finish() == 0;
    (is_right && layer.end == frame.len()).then_some(Place::Ip(at))
}

fn chain_of(frame: &[u8], network: usize) -> Chain {
    let mut chain = Chain::new(network + 6, network + header_len::IPV6);
    while chain.step(frame) {}
    chain
}

/// Whether the fixed header of IPv4 or IPv6 names but the next station of a route: what IP carries is summed with the
/// address of the last one.
pub(crate) fn is_on_a_route(frame: &[u8], network: usize) -> bool {
    let header_len = usize::from(frame[network] & 0xf) * 4;
    match frame[network] >> 4 {
        4 => header_len > header_len::IPV4 && last_of_source_route(&frame[network..network + header_len]).is_some(),
        _ => last_of_route(frame, &chain_of(frame, network)).is_some(),
    }
}

/// Where the last address of a source route that is still to be followed stands (RFC 791 section 3.1).
fn last_of_source_route(header: &[u8]) -> Option<usize> {
    let mut at = header_len::IPV4;
    while at + 3 <= header.len() {
        let (kind, len) = (header[at], usize::from(header[at + 1]));
        match kind {
            0 => return None,
            1 => at += 1,
            131 | 137 => {
                let is_whole = len >= 7 && at + len <= header.len();
                let is_open = usize::from(header[at + 2]) + 3 <= len;
                return (is_whole && is_open).then(|| at + len - 4);
            }
            _ => at += len.max(2),
        }
    }
    None
}

/// The same of a routing header (RFC 5095, 6275 and 8754).
fn last_of_route(frame: &[u8], chain: &Chain) -> Option<usize> {
    let at = chain.routing?;
    let header = &frame[at..at + 8];
    let len = (usize::from(header[1]) + 1) * 8;
    let [kind, left] = [header[2], header[3]];
    match kind {
        _ if left == 0 || len < 24 => None,
        // The last segment comes first.
        4 => Some(at + 8),
        0 | 2 => Some(at + len - 16),
        _ => None,
    }
}
