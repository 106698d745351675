//! What hosts leave to network cards: checksums that are still to be finished, and several segments in one frame.
//!
//! A host with default settings sends TCP and UDP with nothing but the sum of the pseudo header in the checksum field,
//! and up to 64 KB of a stream behind one header. A switch in software is the card.

mod layers;
mod merged;
#[cfg(test)]
mod tests;
mod train;

use crate::splice::crc32c;
use crate::{Checksum, IpProtocol};
use layers::{Layer, Layers};

pub(crate) use layers::is_on_a_route;
pub use merged::{Merged, PartialSum};
pub use train::Train;

/// Where the checksum lies in its header.
pub(crate) const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const SCTP_CHECKSUM: usize = 8;
const SCTP_CHECKSUM_LEN: usize = 4;
pub(crate) const TCP_SEQUENCE: usize = 4;
pub(crate) const TCP_FLAGS: usize = 13;
pub(crate) const PUSH: u8 = 0x08;

/// Finishes a checksum over all that begins at `start`: the field `offset` bytes behind it holds the sum of the pseudo
/// header, or nothing in the case of SCTP. False, and nothing done, where the frame does not reach that far.
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let field = start + offset;
    if offset == SCTP_CHECKSUM {
        let end = Layers::of(frame).find(|layer| layer.at == start);
        let end = end.map_or(frame.len(), |layer| layer.end);
        return finish_sctp(frame, start, end.max(start));
    }
    if field + 2 > frame.len() {
        return false;
    }
    let sum = Checksum::new().with_bytes(&frame[start..]).finish();
    put_sum(frame, field, sum);
    true
}

/// Finishes a checksum of which it is not known whether it is finished: the first that looks unfinished, of the packets
/// that tunnels have put into one another.
///
/// One that holds exactly the sum of the pseudo header is taken for unfinished. Where it was finished and has that value
/// by chance, it stays as it is: what is stored is the same sum. A missing sum of SCTP is 0 likewise.
///
/// A segment of TCP that others may follow is left unfinished and given back: see [`Merged::find_unfinished`].
pub fn finish_untold_checksum(frame: &mut [u8]) -> Option<Merged> {
    let mut layers = Layers::of(frame);
    let outer = layers.next()?;
    let segment = Merged::unfinished_at(frame, outer);
    if segment.is_none() {
        let unfinished = std::iter::once(outer)
            .chain(layers)
            .find(|layer| layer.is_unfinished(frame));
        if let Some(layer) = unfinished {
            layer.finish_checksum(frame);
        }
    }
    segment
}

impl Layer {
    fn is_unfinished(&self, frame: &[u8]) -> bool {
        let Some(offset) = self.checksum_offset() else {
            return false;
        };
        let field = self.at + offset;
        if self.protocol == IpProtocol::SCTP {
            return frame[field..field + SCTP_CHECKSUM_LEN] == [0; SCTP_CHECKSUM_LEN];
        }
        let stored = word(frame, field);
        // RFC 768: the sender made none.
        let is_none = self.protocol == IpProtocol::UDP && stored == 0;
        !is_none && stored == usize::from(self.pseudo_sum(frame, self.end - self.at))
    }

    fn finish_checksum(&self, frame: &mut [u8]) {
        if let Some(offset) = self.checksum_offset() {
            finish_checksum(&mut frame[..self.end], self.at, offset);
        }
    }
}

fn finish_sctp(frame: &mut [u8], at: usize, end: usize) -> bool {
    let field = at + SCTP_CHECKSUM;
    if field + SCTP_CHECKSUM_LEN > end {
        return false;
    }
    frame[field..][..SCTP_CHECKSUM_LEN].fill(0);
    let sum = crc32c(&frame[at..end]).to_le_bytes();
    frame[field..][..SCTP_CHECKSUM_LEN].copy_from_slice(&sum);
    true
}

/// 0 would say of UDP that there is none (RFC 768); the two zeros of the sum mean the same to everybody else.
fn put_sum(frame: &mut [u8], field: usize, sum: u16) {
    let sum = if sum == 0 { 0xffff } else { sum };
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

pub(crate) fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

pub(crate) fn put_word(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}
