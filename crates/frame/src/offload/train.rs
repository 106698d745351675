//! Segments of TCP that follow one another, put into one frame: the receiver then has the work of one.

use super::{Merged, PUSH, TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE, put_word, word};
use crate::{Checksum, header_len};

/// What the length field of an IP packet can say.
const MOST_LEN: usize = 0xffff;

/// Segments of one stream with the same headers, as [`Merged::cut`] makes them again from the frame that they become.
#[derive(Clone, Debug)]
pub struct Train {
    frame: Vec<u8>,
    merged: Merged,
    /// Whether the last one ends it: it is shorter than the others, or is to be delivered at once.
    is_complete: bool,
}

impl Train {
    /// Begins with a frame that holds one segment, in the memory of `buffer`.
    pub fn new(mut buffer: Vec<u8>, frame: &[u8], merged: Merged) -> Self {
        buffer.clear();
        buffer.extend_from_slice(frame);
        Self {
            frame: buffer,
            merged,
            is_complete: Self::is_last(frame, &merged),
        }
    }

    fn is_last(frame: &[u8], merged: &Merged) -> bool {
        frame[frame.len() - merged.single().transport as usize + TCP_FLAGS] & PUSH != 0
    }

    /// Takes in a frame that holds one segment, if it is the next of the same stream.
    pub fn take(&mut self, frame: &[u8], merged: &Merged) -> bool {
        let own = &self.merged;
        let headers_len = own.headers_len(self.frame.len());
        let fits = !self.is_complete
            && merged.headers_len(frame.len()) == headers_len
            && merged.is_v6() == own.is_v6()
            && merged.payload <= own.size
            && own.single().network as usize + merged.payload <= MOST_LEN
            && self.is_followed_by(&frame[..headers_len], merged);
        if !fits {
            return false;
        }
        self.frame.extend_from_slice(&frame[headers_len..]);
        self.is_complete = merged.payload < own.size || Self::is_last(frame, merged);
        self.merged.extend(merged.payload);
        if self.is_complete {
            let flags = headers_len - (merged.single().transport as usize - merged.payload) + TCP_FLAGS;
            self.frame[flags] |= frame[flags] & PUSH;
        }
        true
    }

    /// Whether headers differ from its own only in what differs from one segment to the next.
    fn is_followed_by(&self, headers: &[u8], merged: &Merged) -> bool {
        let span = merged.single();
        let network = headers.len() - (span.network as usize - merged.payload);
        let at = headers.len() - (span.transport as usize - merged.payload);
        let own = &self.frame[..headers.len()];
        // The length, for IPv4 the identification and the checksum; the sequence number, the flags and the checksum.
        let mut differing = [
            network + 4..network + 6,
            0..0,
            0..0,
            at + 4..at + 8,
            at + 13..at + 14,
            at + 16..at + 18,
        ];
        if !span.is_v6 {
            differing[0] = network + 2..network + 4;
            differing[1] = network + 4..network + 6;
            differing[2] = network + 10..network + 12;
        }
        let mut from = 0;
        for range in differing.into_iter().filter(|range| !range.is_empty()) {
            if own[from..range.start] != headers[from..range.start] {
                return false;
            }
            from = range.end;
        }
        let sequence = |bytes: &[u8]| {
            let at = at + TCP_SEQUENCE;
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let identification = |bytes: &[u8]| word(bytes, network + 4) as u16;
        own[from..] == headers[from..]
            && at + TCP_CHECKSUM + 2 <= headers.len()
            && sequence(own).wrapping_add(self.merged.payload as u32) == sequence(headers)
            && (span.is_v6
                || identification(own).wrapping_add(self.merged.segments() as u16) == identification(headers))
    }

    /// The frame that it has become, and what it holds.
    pub fn finish(mut self) -> (Vec<u8>, Merged) {
        let span = self.merged.single();
        let network = self.frame.len() - span.network as usize;
        if span.is_v6 {
            let len = span.network as usize - header_len::IPV6;
            put_word(&mut self.frame, network + 4, len);
        } else {
            let end = network + usize::from(self.frame[network] & 0xf) * 4;
            put_word(&mut self.frame, network + 2, span.network as usize);
            put_word(&mut self.frame, network + 10, 0);
            let sum = Checksum::new().with_bytes(&self.frame[network..end]).finish();
            put_word(&mut self.frame, network + 10, usize::from(sum));
        }
        (self.frame, self.merged)
    }
}
