//! Whole test frames, out and back.

use brimful_frame::{
    IpAddresses, MAX_FRAME_SIZE, MacAddress, Malformed, Stamp, TIMESTAMP_MASK, TestFrame, TestFrameFormat, UdpPorts,
    VlanTag,
};
use proptest::prelude::*;

fn addresses() -> impl Strategy<Value = IpAddresses> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(source, destination)| IpAddresses::V4 {
            source: source.into(),
            destination: destination.into(),
        }),
        any::<([u8; 16], [u8; 16])>().prop_map(|(source, destination)| IpAddresses::V6 {
            source: source.into(),
            destination: destination.into(),
        }),
    ]
}

prop_compose! {
    fn formats()(
        addresses in addresses(),
        destination_mac: [u8; 6],
        source_mac: [u8; 6],
        vlan in proptest::option::of(1..4095_u16),
    ) -> TestFrameFormat {
        TestFrameFormat {
            destination_mac: MacAddress(destination_mac),
            source_mac: MacAddress(source_mac),
            vlan: vlan.and_then(|id| VlanTag::new(id).ok()),
            addresses,
        }
    }
}

prop_compose! {
    fn stamps()(trial: u16, stream: u8, timestamp in 0..=TIMESTAMP_MASK, sequence: u64) -> Stamp {
        Stamp { trial, stream, timestamp, sequence }
    }
}

fn size_within(format: &TestFrameFormat, size: usize) -> usize {
    size.clamp(format.smallest_size(), MAX_FRAME_SIZE)
}

proptest! {
    #[test]
    fn a_frame_comes_back_as_it_was_sent(
        format in formats(), stamp in stamps(), source: u16, destination: u16, size in 60..9100_usize,
    ) {
        let size = size_within(&format, size);
        let template = format.template(size).unwrap();
        let mut buffer = vec![0xaa; 9000];
        let ports = UdpPorts { source, destination };
        let len = template.fill(&mut buffer, ports, stamp);
        prop_assert_eq!(len, size - 4);
        let frame = TestFrame::parse(&buffer[..len]).unwrap();
        prop_assert_eq!(frame, TestFrame { stamp, ports, vlan: format.vlan });
    }

    #[test]
    fn one_flipped_bit_behind_the_addresses_is_noticed(
        format in formats(), stamp in stamps(), at in 0..10_000_usize, bit in 0..8_u8,
    ) {
        let size = size_within(&format, 100);
        let template = format.template(size).unwrap();
        let mut buffer = vec![0; size];
        let len = template.fill(&mut buffer, UdpPorts { source: 1, destination: 2 }, stamp);
        let intact = TestFrame::parse(&buffer[..len]).unwrap();
        // Class, label and hop limit of IPv6 have no checksum; the Ethernet header has only the frame check sequence.
        let udp = format.smallest_size() - 4 - 18 - 8;
        let udp = if matches!(format.addresses, IpAddresses::V4 { .. }) && format.vlan.is_none() { 34 } else { udp };
        let at = udp + at % (len - udp);
        buffer[at] ^= 1 << bit;
        prop_assert_ne!(TestFrame::parse(&buffer[..len]), Ok(intact));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..128)) {
        let _ = TestFrame::parse(&bytes);
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        format in formats(), stamp in stamps(),
        damage in proptest::collection::vec((0..100_usize, any::<u8>()), 0..6), cut in 0..100_usize,
    ) {
        let template = format.template(format.smallest_size()).unwrap();
        let mut buffer = vec![0; 200];
        let len = template.fill(&mut buffer, UdpPorts { source: 1, destination: 2 }, stamp);
        for (at, value) in damage {
            buffer[at % len] = value;
        }
        let _ = TestFrame::parse(&buffer[..len.saturating_sub(cut)]);
    }
}

fn ipv4() -> TestFrameFormat {
    TestFrameFormat {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        vlan: None,
        addresses: IpAddresses::V4 {
            source: [198, 18, 0, 1].into(),
            destination: [198, 19, 0, 1].into(),
        },
    }
}

#[test]
fn the_smallest_sizes() {
    let tagged = TestFrameFormat {
        vlan: VlanTag::new(5).ok(),
        ..ipv4()
    };
    let ipv6 = TestFrameFormat {
        addresses: IpAddresses::V6 {
            source: "2001:2::1".parse().unwrap(),
            destination: "2001:2::2".parse().unwrap(),
        },
        ..ipv4()
    };
    assert_eq!(ipv4().smallest_size(), 64);
    assert_eq!(tagged.smallest_size(), 68);
    assert_eq!(ipv6.smallest_size(), 84);
    assert!(ipv6.template(64).is_err());
    assert!(ipv4().template(9001).is_err());
}

#[test]
fn damage_is_told_from_foreign_frames() {
    let stamp = Stamp {
        trial: 1,
        stream: 0,
        timestamp: 0,
        sequence: 7,
    };
    let mut buffer = [0; 60];
    let template = ipv4().template(64).unwrap();
    template.fill(
        &mut buffer,
        UdpPorts {
            source: 1,
            destination: 2,
        },
        stamp,
    );
    buffer[59] ^= 1;
    assert_eq!(TestFrame::parse(&buffer), Err(Malformed::Checksum { format: "UDP" }));
}
