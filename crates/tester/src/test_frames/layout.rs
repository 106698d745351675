use brimful_frame::header_len::{ADDRESSES, ECHO, IPV4, IPV6, LABEL, TAG, TCP, UDP};
use brimful_frame::{EtherType, FRAME_CHECK_SEQUENCE_LEN, Field, Header, IpProtocol, MAX_FRAME_SIZE, MIN_FRAME_SIZE};
use thiserror::Error;

use super::place::{FieldPlace, Sums};
use super::stamp::Stamp;
use super::template::TestTemplate;

const ETHER_TYPE_LEN: usize = 2;
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
        self.tags.len() * TAG
    }

    /// The smallest frame size that has room for all headers and the stamp, frame check sequence included.
    pub fn smallest_size(&self) -> usize {
        (self.payload_offset() + Stamp::LEN + FRAME_CHECK_SEQUENCE_LEN).max(MIN_FRAME_SIZE)
    }

    /// Where a field is; `None` when these headers do not have it.
    pub fn place(&self, field: HeaderField) -> Option<FieldPlace> {
        let (field, index) = self.field(field)?;
        let mut places = field.info().places.iter();
        let (offset, bit) = places.find_map(|&(header, bit)| Some((self.header_offset(header, index)?, bit)))?;
        let is_v4 = matches!(self.content, Content::Ipv4(_));
        let sums = Sums {
            of_network: is_v4,
            // ICMP for IPv4 has no pseudo header.
            has_pseudo_header: !(is_v4 && self.transport() == Some(Transport::Echo)),
        };
        Some(FieldPlace::of(field, offset, bit, sums))
    }

    /// The field's row of the table of fields, and of which tag or label it is.
    fn field(&self, field: HeaderField) -> Option<(Field, usize)> {
        use HeaderField as F;
        let by_version = |v4, v6| match self.content {
            Content::Raw(_) => None,
            Content::Ipv4(_) => Some((v4, 0)),
            Content::Ipv6(_) => Some((v6, 0)),
        };
        let port = |udp, tcp| match self.transport()? {
            Transport::Udp => Some((udp, 0)),
            Transport::Tcp => Some((tcp, 0)),
            Transport::Echo => None,
        };
        match field {
            F::SourceIp => by_version(Field::Ipv4Src, Field::Ipv6Src),
            F::DestinationIp => by_version(Field::Ipv4Dst, Field::Ipv6Dst),
            F::SourcePort => port(Field::UdpSrc, Field::TcpSrc),
            F::DestinationPort => port(Field::UdpDst, Field::TcpDst),
            F::VlanId(index) => Some((Field::VlanVid, index)),
            F::VlanPriority(index) => Some((Field::VlanPcp, index)),
            F::DropEligible(index) => Some((Field::VlanDei, index)),
            F::Label(index) => Some((Field::MplsLabel, index)),
            F::LabelTrafficClass(index) => Some((Field::MplsTc, index)),
            F::LabelTtl(index) => Some((Field::MplsTtl, index)),
            F::DestinationMac => Some((Field::EthDst, 0)),
            F::SourceMac => Some((Field::EthSrc, 0)),
            F::Dscp => Some((Field::IpDscp, 0)),
            F::Ecn => Some((Field::IpEcn, 0)),
            F::HopLimit => Some((Field::IpTtl, 0)),
            F::Identification => Some((Field::Ipv4Id, 0)),
            F::DontFragment => Some((Field::Ipv4DontFragment, 0)),
            F::FlowLabel => Some((Field::Ipv6Flabel, 0)),
            F::TcpSequence => Some((Field::TcpSeq, 0)),
            F::TcpAcknowledgement => Some((Field::TcpAck, 0)),
            F::TcpFlags => Some((Field::TcpFlags, 0)),
            F::TcpWindow => Some((Field::TcpWindow, 0)),
            F::TcpUrgentPointer => Some((Field::TcpUrgent, 0)),
            F::EchoIdentifier => Some((Field::EchoId, 0)),
            F::EchoSequence => Some((Field::EchoSeq, 0)),
        }
    }

    /// Where a header begins; of tags and labels that with this index.
    fn header_offset(&self, header: Header, index: usize) -> Option<usize> {
        let transport = |wanted| (self.transport() == Some(wanted)).then(|| self.transport_offset());
        match header {
            Header::Ethernet => Some(0),
            Header::VlanTag => (index < self.tags.len()).then_some(ADDRESSES + TAG * index + ETHER_TYPE_LEN),
            Header::Mpls => (index < self.labels).then_some(self.labels_offset() + LABEL * index),
            Header::Ipv4 => matches!(self.content, Content::Ipv4(_)).then(|| self.network_offset()),
            Header::Ipv6 => matches!(self.content, Content::Ipv6(_)).then(|| self.network_offset()),
            Header::Udp => transport(Transport::Udp),
            Header::Tcp => transport(Transport::Tcp),
            Header::Echo => Some(transport(Transport::Echo)? + 4),
            _ => None,
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
        let mut at = ADDRESSES;
        for tag in &self.tags {
            bytes[at..at + 2].copy_from_slice(&tag.0.to_be_bytes());
            at += TAG;
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
                packet[4..6].copy_from_slice(&(len - IPV6 as u16).to_be_bytes());
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
            Some(Transport::Tcp) => segment[12] = (TCP as u8 / 4) << 4,
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
        ADDRESSES + self.tags_len() + ETHER_TYPE_LEN
    }

    fn network_offset(&self) -> usize {
        self.labels_offset() + LABEL * self.labels
    }

    fn transport_offset(&self) -> usize {
        let network_len = match self.content {
            Content::Raw(_) => 0,
            Content::Ipv4(_) => IPV4,
            Content::Ipv6(_) => IPV6,
        };
        self.network_offset() + network_len
    }

    fn payload_offset(&self) -> usize {
        let transport_len = match self.transport() {
            None => 0,
            Some(Transport::Udp) => UDP,
            Some(Transport::Tcp) => TCP,
            Some(Transport::Echo) => ECHO,
        };
        self.transport_offset() + transport_len
    }
}
