use std::ops::Range;

use brimful_frame::header_len::{ADDRESSES, ECHO, IPV6, LABEL, TAG, TCP, UDP};
use brimful_frame::{
    Checksum, EtherType, IpProtocol, Ipv4View, Ipv6View, Malformed, UdpView, VlanTag, check_len, u16_at,
};

/// The parts of any frame. What cannot be read further is payload.
#[derive(Clone, Debug)]
pub(crate) struct Anatomy {
    /// The outermost tag.
    pub(crate) vlan: Option<VlanTag>,
    pub(crate) network: Network,
    /// A segment with a checksum over the payload; none in fragments and other protocols.
    pub(crate) segment: Option<Segment>,
    pub(crate) payload: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Network {
    Ipv4 { header: Range<usize> },
    Ipv6 { offset: usize },
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) protocol: IpProtocol,
    pub(crate) place: Range<usize>,
    /// Where its checksum is in the frame.
    pub(crate) checksum_offset: usize,
    /// What its checksum starts from.
    pub(crate) pseudo_header: Checksum,
}

impl Anatomy {
    /// Takes a frame apart.
    ///
    /// # Errors
    /// When it ends within its Ethernet header, a tag or a label.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut at = ADDRESSES;
        check_len("Ethernet", bytes, at + 2)?;
        let mut ether_type = EtherType(u16_at(bytes, at));
        let mut vlan = None;
        while ether_type.is_tag() {
            check_len("VLAN tag", bytes, at + TAG + 2)?;
            vlan.get_or_insert(VlanTag::from_control_information(u16_at(bytes, at + 2)));
            at += TAG;
            ether_type = EtherType(u16_at(bytes, at));
        }
        at += 2;
        if ether_type == EtherType::MPLS {
            at += label_stack_len(&bytes[at..])?;
            // RFC 4928: the first four bits say what follows the stack.
            ether_type = match bytes.get(at).map(|first| first >> 4) {
                Some(4) => EtherType::IPV4,
                Some(6) => EtherType::IPV6,
                _ => EtherType(0),
            };
        }
        let within = match ether_type {
            EtherType::IPV4 => of_ipv4(bytes, at),
            EtherType::IPV6 => of_ipv6(bytes, at),
            _ => None,
        };
        let (network, segment, payload) = within.unwrap_or((Network::Other, None, at..bytes.len()));
        Ok(Self {
            vlan,
            network,
            segment,
            payload,
        })
    }
}

type Within = (Network, Option<Segment>, Range<usize>);

fn of_ipv4(bytes: &[u8], at: usize) -> Option<Within> {
    let packet = Ipv4View::parse(&bytes[at..]).ok()?;
    let start = at + packet.header_len();
    let network = Network::Ipv4 { header: at..start };
    let protocol = packet.protocol();
    let segment = match protocol {
        _ if packet.is_fragment() => None,
        IpProtocol::UDP | IpProtocol::TCP => of_segment(packet.payload(), start, protocol, packet.pseudo_header()),
        IpProtocol::ICMP => of_segment(packet.payload(), start, protocol, Checksum::new()),
        _ => None,
    };
    Some(within(network, segment, start..start + packet.payload().len()))
}

fn of_ipv6(bytes: &[u8], at: usize) -> Option<Within> {
    let packet = Ipv6View::parse(&bytes[at..]).ok()?;
    let start = at + IPV6;
    let protocol = packet.next_header();
    let segment = match protocol {
        IpProtocol::UDP | IpProtocol::TCP | IpProtocol::ICMPV6 => {
            of_segment(packet.payload(), start, protocol, packet.pseudo_header())
        }
        _ => None,
    };
    Some(within(
        Network::Ipv6 { offset: at },
        segment,
        start..start + packet.payload().len(),
    ))
}

fn within(network: Network, segment: Option<(Segment, usize)>, rest: Range<usize>) -> Within {
    match segment {
        Some((segment, header_len)) => (network, Some(segment), rest.start + header_len..rest.end),
        None => (network, None, rest),
    }
}

/// The segment that a packet carries, and the length of its header.
fn of_segment(bytes: &[u8], start: usize, protocol: IpProtocol, pseudo_header: Checksum) -> Option<(Segment, usize)> {
    let (header_len, checksum_offset) = match protocol {
        IpProtocol::UDP => {
            let datagram = UdpView::parse(bytes).ok()?;
            let is_whole = datagram.payload().len() + UDP == bytes.len();
            is_whole.then_some((UDP, 6))?
        }
        IpProtocol::TCP => {
            let header_len = usize::from(bytes.get(12)? >> 4) * 4;
            (TCP..=bytes.len()).contains(&header_len).then_some((header_len, 16))?
        }
        _ => (bytes.len() >= ECHO).then_some((ECHO, 2))?,
    };
    let segment = Segment {
        protocol,
        place: start..start + bytes.len(),
        checksum_offset: start + checksum_offset,
        pseudo_header,
    };
    Some((segment, header_len))
}

fn label_stack_len(bytes: &[u8]) -> Result<usize, Malformed> {
    let mut len = 0;
    loop {
        check_len("MPLS", bytes, len + LABEL)?;
        len += LABEL;
        if bytes[len - 2] & 1 == 1 {
            return Ok(len);
        }
    }
}
