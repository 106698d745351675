use crate::header_len::{ADDRESSES, ECHO, IPV4, IPV6, LABEL, SCTP, TAG, TCP, UDP};
use crate::{EtherType, IpProtocol};

/// The I-TAG's control information and the customer's addresses behind it.
const PBB_LEN: usize = 4;
const ARP_LEN: usize = 28;
/// Type, code, checksum, four bytes that depend on the type: with the target address that neighbour discovery has.
const ND_FIXED_LEN: usize = 24;
/// LLC's addresses and control for SNAP, and the organization of SNAP that has `EtherType`s.
pub(crate) const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
const ICMP_ECHO_REPLY: u8 = 0;
const ICMP_ECHO: u8 = 8;
const ICMPV6_ECHO: u8 = 128;
const ICMPV6_ECHO_REPLY: u8 = 129;

/// A header in which fields lie, or a place that fields are counted from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Header {
    /// The two addresses.
    Ethernet,
    /// The control information of the outermost VLAN tag.
    VlanTag,
    /// The `EtherType` behind all tags.
    EtherType,
    /// The control information of the outermost I-TAG (802.1ah).
    Pbb,
    /// The outermost MPLS label stack entry.
    Mpls,
    /// ARP for IPv4 over Ethernet.
    Arp,
    /// IPv4, options included.
    Ipv4,
    /// The fixed header of IPv6.
    Ipv6,
    /// The byte that names what IP carries: for IPv6 that of the last extension header.
    IpProtocol,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// ICMP.
    Icmpv4,
    /// `ICMPv6`.
    Icmpv6,
    /// The target address of a neighbour solicitation or advertisement.
    NdTarget,
    /// The link-layer address in the option of a neighbour solicitation.
    NdSourceAddress,
    /// The link-layer address in the option of a neighbour advertisement.
    NdTargetAddress,
    /// Identifier and sequence number of an echo request or reply of ICMP or `ICMPv6`.
    Echo,
}

/// Where each header of a frame lies. The outermost of a kind wins, nothing behind MPLS or an I-TAG is looked at, and a
/// header counts only if all of it is there, so that every field read by it lies within the frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Headers {
    /// Offsets plus one by [`Header`]; 0 where there is none.
    offsets: [u16; Header::COUNT],
    /// The `EtherType` behind all tags; 0 where there is none.
    pub ether_type: u16,
    /// The extension headers of IPv6 and their order (`OFPIEH_*`, OF 1.3.5 section 7.2.3.7).
    pub ipv6_extensions: u16,
    /// What IP carries behind all extension headers; 0 where there is no IP.
    pub ip_protocol: u8,
    /// Whether IP says that the packet is a part of one.
    pub is_fragment: bool,
}

/// Bits of [`Headers::ipv6_extensions`].
pub mod extension {
    /// No next header.
    pub const NO_NEXT: u16 = 1;
    /// Encrypted payload.
    pub const ESP: u16 = 2;
    /// Authentication header.
    pub const AUTH: u16 = 4;
    /// One or two destination options headers.
    pub const DESTINATION: u16 = 8;
    /// Fragment header.
    pub const FRAGMENT: u16 = 0x10;
    /// Routing header.
    pub const ROUTER: u16 = 0x20;
    /// Hop-by-hop options.
    pub const HOP: u16 = 0x40;
    /// A header more often than expected.
    pub const UNEXPECTED_REPEAT: u16 = 0x80;
    /// Headers in another order than RFC 2460 section 4.1 prefers.
    pub const UNEXPECTED_SEQUENCE: u16 = 0x100;
}

impl Header {
    /// How many there are.
    pub const COUNT: usize = 18;
}

impl Headers {
    /// Where the offsets begin, for compiled code: 16 bits for each [`Header`], its offset plus one, 0 where there is
    /// none.
    pub const OFFSETS_AT: usize = std::mem::offset_of!(Self, offsets);

    /// Takes a frame apart, whatever it holds.
    pub fn parse(frame: &[u8]) -> Self {
        let mut headers = Self::default();
        // Offsets are kept in 16 bits; no port carries longer frames.
        let frame = &frame[..frame.len().min(usize::from(u16::MAX) - 1)];
        headers.parse_ethernet(frame);
        headers
    }

    /// Where a header begins; `None` where the frame has none.
    pub fn offset(&self, header: Header) -> Option<usize> {
        usize::from(self.offsets[header as usize]).checked_sub(1)
    }

    fn found(&mut self, header: Header, at: usize) {
        self.offsets[header as usize] = at as u16 + 1;
    }

    fn parse_ethernet(&mut self, frame: &[u8]) {
        if frame.len() < ADDRESSES + 2 {
            return;
        }
        self.found(Header::Ethernet, 0);
        let mut at = ADDRESSES;
        while EtherType(u16_at(frame, at)).is_tag() && frame.len() >= at + TAG + 2 {
            if at == ADDRESSES {
                self.found(Header::VlanTag, at + 2);
            }
            at += TAG;
        }
        // IEEE 802.2 section 8: behind a length, SNAP says what the frame carries.
        let snap = frame.get(at + 2..at + 2 + SNAP.len()).filter(|llc| *llc == SNAP);
        if u16_at(frame, at) < EtherType::SMALLEST && snap.is_some() && frame.len() >= at + 4 + SNAP.len() {
            at += 2 + SNAP.len();
        }
        self.found(Header::EtherType, at);
        self.ether_type = u16_at(frame, at);
        let at = at + 2;
        match EtherType(self.ether_type) {
            EtherType::ARP if is_ethernet_arp(frame, at) => self.found(Header::Arp, at),
            EtherType::IPV4 => self.parse_ipv4(frame, at),
            EtherType::IPV6 => self.parse_ipv6(frame, at),
            EtherType::MPLS | EtherType::MPLS_MULTICAST if frame.len() >= at + LABEL => {
                self.found(Header::Mpls, at);
            }
            EtherType::PBB if frame.len() >= at + PBB_LEN + ADDRESSES + 2 => self.found(Header::Pbb, at),
            _ => {}
        }
    }

    fn parse_ipv4(&mut self, frame: &[u8], at: usize) {
        if frame.len() < at + IPV4 || frame[at] >> 4 != 4 {
            return;
        }
        let header_len = usize::from(frame[at] & 0xf) * 4;
        let total_len = usize::from(u16_at(frame, at + 2));
        if header_len < IPV4 || frame.len() < at + header_len || total_len < header_len {
            return;
        }
        self.found(Header::Ipv4, at);
        self.found(Header::IpProtocol, at + 9);
        self.ip_protocol = frame[at + 9];
        let fragment = u16_at(frame, at + 6) & 0x3fff;
        self.is_fragment = fragment != 0;
        let offset = fragment & 0x1fff;
        if offset == 0 {
            let end = frame.len().min(at + total_len);
            self.parse_transport(&frame[..end], at + header_len);
        }
    }

    fn parse_ipv6(&mut self, frame: &[u8], at: usize) {
        if frame.len() < at + IPV6 || frame[at] >> 4 != 6 {
            return;
        }
        self.found(Header::Ipv6, at);
        let end = frame.len().min(at + IPV6 + usize::from(u16_at(frame, at + 4)));
        let frame = &frame[..end];
        let mut chain = Chain::new(at + 6, at + IPV6);
        while chain.step(frame) {}
        self.found(Header::IpProtocol, chain.protocol_at);
        self.ip_protocol = frame[chain.protocol_at];
        self.ipv6_extensions = chain.seen;
        self.is_fragment = chain.is_fragment;
        if !chain.is_opaque {
            self.parse_transport(frame, chain.at);
        }
    }

    /// `frame` ends with the IP packet: padding is no transport header.
    fn parse_transport(&mut self, frame: &[u8], at: usize) {
        let (header, len) = match IpProtocol(self.ip_protocol) {
            IpProtocol::TCP => (Header::Tcp, TCP),
            IpProtocol::UDP => (Header::Udp, UDP),
            IpProtocol::SCTP => (Header::Sctp, SCTP),
            IpProtocol::ICMP if self.offset(Header::Ipv4).is_some() => (Header::Icmpv4, 4),
            IpProtocol::ICMPV6 if self.offset(Header::Ipv6).is_some() => (Header::Icmpv6, 4),
            _ => return,
        };
        if frame.len() < at + len {
            return;
        }
        self.found(header, at);
        match (header, frame[at]) {
            (Header::Icmpv4, ICMP_ECHO_REPLY | ICMP_ECHO) | (Header::Icmpv6, ICMPV6_ECHO | ICMPV6_ECHO_REPLY)
                if frame.len() >= at + ECHO =>
            {
                self.found(Header::Echo, at + 4);
            }
            (Header::Icmpv6, _) => self.parse_neighbour_discovery(frame, at),
            _ => {}
        }
    }

    fn parse_neighbour_discovery(&mut self, frame: &[u8], at: usize) {
        let (option, header) = match frame[at] {
            135 => (1, Header::NdSourceAddress),
            136 => (2, Header::NdTargetAddress),
            _ => return,
        };
        if frame.len() < at + ND_FIXED_LEN {
            return;
        }
        self.found(Header::NdTarget, at + 8);
        let mut at = at + ND_FIXED_LEN;
        while at + 8 <= frame.len() && frame[at + 1] != 0 {
            if frame[at] == option {
                self.found(header, at + 2);
                return;
            }
            at += usize::from(frame[at + 1]) * 8;
        }
    }
}

/// A walk along the extension headers of an IPv6 packet.
pub(crate) struct Chain {
    /// Where the number of the header at `at` stands.
    pub(crate) protocol_at: usize,
    pub(crate) at: usize,
    /// Where a routing header begins.
    pub(crate) routing: Option<usize>,
    seen: u16,
    /// The place of the last header in the preferred order.
    rank: u8,
    destinations: u8,
    pub(crate) is_fragment: bool,
    /// What follows cannot be read as a transport header.
    pub(crate) is_opaque: bool,
}

impl Chain {
    pub(crate) fn new(protocol_at: usize, at: usize) -> Self {
        Self {
            protocol_at,
            at,
            routing: None,
            seen: 0,
            rank: 0,
            destinations: 0,
            is_fragment: false,
            is_opaque: false,
        }
    }

    /// Goes past one extension header, and says whether there may be another.
    pub(crate) fn step(&mut self, frame: &[u8]) -> bool {
        let number = frame[self.protocol_at];
        let (bit, rank) = match number {
            0 => (extension::HOP, 1),
            // Before a routing header, or behind everything.
            60 if self.seen & (extension::ROUTER | extension::FRAGMENT | extension::AUTH | extension::ESP) == 0 => {
                (extension::DESTINATION, 2)
            }
            43 => (extension::ROUTER, 3),
            44 => (extension::FRAGMENT, 4),
            51 => (extension::AUTH, 5),
            50 => (extension::ESP, 6),
            60 => (extension::DESTINATION, 7),
            59 => (extension::NO_NEXT, 8),
            _ => return false,
        };
        self.note(bit, rank);
        if matches!(bit, extension::ESP | extension::NO_NEXT) {
            self.is_opaque = true;
            return false;
        }
        let Some(&[_, len]) = frame.get(self.at..self.at + 2).and_then(|bytes| bytes.first_chunk()) else {
            self.is_opaque = true;
            return false;
        };
        let len = match bit {
            extension::FRAGMENT => 8,
            // RFC 4302 section 2.2: in words of four bytes, less two.
            extension::AUTH => (usize::from(len) + 2) * 4,
            _ => (usize::from(len) + 1) * 8,
        };
        if frame.len() < self.at + len {
            self.is_opaque = true;
            return false;
        }
        if bit == extension::FRAGMENT {
            let offset_and_more = u16_at(frame, self.at + 2) & !0x6;
            self.is_fragment |= offset_and_more != 0;
            self.is_opaque |= offset_and_more & !1 != 0;
        }
        if bit == extension::ROUTER {
            self.routing = Some(self.at);
        }
        self.protocol_at = self.at;
        self.at += len;
        // What a later fragment begins with is no header, but its number is known.
        !self.is_opaque
    }

    fn note(&mut self, bit: u16, rank: u8) {
        let again = match bit {
            extension::DESTINATION => {
                self.destinations += 1;
                self.destinations > 2
            }
            _ => self.seen & bit != 0,
        };
        if again {
            self.seen |= extension::UNEXPECTED_REPEAT;
        }
        if rank < self.rank {
            self.seen |= extension::UNEXPECTED_SEQUENCE;
        }
        self.rank = rank;
        self.seen |= bit;
    }
}

fn is_ethernet_arp(frame: &[u8], at: usize) -> bool {
    frame.len() >= at + ARP_LEN && frame[at..at + 6] == [0, 1, 8, 0, 6, 4]
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
