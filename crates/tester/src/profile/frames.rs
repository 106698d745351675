use std::collections::BTreeMap;

use brimful_frame::EtherType;
use serde_json::{Map, Value, json};

use super::field_values::{Kind, read_values};
use super::keys::{
    FieldKey, FrameKeys, IcmpKeys, Ipv4Keys, Ipv6Keys, MplsKeys, RawKeys, SizeKey, SizesKey, TagKey, TcpKeys, UdpKeys,
    VlanKeys,
};
use super::values::{FrameNumber, Values};
use super::{FrameSizes, Genome, IpVersion, MAX_FLOWS, WeightedSize};
use crate::test_frames::{Content, FrameLayout, HeaderField, Transport};

/// For experiments (IEEE 802), so that no device knows better.
const LOCAL_EXPERIMENT: EtherType = EtherType(0x88b5);
/// Smaller numbers there are lengths (IEEE 802.3 section 3.2.6).
const SMALLEST_ETHER_TYPE: u16 = 0x0600;
/// From one field to the next, so that the same seed is no relation.
const SEED_STEP: u64 = 1 << 32;

/// The frames of one direction as far as the file says, each part checked by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) sizes: Option<FrameSizes>,
    pub(super) flows: Option<u32>,
    pub(super) tags: Vec<EtherType>,
    pub(super) labels: usize,
    pub(super) packet: Packet,
    pub(super) fields: BTreeMap<HeaderField, Values>,
    /// The frames are another direction's on their way back.
    pub(super) is_mirrored: bool,
}

/// What is within Ethernet, tags and labels.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packet {
    Raw(EtherType),
    /// The version is left open where the file has no header of either.
    Ip(Option<IpVersion>, Transport),
}

impl Default for Packet {
    fn default() -> Self {
        Self::Ip(None, Transport::Udp)
    }
}

/// The frames of one direction, nothing left open.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) sizes: FrameSizes,
    pub(super) flows: u32,
    pub(super) layout: FrameLayout,
    pub(super) fields: BTreeMap<HeaderField, Values>,
}

impl Draft {
    pub(super) fn new(keys: &FrameKeys) -> Result<Self, String> {
        let flows = keys.flows;
        if flows.is_some_and(|flows| !(1..=MAX_FLOWS).contains(&flows)) {
            return Err(format!("flows: not between 1 and {MAX_FLOWS}"));
        }
        let mut draft = Self {
            sizes: keys.sizes.as_ref().map(read_sizes).transpose()?,
            flows,
            tags: tags(&keys.vlan),
            labels: keys.mpls.len(),
            packet: packet(keys)?,
            fields: BTreeMap::new(),
            is_mirrored: false,
        };
        draft.read(HeaderField::SourceMac, "ethernet.source", keys.ethernet.source.as_ref())?;
        draft.read(
            HeaderField::DestinationMac,
            "ethernet.destination",
            keys.ethernet.destination.as_ref(),
        )?;
        for (index, tag) in keys.vlan.iter().enumerate() {
            draft.read_tag(index, tag)?;
        }
        for (index, label) in keys.mpls.iter().enumerate() {
            draft.read_label(index, label)?;
        }
        keys.ipv4.as_ref().map_or(Ok(()), |ipv4| draft.read_ipv4(ipv4))?;
        keys.ipv6.as_ref().map_or(Ok(()), |ipv6| draft.read_ipv6(ipv6))?;
        keys.udp.as_ref().map_or(Ok(()), |udp| draft.read_udp(udp))?;
        keys.tcp.as_ref().map_or(Ok(()), |tcp| draft.read_tcp(tcp))?;
        keys.icmp.as_ref().map_or(Ok(()), |icmp| draft.read_icmp(icmp))?;
        Ok(draft)
    }

    /// The same frames on their way back: sender and receiver swapped.
    #[must_use]
    pub(super) fn mirrored(&self) -> Self {
        let fields = self
            .fields
            .iter()
            .map(|(&field, values)| (mirror(field), values.clone()));
        Self {
            fields: fields.collect(),
            is_mirrored: true,
            ..self.clone()
        }
    }

    fn read_tag(&mut self, index: usize, keys: &VlanKeys) -> Result<(), String> {
        self.read(HeaderField::VlanId(index), &format!("vlan[{index}].id"), Some(&keys.id))?;
        self.read(
            HeaderField::VlanPriority(index),
            &format!("vlan[{index}].priority"),
            keys.priority.as_ref(),
        )?;
        self.read(
            HeaderField::DropEligible(index),
            &format!("vlan[{index}].drop_eligible"),
            keys.drop_eligible.as_ref(),
        )
    }

    fn read_label(&mut self, index: usize, keys: &MplsKeys) -> Result<(), String> {
        let name = |key| format!("mpls[{index}].{key}");
        self.read(HeaderField::Label(index), &name("label"), Some(&keys.label))?;
        let traffic_class = keys.traffic_class.as_ref();
        self.read(
            HeaderField::LabelTrafficClass(index),
            &name("traffic_class"),
            traffic_class,
        )?;
        self.read(HeaderField::LabelTtl(index), &name("ttl"), keys.ttl.as_ref())
    }

    fn read_ipv4(&mut self, keys: &Ipv4Keys) -> Result<(), String> {
        self.read(HeaderField::SourceIp, "ipv4.source", keys.source.as_ref())?;
        self.read(
            HeaderField::DestinationIp,
            "ipv4.destination",
            keys.destination.as_ref(),
        )?;
        self.read(HeaderField::Dscp, "ipv4.dscp", keys.dscp.as_ref())?;
        self.read(HeaderField::Ecn, "ipv4.ecn", keys.ecn.as_ref())?;
        self.read(HeaderField::HopLimit, "ipv4.ttl", keys.ttl.as_ref())?;
        self.read(
            HeaderField::Identification,
            "ipv4.identification",
            keys.identification.as_ref(),
        )?;
        self.read(
            HeaderField::DontFragment,
            "ipv4.dont_fragment",
            keys.dont_fragment.as_ref(),
        )
    }

    fn read_ipv6(&mut self, keys: &Ipv6Keys) -> Result<(), String> {
        self.read(HeaderField::SourceIp, "ipv6.source", keys.source.as_ref())?;
        self.read(
            HeaderField::DestinationIp,
            "ipv6.destination",
            keys.destination.as_ref(),
        )?;
        self.read(HeaderField::Dscp, "ipv6.dscp", keys.dscp.as_ref())?;
        self.read(HeaderField::Ecn, "ipv6.ecn", keys.ecn.as_ref())?;
        self.read(HeaderField::HopLimit, "ipv6.hop_limit", keys.hop_limit.as_ref())?;
        self.read(HeaderField::FlowLabel, "ipv6.flow_label", keys.flow_label.as_ref())
    }

    fn read_udp(&mut self, keys: &UdpKeys) -> Result<(), String> {
        self.read(HeaderField::SourcePort, "udp.source_port", keys.source_port.as_ref())?;
        self.read(
            HeaderField::DestinationPort,
            "udp.destination_port",
            keys.destination_port.as_ref(),
        )
    }

    fn read_tcp(&mut self, keys: &TcpKeys) -> Result<(), String> {
        self.read(HeaderField::SourcePort, "tcp.source_port", keys.source_port.as_ref())?;
        self.read(
            HeaderField::DestinationPort,
            "tcp.destination_port",
            keys.destination_port.as_ref(),
        )?;
        self.read(HeaderField::TcpSequence, "tcp.sequence", keys.sequence.as_ref())?;
        self.read(
            HeaderField::TcpAcknowledgement,
            "tcp.acknowledgement",
            keys.acknowledgement.as_ref(),
        )?;
        self.read(HeaderField::TcpWindow, "tcp.window", keys.window.as_ref())?;
        self.read(
            HeaderField::TcpUrgentPointer,
            "tcp.urgent_pointer",
            keys.urgent_pointer.as_ref(),
        )?;
        if let Some(flags) = &keys.flags {
            let bits = flags.iter().fold(0, |bits, &flag| bits | flag as u128);
            self.fields.insert(HeaderField::TcpFlags, Values::Fixed(bits));
        }
        Ok(())
    }

    fn read_icmp(&mut self, keys: &IcmpKeys) -> Result<(), String> {
        self.read(HeaderField::EchoIdentifier, "icmp.identifier", keys.identifier.as_ref())?;
        self.read(HeaderField::EchoSequence, "icmp.sequence", keys.sequence.as_ref())
    }

    fn read(&mut self, field: HeaderField, name: &str, key: Option<&FieldKey>) -> Result<(), String> {
        if let Some(key) = key {
            let seed_offset = self.fields.len() as u64 * SEED_STEP;
            let kind = self.kind(field);
            let values = read_values(key, kind, seed_offset).map_err(|error| format!("{name}: {error}"))?;
            self.fields.insert(field, values);
        }
        Ok(())
    }

    fn kind(&self, field: HeaderField) -> Kind {
        use HeaderField as F;
        match field {
            F::SourceMac => Kind::StationMac,
            F::DestinationMac => Kind::Mac,
            F::SourceIp | F::DestinationIp => match self.packet {
                Packet::Ip(Some(IpVersion::V6), _) => Kind::Ipv6,
                _ => Kind::Ipv4,
            },
            F::VlanId(_) => Kind::Integer(1, 4094),
            F::VlanPriority(_) | F::LabelTrafficClass(_) => Kind::Integer(0, 7),
            F::Label(_) | F::FlowLabel => Kind::Integer(0, (1 << 20) - 1),
            F::Dscp => Kind::Integer(0, 63),
            F::Ecn => Kind::Integer(0, 3),
            F::DropEligible(_) | F::DontFragment => Kind::Integer(0, 1),
            // Frames that die on their way are of no use.
            F::HopLimit | F::LabelTtl(_) => Kind::Integer(1, 255),
            F::TcpFlags => Kind::Integer(0, 255),
            F::TcpSequence | F::TcpAcknowledgement => Kind::Integer(0, (1 << 32) - 1),
            F::Identification
            | F::SourcePort
            | F::DestinationPort
            | F::TcpWindow
            | F::TcpUrgentPointer
            | F::EchoIdentifier
            | F::EchoSequence => Kind::Integer(0, 65_535),
        }
    }
}

fn read_sizes(key: &SizesKey) -> Result<FrameSizes, String> {
    let entry = |key: &SizeKey| WeightedSize {
        size: key.size,
        weight: key.weight,
    };
    let sizes = match key {
        SizesKey::One(size) => Ok(FrameSizes::Fixed(*size)),
        SizesKey::Text(text) if text == "imix" => Ok(FrameSizes::Imix),
        SizesKey::Text(text) => Genome::parse(text, &BTreeMap::new()).map(FrameSizes::Genome),
        SizesKey::Genome(key) => Genome::parse(&key.genome, &key.letters).map(FrameSizes::Genome),
        SizesKey::List(list) => FrameSizes::mix(list.iter().map(entry).collect()),
    };
    sizes.map_err(|error| format!("sizes: {error}"))
}

/// Without a type the outermost of several tags is the service provider's.
fn tags(keys: &[VlanKeys]) -> Vec<EtherType> {
    let kind = |(index, tag): (usize, &VlanKeys)| match tag.kind {
        Some(TagKey::Service) => EtherType::SERVICE_VLAN,
        None if index == 0 && keys.len() > 1 => EtherType::SERVICE_VLAN,
        Some(TagKey::Customer) | None => EtherType::VLAN,
    };
    keys.iter().enumerate().map(kind).collect()
}

fn packet(keys: &FrameKeys) -> Result<Packet, String> {
    let transports = [
        ("[udp]", keys.udp.is_some(), Transport::Udp),
        ("[tcp]", keys.tcp.is_some(), Transport::Tcp),
        ("[icmp]", keys.icmp.is_some(), Transport::Echo),
    ];
    let transport = match only_one(&transports)? {
        Some((name, _)) if keys.raw.is_some() => return Err(format!("[raw] and {name}: leave one of them out")),
        Some((_, transport)) => transport,
        None => Transport::Udp,
    };
    let networks = [
        ("[ipv4]", keys.ipv4.is_some(), Some(IpVersion::V4)),
        ("[ipv6]", keys.ipv6.is_some(), Some(IpVersion::V6)),
        ("[raw]", keys.raw.is_some(), None),
    ];
    match (only_one(&networks)?, &keys.raw) {
        (_, Some(raw)) => raw_type(*raw, !keys.mpls.is_empty()).map(Packet::Raw),
        (version, None) => Ok(Packet::Ip(version.and_then(|(_, version)| version), transport)),
    }
}

fn only_one<T: Copy>(tables: &[(&'static str, bool, T)]) -> Result<Option<(&'static str, T)>, String> {
    let mut present = tables.iter().filter(|(_, is_there, _)| *is_there);
    let first = present.next().map(|&(name, _, what)| (name, what));
    match (first, present.next()) {
        (Some((first, _)), Some((second, ..))) => Err(format!("{first} and {second}: leave one of them out")),
        _ => Ok(first),
    }
}

fn raw_type(keys: RawKeys, is_below_labels: bool) -> Result<EtherType, String> {
    match keys.ether_type.map(EtherType) {
        None => Ok(LOCAL_EXPERIMENT),
        Some(_) if is_below_labels => Err("raw.ether_type: below MPLS labels there is none; leave it out".to_owned()),
        Some(EtherType::IPV4 | EtherType::IPV6) => {
            Err("raw.ether_type: write [ipv4] or [ipv6] instead of [raw]".to_owned())
        }
        Some(known) if known.is_tag() || [EtherType::ARP, EtherType::MPLS].contains(&known) => Err(format!(
            "raw.ether_type: {:#06x} has headers of its own; write [[vlan]] or [[mpls]], or another type",
            known.0
        )),
        Some(EtherType(length)) if length < SMALLEST_ETHER_TYPE => Err(format!(
            "raw.ether_type: {length:#06x} is a length; types begin at {SMALLEST_ETHER_TYPE:#06x}"
        )),
        Some(ether_type) => Ok(ether_type),
    }
}

fn mirror(field: HeaderField) -> HeaderField {
    use HeaderField as F;
    match field {
        F::SourceMac => F::DestinationMac,
        F::DestinationMac => F::SourceMac,
        F::SourceIp => F::DestinationIp,
        F::DestinationIp => F::SourceIp,
        F::SourcePort => F::DestinationPort,
        F::DestinationPort => F::SourcePort,
        other => other,
    }
}

impl Frames {
    /// Version of IP, where frames have it.
    pub(super) fn version(&self) -> Option<IpVersion> {
        match self.layout.content {
            Content::Raw(_) => None,
            Content::Ipv4(_) => Some(IpVersion::V4),
            Content::Ipv6(_) => Some(IpVersion::V6),
        }
    }

    /// What they are, for the record.
    pub(super) fn description(&self) -> Map<String, Value> {
        let transport = match self.layout.content {
            Content::Raw(_) => None,
            Content::Ipv4(transport) | Content::Ipv6(transport) => Some(match transport {
                Transport::Udp => "udp",
                Transport::Tcp => "tcp",
                Transport::Echo => "icmp",
            }),
        };
        let vlan = self
            .fields
            .get(&HeaderField::VlanId(0))
            .map(|ids| ids.at(FrameNumber::FIRST) as u16);
        let facts = json!({
            "frame_size": self.sizes.to_string(),
            "flows": self.flows,
            "vlan": vlan,
            "ip_version": self.version().map(IpVersion::number),
            "transport": transport,
        });
        facts.as_object().cloned().unwrap_or_default()
    }
}
