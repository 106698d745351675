use std::net::Ipv6Addr;

use crate::error::{array_at, check_len, u16_at};
use crate::header_len::IPV6;
use crate::{Checksum, IpProtocol, Ipv6View, MacAddress, Malformed};

const FORMAT: &str = "neighbour solicitation";
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Nothing that came over a router has it: RFC 4861 section 7.1.1.
const HOP_LIMIT: u8 = 255;
/// Type, code, checksum, four bytes of flags or nothing, target.
const FIXED_LEN: usize = 24;
/// An option's length counts in these.
const OPTION_UNIT: usize = 8;
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// A question for the Ethernet address of an IPv6 address (RFC 4861 section 4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NeighbourSolicitation {
    /// Who asks; unspecified where somebody looks whether the address is taken (RFC 4862 section 5.4).
    pub source: Ipv6Addr,
    /// The Ethernet address of who asks, where the option for it is there.
    pub source_mac: Option<MacAddress>,
    /// The address asked for.
    pub target: Ipv6Addr,
}

/// An answer to such a question, or an address made known (RFC 4861 section 4.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NeighbourAdvertisement {
    /// To whom.
    pub destination: Ipv6Addr,
    /// The address, which is that of the sender as well.
    pub target: Ipv6Addr,
    /// Its Ethernet address.
    pub target_mac: MacAddress,
    /// Whether it answers a question.
    pub is_solicited: bool,
}

impl NeighbourSolicitation {
    /// Reads it from the payload of an Ethernet frame, checked as RFC 4861 section 7.1.1 demands.
    ///
    /// # Errors
    /// When it is short, damaged, came over a router, or is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let packet = Ipv6View::parse(bytes)?;
        let message = packet.payload();
        if packet.next_header() != IpProtocol::ICMPV6 {
            return Err(malformed("next header", packet.next_header().0.into()));
        }
        check_len(FORMAT, message, FIXED_LEN)?;
        let kind = u16_at(message, 0);
        if kind != u16::from(SOLICITATION) << 8 {
            return Err(malformed("type and code", kind.into()));
        }
        if bytes[7] != HOP_LIMIT {
            return Err(malformed("hop limit", bytes[7].into()));
        }
        if !packet.pseudo_header().with_bytes(message).is_intact() {
            return Err(Malformed::Checksum { format: FORMAT });
        }
        let (source, destination) = (address_at(bytes, 8), address_at(bytes, 24));
        let target = address_at(message, 8);
        if target.is_multicast() || source.is_multicast() {
            return Err(malformed("address", 0xff));
        }
        let source_mac = source_mac(&message[FIXED_LEN..])?;
        let is_probe = source.is_unspecified();
        if is_probe && (source_mac.is_some() || destination != solicited_nodes(target)) {
            return Err(malformed("source", 0));
        }
        Ok(Self {
            source,
            source_mac,
            target,
        })
    }

    /// The answer of the owner of the target. Who looks whether the address is taken has none yet: the answer goes to all.
    #[must_use]
    pub fn answer(&self, owner: MacAddress) -> NeighbourAdvertisement {
        let is_probe = self.source.is_unspecified();
        NeighbourAdvertisement {
            destination: if is_probe { ALL_NODES } else { self.source },
            target: self.target,
            target_mac: owner,
            is_solicited: !is_probe,
        }
    }
}

impl NeighbourAdvertisement {
    /// Bytes that it takes, IPv6 header included.
    pub const LEN: usize = IPV6 + FIXED_LEN + OPTION_UNIT;

    /// An address made known to all neighbours.
    #[must_use]
    pub fn unsolicited(target: Ipv6Addr, target_mac: MacAddress) -> Self {
        Self {
            destination: ALL_NODES,
            target,
            target_mac,
            is_solicited: false,
        }
    }

    /// The Ethernet address of the receivers, where it is for a group of them (RFC 2464 section 7).
    pub fn group(&self) -> Option<MacAddress> {
        let octets = self.destination.octets();
        let address = [0x33, 0x33, octets[12], octets[13], octets[14], octets[15]];
        self.destination.is_multicast().then_some(MacAddress(address))
    }

    /// Writes it to the start of `buffer`, which is the payload of an Ethernet frame, and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::LEN`].
    pub fn emit(&self, buffer: &mut [u8]) -> usize {
        let packet = &mut buffer[..Self::LEN];
        packet.fill(0);
        packet[0] = 0x60;
        packet[5] = (Self::LEN - IPV6) as u8;
        packet[6] = IpProtocol::ICMPV6.0;
        packet[7] = HOP_LIMIT;
        packet[8..24].copy_from_slice(&self.target.octets());
        packet[24..40].copy_from_slice(&self.destination.octets());
        let message = &mut packet[IPV6..];
        message[0] = ADVERTISEMENT;
        message[4] = OVERRIDE | if self.is_solicited { SOLICITED } else { 0 };
        message[8..24].copy_from_slice(&self.target.octets());
        message[FIXED_LEN..FIXED_LEN + 2].copy_from_slice(&[TARGET_LINK_LAYER, 1]);
        message[FIXED_LEN + 2..].copy_from_slice(&self.target_mac.0);
        let checksum = Checksum::new()
            .with_bytes(&packet[8..])
            .with_word(u16::from(IpProtocol::ICMPV6.0))
            .with_word((Self::LEN - IPV6) as u16)
            .finish();
        packet[IPV6 + 2..IPV6 + 4].copy_from_slice(&checksum.to_be_bytes());
        Self::LEN
    }
}

/// The Ethernet address in the options, which are read to their end: one without a length voids the message.
fn source_mac(mut options: &[u8]) -> Result<Option<MacAddress>, Malformed> {
    let mut found = None;
    while let [kind, units, ..] = *options {
        let len = usize::from(units) * OPTION_UNIT;
        if len == 0 {
            return Err(malformed("length of an option", 0));
        }
        check_len(FORMAT, options, len)?;
        if kind == SOURCE_LINK_LAYER && len == OPTION_UNIT {
            found = Some(MacAddress(array_at(options, 2)));
        }
        options = &options[len..];
    }
    Ok(found)
}

/// The group in which the owner of an address is (RFC 4291 section 2.7.1).
fn solicited_nodes(target: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = target.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | high & 0xff, low)
}

fn address_at(bytes: &[u8], offset: usize) -> Ipv6Addr {
    Ipv6Addr::from(array_at::<16>(bytes, offset))
}

fn malformed(field: &'static str, value: u32) -> Malformed {
    Malformed::Field {
        format: FORMAT,
        field,
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARGET: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 0x3456);
    const MAC: MacAddress = MacAddress([2, 5, 5, 5, 5, 5]);

    /// A solicitation written byte by byte.
    fn solicitation(source: Ipv6Addr, destination: Ipv6Addr, target: Ipv6Addr, options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, (FIXED_LEN + options.len()) as u8, 58, 255];
        bytes.extend(source.octets());
        bytes.extend(destination.octets());
        bytes.extend([135, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(target.octets());
        bytes.extend(options);
        put_right(&mut bytes);
        bytes
    }

    /// The sum of RFC 1071 over pseudo header and message, two bytes at a time.
    fn put_right(packet: &mut [u8]) {
        packet[42..44].fill(0);
        let mut sum = 58 + (packet.len() - 40) as u32;
        for pair in packet[8..].chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        packet[42..44].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }

    fn router() -> Ipv6Addr {
        "fe80::1".parse().unwrap()
    }

    fn option_of(mac: MacAddress) -> Vec<u8> {
        [&[SOURCE_LINK_LAYER, 1][..], &mac.0].concat()
    }

    #[test]
    fn questions_are_read_by_group_and_by_address_with_and_without_the_option() {
        for destination in [solicited_nodes(TARGET), TARGET] {
            for (options, source_mac) in [(Vec::new(), None), (option_of(MAC), Some(MAC))] {
                let mut bytes = solicitation(router(), destination, TARGET, &options);
                // Padding of Ethernet is no part of it.
                bytes.extend([0xaa; 9]);
                let expected = NeighbourSolicitation {
                    source: router(),
                    source_mac,
                    target: TARGET,
                };
                assert_eq!(NeighbourSolicitation::parse(&bytes), Ok(expected));
            }
        }
        // Another option in front (a nonce, RFC 3971).
        let options = [&[14, 1, 1, 2, 3, 4, 5, 6][..], &option_of(MAC)].concat();
        let read = NeighbourSolicitation::parse(&solicitation(router(), TARGET, TARGET, &options)).unwrap();
        assert_eq!(read.source_mac, Some(MAC));
    }

    #[test]
    fn what_the_rfc_has_discarded_is_refused() {
        let group = solicited_nodes(TARGET);
        let none = Ipv6Addr::UNSPECIFIED;
        let good = solicitation(router(), group, TARGET, &option_of(MAC));
        assert!(NeighbourSolicitation::parse(&good).is_ok());
        for (at, value) in [
            (7, 254),
            (6, 17),
            (40, 136),
            (41, 1),
            (65, 0),
            (65, 9),
            (0, 0x40),
            (5, 23),
        ] {
            let mut bytes = good.clone();
            bytes[at] = value;
            put_right(&mut bytes);
            assert!(NeighbourSolicitation::parse(&bytes).is_err(), "{at} {value}");
        }
        for (source, destination, target, options) in [
            (router(), group, ALL_NODES, vec![]),
            (ALL_NODES, group, TARGET, vec![]),
            (none, TARGET, TARGET, vec![]),
            (none, group, TARGET, option_of(MAC)),
        ] {
            let bytes = solicitation(source, destination, target, &options);
            assert!(NeighbourSolicitation::parse(&bytes).is_err(), "{source} {destination}");
        }
    }

    #[test]
    fn who_looks_whether_an_address_is_taken_hears_it_with_all_others() {
        let bytes = solicitation(Ipv6Addr::UNSPECIFIED, solicited_nodes(TARGET), TARGET, &[]);
        let answer = NeighbourSolicitation::parse(&bytes).unwrap().answer(MAC);
        assert_eq!(answer, NeighbourAdvertisement::unsolicited(TARGET, MAC));
        assert_eq!(answer.group(), Some(MacAddress([0x33, 0x33, 0, 0, 0, 1])));
    }

    #[test]
    fn an_answer_has_every_byte_of_the_rfc() {
        let question = NeighbourSolicitation {
            source: router(),
            source_mac: None,
            target: TARGET,
        };
        let answer = question.answer(MAC);
        assert_eq!(answer.group(), None);
        let mut bytes = [0xff; 100];
        assert_eq!(answer.emit(&mut bytes), 72);
        let mut expected = solicitation(TARGET, router(), TARGET, &[&[2, 1][..], &MAC.0].concat());
        (expected[40], expected[44]) = (136, 0x60);
        put_right(&mut expected);
        assert_eq!(bytes[..72], expected);
        assert_eq!(bytes[72..], [0xff; 28]);
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(bit in 0..8 * 72_usize) {
            let mut bytes = solicitation(router(), solicited_nodes(TARGET), TARGET, &option_of(MAC));
            bytes[bit / 8] ^= 1 << (bit % 8);
            // Traffic class and flow label are in no checksum.
            prop_assume!(!(0..4).contains(&bit) && !(8..32).contains(&bit));
            prop_assert!(NeighbourSolicitation::parse(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut options in proptest::collection::vec(any::<u8>(), 0..60), len: u8, cut in 0..130_usize) {
            options.truncate(56);
            let mut bytes = solicitation(router(), TARGET, TARGET, &options);
            let _ = NeighbourSolicitation::parse(&bytes);
            bytes[5] = len;
            put_right(&mut bytes);
            let _ = NeighbourSolicitation::parse(&bytes);
            let _ = NeighbourSolicitation::parse(&bytes[..cut.min(bytes.len())]);
            let _ = NeighbourSolicitation::parse(&options);
        }
    }
}
