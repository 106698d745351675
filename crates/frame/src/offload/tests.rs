mod tunnels;

use super::*;
use proptest::prelude::*;

/// A frame as the definitions have it, its checksum summed in the plainest way.
#[derive(Clone, Debug)]
struct Made {
    tags: usize,
    is_v6: bool,
    protocol: u8,
    payload: Vec<u8>,
    addresses: [u8; 32],
    sequence: u32,
    flags: u8,
    identification: u16,
}

impl Made {
    fn header(&self) -> Vec<u8> {
        let len = (8 + self.payload.len()) as u16;
        match self.protocol {
            6 => [
                &[0, 80, 1, 2][..],
                &self.sequence.to_be_bytes(),
                &[9, 9, 9, 9, 0x80, self.flags, 4, 0, 0, 0, 0, 0],
                &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
            ]
            .concat(),
            17 => [&[0, 53, 3, 4][..], &len.to_be_bytes(), &[0, 0]].concat(),
            _ => vec![0, 1, 0, 2, 1, 1, 1, 1, 0, 0, 0, 0],
        }
    }

    fn network(&self) -> usize {
        14 + 4 * self.tags
    }

    fn transport(&self) -> usize {
        self.network() + if self.is_v6 { 40 } else { 20 }
    }

    fn field(&self) -> usize {
        self.transport() + if self.protocol == 6 { 16 } else { 6 }
    }

    /// The sum of the pseudo header in 16-bit words.
    fn pseudo(&self) -> u32 {
        let addresses = if self.is_v6 {
            &self.addresses[..]
        } else {
            &self.addresses[..8]
        };
        let len = self.header().len() + self.payload.len();
        naive(addresses) + u32::from(self.protocol) + len as u32
    }

    /// Ethernet and IP around what IP carries.
    fn around(&self, carried: &[u8]) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        (0..self.tags).for_each(|_| bytes.extend([0x81, 0, 0, 7]));
        let len = carried.len() as u16;
        if self.is_v6 {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            bytes.extend(len.to_be_bytes());
            bytes.extend([self.protocol, 64]);
            bytes.extend(self.addresses);
        } else {
            bytes.extend([8, 0, 0x45, 0]);
            bytes.extend((len + 20).to_be_bytes());
            bytes.extend(self.identification.to_be_bytes());
            bytes.extend([0x40, 0, 64, self.protocol, 0, 0]);
            bytes.extend(&self.addresses[..8]);
            let at = self.network();
            let sum = !folded(naive(&bytes[at..at + 20]));
            bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        }
        bytes.extend(carried);
        bytes
    }

    /// With the checksum that is to be finished, or with the one that is.
    fn frame(&self, is_finished: bool) -> Vec<u8> {
        let mut bytes = self.around(&[&self.header()[..], &self.payload].concat());
        let at = self.transport();
        if self.protocol == 132 {
            let sum = if is_finished { crc32c(&bytes[at..]) } else { 0 };
            bytes[at + 8..at + 12].copy_from_slice(&sum.to_le_bytes());
            return bytes;
        }
        let mut sum = folded(self.pseudo());
        if is_finished {
            sum = !folded(self.pseudo() + naive(&bytes[at..]));
            sum = if sum == 0 { 0xffff } else { sum };
        }
        bytes[self.field()..self.field() + 2].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// Whether the finished sum looks unfinished, by chance.
    fn field_is_pseudo(&self) -> bool {
        let at = self.field();
        self.frame(true)[at..at + 2] == self.frame(false)[at..at + 2]
    }

    /// One of its segments, which carries a part of it.
    fn segment(&self, part: &[u8], index: usize, from: usize, count: usize) -> Self {
        let first = if index > 0 { 0x7f } else { 0xff };
        let last = if index + 1 < count { !0x09 } else { 0xff };
        Self {
            payload: part.to_vec(),
            sequence: self.sequence.wrapping_add(from as u32),
            identification: self.identification.wrapping_add(index as u16),
            flags: self.flags & first & last,
            ..self.clone()
        }
    }

    fn offset(&self) -> usize {
        match self.protocol {
            6 => 16,
            17 => 6,
            _ => 8,
        }
    }
}

fn naive(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    u32::from(folded(
        bytes
            .chunks(2)
            .map(word)
            .fold(0, |sum, next| u32::from(folded(sum)) + next),
    ))
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

fn any_frame(protocols: &'static [u8], payload: std::ops::Range<usize>) -> impl Strategy<Value = Made> {
    (
        (0..3_usize, any::<bool>(), proptest::sample::select(protocols)),
        (proptest::collection::vec(any::<u8>(), payload), any::<[u8; 32]>()),
        (any::<u32>(), any::<u8>(), any::<u16>()),
    )
        .prop_map(
            |((tags, is_v6, protocol), (payload, addresses), (sequence, flags, identification))| Made {
                tags,
                is_v6,
                protocol,
                payload,
                addresses,
                sequence,
                flags,
                identification,
            },
        )
}

proptest! {
    #[test]
    fn finished_sums_are_those_of_the_definition(made in any_frame(&[6, 17, 132], 0..600), padding in 0..20_usize) {
        let mut told = made.frame(false);
        prop_assert!(finish_checksum(&mut told, made.transport(), made.offset()));
        prop_assert_eq!(&told, &made.frame(true));
        let mut untold = made.frame(false);
        untold.extend(std::iter::repeat_n(0xa5, padding));
        let segment = finish_untold_checksum(&mut untold);
        if let Some(segment) = segment {
            let mut out = Vec::new();
            segment.cut(&untold, 0, &mut out);
            prop_assert_eq!((segment.segments(), &out), (1, &told));
        } else {
            prop_assert_eq!(&untold[..told.len()], &told[..]);
        }
    }

    #[test]
    fn a_finished_sum_stays(made in any_frame(&[6, 17, 132], 0..200)) {
        let mut frame = made.frame(true);
        prop_assert!(finish_untold_checksum(&mut frame).is_none_or(|_| made.field_is_pseudo()));
        prop_assert_eq!(frame, made.frame(true));
    }

    #[test]
    fn segments_are_what_the_sender_would_have_sent(made in any_frame(&[6, 17], 1..4000), size in 1..1500_usize) {
        let frame = made.frame(false);
        let merged = Merged::find(&frame, size, None).unwrap();
        let parts: Vec<&[u8]> = made.payload.chunks(size).collect();
        prop_assert_eq!(merged.segments(), parts.len());
        for (index, part) in parts.iter().enumerate() {
            let mut out = vec![9];
            merged.cut(&frame, index, &mut out);
            let expected = made.segment(part, index, index * size, parts.len());
            prop_assert_eq!(&out[1..], expected.frame(true), "segment {}", index);
        }
    }

    #[test]
    fn a_partial_sum_is_that_of_the_addresses_as_they_are(made in any_frame(&[6, 17], 1..300), pushed in 0..3_usize) {
        let frame = made.frame(false);
        let merged = Merged::find(&frame, 100, None).unwrap();
        // Something has been pushed, and a checksum has been changed by the rules for finished ones.
        let mut frame = [&vec![7; 4 * pushed][..], &frame].concat();
        let field = made.field() + 4 * pushed;
        frame[field] ^= 0x55;
        let sum = merged.partial_sum(&frame);
        prop_assert_eq!((sum.start, sum.offset), (made.transport() + 4 * pushed, made.offset()));
        prop_assert_eq!(sum.value, folded(made.pseudo()));
    }

    #[test]
    fn any_bytes_are_finished_or_left(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), start in 0..220_usize) {
        let len = bytes.len();
        finish_untold_checksum(&mut bytes);
        finish_checksum(&mut bytes, start, 8);
        finish_checksum(&mut bytes, start, 16);
        prop_assert_eq!(bytes.len(), len);
        if let Some(merged) = Merged::find(&bytes, 20, None) {
            (0..merged.segments()).for_each(|index| merged.cut(&bytes, index, &mut Vec::new()));
        }
    }
}

fn plain() -> Made {
    Made {
        tags: 0,
        is_v6: false,
        protocol: 6,
        payload: vec![1; 3000],
        addresses: [3; 32],
        sequence: 1,
        flags: 0x18,
        identification: 1,
    }
}

#[test]
fn segments_fit_the_port_that_they_leave_by() {
    let frame = plain().frame(false);
    let merged = Merged::find(&frame, 1448, None).unwrap();
    assert_eq!(merged.headers_len(frame.len()), 66);
    assert_eq!(merged.within(frame.len(), 1514), Some(merged));
    assert_eq!(merged.within(frame.len(), 1066).unwrap().size(), 1000);
    assert_eq!(merged.within(frame.len(), 66), None);
    let datagrams = Made {
        protocol: 17,
        ..plain()
    };
    let frame = datagrams.frame(false);
    let merged = Merged::find(&frame, 1448, None).unwrap();
    assert_eq!(merged.within(frame.len(), 1066), None);
}

#[test]
fn cards_find_headers_behind_one_tag() {
    for (tags, is_plain) in [(0, true), (1, true), (2, false)] {
        let frame = Made { tags, ..plain() }.frame(false);
        let merged = Merged::find(&frame, 1000, None).unwrap();
        assert_eq!(merged.is_plain(&frame), is_plain, "{tags} tags");
        let labelled = [&frame[..12], &[0x88, 0x47, 0, 0, 1, 0x40], &frame[14..]].concat();
        assert!(!merged.is_plain(&labelled), "{tags} tags and a label");
    }
    let mut frame = plain().frame(false);
    let merged = Merged::find(&frame, 1000, None).unwrap();
    frame[23] = 17;
    assert!(!merged.is_plain(&frame), "another protocol");
}

#[test]
fn fragments_and_cut_packets_are_left_alone() {
    let frame = plain().frame(false);
    let mut fragment = frame.clone();
    fragment[20] |= 0x20;
    let before = fragment.clone();
    assert_eq!(finish_untold_checksum(&mut fragment), None);
    assert_eq!(fragment, before);
    assert_eq!(Merged::find(&fragment, 1000, None), None);
    assert_eq!(Merged::find(&frame[..2000], 1000, None), None);
}

#[test]
fn nothing_follows_but_data_of_tcp() {
    let may_be_followed = |made: &Made, size| {
        let frame = made.frame(false);
        Merged::find(&frame, size, None).unwrap().may_be_followed(&frame)
    };
    assert!(may_be_followed(&unfinished(), 3000));
    assert!(!may_be_followed(&unfinished(), 2999), "two segments");
    assert!(!may_be_followed(&Made { flags: 0x11, ..plain() }, 3000), "the last one");
    for len in [1, 3000] {
        let datagram = Made {
            protocol: 17,
            payload: vec![1; len],
            ..plain()
        };
        assert!(!may_be_followed(&datagram, 3000), "UDP with {len} bytes");
    }
}

fn unfinished() -> Made {
    Made { flags: 0x10, ..plain() }
}

#[test]
fn a_train_ends_where_its_segments_do_not_follow() {
    let part = |change: &dyn Fn(&mut Made)| {
        let mut made = Made {
            payload: vec![1; 100],
            ..unfinished()
        };
        change(&mut made);
        made.frame(false)
    };
    let begin = part(&|_| {});
    let find = |frame: &[u8]| Merged::find_unfinished(frame).unwrap();
    let next = |made: &mut Made| {
        made.sequence += 100;
        made.identification += 1;
    };
    let after = |change: &dyn Fn(&mut Made)| {
        let frame = part(&|made| {
            next(made);
            change(made);
        });
        Train::new(Vec::new(), &begin, find(&begin)).take(&frame, &find(&frame))
    };
    assert!(after(&|_| {}));
    assert!(after(&|made| made.payload.truncate(5)), "a short one is the last");
    assert!(!after(&|made| made.sequence += 1), "a gap");
    assert!(!after(&|made| made.identification += 1), "another packet in between");
    assert!(!after(&|made| made.payload.push(1)), "a longer one");
    assert!(!after(&|made| made.tags = 1), "another VLAN");
    assert!(!after(&|made| made.addresses[0] ^= 1), "another stream");
    for flags in [0x11, 0x12, 0x14, 0x90, 0x00] {
        let frame = part(&|made| made.flags = flags);
        assert_eq!(Merged::find_unfinished(&frame), None, "flags {flags:#x}");
    }
    let finished = unfinished().frame(true);
    assert_eq!(Merged::find_unfinished(&finished), None);
}

proptest! {
    #[test]
    fn a_train_is_cut_into_what_it_was_made_of(
        made in any_frame(&[6], 1..4000), size in 1..1500_usize, is_pushed: bool,
    ) {
        let made = Made { flags: if is_pushed { 0x18 } else { 0x10 }, ..made };
        let whole = made.frame(false);
        let merged = Merged::find(&whole, size, None).unwrap();
        let parts: Vec<Vec<u8>> = (0..merged.segments())
            .map(|index| {
                let mut part = Vec::new();
                merged.cut(&whole, index, &mut part);
                part
            })
            .collect();
        let mut train: Option<Train> = None;
        for part in &parts {
            // As a host hands it over.
            let mut unfinished = part.clone();
            let sum = Merged::find(part, size, None).unwrap().partial_sum(part);
            unfinished[sum.start + sum.offset..][..2].copy_from_slice(&sum.value.to_be_bytes());
            let single = Merged::find_unfinished(&unfinished).unwrap();
            prop_assert_eq!(single.segments(), 1);
            if let Some(train) = &mut train {
                prop_assert!(train.take(&unfinished, &single));
            } else {
                train = Some(Train::new(vec![7], &unfinished, single));
            }
        }
        let (frame, held) = train.unwrap().finish();
        prop_assert_eq!(held.segments(), parts.len());
        for (index, part) in parts.iter().enumerate() {
            let mut out = Vec::new();
            held.cut(&frame, index, &mut out);
            prop_assert_eq!(&out, part, "segment {}", index);
        }
    }
}
