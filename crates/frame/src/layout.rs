use thiserror::Error;

use crate::field_place::{FieldPlace, Width};
use crate::template::TestTemplate;
use crate::{
    EtherType, FRAME_CHECK_SEQUENCE_LEN, IpProtocol, Ipv4Header, Ipv6Header, MAX_FRAME_SIZE, MIN_FRAME_SIZE, Stamp,
    UdpView,
};

const ADDRESSES_LEN: usize = 12;
const ETHER_TYPE_LEN: usize = 2;
const TAG_LEN: usize = 4;
const LABEL_LEN: usize = 4;
const TCP_HEADER_LEN: usize = 20;
const ECHO_HEADER_LEN: usize = 8;
const BOTTOM_OF_STACK: u8 = 1;
const ICMP_ECHO: u8 = 8;
const ICMPV6_ECHO: u8 = 128;

/// Which headers test frames have, outermost first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FrameLayout {
    /// Types of the VLAN tags: [`EtherType::VLAN`] or [`EtherType::SERVICE_VLAN`].
    pub tags: Vec<EtherType>,
    /// Entries of the MPLS label stack.
    pub labels: usize,
    /// What is within.
    pub content: Content,
}

/// What is within Ethernet, tags and labels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Content {
    /// The payload itself, of a type of its own; below labels there is no room for the type.
    Raw(EtherType),
    /// IPv4 in whole packets.
    Ipv4(Transport),
    /// IPv6 without extension headers.
    Ipv6(Transport),
}

/// What is within IP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP without options.
    Tcp,
    /// An echo request of ICMP or `ICMPv6`.
    Echo,
}

/// A field of a header. Tags and labels are counted from the outermost, 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HeaderField {
    /// Ethernet address of the receiver.
    DestinationMac,
    /// Ethernet address of the sender.
    SourceMac,
    /// Id of a VLAN tag.
    VlanId(usize),
    /// Priority code point of a VLAN tag.
    VlanPriority(usize),
    /// Drop eligible indicator of a VLAN tag.
    DropEligible(usize),
    /// MPLS label.
    Label(usize),
    /// Traffic class of an MPLS label.
    LabelTrafficClass(usize),
    /// Time to live of an MPLS label.
    LabelTtl(usize),
    /// IP address of the sender.
    SourceIp,
    /// IP address of the receiver.
    DestinationIp,
    /// Differentiated services code point.
    Dscp,
    /// Explicit congestion notification.
    Ecn,
    /// Time to live or hop limit.
    HopLimit,
    /// Identification of IPv4.
    Identification,
    /// Whether a packet of IPv4 must stay whole.
    DontFragment,
    /// Flow label of IPv6.
    FlowLabel,
    /// Port of the sender.
    SourcePort,
    /// Port of the receiver.
    DestinationPort,
    /// Sequence number of TCP.
    TcpSequence,
    /// Acknowledgement number of TCP.
    TcpAcknowledgement,
    /// The eight flags of TCP, as they stand in the header.
    TcpFlags,
    /// Window of TCP.
    TcpWindow,
    /// Urgent pointer of TCP.
    TcpUrgentPointer,
    /// Identifier of an echo request.
    EchoIdentifier,
    /// Sequence number of an echo request.
    EchoSequence,
}

/// A frame size that a test frame cannot have.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("frame size {size} is not between {smallest} and {largest} bytes")]
pub struct TemplateError {
    /// The size asked for.
    pub size: usize,
    /// The smallest that has room for headers and stamp.
    pub smallest: usize,
    /// The largest.
    pub largest: usize,
}

impl FrameLayout {
    /// Bytes that a VLAN tag, or all of them, take.
    pub fn tags_len(&self) -> usize {
        self.tags.len() * TAG_LEN
    }

    /// The smallest frame size that has room for all headers and the stamp, frame check sequence included.
    pub fn smallest_size(&self) -> usize {
        (self.payload_offset() + Stamp::LEN + FRAME_CHECK_SEQUENCE_LEN).max(MIN_FRAME_SIZE)
    }

    /// Where a field is; `None` when these headers do not have it.
    pub fn place(&self, field: HeaderField) -> Option<FieldPlace> {
        use HeaderField as F;
        let tag = |index| (index < self.tags.len()).then_some(ADDRESSES_LEN + TAG_LEN * index + ETHER_TYPE_LEN);
        let label = |index| (index < self.labels).then_some(self.labels_offset() + LABEL_LEN * index);
        let network = self.network_offset();
        let ip = |v4: Spot, v6: Spot| match self.content {
            Content::Raw(_) => None,
            // ICMP for IPv4 has no pseudo header.
            Content::Ipv4(Transport::Echo) => v4.outside_transport().place(network),
            Content::Ipv4(_) => v4.place(network),
            Content::Ipv6(_) => v6.place(network),
        };
        let transport =
            |wanted, spot: Spot| (self.transport() == Some(wanted)).then(|| spot.place(self.transport_offset()))?;
        let port = |offset| match self.transport()? {
            Transport::Udp | Transport::Tcp => Spot::bits(offset, Width::Two, 0, 16)
                .in_transport()
                .place(self.transport_offset()),
            Transport::Echo => None,
        };
        match field {
            F::DestinationMac => Spot::bits(0, Width::Six, 0, 48).place(0),
            F::SourceMac => Spot::bits(6, Width::Six, 0, 48).place(0),
            F::VlanId(index) => Spot::bits(0, Width::Two, 0, 12).place(tag(index)?),
            F::VlanPriority(index) => Spot::bits(0, Width::Two, 13, 3).place(tag(index)?),
            F::DropEligible(index) => Spot::bits(0, Width::Two, 12, 1).place(tag(index)?),
            F::Label(index) => Spot::bits(0, Width::Four, 12, 20).place(label(index)?),
            F::LabelTrafficClass(index) => Spot::bits(0, Width::Four, 9, 3).place(label(index)?),
            F::LabelTtl(index) => Spot::bits(0, Width::Four, 0, 8).place(label(index)?),
            F::SourceIp => ip(
                Spot::bits(12, Width::Four, 0, 32).in_network().in_transport(),
                Spot::bits(8, Width::Sixteen, 0, 128).in_transport(),
            ),
            F::DestinationIp => ip(
                Spot::bits(16, Width::Four, 0, 32).in_network().in_transport(),
                Spot::bits(24, Width::Sixteen, 0, 128).in_transport(),
            ),
            F::Dscp => ip(
                Spot::bits(0, Width::Two, 2, 6).in_network(),
                Spot::bits(0, Width::Two, 6, 6),
            ),
            F::Ecn => ip(
                Spot::bits(0, Width::Two, 0, 2).in_network(),
                Spot::bits(0, Width::Two, 4, 2),
            ),
            F::HopLimit => ip(
                Spot::bits(8, Width::Two, 8, 8).in_network(),
                Spot::bits(6, Width::Two, 0, 8),
            ),
            F::Identification => ip(Spot::bits(4, Width::Two, 0, 16).in_network(), Spot::NOWHERE),
            F::DontFragment => ip(Spot::bits(6, Width::Two, 14, 1).in_network(), Spot::NOWHERE),
            F::FlowLabel => ip(Spot::NOWHERE, Spot::bits(0, Width::Four, 0, 20)),
            F::SourcePort => port(0),
            F::DestinationPort => port(2),
            F::TcpSequence => transport(Transport::Tcp, Spot::bits(4, Width::Four, 0, 32).in_transport()),
            F::TcpAcknowledgement => transport(Transport::Tcp, Spot::bits(8, Width::Four, 0, 32).in_transport()),
            F::TcpFlags => transport(Transport::Tcp, Spot::bits(12, Width::Two, 0, 8).in_transport()),
            F::TcpWindow => transport(Transport::Tcp, Spot::bits(14, Width::Two, 0, 16).in_transport()),
            F::TcpUrgentPointer => transport(Transport::Tcp, Spot::bits(18, Width::Two, 0, 16).in_transport()),
            F::EchoIdentifier => transport(Transport::Echo, Spot::bits(4, Width::Two, 0, 16).in_transport()),
            F::EchoSequence => transport(Transport::Echo, Spot::bits(6, Width::Two, 0, 16).in_transport()),
        }
    }

    /// Prepares all frames of one size (frame check sequence included, as RFC 2544 counts), given the fields that all
    /// of them share; the others are zero. The payload is zero but for the stamp at its start.
    ///
    /// # Errors
    /// When the size has no room for headers and stamp, or is above [`MAX_FRAME_SIZE`].
    ///
    /// # Panics
    /// When a field is not one of these headers.
    pub fn template(&self, size: usize, fields: &[(HeaderField, u128)]) -> Result<TestTemplate, TemplateError> {
        let smallest = self.smallest_size();
        if !(smallest..=MAX_FRAME_SIZE).contains(&size) {
            return Err(TemplateError {
                size,
                smallest,
                largest: MAX_FRAME_SIZE,
            });
        }
        let mut bytes = vec![0; size - FRAME_CHECK_SEQUENCE_LEN];
        self.emit_below_network(&mut bytes);
        self.emit_network(&mut bytes[self.network_offset()..]);
        self.emit_transport(&mut bytes[self.transport_offset()..]);
        for &(field, value) in fields {
            let place = self.place(field).expect("the field is one of these headers");
            place.set(&mut bytes, value);
        }
        Ok(TestTemplate::generated(bytes))
    }

    fn emit_below_network(&self, bytes: &mut [u8]) {
        let mut at = ADDRESSES_LEN;
        for tag in &self.tags {
            bytes[at..at + 2].copy_from_slice(&tag.0.to_be_bytes());
            at += TAG_LEN;
        }
        let ether_type = match self.content {
            _ if self.labels > 0 => EtherType::MPLS,
            Content::Raw(ether_type) => ether_type,
            Content::Ipv4(_) => EtherType::IPV4,
            Content::Ipv6(_) => EtherType::IPV6,
        };
        bytes[at..at + 2].copy_from_slice(&ether_type.0.to_be_bytes());
        if self.labels > 0 {
            bytes[self.network_offset() - 2] |= BOTTOM_OF_STACK;
        }
    }

    fn emit_network(&self, packet: &mut [u8]) {
        let len = packet.len() as u16;
        match self.content {
            Content::Raw(_) => {}
            Content::Ipv4(transport) => {
                packet[0] = 0x45;
                packet[2..4].copy_from_slice(&len.to_be_bytes());
                packet[9] = match transport {
                    Transport::Udp => IpProtocol::UDP.0,
                    Transport::Tcp => IpProtocol::TCP.0,
                    Transport::Echo => IpProtocol::ICMP.0,
                };
            }
            Content::Ipv6(transport) => {
                packet[0] = 0x60;
                packet[4..6].copy_from_slice(&(len - Ipv6Header::LEN as u16).to_be_bytes());
                packet[6] = match transport {
                    Transport::Udp => IpProtocol::UDP.0,
                    Transport::Tcp => IpProtocol::TCP.0,
                    Transport::Echo => IpProtocol::ICMPV6.0,
                };
            }
        }
    }

    fn emit_transport(&self, segment: &mut [u8]) {
        match self.transport() {
            None => {}
            Some(Transport::Udp) => {
                let len = segment.len() as u16;
                segment[4..6].copy_from_slice(&len.to_be_bytes());
            }
            Some(Transport::Tcp) => segment[12] = (TCP_HEADER_LEN as u8 / 4) << 4,
            Some(Transport::Echo) if matches!(self.content, Content::Ipv6(_)) => segment[0] = ICMPV6_ECHO,
            Some(Transport::Echo) => segment[0] = ICMP_ECHO,
        }
    }

    fn transport(&self) -> Option<Transport> {
        match self.content {
            Content::Raw(_) => None,
            Content::Ipv4(transport) | Content::Ipv6(transport) => Some(transport),
        }
    }

    fn labels_offset(&self) -> usize {
        ADDRESSES_LEN + self.tags_len() + ETHER_TYPE_LEN
    }

    fn network_offset(&self) -> usize {
        self.labels_offset() + LABEL_LEN * self.labels
    }

    fn transport_offset(&self) -> usize {
        let network_len = match self.content {
            Content::Raw(_) => 0,
            Content::Ipv4(_) => Ipv4Header::LEN,
            Content::Ipv6(_) => Ipv6Header::LEN,
        };
        self.network_offset() + network_len
    }

    fn payload_offset(&self) -> usize {
        let transport_len = match self.transport() {
            None => 0,
            Some(Transport::Udp) => UdpView::HEADER_LEN,
            Some(Transport::Tcp) => TCP_HEADER_LEN,
            Some(Transport::Echo) => ECHO_HEADER_LEN,
        };
        self.transport_offset() + transport_len
    }
}

/// A place counted from the start of its header.
#[derive(Clone, Copy)]
struct Spot(FieldPlace);

impl Spot {
    const NOWHERE: Self = Self::bits(0, Width::Two, 0, 0);

    const fn bits(offset: usize, width: Width, shift: u32, bits: u32) -> Self {
        Self(FieldPlace {
            offset,
            width,
            shift,
            bits,
            is_in_network_sum: false,
            is_in_transport_sum: false,
        })
    }

    const fn in_network(mut self) -> Self {
        self.0.is_in_network_sum = true;
        self
    }

    const fn in_transport(mut self) -> Self {
        self.0.is_in_transport_sum = true;
        self
    }

    const fn outside_transport(mut self) -> Self {
        self.0.is_in_transport_sum = false;
        self
    }

    fn place(self, header: usize) -> Option<FieldPlace> {
        (self.0.bits > 0).then(|| FieldPlace {
            offset: header + self.0.offset,
            ..self.0
        })
    }
}
