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

    use super::*;

    /// The first of those that this thread may run on.
    fn run_on_one_processor() {
        // SAFETY: numbers, of which zero is one; the calls get the size of the set and indices within it.
        let done = unsafe {
            let (mut allowed, mut one): (libc::cpu_set_t, libc::cpu_set_t) = (mem::zeroed(), mem::zeroed());
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut allowed);
            let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed));
            libc::CPU_SET(first.unwrap(), &mut one);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one)
        };
        check(done).unwrap();
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
        // SAFETY: takes no pointers.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        use_short_slices(Duration::from_micros(100)).unwrap();
        assert_eq!(nice(), before);
    }
}
