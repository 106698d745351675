use std::net::Ipv4Addr;

use crate::error::{array_at, check_len, u16_at};
use crate::{EtherType, MacAddress, Malformed};

const FORMAT: &str = "ARP";
const HARDWARE_ETHERNET: u16 = 1;

/// What an ARP packet asks or answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ArpOperation {
    /// Who has the target address?
    Request,
    /// The sender has its address.
    Reply,
}

/// ARP for IPv4 over Ethernet (RFC 826).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ArpPacket {
    /// Question or answer.
    pub operation: ArpOperation,
    /// Ethernet address of the sender.
    pub sender_mac: MacAddress,
    /// IPv4 address of the sender.
    pub sender_ip: Ipv4Addr,
    /// Ethernet address of the target; all zero in a question.
    pub target_mac: MacAddress,
    /// IPv4 address of the target.
    pub target_ip: Ipv4Addr,
}

impl ArpPacket {
    /// Bytes that it takes.
    pub const LEN: usize = 28;

    /// Reads it from the payload of an Ethernet frame.
    ///
    /// # Errors
    /// When it is short, or no question or answer about IPv4 over Ethernet.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        check_len(FORMAT, bytes, Self::LEN)?;
        let expect = |field, offset, value| match u16_at(bytes, offset) {
            found if found == value => Ok(()),
            found => Err(malformed(field, found)),
        };
        expect("hardware type", 0, HARDWARE_ETHERNET)?;
        expect("protocol type", 2, EtherType::IPV4.0)?;
        expect("address lengths", 4, 0x0604)?;
        let operation = match u16_at(bytes, 6) {
            1 => ArpOperation::Request,
            2 => ArpOperation::Reply,
            other => return Err(malformed("operation", other)),
        };
        Ok(Self {
            operation,
            sender_mac: MacAddress(array_at(bytes, 8)),
            sender_ip: Ipv4Addr::from(array_at::<4>(bytes, 14)),
            target_mac: MacAddress(array_at(bytes, 18)),
            target_ip: Ipv4Addr::from(array_at::<4>(bytes, 24)),
        })
    }

    /// Writes it to the start of `buffer` and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::LEN`].
    pub fn emit(&self, buffer: &mut [u8]) -> usize {
        let operation: u16 = match self.operation {
            ArpOperation::Request => 1,
            ArpOperation::Reply => 2,
        };
        buffer[0..2].copy_from_slice(&HARDWARE_ETHERNET.to_be_bytes());
        buffer[2..4].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
        buffer[4..6].copy_from_slice(&[6, 4]);
        buffer[6..8].copy_from_slice(&operation.to_be_bytes());
        buffer[8..14].copy_from_slice(&self.sender_mac.0);
        buffer[14..18].copy_from_slice(&self.sender_ip.octets());
        buffer[18..24].copy_from_slice(&self.target_mac.0);
        buffer[24..28].copy_from_slice(&self.target_ip.octets());
        Self::LEN
    }

    /// The answer of the owner of the target address.
    #[must_use]
    pub fn reply(&self, owner: MacAddress) -> Self {
        Self {
            operation: ArpOperation::Reply,
            sender_mac: owner,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        }
    }
}

fn malformed(field: &'static str, value: u16) -> Malformed {
    Malformed::Field {
        format: FORMAT,
        field,
        value: u32::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(is_reply: bool, sender_mac: [u8; 6], sender_ip: [u8; 4], target_mac: [u8; 6], target_ip: [u8; 4]) {
            let packet = ArpPacket {
                operation: if is_reply { ArpOperation::Reply } else { ArpOperation::Request },
                sender_mac: MacAddress(sender_mac),
                sender_ip: sender_ip.into(),
                target_mac: MacAddress(target_mac),
                target_ip: target_ip.into(),
            };
            let mut bytes = [0; ArpPacket::LEN];
            packet.emit(&mut bytes);
            prop_assert_eq!(ArpPacket::parse(&bytes), Ok(packet));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = ArpPacket::parse(&bytes);
        }
    }
}
