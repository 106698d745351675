//! Sleeping until frames arrive.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::system::{check, get_option};

/// Sleeps until a frame has arrived at one of the ports with these descriptors ([`crate::Receiver::descriptor`]), or for
/// a time, which is rounded up to milliseconds. Gives whether a frame has arrived.
///
/// An interface that goes down, or away, wakes the sleeper once and is no reason to stay awake.
///
/// # Errors
/// When there are more descriptors than the operating system waits for at once.
pub fn wait_for_frames(descriptors: &[BorrowedFd<'_>], at_most: Duration) -> io::Result<bool> {
    let mut wanted: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|descriptor| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let ready = wait(&mut wanted, at_most)?;
    let is_about_frames = |entry: &libc::pollfd| entry.revents & libc::POLLIN != 0;
    if !ready || wanted.iter().any(is_about_frames) {
        return Ok(ready);
    }
    // Errors only. They stay until somebody reads them; a TAP that was deleted has one for ever.
    for (entry, descriptor) in wanted.iter_mut().zip(descriptors) {
        if entry.revents != 0 && get_option(descriptor, libc::SOL_SOCKET, libc::SO_ERROR, 0_i32).unwrap_or(0) == 0 {
            // The kernel passes over negative ones.
            entry.fd = -1;
        }
    }
    wait(&mut wanted, at_most)
}

fn wait(wanted: &mut [libc::pollfd], at_most: Duration) -> io::Result<bool> {
    let timeout = at_most.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as libc::c_int;
    // SAFETY: the entries live for the call, and their number is given.
    let ready = check(unsafe { libc::poll(wanted.as_mut_ptr(), wanted.len() as libc::nfds_t, timeout) });
    match ready {
        Ok(count) => Ok(count > 0),
        // A signal: the caller looks what there is to do.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_sleeper_wakes_for_what_arrives_and_for_nothing_else() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (other, _silent) = UnixStream::pair().unwrap();
        let descriptors = [other.as_fd(), near.as_fd()];
        assert!(!wait_for_frames(&descriptors, Duration::from_millis(1)).unwrap());
        far.write_all(b"frame").unwrap();
        assert!(wait_for_frames(&descriptors, Duration::from_mins(1)).unwrap());
        assert!(!wait_for_frames(&[], Duration::from_nanos(1)).unwrap());
    }

    #[test]
    fn an_error_that_stays_keeps_nobody_awake() {
        // A pipe without readers has an error for ever, and is no socket.
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let (near, mut far) = UnixStream::pair().unwrap();
        let descriptors = [writer.as_fd(), near.as_fd()];
        assert!(!wait_for_frames(&descriptors, Duration::from_millis(1)).unwrap());
        far.write_all(b"frame").unwrap();
        assert!(wait_for_frames(&descriptors, Duration::from_mins(1)).unwrap());
    }
}
