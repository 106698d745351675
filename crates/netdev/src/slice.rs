//! How soon the scheduler runs a thread that has been woken.

use std::io;
use std::mem;
use std::time::Duration;

use rustix::process::getpriority_process;

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
    let attributes = Attributes {
        size: mem::size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: getpriority_process(None)?,
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

/// How often the scheduler took the processor from the calling thread for another one. Neither interrupts nor what a
/// hypervisor takes count.
///
/// # Errors
/// When the operating system refuses.
pub fn times_displaced() -> io::Result<u64> {
    // SAFETY: numbers, of which zero is one.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: there is room for what is written.
    check(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) })?;
    Ok(usage.ru_nivcsw as u64)
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use std::time::Instant;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    /// The first of those that this thread may run on.
    fn run_on_one_processor() {
        let allowed = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap());
        sched_setaffinity(None, &one).unwrap();
    }

    #[test]
    fn a_thread_that_shares_its_processor_is_displaced() {
        let pair = [(); 2].map(|()| {
            std::thread::spawn(|| {
                run_on_one_processor();
                let (start, before) = (Instant::now(), times_displaced().unwrap());
                while start.elapsed() < Duration::from_millis(200) {}
                times_displaced().unwrap() - before
            })
        });
        let displaced = pair.map(|thread| thread.join().unwrap());
        assert!(displaced.iter().all(|times| *times > 0), "{displaced:?}");
    }

    #[test]
    fn a_thread_keeps_its_niceness() {
        let nice = || getpriority_process(None).unwrap();
        let before = nice();
        use_short_slices(Duration::from_micros(100)).unwrap();
        assert_eq!(nice(), before);
    }
}
