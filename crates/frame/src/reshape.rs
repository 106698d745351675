//! Headers pushed and popped, and times to live moved between them (OF 1.3.5 section 5.12).

use thiserror::Error;

use crate::field::Field;
use crate::header_len::{ADDRESSES, LABEL, TAG};
use crate::headers::{Header, Headers, SNAP};
use crate::packet::Packet;
use crate::splice::raw;

/// Addresses, `EtherType` and I-TAG.
const PBB_LEN: usize = 18;
const BOTTOM_OF_STACK: u32 = 0x100;

/// There is no room in front of the frame for one more header.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no room in front of the frame for one more header")]
pub struct NoRoom;

/// A time to live that cannot be decremented.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the time to live has run out")]
pub struct InvalidTtl;

impl Packet<'_> {
    /// Pushes a VLAN tag in front of all others: VLAN and priority from the outermost one, else 0.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_vlan(&mut self, ether_type: u16) -> Result<(), NoRoom> {
        let headers = Headers::parse(self);
        if headers.offset(Header::Ethernet).is_none() {
            return Ok(());
        }
        let control = headers
            .offset(Header::VlanTag)
            .map_or([0; 2], |at| [self[at], self[at + 1]]);
        self.open(ADDRESSES, TAG)?;
        self[ADDRESSES..ADDRESSES + 2].copy_from_slice(&ether_type.to_be_bytes());
        self[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&control);
        Ok(())
    }

    /// Pops the outermost VLAN tag; a frame without one stays as it is.
    pub fn pop_vlan(&mut self) {
        if Headers::parse(self).offset(Header::VlanTag).is_some() {
            self.close_gap(ADDRESSES, TAG);
        }
    }

    /// Pushes a label stack entry behind the VLAN tags: label, traffic class and time to live from the outermost one;
    /// else the time to live of IP, and 0.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_mpls(&mut self, ether_type: u16) -> Result<(), NoRoom> {
        let headers = Headers::parse(self);
        let Some(at) = headers.offset(Header::EtherType) else {
            return Ok(());
        };
        let entry = match headers.offset(Header::Mpls) {
            Some(outer) => u32_at(self, outer) & !BOTTOM_OF_STACK,
            None => raw(Field::IpTtl, self, &headers).unwrap_or(0) as u32 | BOTTOM_OF_STACK,
        };
        self.open(at, LABEL)?;
        self.change_length(at, |len| len.wrapping_add(LABEL as u16));
        self[at..at + 2].copy_from_slice(&ether_type.to_be_bytes());
        self[at + 2..at + 2 + LABEL].copy_from_slice(&entry.to_be_bytes());
        Ok(())
    }

    /// Pops the outermost label stack entry and says what is behind it; a frame without one stays as it is.
    pub fn pop_mpls(&mut self, ether_type: u16) {
        let headers = Headers::parse(self);
        if let (Some(at), Some(_)) = (headers.offset(Header::EtherType), headers.offset(Header::Mpls)) {
            self.close_gap(at, LABEL);
            self.change_length(at, |len| len.wrapping_sub(LABEL as u16));
            self[at..at + 2].copy_from_slice(&ether_type.to_be_bytes());
        }
    }

    /// Pushes a backbone header: the addresses stay in front and stand again in the I-TAG; the service from the
    /// outermost I-TAG, the priority from the outermost VLAN tag, else 0.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_pbb(&mut self, ether_type: u16) -> Result<(), NoRoom> {
        let headers = Headers::parse(self);
        if headers.offset(Header::Ethernet).is_none() {
            return Ok(());
        }
        let service = raw(Field::PbbIsid, self, &headers).unwrap_or(0) as u32;
        let priority = raw(Field::VlanPcp, self, &headers).unwrap_or(0) as u32;
        let mut addresses = [0; ADDRESSES];
        addresses.copy_from_slice(&self[..ADDRESSES]);
        self.open(0, PBB_LEN)?;
        self[..ADDRESSES].copy_from_slice(&addresses);
        self[ADDRESSES..ADDRESSES + 2].copy_from_slice(&ether_type.to_be_bytes());
        self[ADDRESSES + 2..PBB_LEN].copy_from_slice(&(priority << 29 | service).to_be_bytes());
        Ok(())
    }

    /// Pops the outermost backbone header: the customer's addresses and `EtherType` come back, VLAN tags in front of it
    /// stay. A frame without one stays as it is.
    pub fn pop_pbb(&mut self) {
        let headers = Headers::parse(self);
        let (Some(type_at), Some(tag_at)) = (headers.offset(Header::EtherType), headers.offset(Header::Pbb)) else {
            return;
        };
        let customer = tag_at + 4;
        let mut addresses = [0; ADDRESSES];
        addresses.copy_from_slice(&self[customer..customer + ADDRESSES]);
        self.close_gap(type_at, PBB_LEN);
        self.change_length(type_at, |len| len.wrapping_sub(PBB_LEN as u16));
        self[..ADDRESSES].copy_from_slice(&addresses);
    }

    /// Changes the length of a frame of IEEE 802.3 with SNAP, whose type is at `type_at`: headers behind it are part of its
    /// data (IEEE 802.3 section 3.2.6). Tags stand in front of the length.
    fn change_length(&mut self, type_at: usize, change: impl FnOnce(u16) -> u16) {
        let Some(at) = type_at.checked_sub(2 + SNAP.len()).filter(|&at| at >= ADDRESSES) else {
            return;
        };
        if self[at + 2..type_at] == SNAP {
            let len = change(u16::from_be_bytes([self[at], self[at + 1]]));
            self[at..at + 2].copy_from_slice(&len.to_be_bytes());
        }
    }

    /// Copies the time to live of the second outermost header that has one to the outermost.
    pub fn copy_ttl_out(&mut self) {
        if let Some((outer, inner)) = self.ttls() {
            let ttl = self[inner.at];
            outer.write(self, ttl);
        }
    }

    /// Copies the time to live of the outermost header that has one to the second outermost.
    pub fn copy_ttl_in(&mut self) {
        if let Some((outer, inner)) = self.ttls() {
            let ttl = self[outer.at];
            inner.write(self, ttl);
        }
    }

    /// Decrements the time to live of the outermost label stack entry, if there is one.
    ///
    /// # Errors
    /// When nothing would be left of it.
    pub fn decrement_mpls_ttl(&mut self) -> Result<(), InvalidTtl> {
        self.decrement(Field::MplsTtl)
    }

    /// Decrements the time to live of IPv4 or the hop limit of IPv6, if it is there.
    ///
    /// # Errors
    /// When nothing would be left of it.
    pub fn decrement_ip_ttl(&mut self) -> Result<(), InvalidTtl> {
        self.decrement(Field::IpTtl)
    }

    fn decrement(&mut self, field: Field) -> Result<(), InvalidTtl> {
        let headers = Headers::parse(self);
        match raw(field, self, &headers) {
            None => Ok(()),
            Some(0 | 1) => Err(InvalidTtl),
            Some(ttl) => {
                field.write(self, &headers, ttl - 1);
                Ok(())
            }
        }
    }

    fn open(&mut self, count: usize, by: usize) -> Result<(), NoRoom> {
        self.open_gap(count, by).then_some(()).ok_or(NoRoom)
    }

    /// The two outermost times to live.
    fn ttls(&self) -> Option<(Ttl, Ttl)> {
        let headers = Headers::parse(self);
        if let Some(at) = headers.offset(Header::Mpls) {
            let outer = Ttl::of_label(at);
            let next = at + LABEL;
            if u32_at(self, at) & BOTTOM_OF_STACK == 0 {
                return (next + LABEL <= self.len()).then(|| (outer, Ttl::of_label(next)));
            }
            return Some((outer, Ttl::of_ip(self, next)?));
        }
        if let Some(at) = headers.offset(Header::Ipv4) {
            let inner = at + usize::from(self[at] & 0xf) * 4;
            return (matches!(headers.ip_protocol, 4 | 41) && !headers.is_fragment)
                .then(|| Some((Ttl::of_ip(self, at)?, Ttl::of_ip(self, inner)?)))?;
        }
        let at = headers.offset(Header::Ipv6)?;
        let is_plain = headers.ipv6_extensions == 0 && matches!(headers.ip_protocol, 4 | 41);
        is_plain.then(|| Some((Ttl::of_ip(self, at)?, Ttl::of_ip(self, at + 40)?)))?
    }
}

/// Where a time to live is, and the checksum over it.
#[derive(Clone, Copy)]
struct Ttl {
    at: usize,
    checksum_at: Option<usize>,
}

impl Ttl {
    fn of_label(entry: usize) -> Self {
        Self {
            at: entry + 3,
            checksum_at: None,
        }
    }

    /// RFC 4928: the first four bits are the version.
    fn of_ip(frame: &[u8], at: usize) -> Option<Self> {
        let (ttl, len, checksum) = match frame.get(at)? >> 4 {
            4 => (8, 20, Some(10)),
            6 => (7, 40, None),
            _ => return None,
        };
        (frame.len() >= at + len).then(|| Self {
            at: at + ttl,
            checksum_at: checksum.map(|offset| at + offset),
        })
    }

    fn write(self, frame: &mut [u8], ttl: u8) {
        let old = frame[self.at];
        frame[self.at] = ttl;
        if let Some(at) = self.checksum_at {
            let sum = u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
            // RFC 1624 equation 3; the time to live is the high byte of its word.
            let new = (!sum & 0xffff) + (!(u32::from(old) << 8) & 0xffff) + (u32::from(ttl) << 8);
            let new = (new & 0xffff) + (new >> 16);
            let new = (new & 0xffff) + (new >> 16);
            frame[at..at + 2].copy_from_slice(&(!new as u16).to_be_bytes());
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
