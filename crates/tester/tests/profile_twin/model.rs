//! The twin: a profile as it is documented, and the frames that it makes.

use std::fmt::Write;

use brimful_tester::Stamp;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The values of one field, as they are written in a profile.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    One(u128),
    List(Vec<u128>),
    Range {
        from: u128,
        step: u64,
        count: u64,
        every: u64,
        per_frame: bool,
        seed: Option<u64>,
    },
}

impl Field {
    /// Counts from the start every time.
    pub(crate) fn value(&self, flow: u64, sequence: u64, place: u64) -> u128 {
        match self {
            Self::One(value) => *value,
            Self::List(values) => *values.iter().cycle().nth(flow as usize).expect("there are values"),
            &Self::Range {
                from,
                step,
                count,
                every,
                per_frame,
                seed,
            } => {
                let number = if per_frame { sequence } else { flow };
                let values: Vec<_> = (0..count)
                    .map(|index| from + u128::from(index) * u128::from(step))
                    .collect();
                let Some(seed) = seed else {
                    let repeated = values
                        .iter()
                        .flat_map(|value| std::iter::repeat_n(*value, every as usize));
                    return repeated
                        .collect::<Vec<_>>()
                        .into_iter()
                        .cycle()
                        .nth(number as usize)
                        .expect("there are values");
                };
                let mut generator = SplitMix64::seed_from_u64(seed.wrapping_add(place << 32));
                let word = (0..=number / every)
                    .map(|_| generator.next_u64())
                    .last()
                    .expect("there are values");
                values[((u128::from(word) * u128::from(count)) >> 64) as usize]
            }
        }
    }

    /// As TOML, addresses as text.
    pub(crate) fn toml(&self, scalar: fn(u128) -> String) -> String {
        match self {
            Self::One(value) => scalar(*value),
            Self::List(values) => format!(
                "[{}]",
                values.iter().map(|&value| scalar(value)).collect::<Vec<_>>().join(", ")
            ),
            &Self::Range {
                from,
                step,
                count,
                every,
                per_frame,
                seed,
            } => {
                let (from, to) = (scalar(from), scalar(from + u128::from(count - 1) * u128::from(step)));
                let per = if per_frame { "frame" } else { "flow" };
                let order = seed.map_or(String::new(), |seed| format!(", order = \"random\", seed = {seed}"));
                format!("{{ from = {from}, to = {to}, step = {step}, every = {every}, per = \"{per}\"{order} }}")
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Packet {
    Raw,
    V4,
    V6,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
    Icmp,
}

/// A profile with every field written.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) packet: Packet,
    pub(crate) transport: Transport,
    pub(crate) sizes: Vec<usize>,
    pub(crate) flows: u32,
    pub(crate) macs: [Field; 2],
    /// Service tag or not; id, priority, drop eligible.
    pub(crate) tags: Vec<(bool, [Field; 3])>,
    /// Label, traffic class, time to live.
    pub(crate) labels: Vec<[Field; 3]>,
    /// Of IPv4: source, destination, DSCP, ECN, TTL, identification. Of IPv6: flow label instead of identification.
    pub(crate) ip: [Field; 6],
    /// Of IPv4.
    pub(crate) dont_fragment: Field,
    pub(crate) ports: [Field; 2],
    /// Sequence, acknowledgement, window, urgent pointer.
    pub(crate) tcp: [Field; 4],
    pub(crate) echo: [Field; 2],
}

pub(crate) fn number(value: u128) -> String {
    value.to_string()
}

pub(crate) fn mac(value: u128) -> String {
    let bytes: Vec<_> = value.to_be_bytes()[10..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{}\"", bytes.join(":"))
}

pub(crate) fn ipv4(value: u128) -> String {
    format!("\"{}\"", std::net::Ipv4Addr::from(value as u32))
}

pub(crate) fn ipv6(value: u128) -> String {
    format!("\"{}\"", std::net::Ipv6Addr::from(value))
}

impl Model {
    pub(crate) fn toml(&self) -> String {
        let mut text = format!("sizes = {:?}\nflows = {}\n", self.sizes, self.flows);
        let [source, destination] = self.macs.each_ref().map(|field| field.toml(mac));
        let _ = writeln!(text, "[ethernet]\nsource = {source}\ndestination = {destination}");
        for (is_service, tag) in &self.tags {
            let kind = if *is_service { "802.1ad" } else { "802.1q" };
            let [id, priority, eligible] = tag.each_ref().map(|field| field.toml(number));
            let _ = writeln!(text, "[[vlan]]\ntype = \"{kind}\"\nid = {id}\npriority = {priority}");
            let _ = writeln!(text, "drop_eligible = {eligible}");
        }
        for label in &self.labels {
            let [label, class, ttl] = label.each_ref().map(|field| field.toml(number));
            let _ = writeln!(text, "[[mpls]]\nlabel = {label}\ntraffic_class = {class}\nttl = {ttl}");
        }
        let (table, scalar, hops, last): (_, fn(u128) -> String, _, _) = match self.packet {
            Packet::Raw => {
                text.push_str("[raw]\n");
                return text;
            }
            Packet::V4 => ("ipv4", ipv4, "ttl", "identification"),
            Packet::V6 => ("ipv6", ipv6, "hop_limit", "flow_label"),
        };
        let [source, destination] = [&self.ip[0], &self.ip[1]].map(|field| field.toml(scalar));
        let [_, _, dscp, ecn, hop_limit, other] = self.ip.each_ref().map(|field| field.toml(number));
        let _ = writeln!(
            text,
            "[{table}]\nsource = {source}\ndestination = {destination}\ndscp = {dscp}\necn = {ecn}"
        );
        let _ = writeln!(text, "{hops} = {hop_limit}\n{last} = {other}");
        if self.packet == Packet::V4 {
            let _ = writeln!(text, "dont_fragment = {}", self.dont_fragment.toml(number));
        }
        let [source, destination] = self.ports.each_ref().map(|field| field.toml(number));
        let ports = format!("source_port = {source}\ndestination_port = {destination}");
        let [sequence, acknowledgement, window, urgent] = self.tcp.each_ref().map(|field| field.toml(number));
        let [identifier, echo] = self.echo.each_ref().map(|field| field.toml(number));
        let _ = match self.transport {
            Transport::Udp => writeln!(text, "[udp]\n{ports}"),
            Transport::Tcp => writeln!(
                text,
                "[tcp]\n{ports}\nsequence = {sequence}\nacknowledgement = {acknowledgement}\nwindow = {window}\n\
                 urgent_pointer = {urgent}\nflags = [\"syn\", \"ece\"]"
            ),
            Transport::Icmp => writeln!(text, "[icmp]\nidentifier = {identifier}\nsequence = {echo}"),
        };
        text
    }

    pub(crate) fn frame(&self, stamp: Stamp) -> Vec<u8> {
        let sequence = stamp.sequence;
        let size = self.sizes[(sequence % self.sizes.len() as u64) as usize];
        let flow = sequence / self.sizes.len() as u64 % u64::from(self.flows);
        // A field's chance depends on its place among the fields of the file.
        let mut place = 0;
        let mut next = |field: &Field| {
            place += 1;
            field.value(flow, sequence, place - 1)
        };
        let [source, destination] = self.macs.each_ref().map(&mut next);
        let mut frame = [&destination.to_be_bytes()[10..], &source.to_be_bytes()[10..]].concat();
        for (is_service, tag) in &self.tags {
            let [id, priority, eligible] = tag.each_ref().map(&mut next);
            frame.extend(if *is_service { [0x88, 0xa8] } else { [0x81, 0x00] });
            frame.extend(((priority as u16) << 13 | (eligible as u16) << 12 | id as u16).to_be_bytes());
        }
        frame.extend(match self.packet {
            _ if !self.labels.is_empty() => [0x88, 0x47],
            Packet::Raw => [0x88, 0xb5],
            Packet::V4 => [0x08, 0x00],
            Packet::V6 => [0x86, 0xdd],
        });
        for (index, label) in self.labels.iter().enumerate() {
            let [label, class, ttl] = label.each_ref().map(&mut next);
            let bottom = u32::from(index + 1 == self.labels.len());
            frame.extend(((label as u32) << 12 | (class as u32) << 9 | bottom << 8 | ttl as u32).to_be_bytes());
        }
        let room = size - 4 - frame.len();
        match self.packet {
            Packet::Raw => frame.extend(payload(stamp, room)),
            Packet::V4 => frame.extend(self.packet_v4(stamp, room, &mut next)),
            Packet::V6 => frame.extend(self.packet_v6(stamp, room, &mut next)),
        }
        frame
    }

    pub(crate) fn packet_v4(&self, stamp: Stamp, len: usize, next: &mut impl FnMut(&Field) -> u128) -> Vec<u8> {
        let [source, destination, dscp, ecn, ttl, identification] = self.ip.each_ref().map(&mut *next);
        let dont_fragment = next(&self.dont_fragment) as u8;
        let protocol = match self.transport {
            Transport::Udp => 17,
            Transport::Tcp => 6,
            Transport::Icmp => 1,
        };
        let mut header = vec![0x45, (dscp as u8) << 2 | ecn as u8];
        header.extend((len as u16).to_be_bytes());
        header.extend((identification as u16).to_be_bytes());
        header.extend([dont_fragment << 6, 0, ttl as u8, protocol, 0, 0]);
        let addresses = [(source as u32).to_be_bytes(), (destination as u32).to_be_bytes()].concat();
        header.extend(&addresses);
        let checksum = checksum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let pseudo = [&addresses[..], &[0, protocol], &((len - 20) as u16).to_be_bytes()].concat();
        let pseudo = if protocol == 1 { Vec::new() } else { pseudo };
        header.extend(self.segment(stamp, len - 20, &pseudo, 8, next));
        header
    }

    pub(crate) fn packet_v6(&self, stamp: Stamp, len: usize, next: &mut impl FnMut(&Field) -> u128) -> Vec<u8> {
        let [source, destination, dscp, ecn, hop_limit, flow_label] = self.ip.each_ref().map(&mut *next);
        let protocol = match self.transport {
            Transport::Udp => 17,
            Transport::Tcp => 6,
            Transport::Icmp => 58,
        };
        let mut header = (6_u32 << 28 | (dscp as u32) << 22 | (ecn as u32) << 20 | flow_label as u32)
            .to_be_bytes()
            .to_vec();
        header.extend(((len - 40) as u16).to_be_bytes());
        header.extend([protocol, hop_limit as u8]);
        let addresses = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        header.extend(&addresses);
        let pseudo = [&addresses[..], &((len - 40) as u32).to_be_bytes(), &[0, 0, 0, protocol]].concat();
        header.extend(self.segment(stamp, len - 40, &pseudo, 128, next));
        header
    }

    pub(crate) fn segment(
        &self,
        stamp: Stamp,
        len: usize,
        pseudo: &[u8],
        echo: u8,
        next: &mut impl FnMut(&Field) -> u128,
    ) -> Vec<u8> {
        let mut segment = Vec::new();
        let mut words = |segment: &mut Vec<u8>, fields: &[Field; 2]| {
            for field in fields {
                segment.extend((next(field) as u16).to_be_bytes());
            }
        };
        let checksum_at = match self.transport {
            Transport::Udp => {
                words(&mut segment, &self.ports);
                segment.extend((len as u16).to_be_bytes());
                segment.extend([0, 0]);
                6
            }
            Transport::Tcp => {
                words(&mut segment, &self.ports);
                let [sequence, acknowledgement, window, urgent] = self.tcp.each_ref().map(next);
                segment.extend((sequence as u32).to_be_bytes());
                segment.extend((acknowledgement as u32).to_be_bytes());
                segment.extend([0x50, 0x42]);
                segment.extend((window as u16).to_be_bytes());
                segment.extend([0; 2]);
                segment.extend((urgent as u16).to_be_bytes());
                16
            }
            Transport::Icmp => {
                segment.extend([echo, 0, 0, 0]);
                words(&mut segment, &self.echo);
                2
            }
        };
        segment.extend(payload(stamp, len - segment.len()));
        let mut sum = checksum(&[pseudo, &segment].concat());
        if sum == 0 && self.transport == Transport::Udp {
            sum = 0xffff;
        }
        segment[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
        segment
    }
}

pub(crate) fn payload(stamp: Stamp, len: usize) -> Vec<u8> {
    let mut payload = vec![0xb4, 0xf7];
    payload.extend(stamp.trial.to_be_bytes());
    payload.push(stamp.stream);
    payload.extend(&stamp.timestamp.to_be_bytes()[3..]);
    payload.extend(&stamp.sequence.to_be_bytes()[2..]);
    payload.extend([0, 0]);
    payload.resize(len, 0);
    let check = checksum(&payload);
    payload[16..18].copy_from_slice(&check.to_be_bytes());
    payload
}

pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
