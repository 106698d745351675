use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Who performs a trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Threads {
    /// One thread sends and receives in turns: the device has the other processors to itself.
    One,
    /// The calling thread receives, perhaps with others, and others send, each for some of the ports.
    Several {
        /// How many send: at least one, and no more than there are ports that send.
        senders: usize,
        /// How many receive: at least one, and no more than there are ports.
        receivers: usize,
    },
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// When there is no such processor, or this process may not use it.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    if processor >= CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("there is no processor {processor}")));
    }
    set.set(processor);
    sched_setaffinity(None, &set)
        .map_err(|error| io::Error::other(format!("cannot stay on processor {processor}: {error}")))
}
