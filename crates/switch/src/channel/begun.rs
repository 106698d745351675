//! Messages of which a part has come.

use brimful_openflow::wire::{HEADER_BYTES, Header};

/// Bytes of a piece of a message that has not come whole.
const PIECE_BYTES: usize = 4 << 10;

/// The beginning of a message, in pieces that all have the same small size: for a size above 8 KiB the allocator takes
/// half a megabyte for each thread.
#[derive(Debug, Default)]
pub(super) struct Begun {
    pieces: Vec<Vec<u8>>,
    len: usize,
}

impl Begun {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that it lacks: first of its header, and then of what that says.
    pub(super) fn missing(&self) -> usize {
        let header = self.pieces.first().and_then(|piece| Header::parse(piece));
        let whole = header.map_or(HEADER_BYTES, |header| usize::from(header.length));
        whole.saturating_sub(self.len)
    }

    /// Adds what comes next.
    pub(super) fn extend(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.len.is_multiple_of(PIECE_BYTES) {
                self.pieces.push(Vec::with_capacity(PIECE_BYTES));
            }
            let Some(piece) = self.pieces.last_mut() else { return };
            let (more, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES - piece.len()));
            piece.extend_from_slice(more);
            self.len += more.len();
            bytes = rest;
        }
    }

    /// Moves the message, which is whole, behind others.
    pub(super) fn move_to(&mut self, received: &mut Vec<u8>) {
        received.reserve(self.len);
        for piece in std::mem::take(self).pieces {
            received.extend_from_slice(&piece);
        }
    }
}

/// Where the whole messages end that come first. Behind a message whose length cannot be, none is looked for.
pub(super) fn end_of_whole(bytes: &[u8]) -> usize {
    let mut end = 0;
    while let Some(header) = Header::parse(&bytes[end..]) {
        let length = usize::from(header.length);
        if length < HEADER_BYTES {
            return bytes.len();
        }
        if bytes.len() - end < length {
            break;
        }
        end += length;
    }
    end
}
