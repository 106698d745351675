//! Frame formats: Ethernet, 802.1Q, ARP, IPv4, IPv6, UDP and the stamp that test frames carry.
//!
//! Two levels. A *view* (`Ipv4View`) borrows bytes: `parse` checks every length once, after which no getter can
//! panic. A *header* (`Ipv4Header`) is the owned, valid subset that this product writes: `emit` turns it into bytes.
//! [`TestTemplate`] and [`TestFrame`] put the levels together for whole test frames.
//!
//! Bytes from a wire never panic here: they become a [`Malformed`]. Frames are held without their frame check
//! sequence, as operating systems hand them over; a *frame size* counts it, as RFC 2544 does.

mod anatomy;
mod arp;
mod checksum;
mod error;
mod ethernet;
mod field;
mod field_place;
mod headers;
mod ipv4;
mod ipv6;
mod layout;
mod packet;
mod reshape;
mod splice;
mod stamp;
mod template;
mod test_frame;
mod udp;

pub use arp::{ArpOperation, ArpPacket};
pub use checksum::Checksum;
pub use error::Malformed;
pub use ethernet::{EtherType, EthernetHeader, EthernetView, MacAddress, MacAddressError, VlanTag, VlanTagError};
pub use field::{FIELDS, Field, FieldInfo, VLAN_PRESENT, read_bits, write_bits};
pub use field_place::FieldPlace;
pub use headers::{Header, Headers, extension};
pub use ipv4::{IpProtocol, Ipv4Header, Ipv4View};
pub use ipv6::{Ipv6Header, Ipv6View};
pub use layout::{Content, FrameLayout, HeaderField, TemplateError, Transport};
pub use packet::Packet;
pub use reshape::{InvalidTtl, NoRoom};
pub use splice::{Write, crc32c};
pub use stamp::{SEQUENCE_MASK, Stamp, TIMESTAMP_MASK};
pub use template::TestTemplate;
pub use test_frame::TestFrame;
pub use udp::{UdpPorts, UdpView};

/// Bytes of the frame check sequence: part of every frame size, never part of the bytes held here.
pub const FRAME_CHECK_SEQUENCE_LEN: usize = 4;
/// The smallest Ethernet frame size (RFC 2544 section 9.1), frame check sequence included.
pub const MIN_FRAME_SIZE: usize = 64;
/// The largest frame size offered here: a customary jumbo frame, frame check sequence included.
pub const MAX_FRAME_SIZE: usize = 9000;
