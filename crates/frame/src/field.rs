use crate::headers::{Header, Headers};

/// A field of a frame's headers. [`Field::info`] says what it is called and where it lies.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
#[allow(
    missing_docs,
    reason = "the names are the standard's and stand in the table with their places"
)]
pub enum Field {
    EthDst,
    EthSrc,
    EthType,
    VlanVid,
    VlanPcp,
    IpDscp,
    IpEcn,
    IpProto,
    Ipv4Src,
    Ipv4Dst,
    TcpSrc,
    TcpDst,
    UdpSrc,
    UdpDst,
    SctpSrc,
    SctpDst,
    Icmpv4Type,
    Icmpv4Code,
    ArpOp,
    ArpSpa,
    ArpTpa,
    ArpSha,
    ArpTha,
    Ipv6Src,
    Ipv6Dst,
    Ipv6Flabel,
    Icmpv6Type,
    Icmpv6Code,
    Ipv6NdTarget,
    Ipv6NdSll,
    Ipv6NdTll,
    MplsLabel,
    MplsTc,
    MplsBos,
    MplsTtl,
    PbbIsid,
    PbbUca,
    Ipv6Exthdr,
    IpTtl,
    VlanDei,
    Ipv4Id,
    Ipv4DontFragment,
    TcpSeq,
    TcpAck,
    TcpFlags,
    TcpWindow,
    TcpUrgent,
    EchoId,
    EchoSeq,
}

/// The Internet checksums that cover a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Covering {
    /// None.
    Nothing,
    /// That of the header of IPv4, where the field lies in one.
    Network,
    /// The same, and by the pseudo header that of what IP carries, but for ICMP in IPv4, which has none.
    Addresses,
    /// That of what IP carries.
    Segment,
}

/// What a field is called and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// The field.
    pub field: Field,
    /// The standard's name in lower case (`ipv4_src`).
    pub name: &'static str,
    /// How many bits its value has. [`Field::VlanVid`] counts the bit that says that there is a tag.
    pub bits: u32,
    /// The checksums that a change of it changes.
    pub covering: Covering,
    /// Headers that have it, with the bit at which it begins there. A frame has one of them at most.
    /// [`Field::Ipv6Exthdr`] is computed and lies nowhere.
    pub places: &'static [(Header, u32)],
}

const fn row(
    field: Field,
    name: &'static str,
    bits: u32,
    covering: Covering,
    places: &'static [(Header, u32)],
) -> FieldInfo {
    FieldInfo {
        field,
        name,
        bits,
        covering,
        places,
    }
}

/// All fields, each at the index of its discriminant.
pub const FIELDS: [FieldInfo; 49] = {
    use Covering::{Addresses, Network, Nothing, Segment};
    use Field as F;
    use Header as H;
    [
        row(F::EthDst, "eth_dst", 48, Nothing, &[(H::Ethernet, 0)]),
        row(F::EthSrc, "eth_src", 48, Nothing, &[(H::Ethernet, 48)]),
        row(F::EthType, "eth_type", 16, Nothing, &[(H::EtherType, 0)]),
        row(F::VlanVid, "vlan_vid", 13, Nothing, &[(H::VlanTag, 3)]),
        row(F::VlanPcp, "vlan_pcp", 3, Nothing, &[(H::VlanTag, 0)]),
        row(F::IpDscp, "ip_dscp", 6, Network, &[(H::Ipv4, 8), (H::Ipv6, 4)]),
        row(F::IpEcn, "ip_ecn", 2, Network, &[(H::Ipv4, 14), (H::Ipv6, 10)]),
        row(F::IpProto, "ip_proto", 8, Network, &[(H::IpProtocol, 0)]),
        row(F::Ipv4Src, "ipv4_src", 32, Addresses, &[(H::Ipv4, 96)]),
        row(F::Ipv4Dst, "ipv4_dst", 32, Addresses, &[(H::Ipv4, 128)]),
        row(F::TcpSrc, "tcp_src", 16, Segment, &[(H::Tcp, 0)]),
        row(F::TcpDst, "tcp_dst", 16, Segment, &[(H::Tcp, 16)]),
        row(F::UdpSrc, "udp_src", 16, Segment, &[(H::Udp, 0)]),
        row(F::UdpDst, "udp_dst", 16, Segment, &[(H::Udp, 16)]),
        row(F::SctpSrc, "sctp_src", 16, Nothing, &[(H::Sctp, 0)]),
        row(F::SctpDst, "sctp_dst", 16, Nothing, &[(H::Sctp, 16)]),
        row(F::Icmpv4Type, "icmpv4_type", 8, Segment, &[(H::Icmpv4, 0)]),
        row(F::Icmpv4Code, "icmpv4_code", 8, Segment, &[(H::Icmpv4, 8)]),
        row(F::ArpOp, "arp_op", 16, Nothing, &[(H::Arp, 48)]),
        row(F::ArpSpa, "arp_spa", 32, Nothing, &[(H::Arp, 112)]),
        row(F::ArpTpa, "arp_tpa", 32, Nothing, &[(H::Arp, 192)]),
        row(F::ArpSha, "arp_sha", 48, Nothing, &[(H::Arp, 64)]),
        row(F::ArpTha, "arp_tha", 48, Nothing, &[(H::Arp, 144)]),
        row(F::Ipv6Src, "ipv6_src", 128, Addresses, &[(H::Ipv6, 64)]),
        row(F::Ipv6Dst, "ipv6_dst", 128, Addresses, &[(H::Ipv6, 192)]),
        row(F::Ipv6Flabel, "ipv6_flabel", 20, Nothing, &[(H::Ipv6, 12)]),
        row(F::Icmpv6Type, "icmpv6_type", 8, Segment, &[(H::Icmpv6, 0)]),
        row(F::Icmpv6Code, "icmpv6_code", 8, Segment, &[(H::Icmpv6, 8)]),
        row(F::Ipv6NdTarget, "ipv6_nd_target", 128, Segment, &[(H::NdTarget, 0)]),
        row(F::Ipv6NdSll, "ipv6_nd_sll", 48, Segment, &[(H::NdSourceAddress, 0)]),
        row(F::Ipv6NdTll, "ipv6_nd_tll", 48, Segment, &[(H::NdTargetAddress, 0)]),
        row(F::MplsLabel, "mpls_label", 20, Nothing, &[(H::Mpls, 0)]),
        row(F::MplsTc, "mpls_tc", 3, Nothing, &[(H::Mpls, 20)]),
        row(F::MplsBos, "mpls_bos", 1, Nothing, &[(H::Mpls, 23)]),
        row(F::MplsTtl, "mpls_ttl", 8, Nothing, &[(H::Mpls, 24)]),
        row(F::PbbIsid, "pbb_isid", 24, Nothing, &[(H::Pbb, 8)]),
        row(F::PbbUca, "pbb_uca", 1, Nothing, &[(H::Pbb, 4)]),
        row(F::Ipv6Exthdr, "ipv6_exthdr", 9, Nothing, &[]),
        row(F::IpTtl, "ip_ttl", 8, Network, &[(H::Ipv4, 64), (H::Ipv6, 56)]),
        row(F::VlanDei, "vlan_dei", 1, Nothing, &[(H::VlanTag, 3)]),
        row(F::Ipv4Id, "ipv4_id", 16, Network, &[(H::Ipv4, 32)]),
        row(F::Ipv4DontFragment, "ipv4_dont_fragment", 1, Network, &[(H::Ipv4, 49)]),
        row(F::TcpSeq, "tcp_seq", 32, Segment, &[(H::Tcp, 32)]),
        row(F::TcpAck, "tcp_ack", 32, Segment, &[(H::Tcp, 64)]),
        row(F::TcpFlags, "tcp_flags", 8, Segment, &[(H::Tcp, 104)]),
        row(F::TcpWindow, "tcp_window", 16, Segment, &[(H::Tcp, 112)]),
        row(F::TcpUrgent, "tcp_urgent", 16, Segment, &[(H::Tcp, 144)]),
        row(F::EchoId, "echo_id", 16, Segment, &[(H::Echo, 0)]),
        row(F::EchoSeq, "echo_seq", 16, Segment, &[(H::Echo, 16)]),
    ]
};

/// The bit of [`Field::VlanVid`] that says that there is a tag (OF 1.3.5 section 7.2.3.7, `OFPVID_PRESENT`).
pub const VLAN_PRESENT: u128 = 0x1000;

impl Field {
    /// Its row of the table.
    pub const fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// The largest value that it can have.
    pub const fn largest(self) -> u128 {
        u128::MAX >> (128 - self.info().bits)
    }

    /// Of its bits, the first and the number of those that lie in a frame: [`VLAN_PRESENT`] does not, and in its place
    /// stands the drop eligible indicator.
    pub const fn stored(self) -> (u32, u32) {
        match self {
            Self::VlanVid => (1, 12),
            _ => (0, self.info().bits),
        }
    }

    /// The bit of the frame at which it begins; `None` where these headers do not have it.
    pub fn bit_offset(self, headers: &Headers) -> Option<usize> {
        let mut places = self.info().places.iter();
        places.find_map(|&(header, bit)| Some(headers.offset(header)? * 8 + bit as usize))
    }

    /// Its value as a match sees it; `None` where the frame does not have it. A frame without a tag has
    /// [`Field::VlanVid`] 0, one with a tag has [`VLAN_PRESENT`] and its id.
    pub fn read(self, frame: &[u8], headers: &Headers) -> Option<u128> {
        match self {
            Self::VlanVid => Some(match headers.offset(Header::VlanTag) {
                Some(at) => VLAN_PRESENT | u128::from(u16::from_be_bytes([frame[at], frame[at + 1]]) & 0xfff),
                None if headers.offset(Header::Ethernet).is_some() => 0,
                None => return None,
            }),
            Self::Ipv6Exthdr => headers
                .offset(Header::Ipv6)
                .map(|_| u128::from(headers.ipv6_extensions)),
            _ => Some(read_bits(frame, self.bit_offset(headers)?, self.info().bits)),
        }
    }
}

/// The value of up to 128 bits that begin at a bit of `bytes`, which holds them.
pub fn read_bits(bytes: &[u8], first_bit: usize, bits: u32) -> u128 {
    let (first, last) = (first_bit / 8, (first_bit + bits as usize - 1) / 8);
    let behind = 7 - (first_bit + bits as usize - 1) % 8;
    let mut value = 0_u128;
    for &byte in &bytes[first..last] {
        value = value << 8 | u128::from(byte);
    }
    value = value << (8 - behind) | u128::from(bytes[last] >> behind);
    value & (u128::MAX >> (128 - bits))
}

/// Writes a value of up to 128 bits over those that begin at a bit of `bytes`; the bits around them stay.
pub fn write_bits(bytes: &mut [u8], first_bit: usize, bits: u32, value: u128) {
    let mut left = bits;
    let mut bit = first_bit + bits as usize;
    let mut value = value;
    while left > 0 {
        let byte = &mut bytes[(bit - 1) / 8];
        let shift = 7 - (bit - 1) % 8;
        let count = left.min(8 - shift as u32);
        let mask = ((1_u16 << count) - 1) as u8;
        *byte = *byte & !(mask << shift) | (value as u8 & mask) << shift;
        value = value.checked_shr(count).unwrap_or(0);
        bit -= count as usize;
        left -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_stand_at_their_fields() {
        for (index, info) in FIELDS.iter().enumerate() {
            assert_eq!(info.field as usize, index, "{}", info.name);
        }
    }

    fn naive_bits(bytes: &[u8], first_bit: usize, bits: u32) -> u128 {
        (first_bit..first_bit + bits as usize)
            .map(|bit| u128::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
            .fold(0, |value, bit| value << 1 | bit)
    }

    proptest! {
        #[test]
        fn bits_are_read_and_written_alone(bytes: [u8; 24], first_bit in 0..60_usize, bits in 1..=128_u32, value: u128) {
            let value = value & (u128::MAX >> (128 - bits));
            prop_assert_eq!(read_bits(&bytes, first_bit, bits), naive_bits(&bytes, first_bit, bits));
            let mut changed = bytes;
            write_bits(&mut changed, first_bit, bits, value);
            prop_assert_eq!(read_bits(&changed, first_bit, bits), value);
            for bit in (0..192).filter(|bit| !(first_bit..first_bit + bits as usize).contains(bit)) {
                prop_assert_eq!(naive_bits(&changed, bit, 1), naive_bits(&bytes, bit, 1));
            }
        }
    }
}
