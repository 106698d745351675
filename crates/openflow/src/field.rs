use std::fmt;

use brimful_frame::Field;

/// A match field of OpenFlow 1.3.5 section 7.2.3.7 or 1.4.1, class `OFPXMC_OPENFLOW_BASIC`. Its discriminant is its
/// number on the wire; [`MatchField::info`] has everything else.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum MatchField {
    InPort = 0,
    InPhyPort = 1,
    Metadata = 2,
    EthDst = 3,
    EthSrc = 4,
    EthType = 5,
    VlanVid = 6,
    VlanPcp = 7,
    IpDscp = 8,
    IpEcn = 9,
    IpProto = 10,
    Ipv4Src = 11,
    Ipv4Dst = 12,
    TcpSrc = 13,
    TcpDst = 14,
    UdpSrc = 15,
    UdpDst = 16,
    SctpSrc = 17,
    SctpDst = 18,
    Icmpv4Type = 19,
    Icmpv4Code = 20,
    ArpOp = 21,
    ArpSpa = 22,
    ArpTpa = 23,
    ArpSha = 24,
    ArpTha = 25,
    Ipv6Src = 26,
    Ipv6Dst = 27,
    Ipv6Flabel = 28,
    Icmpv6Type = 29,
    Icmpv6Code = 30,
    Ipv6NdTarget = 31,
    Ipv6NdSll = 32,
    Ipv6NdTll = 33,
    MplsLabel = 34,
    MplsTc = 35,
    MplsBos = 36,
    PbbIsid = 37,
    TunnelId = 38,
    Ipv6Exthdr = 39,
    PbbUca = 41,
}

/// Where the value of a match field comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// What accompanies the frame through the pipeline.
    Pipeline,
    /// The frame itself.
    Frame(Field),
}

/// What a match must also say for a field to be allowed in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prerequisite {
    /// Nothing.
    None,
    /// That field, with whatever value.
    Present(MatchField),
    /// A VLAN tag: `vlan_vid` other than `OFPVID_NONE`.
    Tagged,
    /// That field with one of these values, and no mask.
    OneOf(MatchField, &'static [u128]),
}

/// Everything about a match field.
#[derive(Clone, Copy, Debug)]
pub struct MatchFieldInfo {
    /// The field.
    pub field: MatchField,
    /// Its name in lower case, as tables in files and texts have it.
    pub name: &'static str,
    /// How many bits its value has.
    pub bits: u32,
    /// Whether it may have a mask.
    pub maskable: bool,
    /// What the match must also say.
    pub prerequisite: Prerequisite,
    /// Where its value comes from.
    pub source: Source,
}

const IP: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x0800, 0x86dd]);
const IPV4: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x0800]);
const IPV6: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x86dd]);
const ARP: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x0806]);
const MPLS: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x8847, 0x8848]);
const PBB: Prerequisite = Prerequisite::OneOf(MatchField::EthType, &[0x88e7]);
const TCP: Prerequisite = Prerequisite::OneOf(MatchField::IpProto, &[6]);
const UDP: Prerequisite = Prerequisite::OneOf(MatchField::IpProto, &[17]);
const SCTP: Prerequisite = Prerequisite::OneOf(MatchField::IpProto, &[132]);
const ICMPV4: Prerequisite = Prerequisite::OneOf(MatchField::IpProto, &[1]);
const ICMPV6: Prerequisite = Prerequisite::OneOf(MatchField::IpProto, &[58]);
const ND: Prerequisite = Prerequisite::OneOf(MatchField::Icmpv6Type, &[135, 136]);
const ND_SOLICITATION: Prerequisite = Prerequisite::OneOf(MatchField::Icmpv6Type, &[135]);
const ND_ADVERTISEMENT: Prerequisite = Prerequisite::OneOf(MatchField::Icmpv6Type, &[136]);

const fn pipeline(
    field: MatchField,
    name: &'static str,
    bits: u32,
    maskable: bool,
    prerequisite: Prerequisite,
) -> MatchFieldInfo {
    MatchFieldInfo {
        field,
        name,
        bits,
        maskable,
        prerequisite,
        source: Source::Pipeline,
    }
}

const fn frame(field: MatchField, place: Field, maskable: bool, prerequisite: Prerequisite) -> MatchFieldInfo {
    MatchFieldInfo {
        field,
        name: place.info().name,
        bits: place.info().bits,
        maskable,
        prerequisite,
        source: Source::Frame(place),
    }
}

/// All match fields in the order of their numbers.
pub const MATCH_FIELDS: [MatchFieldInfo; 41] = {
    use Field as F;
    use MatchField as M;
    use Prerequisite::{None, Present, Tagged};
    [
        pipeline(M::InPort, "in_port", 32, false, None),
        pipeline(M::InPhyPort, "in_phy_port", 32, false, Present(M::InPort)),
        pipeline(M::Metadata, "metadata", 64, true, None),
        frame(M::EthDst, F::EthDst, true, None),
        frame(M::EthSrc, F::EthSrc, true, None),
        frame(M::EthType, F::EthType, false, None),
        frame(M::VlanVid, F::VlanVid, true, None),
        frame(M::VlanPcp, F::VlanPcp, false, Tagged),
        frame(M::IpDscp, F::IpDscp, false, IP),
        frame(M::IpEcn, F::IpEcn, false, IP),
        frame(M::IpProto, F::IpProto, false, IP),
        frame(M::Ipv4Src, F::Ipv4Src, true, IPV4),
        frame(M::Ipv4Dst, F::Ipv4Dst, true, IPV4),
        frame(M::TcpSrc, F::TcpSrc, true, TCP),
        frame(M::TcpDst, F::TcpDst, true, TCP),
        frame(M::UdpSrc, F::UdpSrc, true, UDP),
        frame(M::UdpDst, F::UdpDst, true, UDP),
        frame(M::SctpSrc, F::SctpSrc, true, SCTP),
        frame(M::SctpDst, F::SctpDst, true, SCTP),
        frame(M::Icmpv4Type, F::Icmpv4Type, false, ICMPV4),
        frame(M::Icmpv4Code, F::Icmpv4Code, false, ICMPV4),
        frame(M::ArpOp, F::ArpOp, false, ARP),
        frame(M::ArpSpa, F::ArpSpa, true, ARP),
        frame(M::ArpTpa, F::ArpTpa, true, ARP),
        frame(M::ArpSha, F::ArpSha, true, ARP),
        frame(M::ArpTha, F::ArpTha, true, ARP),
        frame(M::Ipv6Src, F::Ipv6Src, true, IPV6),
        frame(M::Ipv6Dst, F::Ipv6Dst, true, IPV6),
        frame(M::Ipv6Flabel, F::Ipv6Flabel, true, IPV6),
        frame(M::Icmpv6Type, F::Icmpv6Type, false, ICMPV6),
        frame(M::Icmpv6Code, F::Icmpv6Code, false, ICMPV6),
        frame(M::Ipv6NdTarget, F::Ipv6NdTarget, false, ND),
        frame(M::Ipv6NdSll, F::Ipv6NdSll, false, ND_SOLICITATION),
        frame(M::Ipv6NdTll, F::Ipv6NdTll, false, ND_ADVERTISEMENT),
        frame(M::MplsLabel, F::MplsLabel, false, MPLS),
        frame(M::MplsTc, F::MplsTc, false, MPLS),
        frame(M::MplsBos, F::MplsBos, false, MPLS),
        frame(M::PbbIsid, F::PbbIsid, true, PBB),
        pipeline(M::TunnelId, "tunnel_id", 64, true, None),
        frame(M::Ipv6Exthdr, F::Ipv6Exthdr, true, IPV6),
        frame(M::PbbUca, F::PbbUca, false, PBB),
    ]
};

impl MatchField {
    /// Its row of the table.
    pub const fn info(self) -> &'static MatchFieldInfo {
        // Number 40 is not given.
        let number = self as usize;
        &MATCH_FIELDS[if number > 40 { number - 1 } else { number }]
    }

    /// The field with a number of the wire.
    pub fn from_number(number: u8) -> Option<Self> {
        // Number 40 is not given.
        let index = match number {
            0..=39 => number,
            41 => 40,
            _ => return None,
        };
        Some(MATCH_FIELDS[usize::from(index)].field)
    }

    /// The field with a name in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut rows = MATCH_FIELDS.iter();
        rows.find(|row| row.name == name).map(|row| row.field)
    }

    /// The largest value that it can have: also the mask of an exact match.
    pub const fn largest(self) -> u128 {
        u128::MAX >> (128 - self.info().bits)
    }
}

impl fmt::Display for MatchField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.info().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_field_number_and_name() {
        for row in &MATCH_FIELDS {
            assert_eq!(row.field.info().name, row.name);
            assert_eq!(MatchField::from_number(row.field as u8), Some(row.field));
            assert_eq!(MatchField::from_name(row.name), Some(row.field));
        }
        assert_eq!(MatchField::from_number(40), None);
    }
}
