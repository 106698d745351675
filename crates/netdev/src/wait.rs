//! Sleeping until frames arrive.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;

/// Sleeps until a frame has arrived at one of the ports with these descriptors ([`crate::Receiver::descriptor`]), or for
/// a time. Gives whether a frame has arrived.
///
/// An interface that goes down, or away, wakes the sleeper once and is no reason to stay awake.
///
/// # Errors
/// When there are more descriptors than the operating system waits for at once.
pub fn wait_for_frames(descriptors: &[BorrowedFd<'_>], at_most: Duration) -> io::Result<bool> {
    let mut wanted: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
        .collect();
    let ready = wait(&mut wanted, at_most)?;
    if !ready || wanted.iter().any(|entry| entry.revents().contains(PollFlags::IN)) {
        return Ok(ready);
    }
    // Errors only. They stay until somebody reads them; a TAP that was deleted has one for ever.
    wanted.retain(|entry| entry.revents().is_empty() || matches!(socket_error(entry), Ok(Err(_))));
    wait(&mut wanted, at_most)
}

fn wait(wanted: &mut [PollFd<'_>], at_most: Duration) -> io::Result<bool> {
    // Longer than the kernel can count is for ever.
    let timeout = Timespec::try_from(at_most).ok();
    match poll(wanted, timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        // A signal: the caller looks what there is to do.
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
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
