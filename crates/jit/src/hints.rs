//! Hints to the processor and the allocator about memory before it is used.

use std::ffi::c_long;
use std::time::Duration;

/// Bytes that a processor fetches at once.
const CACHE_LINE: usize = 64;
/// `mi_option_purge_delay`, in milliseconds; the crate leaves its number to its users.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has the processor fetch all of something that will be changed, so that a writer of many things in turn waits less
/// for memory, and for other processors that have it.
#[inline]
pub fn prefetch<T>(thing: &T) {
    let first: *const u8 = std::ptr::from_ref(thing).cast();
    for offset in (0..size_of::<T>()).step_by(CACHE_LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that accesses nothing; what a processor does not know of it, it leaves out.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) first.add(offset), options(nostack, preserves_flags, readonly));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("prfm pstl1keep, [{}]", in(reg) first.add(offset), options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = (first, offset);
    }
}

/// Sets for how long mimalloc keeps memory that was freed, where that is the allocator. A caller that takes as much
/// again meanwhile need not wait for the system. To be called before other threads begin.
pub fn keep_freed_memory(time: Duration) {
    let milliseconds = time.as_millis().try_into().unwrap_or(c_long::MAX);
    // SAFETY: stores a number among the options of the allocator, which no other thread changes.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, milliseconds) }
}

/// Has mimalloc, where that is the allocator, take back what this thread has freed, so that other threads can have it: it
/// keeps some for each thread, which is much for threads that mostly wait.
pub fn give_back_memory() {
    // SAFETY: the allocator's own state of this thread, of which nothing is in use here.
    unsafe { libmimalloc_sys::mi_collect(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_of_the_allocator_is_the_one_that_is_meant() {
        // SAFETY: reads a number among the options of the allocator, which no other test changes.
        let now = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        // What this version begins with.
        assert_eq!(now(), 1000);
        keep_freed_memory(Duration::from_secs(7));
        assert_eq!(now(), 7000);
    }
}
