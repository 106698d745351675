use std::ops::{Deref, DerefMut};

/// A frame within a buffer that has room in front of it, so that headers are pushed without moving what is behind them.
///
/// ```
/// let mut buffer = [0_u8; 192];
/// let packet = brimful_frame::Packet::new(&mut buffer, 128, 60);
/// assert_eq!((packet.len(), packet.headroom()), (60, 128));
/// ```
#[derive(Debug, Eq, PartialEq)]
pub struct Packet<'b> {
    buffer: &'b mut [u8],
    start: usize,
    end: usize,
}

impl<'b> Packet<'b> {
    /// The frame of `len` bytes that begins at `start`.
    ///
    /// # Panics
    /// When the buffer does not hold it.
    #[inline]
    pub fn new(buffer: &'b mut [u8], start: usize, len: usize) -> Self {
        assert!(start + len <= buffer.len(), "the frame lies in the buffer");
        Self {
            buffer,
            start,
            end: start + len,
        }
    }

    /// Bytes in front of the frame.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.start
    }

    /// Moves the first `count` bytes `by` bytes to the front: a gap opens behind them.
    pub(crate) fn open_gap(&mut self, count: usize, by: usize) -> bool {
        let Some(start) = self.start.checked_sub(by) else {
            return false;
        };
        self.buffer.copy_within(self.start..self.start + count, start);
        self.start = start;
        true
    }

    /// Moves the first `count` bytes over the `by` bytes behind them.
    pub(crate) fn close_gap(&mut self, count: usize, by: usize) {
        let start = self.start + by;
        self.buffer.copy_within(self.start..self.start + count, start);
        self.start = start;
    }
}

impl Deref for Packet<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }
}

impl DerefMut for Packet<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.end]
    }
}
