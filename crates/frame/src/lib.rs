//! Frame formats: Ethernet, 802.1Q, MPLS, ARP, IPv4, IPv6, neighbour discovery, UDP, TCP, SCTP and ICMP, for every reader and writer.
//!
//! [`FIELDS`] is the one table of header fields: what each is called, where it lies, how wide it is and which checksums
//! cover it. [`Headers`] says where the headers of a frame lie; with it a [`Field`] is read, and written in place with
//! its checksums put right. A *view* ([`Ipv4View`]) borrows a packet and checks every length once, after which no
//! getter can panic.
//!
//! Bytes from a wire never panic here: they become a [`Malformed`]. Frames are held without their frame check
//! sequence, as operating systems hand them over; a *frame size* counts it, as RFC 2544 does.

mod arp;
mod checksum;
mod error;
mod ethernet;
mod field;
pub mod header_len;
mod headers;
mod ipv4;
mod ipv6;
mod neighbour;
mod offload;
mod packet;
mod reshape;
mod splice;
mod udp;

pub use arp::{ArpOperation, ArpPacket};
pub use checksum::Checksum;
pub use error::{Malformed, check_len, u16_at};
pub use ethernet::{EtherType, EthernetView, MacAddress, MacAddressError, VlanTag, VlanTagError};
pub use field::{Covering, FIELDS, Field, FieldInfo, VLAN_PRESENT, read_bits, write_bits};
pub use headers::{Header, Headers, extension};
pub use ipv4::{IpProtocol, Ipv4View};
pub use ipv6::Ipv6View;
pub use neighbour::{NeighbourAdvertisement, NeighbourSolicitation};
pub use offload::{Merged, PartialSum, Train, finish_checksum, finish_untold_checksum};
pub use packet::Packet;
pub use reshape::{InvalidTtl, NoRoom};
pub use splice::{Write, crc32c};
pub use udp::UdpView;

/// Bytes of the frame check sequence: part of every frame size, never part of the bytes held here.
pub const FRAME_CHECK_SEQUENCE_LEN: usize = 4;
/// The smallest Ethernet frame size (RFC 2544 section 9.1), frame check sequence included.
pub const MIN_FRAME_SIZE: usize = 64;
/// The largest frame size offered here: a jumbo frame of data centre switches, frame check sequence included.
pub const MAX_FRAME_SIZE: usize = 9216;
