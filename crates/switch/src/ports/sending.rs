//! How frames leave by a port.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use brimful_frame::{EtherType, Merged};
use brimful_netdev::{MAX_BURST, MergedFrame, Segments};
use rustix::io::Errno;

use super::{Exit, SwitchPort, WayOut, port_config};
use crate::batch::Batch;
use crate::counts::{Reason, Way};
use crate::queues::{QueueSettings, Queues, Waiting};

const ETHERNET_ADDRESSES_LEN: usize = 12;
/// Bytes of a VLAN tag, which an interface takes on top of its longest frame.
pub(crate) const TAG_LEN: usize = 4;
/// Attempts to hand a burst over to an interface that has no room, before its frames are dropped.
const ATTEMPTS: usize = 3;

impl SwitchPort {
    /// Sends frames, the first first, and empties the batch. What finds no room is dropped and counted.
    pub(crate) fn send(&self, batch: &mut Batch, now: u64) {
        self.send_from(0, batch, now);
    }

    /// The same for a data-plane thread.
    pub(crate) fn send_from(&self, thread: usize, batch: &mut Batch, now: u64) {
        if self.config() & (port_config::DOWN | port_config::NO_FORWARD) != 0 {
            self.counts.drop(Way::Out, Reason::Configured, batch.len() as u64);
            return batch.clear();
        }
        let mut way_out = self.way_out(thread);
        let WayOut { exit, queues, .. } = &mut *way_out;
        match queues {
            None => self.hand_over(exit, batch),
            Some(queues) => {
                let dropped = queues.enter(batch.iter());
                self.counts.drop(Way::Out, Reason::NoRoom, dropped);
                self.serve(exit, queues, now);
            }
        }
        batch.clear();
    }

    /// Sends a merged frame behind a batch: whole where the interface takes it, else as its segments.
    pub(crate) fn send_merged(
        &self,
        thread: usize,
        batch: &mut Batch,
        (frame, queue): (&[u8], u32),
        merged: Merged,
        now: u64,
    ) {
        let Some(merged) = merged.within(frame.len(), self.longest_like(frame)) else {
            return self.counts.drop(Way::Out, Reason::TooLong, 1);
        };
        let may_leave = self.config() & (port_config::DOWN | port_config::NO_FORWARD) == 0;
        if may_leave && self.takes_merged() && merged.segments() > 1 && merged.is_plain(frame) {
            if !batch.is_empty() {
                self.send_from(thread, batch, now);
            }
            return self.hand_over_merged(&mut self.way_out(thread).exit, frame, merged);
        }
        for index in 0..merged.segments() {
            batch.push_with(queue, |bytes| merged.cut(frame, index, bytes));
            if batch.is_full() {
                self.send_from(thread, batch, now);
            }
        }
    }

    fn hand_over_merged(&self, exit: &mut Exit, frame: &[u8], merged: Merged) {
        let sum = merged.partial_sum(frame);
        let how = MergedFrame {
            segments: match (merged.is_tcp(), merged.is_v6()) {
                (true, false) => Segments::TcpV4,
                (true, true) => Segments::TcpV6,
                (false, _) => Segments::Udp,
            },
            size: merged.size() as u16,
            headers_len: merged.headers_len(frame.len()) as u16,
            checksum_start: sum.start as u16,
            checksum_offset: sum.offset as u16,
            partial_sum: sum.value,
        };
        for _ in 0..ATTEMPTS {
            match exit.sender.send_merged(frame, &how) {
                Ok(true) => {
                    for tap in &exit.taps {
                        tap.take(Way::Out, frame);
                    }
                    self.counts.sent_frames.add(1);
                    self.counts.sent_bytes.add(frame.len() as u64);
                    return;
                }
                Ok(false) => {}
                Err(error) => return self.counts.drop(Way::Out, reason_of(&error), 1),
            }
        }
        self.counts.drop(Way::Out, Reason::NoRoom, 1);
    }

    /// The longest frame with the tag that this one has, or without.
    fn longest_like(&self, frame: &[u8]) -> usize {
        let tag = if is_tagged(frame) { TAG_LEN } else { 0 };
        self.longest
            .min(self.longest_untagged.load(Relaxed).saturating_add(tag))
    }

    /// Sends what waits in queues and may leave by now, and pushes out what the interface still holds.
    pub(crate) fn tend(&self, now: u64) -> usize {
        if let WayOut {
            exit,
            queues: Some(queues),
            ..
        } = &mut *self.way(0)
        {
            self.serve(exit, queues, now);
        }
        let flushed = (0..self.ways_out.len()).map(|place| self.way(place).exit.sender.flush().unwrap_or(0));
        let held: usize = flushed.sum();
        held + self.way(0).queues.as_ref().map_or(0, Queues::len)
    }

    /// Gives it other queues, while frames pass; without any, what waits leaves at once. Queues that stay keep what they
    /// have counted.
    pub(crate) fn set_queues(&self, bits_per_s: u64, settings: Vec<QueueSettings>) {
        let mut way_out = self.way(0);
        let WayOut { exit, queues, .. } = &mut *way_out;
        let before = queues.take();
        if settings.is_empty() {
            let mut left = Batch::default();
            for (frame, queue) in before.into_iter().flat_map(Queues::into_waiting) {
                left.push(&frame, queue);
                if left.is_full() {
                    self.hand_over(exit, &mut left);
                    left.clear();
                }
            }
            self.hand_over(exit, &mut left);
        } else {
            *queues = Some(Queues::new(bits_per_s, &settings).following(before));
        }
        self.has_queues.store(queues.is_some(), Relaxed);
        *self.rates() = settings;
    }

    /// Pushes out what the interface still holds of a thread.
    pub(crate) fn flush_from(&self, thread: usize) -> usize {
        self.way_out(thread).exit.sender.flush().unwrap_or(0)
    }

    fn serve(&self, exit: &mut Exit, queues: &mut Queues, now: u64) {
        let mut ready = Batch::default();
        while let Some(Waiting { frame, queue }) = queues.leave(now) {
            ready.push(&frame, queue);
            if ready.is_full() {
                self.hand_over(exit, &mut ready);
                ready.clear();
            }
        }
        self.hand_over(exit, &mut ready);
    }

    fn hand_over(&self, exit: &mut Exit, batch: &mut Batch) {
        let shortest_limit = self.longest.min(self.longest_untagged.load(Relaxed));
        let fits = |frame: &[u8]| frame.len() <= shortest_limit || frame.len() <= self.longest_like(frame);
        self.counts
            .drop(Way::Out, Reason::TooLong, batch.drop_unless(fits) as u64);
        let (mut first, mut attempts) = (0, 0);
        let (mut sent_frames, mut sent_bytes) = (0, 0);
        while first < batch.len() && attempts < ATTEMPTS {
            let count = (batch.len() - first).min(MAX_BURST);
            let sender = exit.sender.as_mut();
            let sent = sender.send_burst(count, &mut |index, buffer| fill(buffer, batch.frame(first + index)));
            let sent = match sent {
                Ok(sent) => sent,
                Err(error) => {
                    let reason = reason_of(&error);
                    // Others may still be taken, unless the interface is gone.
                    let count = if reason == Reason::Down { batch.len() - first } else { 1 };
                    self.counts.drop(Way::Out, reason, count as u64);
                    first += count;
                    continue;
                }
            };
            sent_bytes += (first..first + sent)
                .map(|index| batch.frame(index).len())
                .sum::<usize>();
            for tap in &exit.taps {
                (first..first + sent).for_each(|index| tap.take(Way::Out, batch.frame(index)));
            }
            sent_frames += sent;
            attempts = if sent == 0 { attempts + 1 } else { 0 };
            first += sent;
        }
        self.counts.sent_frames.add(sent_frames as u64);
        self.counts.sent_bytes.add(sent_bytes as u64);
        self.counts.drop(Way::Out, Reason::NoRoom, (batch.len() - first) as u64);
    }
}

/// Whether a frame has a tag that interfaces know.
pub(crate) fn is_tagged(frame: &[u8]) -> bool {
    let ether_type = frame.get(ETHERNET_ADDRESSES_LEN..ETHERNET_ADDRESSES_LEN + 2);
    ether_type.is_some_and(|bytes| bytes == EtherType::VLAN.0.to_be_bytes())
}

/// Why an interface has not taken a frame.
fn reason_of(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NetworkDown | io::ErrorKind::NotFound => Reason::Down,
        _ => match Errno::from_io_error(error) {
            // What the kernel says of interfaces that are gone: packet sockets and `AF_XDP`, and taps.
            Some(Errno::NXIO | Errno::NODEV | Errno::BADFD) => Reason::Down,
            Some(Errno::MSGSIZE) => Reason::TooLong,
            _ => Reason::Refused,
        },
    }
}

/// Writes a frame into a buffer; an empty one where it is too long for it.
fn fill(buffer: &mut [u8], frame: &[u8]) -> usize {
    let Some(place) = buffer.get_mut(..frame.len()) else {
        return 0;
    };
    place.copy_from_slice(frame);
    frame.len()
}
