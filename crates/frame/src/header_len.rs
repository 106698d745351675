//! Bytes of headers, without options.

/// The two addresses of Ethernet.
pub const ADDRESSES: usize = 12;
/// A VLAN tag.
pub const TAG: usize = 4;
/// An entry of an MPLS label stack.
pub const LABEL: usize = 4;
/// IPv4.
pub const IPV4: usize = 20;
/// IPv6.
pub const IPV6: usize = 40;
/// TCP.
pub const TCP: usize = 20;
/// UDP.
pub const UDP: usize = 8;
/// SCTP, without chunks.
pub const SCTP: usize = 12;
/// An echo request or reply of ICMP or `ICMPv6`.
pub const ECHO: usize = 8;
