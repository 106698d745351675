//! Packets that wait in the switch for their controller's decision (OF 1.3.5 section 6.1.2).

use brimful_openflow::{ErrorCode, ErrorMessage, NO_BUFFER};

/// How many packets wait at most.
pub(super) const BUFFERS: u32 = 256;
/// Nanoseconds after which a packet's place may be taken by another one.
const KEPT_NS: u64 = 1_000_000_000;
/// Nanoseconds after which a packet is no longer given out.
const LONGEST_NS: u64 = 10_000_000_000;

/// A packet that waits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Buffered {
    pub(super) frame: Vec<u8>,
    pub(super) in_port: u32,
}

#[derive(Debug)]
struct Slot {
    number: u32,
    since: u64,
    /// `None` once it has been given out.
    packet: Option<Buffered>,
}

/// The packets of a switch, each with a number that no other has for long.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    slots: Vec<Slot>,
    next: u32,
}

impl Buffers {
    /// Keeps a packet, and gives its number; `None` where all places are taken.
    pub(super) fn keep(&mut self, packet: Buffered, now: u64) -> Option<u32> {
        let number = self.next;
        let index = (number % BUFFERS) as usize;
        let slot = Slot {
            number,
            since: now,
            packet: Some(packet),
        };
        match self.slots.get_mut(index) {
            Some(old) if old.packet.is_some() && now.saturating_sub(old.since) < KEPT_NS => return None,
            Some(old) => *old = slot,
            None => self.slots.push(slot),
        }
        self.next = if number == NO_BUFFER - 1 { 0 } else { number + 1 };
        Some(number)
    }

    /// Gives a packet out, once.
    ///
    /// # Errors
    /// When there is none with this number, or there was one.
    pub(super) fn take(&mut self, number: u32, now: u64) -> Result<Buffered, ErrorMessage> {
        let slot = self.slots.get_mut((number % BUFFERS) as usize);
        let unknown = || ErrorCode::BUFFER_UNKNOWN.because(format!("there is no buffer {number}"));
        let slot = slot.filter(|slot| slot.number == number).ok_or_else(unknown)?;
        if now.saturating_sub(slot.since) >= LONGEST_NS {
            slot.packet = None;
            return Err(unknown());
        }
        let used = || ErrorCode::BUFFER_EMPTY.because(format!("buffer {number} has been used"));
        slot.packet.take().ok_or_else(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(octet: u8) -> Buffered {
        Buffered {
            frame: vec![octet; 60],
            in_port: 1,
        }
    }

    #[test]
    fn a_packet_is_given_out_once() {
        let mut buffers = Buffers::default();
        let number = buffers.keep(packet(1), 0).unwrap();
        assert_eq!(buffers.take(number, 5), Ok(packet(1)));
        assert_eq!(buffers.take(number, 5).unwrap_err().code, ErrorCode::BUFFER_EMPTY.1);
        assert_eq!(buffers.take(77, 5).unwrap_err().code, ErrorCode::BUFFER_UNKNOWN.1);
    }

    #[test]
    fn packets_expire_and_their_places_are_used_again() {
        let mut buffers = Buffers::default();
        let numbers: Vec<u32> = (0..BUFFERS).map(|_| buffers.keep(packet(1), 0).unwrap()).collect();
        assert_eq!(buffers.keep(packet(2), KEPT_NS - 1), None);
        let next = buffers.keep(packet(2), KEPT_NS).unwrap();
        assert!(!numbers.contains(&next));
        assert_eq!(
            buffers.take(numbers[0], KEPT_NS).unwrap_err().code,
            ErrorCode::BUFFER_UNKNOWN.1
        );
        assert_eq!(buffers.take(next, KEPT_NS), Ok(packet(2)));
        assert_eq!(
            buffers.take(numbers[1], LONGEST_NS).unwrap_err().code,
            ErrorCode::BUFFER_UNKNOWN.1
        );
    }
}
