use std::net::IpAddr;

use brimful_frame::{
    ArpOperation, ArpPacket, EtherType, EthernetHeader, EthernetView, MIN_FRAME_SIZE, MacAddress, Malformed, Stamp,
    TestFrame, TestTemplate, UdpPorts, VlanTag,
};

use crate::Profile;

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
    mac: MacAddress,
    address: IpAddr,
    /// What the other port sends to; mostly the same.
    expected: IpAddr,
    vlan: Option<VlanTag>,
    learning: TestTemplate,
}

impl Station {
    pub(crate) fn new(profile: &Profile, port: usize) -> Result<Self, brimful_frame::TemplateError> {
        Ok(Self {
            mac: profile.endpoints[port].mac,
            address: profile.addressing.source(port),
            expected: profile.addressing.destination(1 - port),
            vlan: profile.vlan,
            learning: profile.smallest(port, 1 - port)?,
        })
    }

    pub(crate) fn meaning(&self, bytes: &[u8]) -> Meaning {
        match TestFrame::parse(bytes) {
            Ok(frame) if self.is_on_vlan(frame.vlan) => Meaning::Test(frame.stamp),
            Ok(frame) => Meaning::OtherVlan(frame.stamp),
            Err(Malformed::Checksum { .. }) => Meaning::Damaged,
            Err(_) => self.wanted_address(bytes).unwrap_or(Meaning::Foreign),
        }
    }

    /// A frame to the other port that is counted nowhere.
    pub(crate) fn fill_learning(&self, buffer: &mut [u8], trial: u16) -> usize {
        let stamp = Stamp {
            trial,
            stream: LEARNING_STREAM,
            timestamp: 0,
            sequence: 0,
        };
        let ports = UdpPorts {
            source: 9,
            destination: 9,
        };
        self.learning.fill(buffer, ports, stamp)
    }

    /// A broadcast that tells every neighbour the address of the port; nothing for IPv6.
    pub(crate) fn fill_announcement(&self, buffer: &mut [u8]) -> Option<usize> {
        let IpAddr::V4(own) = self.address else {
            return None;
        };
        let announcement = ArpPacket {
            operation: ArpOperation::Request,
            sender_mac: self.mac,
            sender_ip: own,
            target_mac: MacAddress::default(),
            target_ip: own,
        };
        Some(self.fill_arp(buffer, MacAddress::BROADCAST, announcement))
    }

    pub(crate) fn fill_answer(&self, buffer: &mut [u8], question: ArpPacket) -> usize {
        self.fill_arp(buffer, question.sender_mac, question.reply(self.mac))
    }

    fn is_on_vlan(&self, tag: Option<VlanTag>) -> bool {
        tag.map_or(0, VlanTag::id) == self.vlan.map_or(0, VlanTag::id)
    }

    fn wanted_address(&self, bytes: &[u8]) -> Option<Meaning> {
        let frame = EthernetView::parse(bytes).ok()?;
        if frame.ether_type() != EtherType::ARP {
            return None;
        }
        let packet = ArpPacket::parse(frame.payload()).ok()?;
        let is_for_us = packet.operation == ArpOperation::Request
            && [self.address, self.expected].contains(&packet.target_ip.into())
            && packet.sender_ip != packet.target_ip;
        is_for_us.then_some(Meaning::AddressWanted(packet))
    }

    fn fill_arp(&self, buffer: &mut [u8], destination: MacAddress, packet: ArpPacket) -> usize {
        let len = MIN_FRAME_SIZE - brimful_frame::FRAME_CHECK_SEQUENCE_LEN;
        let frame = &mut buffer[..len];
        frame.fill(0);
        let header = EthernetHeader {
            destination,
            source: self.mac,
            vlan: self.vlan,
            ether_type: EtherType::ARP,
        };
        let at = header.emit(frame);
        packet.emit(&mut frame[at..]);
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addressing, Directions, Endpoint, FrameSizes, Pair};

    fn station(port: usize, vlan: Option<u16>) -> Station {
        let endpoint = |last| Endpoint {
            mac: MacAddress([2, 0, 0, 0, 0, last]),
            next_hop: None,
        };
        let profile = Profile {
            sizes: FrameSizes::Fixed(100),
            flows: 1,
            directions: Directions::Uni,
            vlan: vlan.map(|id| VlanTag::new(id).unwrap()),
            endpoints: [endpoint(1), endpoint(2)],
            addressing: Addressing::V4(Pair::crossed([[198, 18, 0, 2].into(), [198, 19, 0, 2].into()])),
        };
        Station::new(&profile, port).unwrap()
    }

    #[test]
    fn learning_frames_are_told_apart_and_vlans_too() {
        let mut buffer = [0; 100];
        let len = station(0, Some(7)).fill_learning(&mut buffer, 3);
        let meaning = station(1, Some(7)).meaning(&buffer[..len]);
        assert!(matches!(meaning, Meaning::Test(stamp) if stamp.stream == LEARNING_STREAM));
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
        assert_eq!(answer.sender_mac, MacAddress([2, 0, 0, 0, 0, 2]));
    }

    #[test]
    fn an_announcement_is_no_question() {
        let mut buffer = [0; 100];
        let len = station(1, None).fill_announcement(&mut buffer).unwrap();
        assert_eq!(station(1, None).meaning(&buffer[..len]), Meaning::Foreign);
    }
}
