//! The same inside tunnels, and on the way along a route.

use super::*;

/// What lies between the outer packet and the inner one.
const VXLAN: &[u8] = &[8, 0, 0, 0, 0, 0, 5, 0];
/// With a group.
const VXLAN_GROUP: &[u8] = &[0x88, 0, 0, 9, 0, 0, 5, 0];
/// With four bytes of options.
const GENEVE: &[u8] = &[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 0, 0];
/// With a checksum and a key.
const GRE: &[u8] = &[0xa0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 5];
const GRE_WITH_ETHERNET: &[u8] = &[0, 0, 0x65, 0x58];
const LABELS: &[u8] = &[0, 0, 0x10, 0x40, 0, 0, 0x21, 0x40];

#[derive(Clone, Copy, Debug)]
enum Tunnel {
    /// Protocol of the outer packet, what precedes Ethernet behind that, and whether the outer header is summed.
    Ethernet(u8, &'static [u8], bool),
    /// IP in IP, or in UDP.
    Ip(u8),
    Mpls,
}

const TUNNELS: [Tunnel; 10] = [
    Tunnel::Ethernet(17, VXLAN, false),
    Tunnel::Ethernet(17, VXLAN, true),
    Tunnel::Ethernet(17, VXLAN_GROUP, false),
    Tunnel::Ethernet(17, GENEVE, true),
    Tunnel::Ethernet(47, GRE_WITH_ETHERNET, false),
    Tunnel::Ethernet(47, GRE, true),
    Tunnel::Ip(4),
    Tunnel::Ip(17),
    Tunnel::Mpls,
    Tunnel::Ip(41),
];

fn put_sum_at(frame: &mut [u8], start: usize, offset: usize, pseudo: u32) {
    frame[start + offset..start + offset + 2].fill(0);
    let sum = !folded(pseudo + naive(&frame[start..]));
    let sum = if sum == 0 { 0xffff } else { sum };
    frame[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
}

fn put_header_sum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = !folded(naive(header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// A frame inside another one. The outer one's sums are those of the frame with the inner sum finished, as hosts have it.
fn in_tunnel(tunnel: Tunnel, outer_v6: bool, inner: &Made, index: u16, is_finished: bool) -> (Vec<u8>, usize) {
    let (protocol, between, ethernet, is_summed) = match tunnel {
        Tunnel::Ethernet(protocol, between, is_summed) => (protocol, between, 0, is_summed),
        Tunnel::Ip(17) => (17, &[][..], inner.network(), false),
        Tunnel::Ip(_) => (if inner.is_v6 { 41 } else { 4 }, &[][..], inner.network(), false),
        Tunnel::Mpls => {
            let frame = inner.frame(is_finished);
            let at = inner.network();
            let made = [&frame[..at - 2], &[0x88, 0x47], LABELS, &frame[at..]].concat();
            return (made, inner.transport() + LABELS.len());
        }
    };
    let outer = Made {
        tags: 0,
        is_v6: outer_v6,
        protocol,
        payload: Vec::new(),
        identification: inner.identification.wrapping_mul(3).wrapping_add(index),
        ..inner.clone()
    };
    let wrap = |is_finished| {
        let carried = inner.frame(is_finished);
        let carried = [between, &carried[ethernet..]].concat();
        let payload = if protocol == 17 {
            let len = (8 + carried.len()) as u16;
            [&[0, 53, 0x12, 0xb5][..], &len.to_be_bytes(), &[0, 0], &carried].concat()
        } else {
            carried
        };
        let mut frame = outer.around(&payload);
        let at = outer.transport();
        match protocol {
            17 if is_summed => {
                let pseudo = outer.pseudo() - outer.header().len() as u32 + payload.len() as u32;
                put_sum_at(&mut frame, at, 6, pseudo);
            }
            47 if is_summed => put_sum_at(&mut frame, at, 4, 0),
            _ => {}
        }
        frame
    };
    let finished = wrap(true);
    let at = finished.len() - (inner.frame(true).len() - inner.transport());
    if is_finished {
        return (finished, at);
    }
    let unfinished = wrap(false);
    let begin = finished.len() - (inner.frame(true).len() - ethernet);
    let made = [&finished[..begin], &unfinished[begin..]].concat();
    (made, at)
}

fn any_tunnel() -> impl Strategy<Value = Tunnel> {
    proptest::sample::select(&TUNNELS[..])
}

proptest! {
    #[test]
    fn sums_inside_tunnels_are_finished(
        tunnel in any_tunnel(), outer_v6: bool, inner in any_frame(&[6, 17, 132], 0..600),
    ) {
        let (unfinished, start) = in_tunnel(tunnel, outer_v6, &inner, 0, false);
        let (finished, _) = in_tunnel(tunnel, outer_v6, &inner, 0, true);
        let mut told = unfinished.clone();
        prop_assert!(finish_checksum(&mut told, start, inner.offset()));
        prop_assert_eq!(&told, &finished);
        let mut untold = unfinished;
        if let Some(segment) = finish_untold_checksum(&mut untold) {
            // Nothing but labels lies around a packet that others may follow.
            let mut out = Vec::new();
            segment.cut(&untold, 0, &mut out);
            untold = out;
        }
        prop_assert_eq!(untold, finished);
    }

    #[test]
    fn broken_tunnels_are_finished_or_left(
        (tunnel, outer_v6) in (any_tunnel(), any::<bool>()),
        made in any_frame(&[6, 17, 132], 0..100),
        broken in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        len in any::<proptest::sample::Index>(),
        size in 1..100_usize,
    ) {
        let (mut frame, start) = in_tunnel(tunnel, outer_v6, &made, 0, false);
        for (place, value) in broken {
            let place = place.index(frame.len().min(120));
            frame[place] = value;
        }
        frame.truncate(len.index(frame.len()).max(frame.len() / 2));
        let merged = [
            Merged::find(&frame, size, Some(start)),
            Merged::find(&frame, size, None),
            Merged::find_tcp(&frame, size),
            finish_untold_checksum(&mut frame.clone()),
        ];
        for merged in merged.into_iter().flatten() {
            let mut out = Vec::new();
            (0..merged.segments()).for_each(|index| merged.cut(&frame, index, &mut out));
            merged.is_plain(&frame);
            merged.partial_sum(&frame);
            if merged.may_be_followed(&frame) {
                let mut train = Train::new(Vec::new(), &frame, merged);
                train.take(&frame, &merged);
                train.finish();
            }
        }
        let headers = crate::Headers::parse(&frame);
        for field in [crate::Field::Ipv4Dst, crate::Field::Ipv6Dst] {
            field.write(&mut frame, &headers, 7);
        }
    }

    #[test]
    fn segments_inside_tunnels_are_what_the_sender_would_have_sent(
        tunnel in any_tunnel(), outer_v6: bool, made in any_frame(&[6, 17], 1..4000), size in 1..1500_usize,
    ) {
        let (frame, start) = in_tunnel(tunnel, outer_v6, &made, 0, false);
        let merged = Merged::find(&frame, size, Some(start)).unwrap();
        prop_assert_eq!(merged.is_tcp(), made.protocol == 6);
        prop_assert!(!merged.is_plain(&frame));
        let is_in_tunnel = !matches!(tunnel, Tunnel::Mpls);
        prop_assert!(!(is_in_tunnel && merged.may_be_followed(&frame)));
        let parts: Vec<&[u8]> = made.payload.chunks(size).collect();
        for (index, part) in parts.iter().enumerate() {
            let mut out = Vec::new();
            merged.cut(&frame, index, &mut out);
            let expected = made.segment(part, index, index * size, parts.len());
            let mut expected = in_tunnel(tunnel, outer_v6, &expected, 0, true).0;
            set_outer_identification(&mut expected, &frame, index, outer_v6, tunnel);
            prop_assert_eq!(out, expected, "segment {}", index);
        }
    }
}

/// Each packet around a segment has an identification of its own, which follows that of the one before.
fn set_outer_identification(expected: &mut [u8], frame: &[u8], index: usize, outer_v6: bool, tunnel: Tunnel) {
    if outer_v6 || matches!(tunnel, Tunnel::Mpls) {
        return;
    }
    put_word(expected, 18, word(frame, 18) + index);
    put_header_sum(&mut expected[14..34]);
}

/// TCP with data, over IPv6 with a routing header of this kind or IPv4 with a source route: the pseudo header has the
/// last address.
fn routed(kind: u8, left: u8) -> (Vec<u8>, usize, Vec<u8>) {
    let made = Made {
        is_v6: kind != 131,
        flags: 0x19,
        payload: vec![7; 100],
        ..plain()
    };
    let mut last = made.clone();
    let (at, len) = (made.network(), if made.is_v6 { 16 } else { 4 });
    last.addresses[len..2 * len].fill(0x77);
    let end = if left > 0 { &last } else { &made };
    let (unfinished, finished) = (end.frame(false), end.frame(true));
    let route: Vec<u8> = match kind {
        4 => [&[6, 2, 4, left, 0, 0, 0, 0][..], &[0x77; 16]].concat(),
        131 => [&[1, 131, 7, if left > 0 { 4 } else { 8 }][..], &[0x77; 4]].concat(),
        _ => [&[6, 2, kind, left, 0, 0, 0, 0][..], &[0x77; 16]].concat(),
    };
    let around = |frame: &[u8]| {
        let ip = made.frame(false);
        let mut frame = [&ip[..made.transport()], &route, &frame[made.transport()..]].concat();
        if made.is_v6 {
            frame[at + 6] = 43;
            let len = word(&frame, at + 4) + route.len();
            put_word(&mut frame, at + 4, len);
        } else {
            frame[at] = 0x47;
            let len = word(&frame, at + 2) + route.len();
            put_word(&mut frame, at + 2, len);
            put_header_sum(&mut frame[at..made.transport() + 8]);
        }
        frame
    };
    (around(&unfinished), made.transport() + route.len(), around(&finished))
}

#[test]
fn what_is_on_a_route_is_summed_with_its_last_address() {
    for (kind, left) in [(4, 1), (4, 0), (0, 1), (2, 1), (2, 0), (131, 1), (131, 0)] {
        let (unfinished, start, finished) = routed(kind, left);
        let mut untold = unfinished.clone();
        assert_eq!(finish_untold_checksum(&mut untold), None);
        assert_eq!(untold, finished, "kind {kind}, {left} left");
        let merged = Merged::find(&unfinished, 1000, Some(start)).unwrap();
        let mut out = Vec::new();
        merged.cut(&unfinished, 0, &mut out);
        assert_eq!(out, finished, "kind {kind}, {left} left");
    }
}

#[test]
fn the_next_station_of_a_route_is_not_in_the_sum() {
    for (kind, left) in [(4, 1), (4, 0), (2, 1), (131, 1), (131, 0)] {
        let (_, start, mut frame) = routed(kind, left);
        let before = word(&frame, start + TCP_CHECKSUM);
        let headers = crate::Headers::parse(&frame);
        let field = if kind == 131 {
            crate::Field::Ipv4Dst
        } else {
            crate::Field::Ipv6Dst
        };
        field.write(&mut frame, &headers, 0x0102_0304);
        assert_eq!(word(&frame, start + TCP_CHECKSUM) == before, left > 0, "kind {kind}");
        let merged = Merged::find(&frame, 1000, Some(start)).unwrap();
        let mut out = Vec::new();
        merged.cut(&frame, 0, &mut out);
        assert_eq!(out, frame, "kind {kind}, {left} left");
    }
}
