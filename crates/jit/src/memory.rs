//! The slots of a hash, by an address that compiled code knows.

use std::ptr::NonNull;

#[cfg(not(all(feature = "loom", test)))]
use memmap2::MmapMut;

use crate::hints::prefetch;
use crate::sync::AtomicU64;

#[cfg(not(all(feature = "loom", test)))]
/// Memory from here on is taken from the system and given back to it: it comes zeroed page by page as it is used, so
/// that taking it does not hold up the caller. Less is zeroed within a millisecond, while a fault for each page, time
/// and again, takes longer.
const SMALLEST_MAPPED_BYTES: usize = 1 << 22;

/// Slots and their number, as compiled code reads them.
#[repr(C, align(64))]
pub(crate) struct Memory {
    /// The number of slots less one: they are a power of two.
    pub(crate) index_mask: u64,
    /// The first slot.
    pub(crate) slots: *const AtomicU64,
    words: usize,
    /// Keeps them.
    _owned: Owned,
}

/// Loom's atomics are more than their bits, so that none are made of zeros.
#[cfg(all(feature = "loom", test))]
type Owned = Boxed<AtomicU64>;

#[cfg(not(all(feature = "loom", test)))]
#[allow(dead_code, reason = "what is read of it is read by its address")]
enum Owned {
    Lines(Boxed<Line>),
    Mapped(MmapMut),
}

#[cfg(not(all(feature = "loom", test)))]
#[repr(C, align(64))]
struct Line([AtomicU64; 8]);

/// A slice in a box, by its address: to move a box says that no other pointers into it are used any more.
struct Boxed<T>(NonNull<[T]>);

impl<T> Boxed<T> {
    fn new(owned: Box<[T]>) -> Self {
        Self(NonNull::from(Box::leak(owned)))
    }

    fn first(&self) -> *const AtomicU64 {
        self.0.as_ptr().cast_const().cast()
    }
}

impl<T> Drop for Boxed<T> {
    fn drop(&mut self) {
        // SAFETY: it was a box, and is made one again here alone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: zeros are zeros in atomics.
#[cfg(not(all(feature = "loom", test)))]
unsafe impl bytemuck::Zeroable for Line {}

// SAFETY: `slots` points into what is owned, which lives as long and is read and written as atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Empty slots of a number of words.
    #[allow(clippy::unnecessary_box_returns, reason = "readers know it by its address")]
    pub(crate) fn new(slots: usize, stride: usize) -> Box<Self> {
        let words = slots * stride;
        let (first, owned) = zeroed(words);
        Box::new(Self {
            index_mask: slots as u64 - 1,
            slots: first,
            words,
            _owned: owned,
        })
    }

    /// A word of a slot, counted from the first slot.
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words);
        // SAFETY: the index lies within what is owned, whose first byte lies on a cache line.
        unsafe { &*self.slots.add(index) }
    }

    /// Has the processor fetch a word: a reader of many in turn waits less for memory.
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch(self.word(index));
    }

    pub(crate) fn slots(&self) -> usize {
        self.index_mask as usize + 1
    }
}

#[cfg(all(feature = "loom", test))]
fn zeroed(words: usize) -> (*const AtomicU64, Owned) {
    let owned = Boxed::new((0..words).map(|_| AtomicU64::new(0)).collect());
    (owned.first(), owned)
}

#[cfg(not(all(feature = "loom", test)))]
fn zeroed(words: usize) -> (*const AtomicU64, Owned) {
    let bytes = words * size_of::<AtomicU64>();
    let mapped = if bytes < SMALLEST_MAPPED_BYTES {
        None
    } else {
        // Where the system has no more to give, the allocator says so in its own way.
        let map = MmapMut::map_anon(bytes).ok();
        #[cfg(target_os = "linux")]
        if let Some(map) = &map {
            // Slots are read in no order: large pages save misses. Where there are none, small ones do.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        map
    };
    if let Some(mut map) = mapped {
        (map.as_mut_ptr().cast_const().cast(), Owned::Mapped(map))
    } else {
        let lines = Boxed::new(bytemuck::allocation::zeroed_slice_box::<Line>(words.div_ceil(8)));
        (lines.first(), Owned::Lines(lines))
    }
}
