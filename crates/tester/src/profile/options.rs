use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use brimful_frame::{EtherType, MacAddress, VlanTag};

use super::field_values::mac_value;
use super::frames::{Draft, Frames, Packet};
use super::values::{Choices, Order, Pattern, Per, Values};
use super::{Directions, FrameSizes, IpVersion, MAX_FLOWS};
use crate::test_frames::{Content, FrameLayout, HeaderField};
use crate::{Share, TrafficPattern};

/// Locally administered, of the first port; the middle spells the program.
const FIRST_MAC: [u8; 6] = [0x02, b'b', b'r', b'i', 0x00, 0x0a];
/// Dynamic ports begin here (RFC 6335); flows differ by them.
const FIRST_SOURCE_PORT: u128 = 49_152;
const SOURCE_PORTS: u64 = 16_384;
/// The port of the test frames of RFC 2544 appendix C.2.6.4.
const FIRST_DESTINATION_PORT: u128 = 7;
const DESTINATION_PORTS: u64 = 64;
/// Of frames and labels: far from running out behind a chain of routers.
const HOP_LIMIT: u128 = 64;
/// PSH and ACK: data of a connection that is there.
const TCP_FLAGS: u128 = 0x18;
const TCP_WINDOW: u128 = 65_535;

/// What is said beside the profile file and goes before it.
#[derive(Clone, Debug, Default)]
pub struct ProfileOptions {
    /// Ports of the tester; two where nothing is said.
    pub ports: Option<usize>,
    /// Which port sends to which; in pairs where nothing is said.
    pub pattern: Option<TrafficPattern>,
    /// What each port sends of what the pattern gives it; all of it where there are none.
    pub shares: Vec<Share>,
    /// Frame sizes.
    pub sizes: Option<FrameSizes>,
    /// Flows of each direction.
    pub flows: Option<u32>,
    /// Which ways frames go.
    pub directions: Option<Directions>,
    /// The only tag of all frames, of 802.1Q.
    pub vlan: Option<VlanTag>,
    /// Version of IP, where the file has headers of neither.
    pub ip: Option<IpVersion>,
    /// IP addresses that the ports send from.
    pub source_ips: Option<Vec<IpAddr>>,
    /// IP addresses that the ports send to.
    pub destination_ips: Option<Vec<IpAddr>>,
    /// Ethernet addresses that the ports send from.
    pub source_macs: Option<Vec<MacAddress>>,
    /// Ethernet addresses that the ports send to.
    pub next_hop_macs: Option<Vec<MacAddress>>,
}

impl ProfileOptions {
    pub(super) fn ports(&self) -> usize {
        self.ports.unwrap_or(2)
    }

    /// Ethernet addresses of the ports, as far as options say.
    pub(super) fn macs(&self) -> Vec<MacAddress> {
        let own = |port: usize| {
            let mut mac = FIRST_MAC;
            mac[5] += port as u8;
            MacAddress(mac)
        };
        self.source_macs
            .clone()
            .unwrap_or_else(|| (0..self.ports()).map(own).collect())
    }

    /// Addresses in frames of a port, as far as options say.
    fn addresses(&self, port: usize) -> impl Iterator<Item = (HeaderField, u128)> {
        let mac = |macs: &Option<Vec<MacAddress>>| macs.as_ref().map(|macs| mac_value(macs[port]));
        let ip = |ips: &Option<Vec<_>>| ips.as_ref().map(|ips| ip_value(ips[port]));
        let given = [
            (HeaderField::SourceMac, mac(&self.source_macs)),
            (HeaderField::DestinationMac, mac(&self.next_hop_macs)),
            (HeaderField::SourceIp, ip(&self.source_ips)),
            (HeaderField::DestinationIp, ip(&self.destination_ips)),
        ];
        given.into_iter().filter_map(|(field, value)| Some((field, value?)))
    }

    /// Settles what a file leaves open, for the frames that a port sends to another one.
    pub(super) fn complete(
        &self,
        draft: Draft,
        (port, to): (usize, usize),
        macs: &[MacAddress],
    ) -> Result<Frames, String> {
        let content = self.content(draft.packet)?;
        let mut draft = draft;
        if let Some(tag) = self.vlan {
            draft.tags = vec![EtherType::VLAN];
            let is_of_tag =
                |field: &HeaderField| matches!(field, HeaderField::VlanId(_) | HeaderField::VlanPriority(_));
            draft.fields.retain(|field, _| !is_of_tag(field));
            draft
                .fields
                .insert(HeaderField::VlanId(0), Values::Fixed(u128::from(tag.id())));
        }
        let layout = FrameLayout {
            tags: draft.tags,
            labels: draft.labels,
            content,
        };
        let mut fields = draft.fields;
        fields.extend(self.addresses(port).map(|(field, value)| (field, Values::Fixed(value))));
        let flows = self.flows.or(draft.flows);
        let flows = match flows {
            Some(flows) => u64::from(flows),
            None => flows_of(fields.values())?,
        };
        let tells_flows = |values: &Values| matches!(values, Values::Varied(pattern) if pattern.per == Per::Flow);
        let are_told_apart = flows == 1 || fields.values().any(tells_flows);
        if layout.place(HeaderField::SourcePort).is_some() {
            let ends = if draft.is_mirrored {
                [HeaderField::DestinationPort, HeaderField::SourcePort]
            } else {
                [HeaderField::SourcePort, HeaderField::DestinationPort]
            };
            for (end, values) in ends.into_iter().zip(ports(if are_told_apart { 1 } else { flows })) {
                fields.entry(end).or_insert(values);
            }
        }
        if flows > 1 && !fields.values().any(tells_flows) {
            return Err("flows: nothing tells them apart: give a field a list or a pattern".to_owned());
        }
        for (field, value) in self.defaults(&layout, (port, to), macs) {
            fields.entry(field).or_insert(Values::Fixed(value));
        }
        let sizes = self.sizes.clone().or(draft.sizes);
        Ok(Frames {
            sizes: sizes.unwrap_or(FrameSizes::Fixed(layout.smallest_size())),
            flows: flows as u32,
            layout,
            fields,
        })
    }
}

impl ProfileOptions {
    /// What frames carry, the version of IP settled.
    fn content(&self, packet: Packet) -> Result<Content, String> {
        let of_ip = [
            ("--ip", self.ip.is_some()),
            ("--source-ip", self.source_ips.is_some()),
            ("--destination-ip", self.destination_ips.is_some()),
        ];
        let (version, transport) = match (packet, of_ip.iter().find(|(_, is_there)| *is_there)) {
            (Packet::Raw(_), Some((option, _))) => {
                return Err(format!(
                    "raw: such frames have no IP, but {option} is given; leave one of them out"
                ));
            }
            (Packet::Raw(ether_type), None) => return Ok(Content::Raw(ether_type)),
            (Packet::Ip(version, transport), _) => (version, transport),
        };
        let version = match (version, self.ip) {
            (Some(written), Some(asked)) if written != asked => {
                let [written, asked] = [written, asked].map(IpVersion::number);
                return Err(format!(
                    "ipv{written}: the frames have such headers, but --ip {asked} is given; make them one"
                ));
            }
            (written, asked) => written.or(asked).unwrap_or(IpVersion::V4),
        };
        for (option, addresses) in [
            ("--source-ip", &self.source_ips),
            ("--destination-ip", &self.destination_ips),
        ] {
            let addresses = addresses.as_deref().unwrap_or_default();
            if addresses.iter().any(|address| IpVersion::of(*address) != version) {
                let texts: Vec<_> = addresses.iter().map(|address| format!("{option} {address}")).collect();
                let number = version.number();
                return Err(format!("{}: the frames are IPv{number}; see --ip", texts.join(" ")));
            }
        }
        Ok(match version {
            IpVersion::V4 => Content::Ipv4(transport),
            IpVersion::V6 => Content::Ipv6(transport),
        })
    }

    /// What fields have that are not given; where there is no such field, nothing.
    fn defaults(
        &self,
        layout: &FrameLayout,
        (port, to): (usize, usize),
        macs: &[MacAddress],
    ) -> Vec<(HeaderField, u128)> {
        let ip = |port: usize| match (&self.source_ips, layout.content) {
            (Some(ips), _) => ip_value(ips[port]),
            (None, Content::Ipv6(_)) => ipv6(port).into(),
            (None, _) => u32::from(ipv4(port)).into(),
        };
        let ttls = (0..layout.labels).map(|index| (HeaderField::LabelTtl(index), HOP_LIMIT));
        let mut defaults = vec![
            (HeaderField::SourceMac, mac_value(macs[port])),
            (HeaderField::DestinationMac, mac_value(macs[to])),
            (HeaderField::SourceIp, ip(port)),
            (HeaderField::DestinationIp, ip(to)),
            (HeaderField::HopLimit, HOP_LIMIT),
            (HeaderField::DontFragment, 1),
            (HeaderField::TcpFlags, TCP_FLAGS),
            (HeaderField::TcpWindow, TCP_WINDOW),
        ];
        defaults.extend(ttls);
        defaults.retain(|(field, _)| layout.place(*field).is_some());
        defaults
    }
}

/// In turn from each half of the range that RFC 2544 appendix C.2.2 sets aside for tests, of a network of its own.
fn ipv4(port: usize) -> Ipv4Addr {
    let (half, network) = ((port % 2) as u8, (port / 2) as u8);
    Ipv4Addr::new(198, 18 + half, network, 2)
}

/// Of a network of its own in the range that RFC 5180 sets aside.
fn ipv6(port: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, port as u16, 0, 0, 0, 2)
}

impl IpVersion {
    pub(super) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    pub(super) fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }
}

/// As many flows as the longest list or range has values.
fn flows_of<'a>(values: impl Iterator<Item = &'a Values>) -> Result<u64, String> {
    let mut flows = 1;
    let mut needs_number = false;
    for values in values {
        if let Values::Varied(pattern) = values {
            flows = flows.max(pattern.flows().unwrap_or(1));
            needs_number |= pattern.per == Per::Flow && pattern.flows().is_none();
        }
    }
    if needs_number && flows == 1 {
        return Err("flows: give their number: random values of each flow do not".to_owned());
    }
    Ok(flows.min(u64::from(MAX_FLOWS)))
}

pub(super) fn ip_value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// What one end of a flow has, the other end's ports being another field: (source, destination).
fn ports(flows: u64) -> [Values; 2] {
    if flows == 1 {
        return [Values::Fixed(FIRST_SOURCE_PORT), Values::Fixed(FIRST_DESTINATION_PORT)];
    }
    let counting = |first, count, every| {
        Values::Varied(Pattern {
            choices: Choices::Range { first, step: 1, count },
            order: Order::Increment,
            every,
            per: Per::Flow,
        })
    };
    [
        counting(FIRST_SOURCE_PORT, SOURCE_PORTS, 1),
        counting(FIRST_DESTINATION_PORT, DESTINATION_PORTS, SOURCE_PORTS),
    ]
}
