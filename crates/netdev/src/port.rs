use std::io;

/// Frames in one burst at most, sent or received.
pub const MAX_BURST: usize = 64;

/// What a port has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Statistics {
    /// Frames that left: completed, not merely queued.
    pub sent: u64,
    /// Of those, frames that the directly attached receiver's full queue threw away while they were handed over
    /// (veth). They were offered; whoever was to receive them lost them.
    pub sent_into_full_queue: u64,
    /// Frames handed to the caller.
    pub received: u64,
    /// Frames that arrived and found no room here: this side's fault, not the wire's.
    pub receive_dropped: u64,
}

/// What an interface has counted, whoever sent and received, since it was made.
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
}

/// One interface. Calls never block.
pub trait Port {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Offers up to `count` frames, [`MAX_BURST`] at most, and gives how many were taken: always the first ones.
    ///
    /// `fill` writes frame `i` of the burst to the start of the buffer and gives its length. It may be called for
    /// frames that are then not taken.
    ///
    /// # Errors
    /// When the interface is gone or down.
    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize>;

    /// Hands up to `limit` frames that have arrived to `take` and gives how many there were.
    ///
    /// # Errors
    /// When the interface is gone.
    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Pushes out what was taken but has not left, and gives how many frames still have not.
    ///
    /// # Errors
    /// When the interface is gone or down.
    fn flush(&mut self) -> io::Result<usize>;

    /// Counts since the port was opened.
    ///
    /// # Errors
    /// When the operating system does not tell.
    fn statistics(&mut self) -> io::Result<Statistics>;

    /// What the interface itself has counted; nothing where there is no such count.
    ///
    /// # Errors
    /// When the interface is gone.
    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>>;

    /// Whether the interface is up and has a carrier.
    ///
    /// # Errors
    /// When the interface is gone.
    fn link_is_up(&mut self) -> io::Result<bool>;
}

impl<P: Port + ?Sized> Port for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        (**self).send_burst(count, fill)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        (**self).receive_burst(limit, take)
    }

    fn flush(&mut self) -> io::Result<usize> {
        (**self).flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        (**self).statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        (**self).interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        (**self).link_is_up()
    }
}
