//! Frames of a profile against a naive twin that knows only what the documentation says: it writes each frame from
//! nothing, byte after byte, with whole checksums, and keeps count where the product computes.

mod model;

use std::path::Path;

use brimful_tester::{Profile, ProfileFile, ProfileOptions, SEQUENCE_MASK, Stamp, TIMESTAMP_MASK, TestFrame};
use model::*;
use proptest::prelude::*;

fn field(least: u128, most: u128) -> impl Strategy<Value = Field> {
    let span = most - least;
    let range = (
        least..=most,
        1..4_u64,
        1..9_u64,
        1..4_u64,
        any::<bool>(),
        prop::option::of(0..1000_u64),
    );
    prop_oneof![
        (least..=most).prop_map(Field::One),
        prop::collection::vec(least..=most, 1..5).prop_map(Field::List),
        range.prop_map(move |(from, step, count, every, per_frame, seed)| {
            let from = from.min(least + span - span.min(u128::from(step * count)));
            let count = count.min((most - from) as u64 / step + 1);
            Field::Range {
                from,
                step,
                count,
                every,
                per_frame,
                seed,
            }
        }),
    ]
}

fn addresses(packet: Packet) -> [BoxedStrategy<Field>; 6] {
    let most = if packet == Packet::V6 {
        u128::MAX >> 1
    } else {
        u128::from(u32::MAX)
    };
    let last = if packet == Packet::V6 { (1 << 20) - 1 } else { 0xffff };
    [
        field(0, most).boxed(),
        field(0, most).boxed(),
        field(0, 63).boxed(),
        field(0, 3).boxed(),
        field(1, 255).boxed(),
        field(0, last).boxed(),
    ]
}

fn models() -> impl Strategy<Value = Model> {
    let packets = prop_oneof![Just(Packet::Raw), Just(Packet::V4), Just(Packet::V6)];
    let transports = prop_oneof![Just(Transport::Udp), Just(Transport::Tcp), Just(Transport::Icmp)];
    let word = || field(0, 0xffff);
    let tag = || (any::<bool>(), [field(1, 4094), field(0, 7), field(0, 1)]);
    let label = || [field(0, (1 << 20) - 1), field(0, 7), field(1, 255)];
    (packets, transports).prop_flat_map(move |(packet, transport)| {
        let headers = (
            [field(0, (1 << 40) - 1), field(0, (1 << 48) - 1)],
            prop::collection::vec(tag(), 0..3),
            prop::collection::vec(label(), 0..3),
            addresses(packet),
            field(0, 1),
        );
        let segments = (
            [word(), word()],
            [field(0, 0xffff_ffff), field(0, 0xffff_ffff), word(), word()],
            [word(), word()],
        );
        let sizes = prop::collection::btree_set(130..300_usize, 1..5);
        (headers, segments, sizes, 1..20_u32).prop_map(move |(headers, segments, sizes, flows)| {
            let (macs, tags, labels, ip, dont_fragment) = headers;
            let (ports, tcp, echo) = segments;
            let sizes = sizes.into_iter().collect();
            Model {
                packet,
                transport,
                sizes,
                flows,
                macs,
                tags,
                labels,
                ip,
                dont_fragment,
                ports,
                tcp,
                echo,
            }
        })
    })
}

/// The same without fields that change within a flow, which the product prepares as a whole.
fn of_flows_only(mut model: Model) -> Model {
    let tags = model.tags.iter_mut().flat_map(|(_, tag)| tag);
    let labels = model.labels.iter_mut().flatten();
    let others = model.macs.iter_mut().chain(&mut model.ip).chain(&mut model.ports);
    let others = others.chain(&mut model.tcp).chain(&mut model.echo);
    let others = others.chain([&mut model.dont_fragment]);
    for field in tags.chain(labels).chain(others) {
        if let Field::Range { per_frame, .. } = field {
            *per_frame = false;
        }
    }
    model
}

fn told_apart(model: &Model) -> Model {
    // More flows than one need a field that distinguishes them.
    let mut model = model.clone();
    model.macs[1] = Field::List(vec![1, 2, 3]);
    model
}

proptest! {
    #[test]
    fn every_frame_is_the_twins(
        model in prop_oneof![models(), models().prop_map(of_flows_only)],
        trial: u16,
        timestamp in 0..=TIMESTAMP_MASK,
        sequences in prop::collection::vec(prop_oneof![0..60_u64, 0..5000_u64], 1..8),
    ) {
        let model = told_apart(&model);
        let file = ProfileFile::parse(&model.toml()).map_err(|error| TestCaseError::fail(format!("{error}\n{}", model.toml())))?;
        let profile = Profile::new(&file, Path::new(""), &ProfileOptions::default());
        let stream = profile.map_err(TestCaseError::fail)?.stream(0, 1).unwrap();
        let mut buffer = vec![0xaa; 400];
        for sequence in sequences {
            let stamp = Stamp { trial, stream: 0, timestamp, sequence };
            let len = stream.fill(&mut buffer, stamp);
            prop_assert_eq!(&buffer[..len], model.frame(stamp), "{}", model.toml());
            prop_assert_eq!(TestFrame::parse(&buffer[..len]).unwrap().stamp, stamp);
        }
    }

    #[test]
    fn the_way_back_is_the_mirror_image(model in models(), sequence in 0..=SEQUENCE_MASK) {
        let model = told_apart(&model);
        let file = ProfileFile::parse(&model.toml()).unwrap();
        let profile = Profile::new(&file, Path::new(""), &ProfileOptions::default()).unwrap();
        let stamp = Stamp { trial: 1, stream: 1, timestamp: 0, sequence };
        let frame = |port| {
            let mut buffer = vec![0; 400];
            let len = profile.stream(port, 1 - port).unwrap().fill(&mut buffer, stamp);
            buffer.truncate(len);
            buffer
        };
        let (mut there, back) = (frame(0), frame(1));
        there[..12].rotate_left(6);
        let network = 14 + 4 * (model.tags.len() + model.labels.len());
        let (addresses, len, transport) = match model.packet {
            Packet::Raw => (network, 0, network),
            Packet::V4 => (network + 12, 4, network + 20),
            Packet::V6 => (network + 8, 16, network + 40),
        };
        there[addresses..addresses + 2 * len].rotate_left(len);
        if model.packet != Packet::Raw && model.transport != Transport::Icmp {
            there[transport..transport + 4].rotate_left(2);
        }
        prop_assert_eq!(there, back);
    }
}
