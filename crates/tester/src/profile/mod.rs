mod file;
mod sizes;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use brimful_frame::{
    FRAME_CHECK_SEQUENCE_LEN, IpAddresses, MacAddress, Stamp, TemplateError, TestFrameFormat, TestTemplate, UdpPorts,
    VlanTag,
};
use file::{DirectionKey, SizeKey, SizesKey};

pub use file::ProfileFile;
pub use sizes::{FrameSizes, FrameSizesError, Genome, MAX_SIZE_PATTERN, WeightedSize};

/// Dynamic ports begin here (RFC 6335); flows are told apart by them.
const FIRST_SOURCE_PORT: u16 = 49_152;
const SOURCE_PORTS: u32 = 16_384;
/// The port of the test frames of RFC 2544 appendix C.2.6.4.
const FIRST_DESTINATION_PORT: u16 = 7;
/// Flows at most: all source ports for 64 destination ports.
pub const MAX_FLOWS: u32 = SOURCE_PORTS * 64;

/// Which ways frames go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Directions {
    /// From the first port to the second.
    Uni,
    /// Both ways at once, each at the load.
    Bi,
}

impl Directions {
    /// Sending and receiving port of each direction.
    pub fn pairs(self) -> &'static [(usize, usize)] {
        match self {
            Self::Uni => &[(0, 1)],
            Self::Bi => &[(0, 1), (1, 0)],
        }
    }
}

/// The Ethernet addresses of one port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Endpoint {
    /// Ethernet address that it sends from.
    pub mac: MacAddress,
    /// Ethernet address that it sends to: a router's, or absent for the other port's.
    pub next_hop: Option<MacAddress>,
}

/// IP addresses: what each port sends from and sends to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Addressing {
    /// IPv4.
    V4([Pair<Ipv4Addr>; 2]),
    /// IPv6.
    V6([Pair<Ipv6Addr>; 2]),
}

/// What one port sends from and sends to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair<T> {
    /// Its own address.
    pub source: T,
    /// The address behind the device.
    pub destination: T,
}

impl<T: Copy> Pair<T> {
    /// Each port sends to the other.
    pub fn crossed([first, second]: [T; 2]) -> [Self; 2] {
        let pair = |source, destination| Self { source, destination };
        [pair(first, second), pair(second, first)]
    }
}

impl Addressing {
    /// The address that a port sends from.
    pub fn source(&self, port: usize) -> IpAddr {
        match self {
            Self::V4(pairs) => pairs[port].source.into(),
            Self::V6(pairs) => pairs[port].source.into(),
        }
    }

    /// The address that a port sends to.
    pub fn destination(&self, port: usize) -> IpAddr {
        match self {
            Self::V4(pairs) => pairs[port].destination.into(),
            Self::V6(pairs) => pairs[port].destination.into(),
        }
    }

    fn of_frames_from(&self, port: usize) -> IpAddresses {
        match self {
            Self::V4(pairs) => IpAddresses::V4 {
                source: pairs[port].source,
                destination: pairs[port].destination,
            },
            Self::V6(pairs) => IpAddresses::V6 {
                source: pairs[port].source,
                destination: pairs[port].destination,
            },
        }
    }
}

/// Everything about the frames of a trial but their number and rate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Profile {
    /// Frame sizes.
    pub sizes: FrameSizes,
    /// Flows of each direction, told apart by UDP ports.
    pub flows: u32,
    /// Which ways frames go.
    pub directions: Directions,
    /// The 802.1Q tag of all frames, if any.
    pub vlan: Option<VlanTag>,
    /// Ethernet addresses of both ports.
    pub endpoints: [Endpoint; 2],
    /// IP addresses.
    pub addressing: Addressing,
}

impl Profile {
    /// The frames from one port to the other.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub fn stream(&self, from: usize, to: usize) -> Result<Stream, TemplateError> {
        let format = self.format(from, to);
        let templates = self
            .sizes
            .pattern(format.smallest_size())
            .into_iter()
            .map(|size| format.template(size))
            .collect::<Result<_, _>>()?;
        Ok(Stream {
            templates,
            flows: self.flows.max(1),
        })
    }

    /// The smallest frame from one port to the other.
    ///
    /// # Errors
    /// Never for a valid profile.
    pub fn smallest(&self, from: usize, to: usize) -> Result<TestTemplate, TemplateError> {
        let format = self.format(from, to);
        format.template(format.smallest_size())
    }

    /// Bytes of the longest frame, frame check sequence not included.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub fn max_frame_len(&self) -> Result<usize, TemplateError> {
        let stream = self.stream(0, 1)?;
        let longest = stream.templates.iter().map(TestTemplate::byte_len).max();
        Ok(longest.unwrap_or_default())
    }

    /// The sizes in the order in which they are sent, again and again; frame check sequence included.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub fn size_pattern(&self) -> Result<Vec<usize>, TemplateError> {
        let lens = self.stream(0, 1)?.templates;
        let size = |template: &TestTemplate| template.byte_len() + FRAME_CHECK_SEQUENCE_LEN;
        Ok(lens.iter().map(size).collect())
    }

    fn format(&self, from: usize, to: usize) -> TestFrameFormat {
        let peer = self.endpoints[to].mac;
        TestFrameFormat {
            destination_mac: self.endpoints[from].next_hop.unwrap_or(peer),
            source_mac: self.endpoints[from].mac,
            vlan: self.vlan,
            addresses: self.addressing.of_frames_from(from),
        }
    }
}

impl ProfileFile {
    /// The sizes that it gives, if it does.
    ///
    /// # Errors
    /// When they are none.
    pub fn sizes(&self) -> Result<Option<FrameSizes>, FrameSizesError> {
        let Some(sizes) = &self.keys.sizes else {
            return Ok(None);
        };
        let sizes = match sizes {
            SizesKey::One(size) => FrameSizes::Fixed(*size),
            SizesKey::Text(text) if text == "imix" => FrameSizes::Imix,
            SizesKey::Text(text) => FrameSizes::Genome(Genome::parse(text, &BTreeMap::new())?),
            SizesKey::Genome(key) => FrameSizes::Genome(Genome::parse(&key.genome, &key.letters)?),
            SizesKey::List(list) => {
                let entry = |key: &SizeKey| WeightedSize {
                    size: key.size,
                    weight: key.weight,
                };
                FrameSizes::mix(list.iter().map(entry).collect())?
            }
        };
        Ok(Some(sizes))
    }

    /// The number of flows that it gives, if it does.
    pub fn flows(&self) -> Option<u32> {
        self.keys.flows
    }

    /// The directions that it gives, if it does.
    pub fn directions(&self) -> Option<Directions> {
        Some(match self.keys.direction? {
            DirectionKey::Uni => Directions::Uni,
            DirectionKey::Bi => Directions::Bi,
        })
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.keys.name.as_deref()
    }
}

/// The frames of one direction, by sequence number.
#[derive(Clone, Debug)]
pub struct Stream {
    templates: Vec<TestTemplate>,
    flows: u32,
}

impl Stream {
    /// Writes the frame with this stamp to the start of `buffer` and gives its length.
    ///
    /// Sizes take turns frame by frame, flows each time the pattern of sizes is through, so that every flow has every
    /// size.
    ///
    /// # Panics
    /// When `buffer` is too short for the longest frame.
    pub fn fill(&self, buffer: &mut [u8], stamp: Stamp) -> usize {
        let pattern = self.templates.len() as u64;
        let template = &self.templates[(stamp.sequence % pattern) as usize];
        let flow = (stamp.sequence / pattern % u64::from(self.flows)) as u32;
        template.fill(buffer, ports_of(flow), stamp)
    }
}

fn ports_of(flow: u32) -> UdpPorts {
    UdpPorts {
        source: FIRST_SOURCE_PORT + (flow % SOURCE_PORTS) as u16,
        destination: FIRST_DESTINATION_PORT + (flow / SOURCE_PORTS) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brimful_frame::TestFrame;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn profile(sizes: FrameSizes, flows: u32) -> Profile {
        let endpoint = |last| Endpoint {
            mac: MacAddress([2, 0, 0, 0, 0, last]),
            next_hop: None,
        };
        Profile {
            sizes,
            flows,
            directions: Directions::Bi,
            vlan: None,
            endpoints: [endpoint(1), endpoint(2)],
            addressing: Addressing::V4(Pair::crossed([[198, 18, 0, 2].into(), [198, 19, 0, 2].into()])),
        }
    }

    fn stamp(sequence: u64) -> Stamp {
        Stamp {
            trial: 1,
            stream: 0,
            timestamp: 0,
            sequence,
        }
    }

    #[test]
    fn imix_is_seven_four_one() {
        let stream = profile(FrameSizes::Imix, 5).stream(0, 1).unwrap();
        let mut buffer = [0; 1600];
        let mut sizes = BTreeMap::new();
        for sequence in 0..1200 {
            *sizes.entry(stream.fill(&mut buffer, stamp(sequence)) + 4).or_insert(0) += 1;
        }
        assert_eq!(sizes, BTreeMap::from([(64, 700), (594, 400), (1518, 100)]));
    }

    #[test]
    fn imix_makes_room_for_ipv6() {
        let addressing = Addressing::V6(Pair::crossed([
            "2001:2::2".parse().unwrap(),
            "2001:2::3".parse().unwrap(),
        ]));
        let profile = Profile {
            addressing,
            ..profile(FrameSizes::Imix, 1)
        };
        assert_eq!(profile.size_pattern().unwrap()[..2], [84, 594]);
        assert_eq!(profile.max_frame_len().unwrap(), 1514);
    }

    #[test]
    fn frame_sizes_are_read() {
        assert!(profile(FrameSizes::Fixed(63), 1).stream(0, 1).is_err());
    }

    #[test]
    fn a_next_hop_is_where_frames_go() {
        let mut profile = profile(FrameSizes::Fixed(64), 1);
        let router = MacAddress([2, 9, 9, 9, 9, 9]);
        profile.endpoints[0].next_hop = Some(router);
        let mut buffer = [0; 64];
        profile.stream(0, 1).unwrap().fill(&mut buffer, stamp(0));
        assert_eq!(buffer[..6], router.0);
        profile.stream(1, 0).unwrap().fill(&mut buffer, stamp(0));
        assert_eq!(buffer[..6], profile.endpoints[0].mac.0);
    }

    proptest! {
        #[test]
        fn every_flow_gets_its_share(flows in 1..500_u32) {
            let stream = profile(FrameSizes::Fixed(64), flows).stream(0, 1).unwrap();
            let mut buffer = [0; 64];
            let mut seen = BTreeSet::new();
            for sequence in 0..u64::from(flows) * 2 {
                let len = stream.fill(&mut buffer, stamp(sequence));
                let frame = TestFrame::parse(&buffer[..len]).unwrap();
                prop_assert_eq!(frame.stamp.sequence, sequence);
                seen.insert((frame.ports.source, frame.ports.destination));
            }
            prop_assert_eq!(seen.len() as u32, flows);
        }

        #[test]
        fn flows_have_distinct_ports(one in 0..MAX_FLOWS, two in 0..MAX_FLOWS) {
            prop_assert_eq!(ports_of(one) == ports_of(two), one == two);
        }
    }
}
