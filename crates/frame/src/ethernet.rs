use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::Malformed;
use crate::error::{array_at, check_len, u16_at};
use crate::header_len::{ADDRESSES, TAG};

const LARGEST_VLAN_ID: u16 = 4094;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MacAddress(pub [u8; 6]);

/// Text that is no Ethernet address.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("`{0}` is no Ethernet address like 02:00:00:00:00:0a")]
pub struct MacAddressError(pub String);

impl MacAddress {
    /// Every station.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it is a group address, broadcast included.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl FromStr for MacAddress {
    type Err = MacAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || MacAddressError(text.to_owned());
        let mut address = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut address {
            let part = parts.next().filter(|part| part.len() == 2);
            let digits = part.filter(|part| part.bytes().all(|digit| digit.is_ascii_hexdigit()));
            *byte = digits
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                .ok_or_else(error)?;
        }
        if parts.next().is_some() {
            return Err(error());
        }
        Ok(Self(address))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, rest) = (self.0[0], &self.0[1..]);
        write!(formatter, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(formatter, ":{byte:02x}"))
    }
}

/// What an Ethernet frame carries.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// An 802.1Q tag.
    pub const VLAN: Self = Self(0x8100);
    /// The tag of a service provider around it (802.1ad).
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// An MPLS label stack.
    pub const MPLS: Self = Self(0x8847);
    /// An MPLS label stack of a multicast.
    pub const MPLS_MULTICAST: Self = Self(0x8848);
    /// The I-TAG of a provider backbone (802.1ah).
    pub const PBB: Self = Self(0x88e7);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// Smaller numbers are the lengths of frames of IEEE 802.3.
    pub const SMALLEST: u16 = 0x0600;

    /// Whether it is the type of a VLAN tag, behind which another type follows.
    pub fn is_tag(self) -> bool {
        matches!(self, Self::VLAN | Self::SERVICE_VLAN)
    }
}

/// An 802.1Q tag: VLAN id and priority.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct VlanTag(u16);

/// A number that is no VLAN id.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("VLAN id {0} is not between 1 and {LARGEST_VLAN_ID}")]
pub struct VlanTagError(pub u16);

impl VlanTag {
    /// The tag of a VLAN, priority 0.
    ///
    /// # Errors
    /// When the id is reserved or out of range.
    pub fn new(id: u16) -> Result<Self, VlanTagError> {
        if (1..=LARGEST_VLAN_ID).contains(&id) {
            Ok(Self(id))
        } else {
            Err(VlanTagError(id))
        }
    }

    /// The tag as tag control information from a wire, whatever it holds.
    pub fn from_control_information(control_information: u16) -> Self {
        Self(control_information)
    }

    /// The tag control information.
    pub fn control_information(self) -> u16 {
        self.0
    }

    /// The VLAN id.
    pub fn id(self) -> u16 {
        self.0 & 0x0fff
    }

    /// The priority code point.
    pub fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }
}

/// A view of an Ethernet frame, VLAN tags and what is behind them.
#[derive(Clone, Copy, Debug)]
pub struct EthernetView<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> EthernetView<'a> {
    /// Checks the lengths.
    ///
    /// # Errors
    /// When the frame ends within its header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut header_len = ADDRESSES + 2;
        check_len("Ethernet", bytes, header_len)?;
        while EtherType(u16_at(bytes, header_len - 2)).is_tag() {
            header_len += TAG;
            check_len("VLAN tag", bytes, header_len)?;
        }
        Ok(Self { bytes, header_len })
    }

    /// Receiver.
    pub fn destination(&self) -> MacAddress {
        MacAddress(array_at(self.bytes, 0))
    }

    /// Sender.
    pub fn source(&self) -> MacAddress {
        MacAddress(array_at(self.bytes, 6))
    }

    /// The outermost tag, if any.
    pub fn vlan(&self) -> Option<VlanTag> {
        let is_tagged = self.header_len > ADDRESSES + 2;
        is_tagged.then(|| VlanTag(u16_at(self.bytes, ADDRESSES + 2)))
    }

    /// What follows the header and its tags.
    pub fn ether_type(&self) -> EtherType {
        EtherType(u16_at(self.bytes, self.header_len - 2))
    }

    /// What the frame carries, padding included.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_and_written() {
        let address: MacAddress = "02:00:5e:00:0A:ff".parse().unwrap();
        assert_eq!(address.to_string(), "02:00:5e:00:0a:ff");
        for wrong in [
            "",
            "02:00:5e:00:0a",
            "02:00:5e:00:0a:ff:00",
            "2:0:5e:0:a:ff",
            "02:00:5e:00:0a:+f",
            "02-00-5e-00-0a-ff",
        ] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn vlan_ids_have_a_range() {
        assert!(VlanTag::new(0).is_err());
        assert!(VlanTag::new(4095).is_err());
        assert_eq!(VlanTag::new(4094).unwrap().id(), 4094);
    }

    proptest! {
        #[test]
        fn parts_are_found_behind_any_tags(
            destination: [u8; 6], source: [u8; 6], tags in proptest::collection::vec(any::<(bool, u16)>(), 0..4),
        ) {
            let mut bytes = [destination, source].concat();
            for &(of_service, tag) in &tags {
                let ether_type = if of_service { EtherType::SERVICE_VLAN } else { EtherType::VLAN };
                bytes.extend([ether_type.0.to_be_bytes(), tag.to_be_bytes()].concat());
            }
            bytes.extend([0x08, 0x06, 1, 2, 3]);
            let view = EthernetView::parse(&bytes).unwrap();
            prop_assert_eq!((view.destination().0, view.source().0), (destination, source));
            let outermost = tags.first().map(|&(_, tag)| VlanTag::from_control_information(tag));
            prop_assert_eq!((view.vlan(), view.ether_type()), (outermost, EtherType::ARP));
            prop_assert_eq!(view.payload(), &[1, 2, 3]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(view) = EthernetView::parse(&bytes) {
                let _ = (view.vlan(), view.ether_type(), view.payload());
            }
        }
    }
}
