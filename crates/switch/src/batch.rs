//! Frames on their way to an interface, one behind the other.

use brimful_netdev::MAX_BURST;

/// The smallest frame of Ethernet without its check sequence; shorter ones are padded with zeros.
pub(crate) const SMALLEST_FRAME_LEN: usize = 60;

/// Frames that are to leave by a port together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Packed>,
}

/// Where a frame of a batch lies, and the queue that it is for.
#[derive(Clone, Copy, Debug)]
struct Packed {
    start: usize,
    end: usize,
    queue: u32,
}

impl Batch {
    /// Adds a frame for a queue, padded with zeros to the smallest of Ethernet.
    pub(crate) fn push(&mut self, frame: &[u8], queue: u32) {
        self.push_with(queue, |bytes| bytes.extend_from_slice(frame));
    }

    /// The same for one that `write` appends to what it is given.
    pub(crate) fn push_with(&mut self, queue: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let end = self.bytes.len().max(start + SMALLEST_FRAME_LEN);
        self.bytes.resize(end, 0);
        self.frames.push(Packed { start, end, queue });
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        let Packed { start, end, .. } = self.frames[index];
        &self.bytes[start..end]
    }

    /// Takes frames out that are too long; gives how many.
    pub(crate) fn drop_unless(&mut self, fits: impl Fn(&[u8]) -> bool) -> usize {
        let (before, bytes) = (self.frames.len(), &self.bytes);
        self.frames.retain(|packed| fits(&bytes[packed.start..packed.end]));
        before - self.frames.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() >= MAX_BURST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }

    /// The frames and their queues.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let packed = self.frames.iter();
        packed.map(|packed| (&self.bytes[packed.start..packed.end], packed.queue))
    }
}
