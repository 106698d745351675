//! What is to be received of ports.

use std::io;
use std::sync::Arc;

use brimful_netdev::{MAX_BURST, Receiver, Take};

use super::SwitchPort;
use crate::counts::{Reason, Way};
use crate::tap::Tap;

/// What is to be received of a port, by one thread.
pub struct Input {
    /// The port.
    pub port: Arc<SwitchPort>,
    /// Its receiving half, or one of its queues.
    pub receiver: Box<dyn Receiver>,
    /// Its place among the inputs of its port.
    place: usize,
    /// Losses of the receiver that the port has counted.
    lost: u64,
    /// Who captures what is received.
    pub(crate) taps: Vec<Arc<Tap>>,
}

impl Input {
    /// What a receiving half of a port receives.
    pub fn new(port: Arc<SwitchPort>, receiver: Box<dyn Receiver>) -> Self {
        Self {
            port,
            receiver,
            place: 0,
            lost: 0,
            taps: Vec::new(),
        }
    }

    /// The same, in its place among the inputs of its port.
    #[must_use]
    pub fn in_place(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// Receives from the interface that has taken the name of the one before, if there is such a one, for all that capture
    /// by now. Gives what received before.
    pub(crate) fn follow(&mut self) -> Option<Box<dyn Receiver>> {
        self.taps.clone_from(&self.port.taps());
        let reopening = self.port.reopening.as_ref()?;
        let receiver = reopening.take_receiver(self.place)?;
        self.lost = 0;
        Some(std::mem::replace(&mut self.receiver, receiver))
    }

    /// Frames that arrived and found no room.
    pub(crate) fn count_losses(&mut self) -> io::Result<()> {
        let dropped = self.receiver.statistics()?.receive_dropped;
        let more = dropped - std::mem::replace(&mut self.lost, dropped);
        self.port.counts.drop(Way::In, Reason::NoRoom, more);
        Ok(())
    }
}

/// A burst of a port, which those that capture see first.
pub(crate) fn receive(receiver: &mut dyn Receiver, taps: &[Arc<Tap>], take: Take<'_>) -> io::Result<usize> {
    if taps.is_empty() {
        return receiver.receive_burst(MAX_BURST, take);
    }
    receiver.receive_burst(MAX_BURST, &mut |frame| {
        for tap in taps {
            tap.take(Way::In, &frame);
        }
        take(frame);
    })
}
