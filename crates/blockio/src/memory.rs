use std::io;

use memmap2::{MmapMut, MmapRaw};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a device may compare or compress by itself is stamped in each of these.
const SECTOR: usize = 512;

/// One buffer a slot, in memory that lies at the boundaries of pages, as unbuffered IO wants it.
pub(crate) struct Buffers {
    area: MmapRaw,
    slot_len: usize,
    slots: usize,
    stamp: u64,
}

impl Buffers {
    /// Buffers of this length each.
    pub(crate) fn new(slots: u32, slot_len: u32) -> io::Result<Self> {
        let (slots, slot_len) = (slots as usize, slot_len as usize);
        Ok(Self {
            area: MmapMut::map_anon(slots * slot_len)?.into(),
            slot_len,
            slots,
            stamp: 0,
        })
    }

    /// All of them, for the kernel.
    pub(crate) fn area(&self) -> libc::iovec {
        libc::iovec {
            iov_base: self.area.as_mut_ptr().cast(),
            iov_len: self.area.len(),
        }
    }

    /// Fills all of them with data that cannot be compressed.
    pub(crate) fn fill(&mut self, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        self.stamp = random.next_u64();
        for slot in 0..self.slots {
            random.fill_bytes(self.bytes(slot as u32));
        }
    }

    /// Makes the data of a slot unlike all before, at little cost: a new number in each sector.
    ///
    /// The caller has the slot to itself: the device is not using it.
    pub(crate) fn renew(&mut self, slot: u32, len: usize) {
        let start = self.start(slot, len);
        for sector in (0..len).step_by(SECTOR) {
            self.stamp = self.stamp.wrapping_add(0x9e37_79b9_7f4a_7c15);
            // SAFETY: `start` checked that the bytes are within the slot, and lengths are multiples of a sector.
            unsafe { start.add(sector).cast::<u64>().write_unaligned(self.stamp) };
        }
    }

    /// The bytes of a slot that no device is using.
    pub(crate) fn bytes(&mut self, slot: u32) -> &mut [u8] {
        let start = self.start(slot, self.slot_len);
        // SAFETY: within the mapping, and ours alone while the buffers are borrowed: IO that borrows nothing is the
        // ring's, which hands out no slices.
        unsafe { std::slice::from_raw_parts_mut(start, self.slot_len) }
    }

    /// The first byte of a slot, which is valid for this length.
    pub(crate) fn start(&self, slot: u32, len: usize) -> *mut u8 {
        let slot = slot as usize;
        assert!(slot < self.slots && len <= self.slot_len, "an IO fits into its slot");
        // SAFETY: the slot is within the mapping.
        unsafe { self.area.as_mut_ptr().add(slot * self.slot_len) }
    }
}
