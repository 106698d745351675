//! Memory shared with the kernel: the frames, and the four rings that say whose each frame is.

use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::os::fd::AsFd;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::xdp::{XdpRingFlags, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags};

use super::program::STAMP_LEN;
use crate::ring::{Entries, RingMemory};
use crate::system::map_shared;

/// Frames of one socket: chunks of equal length, each of which belongs to the kernel or to us, as the rings say.
///
/// The two halves of a port have chunks of their own: the kernel gives back to either what it got from it, the chunks
/// of the fill ring on the receive ring and those of the send ring on the completion ring.
#[derive(Debug)]
pub(super) struct Frames {
    mapping: Arc<MmapRaw>,
    chunk_len: usize,
    /// The part of the mapping that is this half's alone.
    own: Range<usize>,
}

impl Frames {
    /// Maps `count` chunks; `chunk_len` is a power of two.
    pub(super) fn new(count: u32, chunk_len: usize) -> io::Result<Self> {
        let len = count as usize * chunk_len;
        Ok(Self {
            mapping: Arc::new(MmapOptions::new().len(len).populate().map_anon()?.into()),
            chunk_len,
            own: 0..len,
        })
    }

    /// Takes all chunks but the first `count` away.
    pub(super) fn split_off(&mut self, count: u32) -> Self {
        let at = self.own.start + count as usize * self.chunk_len;
        let taken = at..self.own.end;
        self.own.end = at;
        Self {
            mapping: Arc::clone(&self.mapping),
            chunk_len: self.chunk_len,
            own: taken,
        }
    }

    /// The addresses of the chunks.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> + use<> {
        self.own.clone().step_by(self.chunk_len).map(|address| address as u64)
    }

    /// Registers the whole mapping with the kernel.
    pub(super) fn registration(&self) -> XdpUmemReg {
        XdpUmemReg {
            addr: self.mapping.as_ptr() as u64,
            len: self.mapping.len() as u64,
            chunk_size: self.chunk_len as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        }
    }

    /// The whole chunk at an address of ours.
    pub(super) fn chunk_mut(&mut self, address: u64) -> &mut [u8] {
        let start = self.checked(address & !(self.chunk_len as u64 - 1), self.chunk_len);
        // SAFETY: `checked` keeps the range inside the part of the mapping that no other `Frames` uses, and the mapping
        // lives as long as `self`. The chunk is ours until it is published on a ring, and the mutable borrow allows one
        // such slice at a time.
        unsafe { slice::from_raw_parts_mut(start, self.chunk_len) }
    }

    /// The chunk up to the end of the frame that the kernel has put at an address, and where in it the frame begins. The
    /// kernel gave it to us through the receive ring; it is ours until we put it on the fill ring.
    pub(super) fn frame_mut(&mut self, address: u64, len: u32) -> (&mut [u8], usize) {
        let at = address as usize & (self.chunk_len - 1);
        let chunk = self.chunk_mut(address);
        (&mut chunk[..at + len as usize], at)
    }

    /// What the program wrote directly before the frame that the kernel has put at an address; nothing where it could
    /// not. It is given once: the next program may not be able to.
    pub(super) fn take_stamp(&mut self, address: u64) -> Option<u64> {
        let start = self.checked(address - STAMP_LEN, STAMP_LEN as usize);
        // SAFETY: as for `frame`; before every frame the kernel leaves room for what programs write. Bytes need no
        // alignment.
        let stamp = unsafe { start.cast::<[u8; STAMP_LEN as usize]>().replace([0; _]) };
        Some(u64::from_ne_bytes(stamp)).filter(|&stamp| stamp != 0)
    }

    fn checked(&self, address: u64, len: usize) -> *mut u8 {
        let start = address as usize;
        assert!(
            self.own.start <= start && start <= self.own.end && len <= self.own.end - start,
            "the kernel only gives back addresses that it got from here"
        );
        // SAFETY: just checked to be inside the mapping.
        unsafe { self.mapping.as_mut_ptr().add(start) }
    }
}

/// One of the four rings of a socket.
#[derive(Debug)]
pub(super) struct Ring<T> {
    mapping: MmapRaw,
    offsets: XdpRingOffset,
    entry: PhantomData<T>,
}

/// The rings, and frames between them, are this side's alone; the kernel's side is in the kernel.
impl<T: Copy> Ring<T> {
    pub(super) fn new(socket: &impl AsFd, offsets: XdpRingOffset, size: u32, page_offset: u64) -> io::Result<Self> {
        let len = offsets.desc as usize + size as usize * mem::size_of::<T>();
        Ok(Self {
            mapping: map_shared(socket, len, page_offset)?,
            offsets,
            entry: PhantomData,
        })
    }

    /// Whether the kernel waits to be notified of entries; it does not while it looks by itself
    /// (`XDP_USE_NEED_WAKEUP`).
    pub(super) fn needs_wakeup(&self) -> bool {
        let flags = |at| XdpRingFlags::from_bits_retain(self.word(at).load(Ordering::Relaxed));
        let waits = |at| flags(at).contains(XdpRingFlags::XDP_RING_NEED_WAKEUP);
        self.offsets.flags.is_none_or(waits)
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the offset is the kernel's own for this mapping, aligned and inside it; both sides access the word
        // atomically only.
        unsafe { AtomicU32::from_ptr(self.mapping.as_mut_ptr().add(offset as usize).cast()) }
    }

    fn entry(&self, slot: u32) -> *mut T {
        // SAFETY: slots are below the size that the mapping was made for.
        unsafe {
            self.mapping
                .as_mut_ptr()
                .add(self.offsets.desc as usize)
                .cast::<T>()
                .add(slot as usize)
        }
    }
}

impl<T: Copy> RingMemory for Ring<T> {
    type Position = AtomicU32;

    fn produced(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumed(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }
}

impl<T: Copy> Entries for Ring<T> {
    type Entry = T;

    fn get(&self, slot: u32) -> T {
        // SAFETY: the slot is inside the mapping and ours, so that the kernel does not write it; it is aligned as the
        // kernel's own structure, and any bytes are a value of these plain integers.
        unsafe { self.entry(slot).read() }
    }

    fn put(&mut self, slot: u32, entry: T) {
        // SAFETY: the slot is inside the mapping and ours, so that the kernel does not read it.
        unsafe { self.entry(slot).write(entry) }
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;

    #[test]
    fn halves_have_chunks_of_their_own() {
        let mut first = Frames::new(3, 2048).unwrap();
        let mut rest = first.split_off(1);
        let addresses = |frames: &Frames| frames.addresses().collect::<Vec<_>>();
        assert_eq!((addresses(&first), addresses(&rest)), (vec![0], vec![2048, 4096]));
        rest.chunk_mut(4096).fill(7);
        assert_eq!(rest.frame_mut(6143, 1), (&mut [7; 2048][..], 2047));
        assert_eq!(first.chunk_mut(0).len(), 2048);
    }

    #[test]
    #[should_panic(expected = "got from here")]
    fn the_chunks_of_the_other_half_are_out_of_reach() {
        let mut first = Frames::new(2, 2048).unwrap();
        let _rest = first.split_off(1);
        first.frame_mut(2048, 2);
    }
}
