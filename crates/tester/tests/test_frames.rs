//! Whole test frames, out and back.

use brimful_frame::{EtherType, MAX_FRAME_SIZE, Malformed};
use brimful_tester::{
    Content, FrameLayout, HeaderField, SEQUENCE_MASK, Stamp, TIMESTAMP_MASK, TestFrame, TestTemplate, Transport,
};
use proptest::prelude::*;

fn transports() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Udp), Just(Transport::Tcp), Just(Transport::Echo)]
}

fn layouts() -> impl Strategy<Value = FrameLayout> {
    let tag = prop_oneof![Just(EtherType::VLAN), Just(EtherType::SERVICE_VLAN)];
    let content = prop_oneof![
        Just(Content::Raw(EtherType(0x88b5))),
        transports().prop_map(Content::Ipv4),
        transports().prop_map(Content::Ipv6),
    ];
    (prop::collection::vec(tag, 0..4), 0..4_usize, content).prop_map(|(tags, labels, content)| FrameLayout {
        tags,
        labels,
        content,
    })
}

const FIELDS: [HeaderField; 30] = [
    HeaderField::DestinationMac,
    HeaderField::SourceMac,
    HeaderField::VlanId(0),
    HeaderField::VlanPriority(0),
    HeaderField::DropEligible(0),
    HeaderField::VlanId(2),
    HeaderField::VlanPriority(2),
    HeaderField::DropEligible(2),
    HeaderField::Label(0),
    HeaderField::LabelTrafficClass(0),
    HeaderField::LabelTtl(0),
    HeaderField::Label(1),
    HeaderField::SourceIp,
    HeaderField::DestinationIp,
    HeaderField::Dscp,
    HeaderField::Ecn,
    HeaderField::HopLimit,
    HeaderField::Identification,
    HeaderField::DontFragment,
    HeaderField::FlowLabel,
    HeaderField::SourcePort,
    HeaderField::DestinationPort,
    HeaderField::TcpSequence,
    HeaderField::TcpAcknowledgement,
    HeaderField::TcpFlags,
    HeaderField::TcpWindow,
    HeaderField::TcpUrgentPointer,
    HeaderField::EchoIdentifier,
    HeaderField::EchoSequence,
    HeaderField::Label(2),
];

prop_compose! {
    /// A layout, and values for those of its fields that are not left out.
    fn formats()(layout in layouts(), values in prop::collection::vec(prop::option::of(any::<u128>()), FIELDS.len()))
        -> (FrameLayout, Vec<(HeaderField, u128)>) {
        let fitting = |(&field, value): (_, Option<u128>)| Some((field, value? & layout.place(field)?.largest()));
        let fields = FIELDS.iter().zip(values).filter_map(fitting).collect();
        (layout, fields)
    }
}

prop_compose! {
    fn stamps()(trial: u16, stream: u8, timestamp in 0..=TIMESTAMP_MASK, sequence in 0..=SEQUENCE_MASK) -> Stamp {
        Stamp { trial, stream, timestamp, sequence }
    }
}

fn frame_of(template: &TestTemplate, stamp: Stamp) -> Vec<u8> {
    let mut buffer = vec![0xaa; template.byte_len() + 9];
    let len = template.fill(&mut buffer, stamp);
    buffer.truncate(len);
    buffer
}

/// Where the payload of the smallest frame starts: the stamp is all of it where there is no padding.
fn payload_start(layout: &FrameLayout) -> usize {
    let probe = Stamp {
        trial: 0xffff,
        stream: 0xff,
        timestamp: TIMESTAMP_MASK,
        sequence: SEQUENCE_MASK,
    };
    let template = layout.template(200, &[]).expect("there is room");
    let frame = frame_of(&template, probe);
    let fields = frame.windows(14).position(|window| window == [0xff; 14]);
    fields.expect("the stamp is there") - 2
}

proptest! {
    #[test]
    fn a_frame_comes_back_as_it_was_sent((layout, fields) in formats(), stamp in stamps(), size in 60..9100_usize) {
        let size = size.clamp(layout.smallest_size(), MAX_FRAME_SIZE);
        let bytes = frame_of(&layout.template(size, &fields).unwrap(), stamp);
        prop_assert_eq!(bytes.len(), size - 4);
        let frame = TestFrame::parse(&bytes).unwrap();
        prop_assert_eq!(frame.stamp, stamp);
        let of_field = |wanted| fields.iter().find(|(field, _)| *field == wanted).map_or(0, |(_, value)| *value);
        let id = frame.vlan.map(|tag| u128::from(tag.id()));
        prop_assert_eq!(id, (!layout.tags.is_empty()).then(|| of_field(HeaderField::VlanId(0))));
    }

    #[test]
    fn varied_fields_are_as_fixed_ones((layout, fields) in formats(), stamp in stamps(), cut in 0..FIELDS.len()) {
        let size = layout.smallest_size() + 3;
        let fixed = frame_of(&layout.template(size, &fields).unwrap(), stamp);
        let (fixed_fields, varied) = fields.split_at(cut.min(fields.len()));
        let places = varied.iter().map(|&(field, value)| (layout.place(field).unwrap(), value));
        let mut buffer = vec![0xaa; size];
        let len = layout.template(size, fixed_fields).unwrap().fill_varied(&mut buffer, stamp, places);
        prop_assert_eq!(&buffer[..len], fixed);
    }

    #[test]
    fn one_flipped_bit_in_segment_or_payload_is_noticed(
        (layout, fields) in formats(), stamp in stamps(), at in 0..10_000_usize, bit in 0..8_u8,
    ) {
        let template = layout.template(layout.smallest_size() + 36, &fields).unwrap();
        let mut bytes = frame_of(&template, stamp);
        let header_len = match layout.content {
            Content::Raw(_) => 0,
            Content::Ipv4(Transport::Tcp) | Content::Ipv6(Transport::Tcp) => 20,
            Content::Ipv4(_) | Content::Ipv6(_) => 8,
        };
        let start = payload_start(&layout) - header_len;
        let at = start + at % (bytes.len() - start);
        bytes[at] ^= 1 << bit;
        prop_assert_ne!(TestFrame::parse(&bytes).map(|frame| frame.stamp), Ok(stamp));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        let _ = TestFrame::parse(&bytes);
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        (layout, fields) in formats(), stamp in stamps(),
        damage in prop::collection::vec((0..100_usize, any::<u8>()), 0..6), cut in 0..100_usize,
    ) {
        let template = layout.template(layout.smallest_size(), &fields).unwrap();
        let mut bytes = frame_of(&template, stamp);
        let len = bytes.len();
        for (at, value) in damage {
            bytes[at % len] = value;
        }
        let _ = TestFrame::parse(&bytes[..len.saturating_sub(cut)]);
    }

    /// What a switch or router may do to a frame on its way.
    #[test]
    fn a_device_may_change_addresses_tags_and_hop_limits(
        mut layout in layouts(), transport in transports(), stamp in stamps(),
        macs: [u8; 12], priority in 0..8_u8, hop_limit: u8,
    ) {
        layout.content = Content::Ipv6(transport);
        layout.tags.insert(0, EtherType::SERVICE_VLAN);
        let mut bytes = frame_of(&layout.template(layout.smallest_size(), &[]).unwrap(), stamp);
        bytes[..12].copy_from_slice(&macs);
        bytes[14] = bytes[14] & 0x1f | priority << 5;
        bytes[14 + 4 * (layout.tags.len() + layout.labels) + 7] = hop_limit;
        prop_assert_eq!(TestFrame::parse(&bytes).unwrap().stamp, stamp);
        // The outer tag taken off, and padding put on.
        bytes.drain(12..16);
        bytes.extend([0; 5]);
        prop_assert_eq!(TestFrame::parse(&bytes).unwrap().stamp, stamp);
    }

    #[test]
    fn captured_frames_carry_a_stamp(
        (layout, fields) in formats(), old in stamps(), stamp in stamps(), size in 60..200_usize, cut in 0..FIELDS.len(),
        damage in prop::collection::vec((0..60_usize, any::<u8>()), 0..3),
    ) {
        let size = size.max(layout.smallest_size());
        let mut captured = frame_of(&layout.template(size, &fields).unwrap(), old);
        for (at, value) in damage {
            captured[at] = value;
        }
        captured.truncate(captured.len() - cut);
        if let Ok(template) = TestTemplate::captured(&captured) {
            let bytes = frame_of(&template, stamp);
            prop_assert!(bytes.len() >= 60);
            prop_assert_eq!(&bytes[..12], &captured[..12]);
            prop_assert_eq!(TestFrame::parse(&bytes).map(|frame| frame.stamp), Ok(stamp));
            let back = frame_of(&template.clone().mirrored(), stamp);
            prop_assert_eq!(TestFrame::parse(&back).map(|frame| frame.stamp), Ok(stamp));
            prop_assert_eq!(frame_of(&template.mirrored().mirrored(), stamp), bytes);
        }
    }

    #[test]
    fn any_bytes_are_a_captured_frame_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = TestTemplate::captured(&bytes).map(TestTemplate::mirrored);
    }
}

fn layout(tags: usize, content: Content) -> FrameLayout {
    FrameLayout {
        tags: vec![EtherType::VLAN; tags],
        labels: 0,
        content,
    }
}

const STAMP: Stamp = Stamp {
    trial: 1,
    stream: 0,
    timestamp: 0,
    sequence: 7,
};

#[test]
fn the_smallest_sizes() {
    let udp = Content::Ipv4(Transport::Udp);
    assert_eq!(layout(0, udp).smallest_size(), 64);
    assert_eq!(layout(1, udp).smallest_size(), 68);
    assert_eq!(layout(0, Content::Ipv4(Transport::Tcp)).smallest_size(), 76);
    assert_eq!(layout(0, Content::Ipv6(Transport::Udp)).smallest_size(), 84);
    assert_eq!(layout(2, Content::Raw(EtherType(0x88b5))).smallest_size(), 64);
    assert!(layout(0, Content::Ipv6(Transport::Udp)).template(64, &[]).is_err());
    assert!(layout(0, udp).template(9217, &[]).is_err());
}

#[test]
fn damage_is_told_from_foreign_frames() {
    for content in [Content::Ipv4(Transport::Udp), Content::Raw(EtherType(0x88b5))] {
        let mut bytes = frame_of(&layout(0, content).template(64, &[]).unwrap(), STAMP);
        bytes[59] ^= 1;
        assert!(matches!(TestFrame::parse(&bytes), Err(Malformed::Checksum { .. })));
    }
}

#[test]
fn a_udp_checksum_left_out_is_damage() {
    let template = layout(0, Content::Ipv4(Transport::Udp)).template(64, &[]).unwrap();
    let mut bytes = frame_of(&template, STAMP);
    bytes[40..42].fill(0);
    assert!(matches!(TestFrame::parse(&bytes), Err(Malformed::Checksum { .. })));
}

#[test]
fn fields_belong_to_headers() {
    let udp = layout(1, Content::Ipv4(Transport::Udp));
    for field in [
        HeaderField::VlanId(1),
        HeaderField::Label(0),
        HeaderField::FlowLabel,
        HeaderField::TcpFlags,
        HeaderField::EchoSequence,
    ] {
        assert_eq!(udp.place(field), None, "{field:?}");
    }
    let echo = layout(0, Content::Ipv6(Transport::Echo));
    assert_eq!(echo.place(HeaderField::SourcePort), None);
    assert_eq!(echo.place(HeaderField::Identification), None);
    let raw = layout(0, Content::Raw(EtherType(0x88b5)));
    assert_eq!(raw.place(HeaderField::SourceIp), None);
}
