//! The keys of a profile file, as they are written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::written::{Written, deserialize_written};

/// The keys of a file. What stands at the top is about the first direction; the second one is its mirror image, the
/// same, or what stands in `reverse`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Keys {
    pub(super) name: Option<String>,
    pub(super) direction: Option<DirectionKey>,
    pub(super) symmetric: Option<bool>,
    pub(super) sizes: Option<SizesKey>,
    pub(super) flows: Option<u32>,
    pub(super) ethernet: EthernetKeys,
    pub(super) vlan: Vec<VlanKeys>,
    pub(super) mpls: Vec<MplsKeys>,
    pub(super) raw: Option<RawKeys>,
    pub(super) ipv4: Option<Ipv4Keys>,
    pub(super) ipv6: Option<Ipv6Keys>,
    pub(super) udp: Option<UdpKeys>,
    pub(super) tcp: Option<TcpKeys>,
    pub(super) icmp: Option<IcmpKeys>,
    pub(super) reverse: Option<FrameKeys>,
    pub(super) bursts: Option<BurstKeys>,
    pub(super) replay: Option<ReplayKeys>,
}

/// What can be said of the frames of one direction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FrameKeys {
    pub(super) sizes: Option<SizesKey>,
    pub(super) flows: Option<u32>,
    pub(super) ethernet: EthernetKeys,
    pub(super) vlan: Vec<VlanKeys>,
    pub(super) mpls: Vec<MplsKeys>,
    pub(super) raw: Option<RawKeys>,
    pub(super) ipv4: Option<Ipv4Keys>,
    pub(super) ipv6: Option<Ipv6Keys>,
    pub(super) udp: Option<UdpKeys>,
    pub(super) tcp: Option<TcpKeys>,
    pub(super) icmp: Option<IcmpKeys>,
}

impl Keys {
    /// What stands at the top about frames.
    pub(super) fn frames(&self) -> FrameKeys {
        FrameKeys {
            sizes: self.sizes.clone(),
            flows: self.flows,
            ethernet: self.ethernet.clone(),
            vlan: self.vlan.clone(),
            mpls: self.mpls.clone(),
            raw: self.raw,
            ipv4: self.ipv4.clone(),
            ipv6: self.ipv6.clone(),
            udp: self.udp.clone(),
            tcp: self.tcp.clone(),
            icmp: self.icmp.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DirectionKey {
    Uni,
    Bi,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EthernetKeys {
    pub(super) source: Option<FieldKey>,
    pub(super) destination: Option<FieldKey>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VlanKeys {
    pub(super) id: FieldKey,
    pub(super) priority: Option<FieldKey>,
    pub(super) drop_eligible: Option<FieldKey>,
    #[serde(rename = "type")]
    pub(super) kind: Option<TagKey>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum TagKey {
    #[serde(rename = "802.1q")]
    Customer,
    #[serde(rename = "802.1ad")]
    Service,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MplsKeys {
    pub(super) label: FieldKey,
    pub(super) traffic_class: Option<FieldKey>,
    pub(super) ttl: Option<FieldKey>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawKeys {
    pub(super) ether_type: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Ipv4Keys {
    pub(super) source: Option<FieldKey>,
    pub(super) destination: Option<FieldKey>,
    pub(super) dscp: Option<FieldKey>,
    pub(super) ecn: Option<FieldKey>,
    pub(super) ttl: Option<FieldKey>,
    pub(super) identification: Option<FieldKey>,
    pub(super) dont_fragment: Option<FieldKey>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Ipv6Keys {
    pub(super) source: Option<FieldKey>,
    pub(super) destination: Option<FieldKey>,
    pub(super) dscp: Option<FieldKey>,
    pub(super) ecn: Option<FieldKey>,
    pub(super) hop_limit: Option<FieldKey>,
    pub(super) flow_label: Option<FieldKey>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UdpKeys {
    pub(super) source_port: Option<FieldKey>,
    pub(super) destination_port: Option<FieldKey>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TcpKeys {
    pub(super) source_port: Option<FieldKey>,
    pub(super) destination_port: Option<FieldKey>,
    pub(super) sequence: Option<FieldKey>,
    pub(super) acknowledgement: Option<FieldKey>,
    pub(super) window: Option<FieldKey>,
    pub(super) urgent_pointer: Option<FieldKey>,
    pub(super) flags: Option<Vec<FlagKey>>,
}

/// A flag of TCP; its value is its bit (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FlagKey {
    Fin = 0x01,
    Syn = 0x02,
    Rst = 0x04,
    Psh = 0x08,
    Ack = 0x10,
    Urg = 0x20,
    Ece = 0x40,
    Cwr = 0x80,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct IcmpKeys {
    pub(super) identifier: Option<FieldKey>,
    pub(super) sequence: Option<FieldKey>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstKeys {
    pub(super) frames: u32,
    pub(super) spacing: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayKeys {
    pub(super) file: String,
    #[serde(default)]
    pub(super) timing: TimingKey,
    #[serde(default)]
    pub(super) macs: MacsKey,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum TimingKey {
    #[default]
    Captured,
    Even,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum MacsKey {
    #[default]
    Ports,
    Captured,
}

/// `64`, `"imix"`, `"7a4dg"`, `[64, { size = 594, weight = 4 }]` or `{ genome = "aAz", letters = { A = 300, z = 1500 } }`.
#[derive(Clone, Debug)]
pub(super) enum SizesKey {
    One(usize),
    Text(String),
    List(Vec<SizeKey>),
    Genome(GenomeKey),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GenomeKey {
    pub(super) genome: String,
    #[serde(default)]
    pub(super) letters: BTreeMap<String, usize>,
}

/// A size of a list: `64` or `{ size = 64, weight = 7 }`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeKey {
    pub(super) size: usize,
    pub(super) weight: u32,
}

/// A value, a list of values, or a table with a pattern.
#[derive(Clone, Debug)]
pub(super) enum FieldKey {
    One(ScalarKey),
    List(Vec<ScalarKey>),
    Pattern(Box<PatternKeys>),
}

/// A number, or the text of an address.
#[derive(Clone, Debug)]
pub(super) enum ScalarKey {
    Integer(i64),
    Text(String),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PatternKeys {
    pub(super) from: Option<ScalarKey>,
    pub(super) to: Option<ScalarKey>,
    pub(super) step: Option<u64>,
    pub(super) list: Option<Vec<ScalarKey>>,
    pub(super) order: OrderKey,
    pub(super) seed: Option<u64>,
    pub(super) every: Option<u64>,
    pub(super) per: PerKey,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OrderKey {
    #[default]
    Increment,
    Random,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PerKey {
    #[default]
    Flow,
    Frame,
}

deserialize_written!(SizesKey, SizeKey, FieldKey, ScalarKey);

impl Written for SizesKey {
    const FORMS: &'static str = "bytes, `imix`, a genome, a list of sizes or a table with a genome";

    fn of_integer(value: i64) -> Option<Self> {
        usize::try_from(value).ok().map(Self::One)
    }

    fn of_text(text: &str) -> Option<Self> {
        Some(Self::Text(text.to_owned()))
    }

    fn of_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(list).map(Self::List)
    }

    fn of_table<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(table).map(Self::Genome)
    }
}

impl Written for SizeKey {
    const FORMS: &'static str = "bytes or a table with a size and its weight";

    fn of_integer(value: i64) -> Option<Self> {
        let size = usize::try_from(value).ok()?;
        Some(Self { size, weight: 1 })
    }

    fn of_table<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Weighted {
            size: usize,
            weight: u32,
        }
        let Weighted { size, weight } = Weighted::deserialize(table)?;
        Ok(Self { size, weight })
    }
}

impl Written for FieldKey {
    const FORMS: &'static str = "a value, a list of values or a table with a pattern";

    fn of_integer(value: i64) -> Option<Self> {
        Some(Self::One(ScalarKey::Integer(value)))
    }

    fn of_text(text: &str) -> Option<Self> {
        Some(Self::One(ScalarKey::Text(text.to_owned())))
    }

    fn of_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(list).map(Self::List)
    }

    fn of_table<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(table).map(Self::Pattern)
    }
}

impl Written for ScalarKey {
    const FORMS: &'static str = "a number or an address";

    fn of_integer(value: i64) -> Option<Self> {
        Some(Self::Integer(value))
    }

    fn of_text(text: &str) -> Option<Self> {
        Some(Self::Text(text.to_owned()))
    }
}
