use std::net::IpAddr;

use brimful_frame::header_len::{ADDRESSES, TAG};
use brimful_frame::{
    ArpOperation, ArpPacket, EtherType, EthernetView, FRAME_CHECK_SEQUENCE_LEN, MIN_FRAME_SIZE, MacAddress, Malformed,
    VlanTag,
};

use std::sync::Arc;

use crate::test_frames::{Stamp, TemplateError, TestFrame};
use crate::{Profile, Stream};

/// An ARP packet has room for this many in the smallest frame.
const MAX_TAGS: usize = 4;

/// The stream of frames that only teach a bridge where an address is.
pub(crate) const LEARNING_STREAM: u8 = 0xff;
/// The stream of frames that go before a trial and count nowhere.
pub(crate) const RAMP_UP_STREAM: u8 = 0xfe;

/// What a received frame means to the tester.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// A test frame, intact.
    Test(Stamp),
    /// A test frame, intact, on a VLAN that it was not sent on.
    OtherVlan(Stamp),
    /// A test frame, damaged on its way.
    Damaged,
    /// Somebody asks for the address of the port.
    AddressWanted(ArpPacket),
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
            Err(_) => self.wanted_address(bytes).unwrap_or(Meaning::Foreign),
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

    /// A broadcast of the address of the port to every neighbour; nothing without IPv4.
    pub(crate) fn fill_announcement(&self, buffer: &mut [u8]) -> Option<usize> {
        let IpAddr::V4(own) = self.profile.source_ip(self.port)? else {
            return None;
        };
        let announcement = ArpPacket {
            operation: ArpOperation::Request,
            sender_mac: self.profile.mac(self.port),
            sender_ip: own,
            target_mac: MacAddress::default(),
            target_ip: own,
        };
        Some(self.fill_arp(buffer, MacAddress::BROADCAST, announcement))
    }

    pub(crate) fn fill_answer(&self, buffer: &mut [u8], question: ArpPacket) -> usize {
        self.fill_arp(buffer, question.sender_mac, question.reply(self.profile.mac(self.port)))
    }

    fn is_on_vlan(&self, frame: &TestFrame) -> bool {
        let stream = self
            .streams
            .get(usize::from(frame.stamp.stream))
            .unwrap_or(&self.received);
        frame.vlan.map_or(0, VlanTag::id) == stream.vlan_id(frame.stamp.sequence)
    }

    fn wanted_address(&self, bytes: &[u8]) -> Option<Meaning> {
        let frame = EthernetView::parse(bytes).ok()?;
        if frame.ether_type() != EtherType::ARP {
            return None;
        }
        let packet = ArpPacket::parse(frame.payload()).ok()?;
        let is_for_us = packet.operation == ArpOperation::Request
            && packet.sender_ip != packet.target_ip
            && self.profile.owns(self.port, packet.target_ip);
        is_for_us.then_some(Meaning::AddressWanted(packet))
    }

    fn fill_arp(&self, buffer: &mut [u8], destination: MacAddress, packet: ArpPacket) -> usize {
        let len = MIN_FRAME_SIZE - FRAME_CHECK_SEQUENCE_LEN;
        let frame = &mut buffer[..len];
        frame.fill(0);
        let type_offset = ADDRESSES + self.tags.len();
        frame[..6].copy_from_slice(&destination.0);
        frame[6..ADDRESSES].copy_from_slice(&self.profile.mac(self.port).0);
        frame[ADDRESSES..type_offset].copy_from_slice(&self.tags);
        frame[type_offset..type_offset + 2].copy_from_slice(&EtherType::ARP.0.to_be_bytes());
        packet.emit(&mut frame[type_offset + 2..]);
        len
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
    use crate::{FrameSizes, ProfileFile, ProfileOptions};
    use std::path::Path;

    fn station(port: usize, vlan: Option<u16>) -> Station {
        let options = ProfileOptions {
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

    #[test]
    fn a_question_for_the_own_address_is_answered() {
        let question = ArpPacket {
            operation: ArpOperation::Request,
            sender_mac: MacAddress([2, 5, 5, 5, 5, 5]),
            sender_ip: [198, 19, 0, 1].into(),
            target_mac: MacAddress::default(),
            target_ip: [198, 19, 0, 2].into(),
        };
        let mut buffer = [0; 100];
        let len = station(0, None).fill_arp(&mut buffer, MacAddress::BROADCAST, question);
        let asked = station(1, None).meaning(&buffer[..len]);
        assert_eq!(asked, Meaning::AddressWanted(question));
        assert_eq!(station(0, None).meaning(&buffer[..len]), Meaning::Foreign);
        let len = station(1, None).fill_answer(&mut buffer, question);
        let frame = EthernetView::parse(&buffer[..len]).unwrap();
        assert_eq!(frame.destination(), question.sender_mac);
        let answer = ArpPacket::parse(frame.payload()).unwrap();
        assert_eq!(answer.sender_mac, station(1, None).profile.mac(1));
    }

    #[test]
    fn an_announcement_is_no_question() {
        let mut buffer = [0; 100];
        let len = station(1, None).fill_announcement(&mut buffer).unwrap();
        assert_eq!(station(1, None).meaning(&buffer[..len]), Meaning::Foreign);
    }
}
