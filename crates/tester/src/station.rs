use std::sync::Arc;

use brimful_frame::header_len::{ADDRESSES, TAG};
use brimful_frame::{EtherType, MacAddress, Malformed, VlanTag};

use crate::question::{self, MAX_TAGS, Question};
use crate::test_frames::{Stamp, TemplateError, TestFrame};
use crate::{Profile, Stream};

/// The stream of frames that only teach a bridge where an address is.
pub(crate) const LEARNING_STREAM: u8 = 0xff;
/// The stream of frames that go before a trial and count nowhere.
pub(crate) const RAMP_UP_STREAM: u8 = 0xfe;

/// What a received frame means to the tester.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// A test frame, intact.
    Test(Stamp),
    /// A test frame, intact, on a VLAN that it was not sent on.
    OtherVlan(Stamp),
    /// A test frame, damaged on its way.
    Damaged,
    /// Somebody asks for the address of the port.
    AddressWanted(Question),
    /// Nothing to the tester.
    Foreign,
}

/// A port as a station of the network: how it makes itself known, and what it answers.
pub(crate) struct Station {
    port: usize,
    profile: Profile,
    /// What it sends to the next port, and what comes to it from the one before.
    sent: Stream,
    received: Stream,
    /// Of all directions.
    streams: Arc<[Stream]>,
    /// Everything between addresses and type of the first frame that it sends.
    tags: Vec<u8>,
}

impl Station {
    pub(crate) fn new(profile: &Profile, port: usize, streams: &Arc<[Stream]>) -> Result<Self, TemplateError> {
        let before = (port + profile.ports() - 1) % profile.ports();
        let sent = profile.stream(port, profile.next_port(port))?;
        Ok(Self {
            port,
            profile: profile.clone(),
            tags: tags_of(&sent, profile.max_frame_len()?),
            sent,
            received: profile.stream(before, port)?,
            streams: Arc::clone(streams),
        })
    }

    pub(crate) fn meaning(&self, bytes: &[u8]) -> Meaning {
        match TestFrame::parse(bytes) {
            Ok(frame) if self.is_on_vlan(&frame) => Meaning::Test(frame.stamp),
            Ok(frame) => Meaning::OtherVlan(frame.stamp),
            Err(Malformed::Checksum { .. }) => Meaning::Damaged,
            Err(_) => self.question(bytes).map_or(Meaning::Foreign, Meaning::AddressWanted),
        }
    }

    /// A frame to the next port that is counted nowhere. In place of a time it has the port.
    pub(crate) fn fill_learning(&self, buffer: &mut [u8], trial: u16) -> usize {
        self.sent.fill(buffer, learning_stamp(trial, self.port))
    }

    /// The same to all stations. What is for one IP address and came as a broadcast is not for a router to forward.
    pub(crate) fn fill_broadcast(&self, buffer: &mut [u8], trial: u16) -> usize {
        let len = self.fill_learning(buffer, trial);
        buffer[..MacAddress::BROADCAST.0.len()].copy_from_slice(&MacAddress::BROADCAST.0);
        len
    }

    /// The address of the port, made known to every neighbour; nothing without IP.
    pub(crate) fn fill_announcement(&self, buffer: &mut [u8]) -> Option<usize> {
        let own = self.profile.source_ip(self.port)?;
        let mac = self.profile.mac(self.port);
        Some(question::fill_announcement(buffer, own, mac, &self.tags))
    }

    pub(crate) fn fill_answer(&self, buffer: &mut [u8], question: &Question) -> usize {
        question.fill_answer(buffer, self.profile.mac(self.port))
    }

    fn is_on_vlan(&self, frame: &TestFrame) -> bool {
        let stream = self
            .streams
            .get(usize::from(frame.stamp.stream))
            .unwrap_or(&self.received);
        frame.vlan.map_or(0, VlanTag::id) == stream.vlan_id(frame.stamp.sequence)
    }

    fn question(&self, bytes: &[u8]) -> Option<Question> {
        Question::read(bytes).filter(|question| self.profile.owns(self.port, question.address()))
    }
}

fn learning_stamp(trial: u16, port: usize) -> Stamp {
    Stamp {
        trial,
        stream: LEARNING_STREAM,
        timestamp: port as u64,
        sequence: 0,
    }
}

/// The VLAN tags of the first frame of a stream.
fn tags_of(stream: &Stream, max_frame_len: usize) -> Vec<u8> {
    let mut frame = vec![0; max_frame_len];
    let len = stream.fill(&mut frame, learning_stamp(0, 0));
    let mut tags = frame[ADDRESSES..len].chunks_exact(TAG);
    let is_tag = |tag: &&[u8]| EtherType(u16::from_be_bytes([tag[0], tag[1]])).is_tag();
    tags.by_ref()
        .take_while(is_tag)
        .take(MAX_TAGS)
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameSizes, IpVersion, ProfileFile, ProfileOptions};
    use brimful_frame::{ArpOperation, ArpPacket, EthernetView, NeighbourAdvertisement};
    use std::net::Ipv6Addr;
    use std::path::Path;

    fn station(port: usize, vlan: Option<u16>) -> Station {
        station_of(port, vlan, IpVersion::V4)
    }

    fn station_of(port: usize, vlan: Option<u16>, ip: IpVersion) -> Station {
        let options = ProfileOptions {
            ip: Some(ip),
            vlan: vlan.map(|id| VlanTag::new(id).unwrap()),
            sizes: Some(FrameSizes::Fixed(100)),
            ..ProfileOptions::default()
        };
        let profile = Profile::new(&ProfileFile::default(), Path::new(""), &options).unwrap();
        Station::new(&profile, port, &Arc::from([])).unwrap()
    }

    #[test]
    fn learning_frames_are_told_apart_and_vlans_too() {
        let mut buffer = [0; 100];
        let len = station(0, Some(7)).fill_learning(&mut buffer, 3);
        let meaning = station(1, Some(7)).meaning(&buffer[..len]);
        assert!(matches!(meaning, Meaning::Test(stamp) if stamp.stream == LEARNING_STREAM && stamp.timestamp == 0));
        assert!(matches!(
            station(1, None).meaning(&buffer[..len]),
            Meaning::OtherVlan(_)
        ));
    }

    const ROUTER: MacAddress = MacAddress([2, 5, 5, 5, 5, 5]);

    fn framed(to: MacAddress, tags: &[u8], ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
        [&to.0[..], &ROUTER.0, tags, &ether_type.0.to_be_bytes(), payload].concat()
    }

    /// A question of a router by ARP.
    fn arp_question(tags: &[u8], target: [u8; 4]) -> Vec<u8> {
        let question = ArpPacket {
            operation: ArpOperation::Request,
            sender_mac: ROUTER,
            sender_ip: [198, 19, 0, 1].into(),
            target_mac: MacAddress::default(),
            target_ip: target.into(),
        };
        let mut payload = [0; ArpPacket::LEN];
        question.emit(&mut payload);
        framed(MacAddress::BROADCAST, tags, EtherType::ARP, &payload)
    }

    /// A question of a router by neighbour discovery.
    fn solicitation(tags: &[u8], source: &str, target: &str, options: &[u8]) -> Vec<u8> {
        let [source, target]: [Ipv6Addr; 2] = [source, target].map(|text| text.parse().unwrap());
        let low = &target.octets()[13..];
        let mut payload = vec![0x60, 0, 0, 0, 0, 24 + options.len() as u8, 58, 255];
        payload.extend(source.octets());
        payload.extend([&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], low].concat());
        payload.extend([135, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend(target.octets());
        payload.extend(options);
        let pseudo_header = brimful_frame::Ipv6View::parse(&payload).unwrap().pseudo_header();
        let checksum = pseudo_header.with_bytes(&payload[40..]).finish();
        payload[42..44].copy_from_slice(&checksum.to_be_bytes());
        let group = MacAddress([0x33, 0x33, 0xff, low[0], low[1], low[2]]);
        framed(group, tags, EtherType::IPV6, &payload)
    }

    /// The answer of a station, if it has one.
    fn answer(station: &Station, question: &[u8]) -> Option<Vec<u8>> {
        let Meaning::AddressWanted(question) = station.meaning(question) else {
            return None;
        };
        let mut buffer = vec![0xff; station.profile.longest_of_a_port().unwrap()];
        let len = station.fill_answer(&mut buffer, &question);
        buffer.truncate(len);
        Some(buffer)
    }

    #[test]
    fn a_question_for_the_own_address_is_answered() {
        let question = arp_question(&[], [198, 19, 0, 2]);
        assert_eq!(station(0, None).meaning(&question), Meaning::Foreign);
        let answered = answer(&station(1, None), &question).unwrap();
        let frame = EthernetView::parse(&answered).unwrap();
        assert_eq!((frame.destination(), answered.len()), (ROUTER, 60));
        let packet = ArpPacket::parse(frame.payload()).unwrap();
        assert_eq!(packet.sender_mac, station(1, None).profile.mac(1));
        assert_eq!((packet.operation, packet.target_mac), (ArpOperation::Reply, ROUTER));
    }

    #[test]
    fn over_ipv6_too_whoever_asks_and_however() {
        let stations = [0, 1].map(|port| station_of(port, None, IpVersion::V6));
        let own = "2001:2:0:1::2";
        let with_option = [1, 1, 2, 6, 6, 6, 6, 6];
        for (options, to) in [(&[][..], ROUTER), (&with_option, MacAddress([2, 6, 6, 6, 6, 6]))] {
            let question = solicitation(&[], "fe80::1", own, options);
            assert_eq!(stations[0].meaning(&question), Meaning::Foreign);
            let answered = answer(&stations[1], &question).unwrap();
            let frame = EthernetView::parse(&answered).unwrap();
            let mac = stations[1].profile.mac(1);
            assert_eq!((frame.destination(), frame.source()), (to, mac));
            let expected = NeighbourAdvertisement {
                destination: "fe80::1".parse().unwrap(),
                target: own.parse().unwrap(),
                target_mac: mac,
                is_solicited: true,
            };
            let mut payload = [0; NeighbourAdvertisement::LEN];
            expected.emit(&mut payload);
            assert_eq!(frame.payload(), payload);
        }
        // Who would take the address hears, with all others, that it is taken; other addresses are free.
        let answered = answer(&stations[1], &solicitation(&[], "::", own, &[])).unwrap();
        assert_eq!(answered[..6], [0x33, 0x33, 0, 0, 0, 1]);
        let other = solicitation(&[], "::", "2001:2:0:1::3", &[]);
        assert_eq!(stations[1].meaning(&other), Meaning::Foreign);
        // Of the other version alone.
        assert_eq!(
            stations[1].meaning(&arp_question(&[], [198, 19, 0, 2])),
            Meaning::Foreign
        );
    }

    #[test]
    fn an_answer_has_the_tags_of_its_question() {
        let tags = [0x88, 0xa8, 0, 9, 0x81, 0, 0, 8];
        for (version, question) in [
            (IpVersion::V4, arp_question(&tags, [198, 19, 0, 2])),
            (IpVersion::V6, solicitation(&tags, "fe80::1", "2001:2:0:1::2", &[])),
        ] {
            let answered = answer(&station_of(1, Some(7), version), &question).unwrap();
            assert_eq!(answered[12..20], tags);
        }
        let too_many = [0x81, 0, 0, 7].repeat(5);
        let question = arp_question(&too_many, [198, 19, 0, 2]);
        assert_eq!(station(1, None).meaning(&question), Meaning::Foreign);
    }

    #[test]
    fn an_address_that_looks_like_a_stamp_is_asked_for_nevertheless() {
        let own: Ipv6Addr = "2001:2:0:b4f7::2".parse().unwrap();
        let options = ProfileOptions {
            ip: Some(IpVersion::V6),
            source_ips: Some(vec!["2001:2::1".parse().unwrap(), own.into()]),
            ..ProfileOptions::default()
        };
        let profile = Profile::new(&ProfileFile::default(), Path::new(""), &options).unwrap();
        let station = Station::new(&profile, 1, &Arc::from([])).unwrap();
        let option = [1, 1, 2, 5, 5, 5, 5, 5];
        let question = solicitation(&[], "fe80::1", &own.to_string(), &option);
        assert!(matches!(station.meaning(&question), Meaning::AddressWanted(_)));
    }

    #[test]
    fn an_announcement_is_no_question() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let station = station_of(1, None, version);
            let mut buffer = [0; 100];
            let len = station.fill_announcement(&mut buffer).unwrap();
            assert_eq!(station.meaning(&buffer[..len]), Meaning::Foreign);
        }
    }
}
