//! What neighbours ask, and what they are answered: ARP, and neighbour discovery of IPv6.

use std::collections::HashMap;
use std::net::IpAddr;

use brimful_frame::header_len::{ADDRESSES, TAG};
use brimful_frame::{
    ArpOperation, ArpPacket, EtherType, EthernetView, FRAME_CHECK_SEQUENCE_LEN, MIN_FRAME_SIZE, MacAddress,
    NeighbourAdvertisement, NeighbourSolicitation,
};
use brimful_trial::Nanoseconds;

/// An ARP packet has room for this many in the smallest frame.
pub(crate) const MAX_TAGS: usize = 4;
/// Bytes of the longest answer, frame check sequence not included.
pub(crate) const LONGEST_ANSWER: usize = ADDRESSES + MAX_TAGS * TAG + 2 + NeighbourAdvertisement::LEN;

/// Who hears no answer asks again after a second (RFC 4861 section 10, RFC 1122 section 2.3.2.1), and who hears one not
/// for longer: half a minute or so.
const ASKED_AGAIN: Nanoseconds = Nanoseconds(1_200_000_000);
/// Questions in a row after which a neighbour gives an address up: RFC 4861 section 10.
const TRIES: u64 = 3;

/// Somebody asks for the Ethernet address of an IP address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// Everything between addresses and type: the answer has the same.
    tags: Vec<u8>,
    asker: MacAddress,
    asked: Asked,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Arp(ArpPacket),
    Neighbour(NeighbourSolicitation),
}

impl Question {
    /// Nothing where a frame is none: so is an address that somebody makes known.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let frame = EthernetView::parse(bytes).ok()?;
        let asked = match frame.ether_type() {
            EtherType::ARP => Asked::Arp(ArpPacket::parse(frame.payload()).ok().filter(is_question)?),
            EtherType::IPV6 => Asked::Neighbour(NeighbourSolicitation::parse(frame.payload()).ok()?),
            _ => return None,
        };
        let tags = &bytes[ADDRESSES..bytes.len() - frame.payload().len() - 2];
        (tags.len() <= MAX_TAGS * TAG).then(|| Self {
            tags: tags.to_vec(),
            asker: frame.source(),
            asked,
        })
    }

    /// The address asked for.
    pub(crate) fn address(&self) -> IpAddr {
        match self.asked {
            Asked::Arp(packet) => packet.target_ip.into(),
            Asked::Neighbour(solicitation) => solicitation.target.into(),
        }
    }

    /// Writes the answer of the owner of the address and gives its length.
    pub(crate) fn fill_answer(&self, buffer: &mut [u8], owner: MacAddress) -> usize {
        match self.asked {
            Asked::Arp(packet) => {
                let answer = packet.reply(owner);
                fill_arp(buffer, [answer.target_mac, owner], &self.tags, answer)
            }
            Asked::Neighbour(solicitation) => {
                let answer = solicitation.answer(owner);
                let to = answer.group().or(solicitation.source_mac).unwrap_or(self.asker);
                fill_advertisement(buffer, [to, owner], &self.tags, answer)
            }
        }
    }
}

/// Counts questions that were answered in vain.
#[derive(Debug, Default)]
pub(crate) struct Insistence {
    /// Of each address: when it was asked for last, and how often in a row since an answer should have been heard.
    asked: HashMap<IpAddr, (Nanoseconds, u64)>,
    /// The most of any address.
    most: u64,
}

impl Insistence {
    /// Somebody asks for an address.
    pub(crate) fn note(&mut self, address: IpAddr, now: Nanoseconds) {
        let (last, again) = self.asked.entry(address).or_insert((now, 0));
        *again = if now.saturating_sub(*last) < ASKED_AGAIN {
            *again + 1
        } else {
            1
        };
        *last = now;
        self.most = self.most.max(*again);
    }

    /// How often the same was asked in a row, where that is more than loss of an answer or two explains.
    pub(crate) fn in_vain(&self) -> Option<u64> {
        (self.most > TRIES).then_some(self.most)
    }
}

/// An address made known to all neighbours.
pub(crate) fn fill_announcement(buffer: &mut [u8], address: IpAddr, owner: MacAddress, tags: &[u8]) -> usize {
    match address {
        IpAddr::V4(own) => {
            let announcement = ArpPacket {
                operation: ArpOperation::Request,
                sender_mac: owner,
                sender_ip: own,
                target_mac: MacAddress::default(),
                target_ip: own,
            };
            fill_arp(buffer, [MacAddress::BROADCAST, owner], tags, announcement)
        }
        IpAddr::V6(own) => {
            let announcement = NeighbourAdvertisement::unsolicited(own, owner);
            let to = announcement.group().unwrap_or(MacAddress::BROADCAST);
            fill_advertisement(buffer, [to, owner], tags, announcement)
        }
    }
}

fn is_question(packet: &ArpPacket) -> bool {
    packet.operation == ArpOperation::Request && packet.sender_ip != packet.target_ip
}

fn fill_arp(buffer: &mut [u8], macs: [MacAddress; 2], tags: &[u8], packet: ArpPacket) -> usize {
    fill_frame(buffer, macs, tags, EtherType::ARP, &mut |payload| packet.emit(payload))
}

fn fill_advertisement(
    buffer: &mut [u8],
    macs: [MacAddress; 2],
    tags: &[u8],
    advertisement: NeighbourAdvertisement,
) -> usize {
    fill_frame(buffer, macs, tags, EtherType::IPV6, &mut |payload| {
        advertisement.emit(payload)
    })
}

/// A frame from the second address to the first one, as long as it must be.
fn fill_frame(
    buffer: &mut [u8],
    [to, from]: [MacAddress; 2],
    tags: &[u8],
    ether_type: EtherType,
    emit: &mut dyn FnMut(&mut [u8]) -> usize,
) -> usize {
    let type_offset = ADDRESSES + tags.len();
    let smallest = MIN_FRAME_SIZE - FRAME_CHECK_SEQUENCE_LEN;
    buffer[..smallest].fill(0);
    buffer[..6].copy_from_slice(&to.0);
    buffer[6..ADDRESSES].copy_from_slice(&from.0);
    buffer[ADDRESSES..type_offset].copy_from_slice(tags);
    buffer[type_offset..type_offset + 2].copy_from_slice(&ether_type.0.to_be_bytes());
    let len = emit(&mut buffer[type_offset + 2..]);
    smallest.max(type_offset + 2 + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(times_ms: &[u64]) -> Option<u64> {
        let mut insistence = Insistence::default();
        for &time in times_ms {
            insistence.note([198, 18, 0, 2].into(), Nanoseconds(time * 1_000_000));
        }
        insistence.in_vain()
    }

    #[test]
    fn who_asks_again_and_again_hears_no_answer() {
        // Each half minute, and once or twice again because something was lost.
        assert_eq!(most(&[0, 30_000, 31_000, 32_000, 60_000, 90_000]), None);
        assert_eq!(most(&[0, 30_000, 31_000, 32_000, 33_000]), Some(4));
        let mut many = Insistence::default();
        (0..250).for_each(|last| many.note([198, 18, 0, last].into(), Nanoseconds::ZERO));
        assert_eq!(many.in_vain(), None);
    }
}
