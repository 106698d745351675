use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::{
    Checksum, EtherType, EthernetHeader, FRAME_CHECK_SEQUENCE_LEN, IpProtocol, Ipv4Header, Ipv6Header, MAX_FRAME_SIZE,
    MIN_FRAME_SIZE, MacAddress, Stamp, UdpPorts, UdpView, VlanTag,
};

/// Hop limit of test frames: far from running out behind a chain of routers.
const HOP_LIMIT: u8 = 64;

/// Sender and receiver of an IP packet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IpAddresses {
    /// IPv4.
    V4 {
        /// Sender.
        source: Ipv4Addr,
        /// Receiver.
        destination: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Sender.
        source: Ipv6Addr,
        /// Receiver.
        destination: Ipv6Addr,
    },
}

/// What all test frames of one kind share.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct TestFrameFormat {
    /// Ethernet address of the receiver, or of the next hop towards it.
    pub destination_mac: MacAddress,
    /// Ethernet address of the sender.
    pub source_mac: MacAddress,
    /// The 802.1Q tag, if any.
    pub vlan: Option<VlanTag>,
    /// Both IP addresses.
    pub addresses: IpAddresses,
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

impl TestFrameFormat {
    /// The smallest frame size that has room for all headers and the stamp, frame check sequence included.
    pub fn smallest_size(&self) -> usize {
        let bytes = self.udp_offset() + UdpView::HEADER_LEN + Stamp::LEN;
        (bytes + FRAME_CHECK_SEQUENCE_LEN).max(MIN_FRAME_SIZE)
    }

    /// Prepares all frames of one size (frame check sequence included, as RFC 2544 counts).
    ///
    /// # Errors
    /// When the size has no room for headers and stamp, or is above [`MAX_FRAME_SIZE`].
    pub fn template(&self, size: usize) -> Result<TestTemplate, TemplateError> {
        let smallest = self.smallest_size();
        if !(smallest..=MAX_FRAME_SIZE).contains(&size) {
            return Err(TemplateError {
                size,
                smallest,
                largest: MAX_FRAME_SIZE,
            });
        }
        let mut bytes = vec![0; size - FRAME_CHECK_SEQUENCE_LEN];
        let udp_offset = self.udp_offset();
        let udp_len = (bytes.len() - udp_offset) as u16;
        let ethernet_len = self.ethernet().emit(&mut bytes);
        self.emit_ip(&mut bytes[ethernet_len..], udp_len);
        bytes[udp_offset + 4..udp_offset + 6].copy_from_slice(&udp_len.to_be_bytes());
        let udp_sum = self.pseudo_header(udp_len).with_word(udp_len);
        Ok(TestTemplate {
            bytes,
            udp_offset,
            udp_sum,
        })
    }

    fn ethernet(&self) -> EthernetHeader {
        EthernetHeader {
            destination: self.destination_mac,
            source: self.source_mac,
            vlan: self.vlan,
            ether_type: match self.addresses {
                IpAddresses::V4 { .. } => EtherType::IPV4,
                IpAddresses::V6 { .. } => EtherType::IPV6,
            },
        }
    }

    fn udp_offset(&self) -> usize {
        let ip_len = match self.addresses {
            IpAddresses::V4 { .. } => Ipv4Header::LEN,
            IpAddresses::V6 { .. } => Ipv6Header::LEN,
        };
        self.ethernet().byte_len() + ip_len
    }

    fn emit_ip(&self, buffer: &mut [u8], payload_len: u16) {
        match self.addresses {
            IpAddresses::V4 { source, destination } => Ipv4Header {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                protocol: IpProtocol::UDP,
                payload_len,
            }
            .emit(buffer),
            IpAddresses::V6 { source, destination } => Ipv6Header {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                next_header: IpProtocol::UDP,
                payload_len,
            }
            .emit(buffer),
        };
    }

    fn pseudo_header(&self, udp_len: u16) -> Checksum {
        let addresses = match self.addresses {
            IpAddresses::V4 { source, destination } => Checksum::new()
                .with_bytes(&source.octets())
                .with_bytes(&destination.octets()),
            IpAddresses::V6 { source, destination } => Checksum::new()
                .with_bytes(&source.octets())
                .with_bytes(&destination.octets()),
        };
        addresses.with_word(u16::from(IpProtocol::UDP.0)).with_word(udp_len)
    }
}

/// A test frame with everything filled in but ports and stamp; the payload behind the stamp is zero.
#[derive(Clone, Debug)]
pub struct TestTemplate {
    bytes: Vec<u8>,
    udp_offset: usize,
    udp_sum: Checksum,
}

impl TestTemplate {
    /// Bytes of the frame, frame check sequence not included.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes one frame to the start of `buffer`, checksums right, and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::byte_len`].
    pub fn fill(&self, buffer: &mut [u8], ports: UdpPorts, stamp: Stamp) -> usize {
        let frame = &mut buffer[..self.bytes.len()];
        frame.copy_from_slice(&self.bytes);
        let stamp = stamp.to_bytes();
        let sum = self
            .udp_sum
            .with_word(ports.source)
            .with_word(ports.destination)
            .with_bytes(&stamp);
        let udp = &mut frame[self.udp_offset..];
        udp[0..2].copy_from_slice(&ports.source.to_be_bytes());
        udp[2..4].copy_from_slice(&ports.destination.to_be_bytes());
        udp[6..8].copy_from_slice(&present(sum.finish()).to_be_bytes());
        udp[UdpView::HEADER_LEN..UdpView::HEADER_LEN + Stamp::LEN].copy_from_slice(&stamp);
        frame.len()
    }
}

/// A checksum of 0 would mean "none"; all ones has the same value (RFC 768).
fn present(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}
