use std::io;
use std::os::fd::BorrowedFd;

use crate::{Arrived, MergedFrame};

/// Bytes that back ends leave in front of a frame that arrives, those that can.
pub const HEADROOM: usize = 128;
/// Frames in one burst at most, sent or received.
pub const MAX_BURST: usize = 64;

/// One interface, as two halves that do not wait for each other: one thread may use both, or two threads one each.
#[derive(Debug)]
pub struct Port<S, R> {
    /// What sends.
    pub sender: S,
    /// What receives.
    pub receiver: R,
}

/// A port of whatever kind.
pub type AnyPort = Port<Box<dyn Sender>, Box<dyn Receiver>>;

/// The sending half of a port, which also knows the interface. Calls never block.
pub trait Sender: Send {
    /// The name of the interface, for messages.
    fn name(&self) -> &str;

    /// What the port can do.
    fn capabilities(&self) -> Capabilities;

    /// Offers up to `count` frames, [`MAX_BURST`] at most, and gives how many were taken: always the first ones.
    ///
    /// `fill` writes frame `i` of the burst to the start of the buffer and gives its length. It may be called for
    /// frames that are then not taken. A burst of none still sees to frames that were taken and have not left.
    ///
    /// # Errors
    /// When the interface is gone or down.
    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize>;

    /// Pushes out what was taken but has not left, and gives how many frames still have not.
    ///
    /// # Errors
    /// When the interface is gone or down.
    fn flush(&mut self) -> io::Result<usize>;

    /// Counts since the port was opened.
    ///
    /// # Errors
    /// When the operating system does not report it.
    fn statistics(&mut self) -> io::Result<SendStatistics>;

    /// What the interface itself has counted both ways; nothing where there is no such count.
    ///
    /// # Errors
    /// When the interface is gone.
    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>>;

    /// Whether the interface is up and has a carrier. For use while frames are sent: the answer costs little and may be
    /// a second old; [`InterfaceCounters`] are exact.
    ///
    /// # Errors
    /// When the interface is gone.
    fn link_is_up(&mut self) -> io::Result<bool>;

    /// Whether the card itself reads and writes the frames of the port, without copies.
    fn is_zero_copy(&self) -> bool {
        false
    }

    /// Whether another interface has taken the name of the one that was opened, which is gone: this port stays without
    /// frames, and is to be opened again.
    fn is_replaced(&self) -> bool {
        false
    }

    /// Gives up what it still holds of an interface that was replaced, so that the one in its place can be opened.
    fn let_go(&self) {}

    /// The hardware address that the interface has now, where it has one.
    fn hardware_address(&self) -> Option<[u8; 6]> {
        None
    }

    /// The longest frame that the interface takes now: without a tag, which may come on top. Nothing where there is no
    /// such limit.
    fn longest_untagged(&self) -> Option<usize> {
        None
    }

    /// Whether it sends merged frames.
    fn takes_merged(&self) -> bool {
        false
    }

    /// Sends a merged frame behind all frames that were taken before. False where there is no room for it.
    ///
    /// # Errors
    /// When the interface refuses it, is gone or down, or the port sends no merged frames.
    fn send_merged(&mut self, _frame: &[u8], _how: &MergedFrame) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What a port can do, the same as long as it is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Capabilities {
    /// The longest frame that it sends, without frame check sequence.
    pub max_frame_len: usize,
    /// Bytes in front of every frame that arrives; a back end may leave more in front of some.
    pub headroom: usize,
    /// Whether a thread can sleep until a frame arrives: [`Receiver::descriptor`] gives something.
    pub can_wait: bool,
    /// Whether it reports when frames arrived.
    pub notes_arrival: bool,
}

/// Takes a frame that has arrived.
pub type Take<'t> = &'t mut (dyn FnMut(Arrived<'_>) + 't);

/// The receiving half of a port. Calls never block.
pub trait Receiver: Send {
    /// Hands up to `limit` frames that have arrived to `take` and gives how many there were.
    ///
    /// # Errors
    /// When the interface is gone.
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize>;

    /// What a thread can wait on until a frame arrives ([`crate::wait_for_frames`]); nothing where it has to look.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Counts since the port was opened.
    ///
    /// # Errors
    /// When the operating system does not report it.
    fn statistics(&mut self) -> io::Result<ReceiveStatistics>;
}

/// What a sending half has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SendStatistics {
    /// Frames that left: completed, not merely queued.
    pub sent: u64,
    /// Of those, frames that the directly attached receiver's full queue threw away while they were handed over (veth).
    /// They were offered; the other end lost them.
    pub sent_into_full_queue: u64,
}

/// What a receiving half has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReceiveStatistics {
    /// Frames handed to the caller.
    pub received: u64,
    /// Frames that arrived and found no room here: this side's fault, not the wire's.
    pub receive_dropped: u64,
}

/// What an interface has counted, of all senders and receivers, since it was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InterfaceCounters {
    /// Frames that arrived.
    pub received: u64,
    /// Frames that arrived and were thrown away before anyone could see them.
    pub receive_dropped: u64,
    /// Frames that left.
    pub sent: u64,
    /// Frames that were to leave and were thrown away; veth counts here what its peer refused.
    pub send_dropped: u64,
    /// Times that its link went down.
    pub link_losses: u64,
    /// Whether its link is down now.
    pub is_without_link: bool,
}

impl<S: Sender + 'static, R: Receiver + 'static> Port<S, R> {
    /// Forgets of which kind it is.
    pub fn into_any(self) -> AnyPort {
        Port {
            sender: Box::new(self.sender),
            receiver: Box::new(self.receiver),
        }
    }
}

impl<S: Sender + ?Sized> Sender for Box<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        (**self).send_burst(count, fill)
    }

    fn flush(&mut self) -> io::Result<usize> {
        (**self).flush()
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        (**self).statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        (**self).interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        (**self).link_is_up()
    }

    fn is_zero_copy(&self) -> bool {
        (**self).is_zero_copy()
    }

    fn is_replaced(&self) -> bool {
        (**self).is_replaced()
    }

    fn let_go(&self) {
        (**self).let_go();
    }

    fn hardware_address(&self) -> Option<[u8; 6]> {
        (**self).hardware_address()
    }

    fn longest_untagged(&self) -> Option<usize> {
        (**self).longest_untagged()
    }

    fn takes_merged(&self) -> bool {
        (**self).takes_merged()
    }

    fn send_merged(&mut self, frame: &[u8], how: &MergedFrame) -> io::Result<bool> {
        (**self).send_merged(frame, how)
    }
}

impl<R: Receiver + ?Sized> Receiver for Box<R> {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        (**self).receive_burst(limit, take)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        (**self).statistics()
    }
}
