use std::ops::{Deref, DerefMut};

use crate::{MonotonicTime, Offload};

/// A frame that has arrived, where the back end has it: it may be changed there, and sent on from there, until it is
/// dropped. Headers can be put in front of it in the room that the back end has left ([`crate::Capabilities::headroom`]).
///
/// ```
/// let mut buffer = *b"...frame";
/// let mut arrived = brimful_netdev::Arrived::new(&mut buffer, 3, None);
/// arrived[0] = b'F';
/// assert_eq!((&*arrived, arrived.headroom()), (&b"Frame"[..], 3));
/// ```
#[derive(Debug)]
pub struct Arrived<'b> {
    buffer: &'b mut [u8],
    headroom: usize,
    /// When it arrived, where the kernel has noted it.
    pub time: Option<MonotonicTime>,
    /// What is still to be done to it.
    pub offload: Offload,
}

impl<'b> Arrived<'b> {
    /// The frame behind the first `headroom` bytes of a buffer.
    ///
    /// # Panics
    /// When the buffer is shorter than that.
    #[inline]
    pub fn new(buffer: &'b mut [u8], headroom: usize, time: Option<MonotonicTime>) -> Self {
        assert!(headroom <= buffer.len(), "the frame lies in the buffer");
        Self {
            buffer,
            headroom,
            time,
            offload: Offload::Nothing,
        }
    }

    /// The same, with something still to be done to it.
    #[inline]
    #[must_use]
    pub fn with_offload(self, offload: Offload) -> Self {
        Self { offload, ..self }
    }

    /// Bytes in front of the frame that may be used.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.headroom
    }

    /// The buffer with the frame at its end.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }
}

impl Deref for Arrived<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[self.headroom..]
    }
}

impl DerefMut for Arrived<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.headroom..]
    }
}
