//! What a switch does to frames, against naive twins that sum everything anew.

use brimful_frame::{Checksum, FIELDS, Field, Header, Headers, Packet, Write, crc32c};
use proptest::prelude::*;

const HEADROOM: usize = 64;

#[derive(Clone, Debug)]
struct Plan {
    tags: Vec<u16>,
    is_v6: bool,
    protocol: u8,
    payload: Vec<u8>,
    padding: usize,
    without_udp_sum: bool,
}

fn plans() -> impl Strategy<Value = Plan> {
    (
        prop::collection::vec(any::<u16>(), 0..3),
        any::<bool>(),
        prop::sample::select(vec![6_u8, 17, 132, 1, 58, 200]),
        prop::collection::vec(any::<u8>(), 40..80),
        0..9_usize,
        any::<bool>(),
    )
        .prop_map(|(tags, is_v6, protocol, payload, padding, without_udp_sum)| Plan {
            tags,
            is_v6,
            protocol: match protocol {
                1 | 58 if is_v6 => 58,
                1 | 58 => 1,
                other => other,
            },
            payload,
            padding,
            without_udp_sum: without_udp_sum && !is_v6,
        })
}

impl Plan {
    fn frame(&self) -> Vec<u8> {
        let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2];
        for (index, tag) in self.tags.iter().enumerate() {
            frame.extend([if index == 0 { 0x88 } else { 0x81 }, if index == 0 { 0xa8 } else { 0 }]);
            frame.extend(tag.to_be_bytes());
        }
        let len = self.payload.len() as u16;
        if self.is_v6 {
            frame.extend([0x86, 0xdd, 0x6a, 0xbc, 0xde, 0xf0]);
            frame.extend(len.to_be_bytes());
            frame.extend([self.protocol, 64]);
            frame.extend((1..=32).map(|byte| byte * 7));
        } else {
            frame.extend([8, 0, 0x45, 0xb8]);
            frame.extend((len + 20).to_be_bytes());
            frame.extend([
                0,
                7,
                0x40,
                0,
                64,
                self.protocol,
                0,
                0,
                192,
                168,
                10,
                10,
                192,
                168,
                20,
                20,
            ]);
        }
        let at = frame.len();
        frame.extend(&self.payload);
        if self.protocol == 58 && self.payload[0] & 1 == 0 {
            frame[at] = 135;
            frame[at + 24..at + 26].copy_from_slice(&[1, 1]);
        }
        match self.protocol {
            1 if self.payload[0] & 1 == 0 => frame[at] = 8,
            58 if self.payload[0] & 3 == 1 => frame[at] = 128,
            _ => {}
        }
        frame.extend(vec![0xee; self.padding]);
        sum_anew(&mut frame);
        if self.protocol == 17 && self.without_udp_sum {
            frame[at + 6..at + 8].fill(0);
        }
        frame
    }
}

/// Puts every checksum right by summing all that it covers.
fn sum_anew(frame: &mut [u8]) {
    let headers = Headers::parse(frame);
    if let Some(at) = headers.offset(Header::Ipv4) {
        frame[at + 10..at + 12].fill(0);
        let sum = Checksum::new().with_bytes(&frame[at..at + 20]).finish();
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    }
    let (at, end, addresses) = match (headers.offset(Header::Ipv4), headers.offset(Header::Ipv6)) {
        (Some(at), _) => (
            at + 20,
            at + usize::from(frame[at + 2]) * 256 + usize::from(frame[at + 3]),
            at + 12..at + 20,
        ),
        (_, Some(at)) => (
            at + 40,
            at + 40 + usize::from(frame[at + 4]) * 256 + usize::from(frame[at + 5]),
            at + 8..at + 40,
        ),
        _ => return,
    };
    let protocol = u16::from(headers.ip_protocol);
    let pseudo = Checksum::new()
        .with_bytes(&frame[addresses])
        .with_word(protocol)
        .with_word((end - at) as u16);
    let (offset, start) = match protocol {
        6 => (16, pseudo),
        17 => (6, pseudo),
        58 => (2, pseudo),
        1 => (2, Checksum::new()),
        132 => {
            frame[at + 8..at + 12].fill(0);
            let sum = crc32c(&frame[at..end]).to_le_bytes();
            frame[at + 8..at + 12].copy_from_slice(&sum);
            return;
        }
        _ => return,
    };
    frame[at + offset..at + offset + 2].fill(0);
    let mut sum = start.with_bytes(&frame[at..end]).finish();
    if protocol == 17 && sum == 0 {
        sum = 0xffff;
    }
    frame[at + offset..at + offset + 2].copy_from_slice(&sum.to_be_bytes());
}

fn summed_anew(frame: &[u8], without_udp_sum: bool) -> Vec<u8> {
    let mut twin = frame.to_vec();
    sum_anew(&mut twin);
    let headers = Headers::parse(&twin);
    if let (true, Some(at)) = (without_udp_sum, headers.offset(Header::Udp)) {
        twin[at + 6..at + 8].fill(0);
    }
    twin
}

#[test]
fn crc32c_of_its_check_string() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

proptest! {
    #[test]
    fn a_written_field_reads_back_and_every_checksum_fits(plan in plans(), index in 0..FIELDS.len(), value: u128) {
        let before = plan.frame();
        let headers = Headers::parse(&before);
        let field = FIELDS[index].field;
        // What changes how the frame is read, or is covered by the sum of another protocol.
        prop_assume!(!matches!(field, Field::EthType | Field::IpProto | Field::Icmpv6Type));
        let value = value & field.largest();
        let mut frame = before.clone();
        match field.write(&mut frame, &headers, value) {
            Write::Written => {
                let read = field.read(&frame, &headers);
                let expected = if field == Field::VlanVid { value | 0x1000 } else { value };
                prop_assert_eq!(read, Some(expected));
                prop_assert_eq!(&frame, &summed_anew(&frame, plan.without_udp_sum));
            }
            Write::Missing => prop_assert_eq!(frame, before),
            Write::Protected => prop_assert!(false, "there are no fragments here"),
        }
    }

    #[test]
    fn fields_are_found_where_the_frame_has_them(plan in plans()) {
        let frame = plan.frame();
        let headers = Headers::parse(&frame);
        let has = |field: Field| field.read(&frame, &headers);
        prop_assert_eq!(has(Field::VlanVid), Some(plan.tags.first().map_or(0, |tag| u128::from(tag & 0xfff) | 0x1000)));
        prop_assert_eq!(has(Field::IpProto), Some(u128::from(plan.protocol)));
        prop_assert_eq!(has(Field::Ipv4Src).is_some(), !plan.is_v6);
        prop_assert_eq!(has(Field::TcpDst).is_some(), plan.protocol == 6);
        prop_assert_eq!(has(Field::UdpDst).is_some(), plan.protocol == 17);
        prop_assert_eq!(has(Field::Icmpv6Code).is_some(), plan.protocol == 58);
        let at = headers.offset(Header::Icmpv4).or(headers.offset(Header::Icmpv6));
        let is_echo = at.is_some_and(|at| matches!((plan.protocol, frame[at]), (1, 0 | 8) | (58, 128 | 129)));
        prop_assert_eq!(has(Field::EchoId).is_some(), is_echo);
        prop_assert_eq!(has(Field::IpDscp), Some(if plan.is_v6 { 0x2a } else { 0xb8 >> 2 }));
    }

    #[test]
    fn frames_cut_anywhere_never_read_outside(plan in plans(), noise in prop::collection::vec((0..200_usize, any::<u8>()), 0..6)) {
        let mut whole = plan.frame();
        for (at, byte) in noise {
            let len = whole.len();
            whole[at % len] = byte;
        }
        for len in 0..=whole.len() {
            let frame = &mut whole[..len].to_vec();
            let headers = Headers::parse(frame);
            for info in &FIELDS {
                if let Some(value) = info.field.read(frame, &headers) {
                    let _ = info.field.write(frame, &headers, value ^ 1);
                }
            }
            let mut buffer = vec![0; HEADROOM + len];
            buffer[HEADROOM..].copy_from_slice(frame);
            let mut packet = Packet::new(&mut buffer, HEADROOM, len);
            packet.copy_ttl_in();
            packet.copy_ttl_out();
            let _ = packet.decrement_ip_ttl();
            let _ = packet.push_pbb(0x88e7);
            packet.pop_pbb();
            let _ = packet.push_mpls(0x8847);
            packet.pop_mpls(0x800);
            packet.pop_vlan();
        }
    }

    #[test]
    fn what_is_pushed_is_popped_again(plan in plans()) {
        let frame = plan.frame();
        let mut buffer = vec![0; HEADROOM + frame.len()];
        buffer[HEADROOM..].copy_from_slice(&frame);
        let mut packet = Packet::new(&mut buffer, HEADROOM, frame.len());
        packet.push_vlan(0x8100).unwrap();
        prop_assert_eq!(Headers::parse(&packet).offset(Header::VlanTag), Some(14));
        packet.pop_vlan();
        prop_assert_eq!(&packet[..], &frame[..]);
        let ether_type = Headers::parse(&packet).ether_type;
        packet.push_mpls(0x8847).unwrap();
        packet.push_mpls(0x8848).unwrap();
        let headers = Headers::parse(&packet);
        prop_assert_eq!(Field::MplsTtl.read(&packet, &headers), Some(64));
        prop_assert_eq!(Field::MplsBos.read(&packet, &headers), Some(0));
        packet.pop_mpls(0x8847);
        prop_assert_eq!(Field::MplsBos.read(&packet, &Headers::parse(&packet)), Some(1));
        packet.pop_mpls(ether_type);
        prop_assert_eq!(&packet[..], &frame[..]);
        packet.push_pbb(0x88e7).unwrap();
        prop_assert_eq!(Headers::parse(&packet).ether_type, 0x88e7);
        packet.pop_pbb();
        prop_assert_eq!(&packet[..], &frame[..]);
        prop_assert!((0..20).any(|_| packet.push_vlan(0x8100).is_err()), "the room ends");
    }

    #[test]
    fn times_to_live_are_copied_with_their_checksum(plan in plans(), ttl in 2..=255_u8) {
        let frame = plan.frame();
        let mut buffer = vec![0; HEADROOM + frame.len()];
        buffer[HEADROOM..].copy_from_slice(&frame);
        let mut packet = Packet::new(&mut buffer, HEADROOM, frame.len());
        packet.push_mpls(0x8847).unwrap();
        let headers = Headers::parse(&packet);
        Field::MplsTtl.write(&mut packet, &headers, u128::from(ttl));
        packet.decrement_mpls_ttl().unwrap();
        packet.copy_ttl_in();
        packet.pop_mpls(Headers::parse(&frame).ether_type);
        prop_assert_eq!(Field::IpTtl.read(&packet, &Headers::parse(&packet)), Some(u128::from(ttl - 1)));
        prop_assert_eq!(&packet[..], &summed_anew(&packet, plan.without_udp_sum)[..]);
    }
}

/// Another protocol changes the pseudo header, and with it the checksum that the protocol before has.
#[test]
fn another_protocol_leaves_checksums_that_fit_its_pseudo_header() {
    let tcp = [
        0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0xab, 0xcd, 0, 0,
    ];
    let v4 = [
        &[2; 12][..],
        &[
            8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0x66, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2,
        ],
        &tcp,
    ]
    .concat();
    let v6 = [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64], &[1; 32], &tcp].concat();
    for (frame, changes) in [(v4, vec![23, 25, 51]), (v6, vec![20, 71])] {
        let mut changed = frame.clone();
        assert_eq!(
            Field::IpProto.write(&mut changed, &Headers::parse(&frame), 17),
            Write::Written
        );
        let places: Vec<usize> = (0..frame.len()).filter(|&at| frame[at] != changed[at]).collect();
        assert_eq!(places, changes);
        // The sum of all words is the same: the protocol is 11 more.
        assert_eq!(changed[changes[changes.len() - 1]], 0xcd - 11);
    }
}
