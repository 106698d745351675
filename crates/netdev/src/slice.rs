//! How soon the scheduler runs a thread that has been woken.

use std::io;
use std::mem;
use std::time::Duration;

use crate::system::check;

/// The first version of `struct sched_attr` (`sched_setattr(2)`).
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Has the scheduler give the calling thread slices of this length, 100 us at least. A thread with shorter slices than
/// the one that runs is let in when it wakes, where it would otherwise wait for the end of the other's slice, which is
/// milliseconds (Linux 6.12; older ones take no notice). It is given no more of the processor.
///
/// # Errors
/// When the operating system refuses.
pub fn use_short_slices(slice: Duration) -> io::Result<()> {
    // SAFETY: takes no pointers. What it gives is no error where it is negative.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: mem::size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime_ns: slice.as_nanos() as u64,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the attributes live for the call and say how long they are.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    check(done as libc::c_int)?;
    Ok(())
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_niceness() {
        // SAFETY: takes no pointers.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        use_short_slices(Duration::from_micros(100)).unwrap();
        assert_eq!(nice(), before);
    }
}
