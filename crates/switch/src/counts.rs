//! What ports count: several threads add to the same count without waiting for one another.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Threads that have a cell of their own; further ones share.
const CELLS: usize = 8;

/// A count that each thread adds to in a cell of its own.
#[derive(Debug, Default)]
pub struct Tally([Cell; CELLS]);

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell(AtomicU64);

/// What a port has counted.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub struct PortCounts {
    pub received_frames: Tally,
    pub received_bytes: Tally,
    pub received_dropped: Tally,
    pub sent_frames: Tally,
    pub sent_bytes: Tally,
    pub sent_dropped: Tally,
    pub send_errors: Tally,
    /// Of what was dropped both ways, how much for each reason.
    because: [[Tally; Reason::ALL.len()]; 2],
    /// Frames that groups would have made too many copies of.
    pub cut_short: Tally,
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(usize)]
pub enum Reason {
    /// The port is configured not to take it, or not to forward it.
    Configured,
    /// It is longer than the port or its interface takes.
    TooLong,
    /// The interface, or a queue before it, had no room.
    NoRoom,
    /// The interface took it, and the other end of its veth pair threw it away.
    NoRoomThere,
    /// The interface is down or gone.
    Down,
    /// The interface refused it otherwise.
    Refused,
    /// It holds several segments that cannot be distinguished, or no frame that a host could have meant.
    Unfit,
    /// It is a part of an IP packet, which the switch is configured to drop.
    Fragment,
}

impl Reason {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Configured,
        Self::TooLong,
        Self::NoRoom,
        Self::NoRoomThere,
        Self::Down,
        Self::Refused,
        Self::Unfit,
        Self::Fragment,
    ];

    /// What it is called in the status of a port.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::TooLong => "too long",
            Self::NoRoom => "no room",
            Self::NoRoomThere => "no room at the other end",
            Self::Down => "interface down",
            Self::Refused => "refused",
            Self::Unfit => "not to be segmented",
            Self::Fragment => "fragment",
        }
    }
}

/// The way that a frame was on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(usize)]
pub enum Way {
    /// Into the switch.
    In,
    /// Out of it.
    Out,
}

impl PortCounts {
    /// Counts frames that were dropped.
    pub fn drop(&self, way: Way, reason: Reason, count: u64) {
        if count == 0 {
            return;
        }
        self.because[way as usize][reason as usize].add(count);
        match (way, reason) {
            (Way::In, _) => self.received_dropped.add(count),
            // OF 1.3.5 section 7.3.5.6 counts them apart.
            (Way::Out, Reason::Down | Reason::Refused) => self.send_errors.add(count),
            (Way::Out, _) => self.sent_dropped.add(count),
        }
    }

    /// The reasons for which frames have been dropped, and how many for each.
    pub fn reasons(&self, way: Way) -> impl Iterator<Item = (Reason, u64)> {
        let counted = Reason::ALL.map(|reason| {
            let count = self.because[way as usize][reason as usize].load(Ordering::Relaxed);
            (reason, count)
        });
        counted.into_iter().filter(|&(_, count)| count > 0)
    }
}

impl Tally {
    /// Counts more of them.
    pub fn add(&self, count: u64) {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static CELL: usize = THREADS.fetch_add(1, Ordering::Relaxed) % CELLS;
        }
        CELL.with(|&cell| self.0[cell].0.fetch_add(count, Ordering::Relaxed));
    }

    /// The sum of what all threads have counted.
    pub fn load(&self, ordering: Ordering) -> u64 {
        self.0.iter().map(|cell| cell.0.load(ordering)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_have_their_reasons() {
        let counts = PortCounts::default();
        for (way, reason, count) in [
            (Way::Out, Reason::TooLong, 2),
            (Way::Out, Reason::Refused, 3),
            (Way::In, Reason::Unfit, 4),
            (Way::In, Reason::NoRoom, 0),
        ] {
            counts.drop(way, reason, count);
        }
        let load = |tally: &Tally| tally.load(Ordering::Relaxed);
        assert_eq!(
            [&counts.sent_dropped, &counts.send_errors, &counts.received_dropped].map(load),
            [2, 3, 4]
        );
        let reasons = |way| counts.reasons(way).collect::<Vec<_>>();
        assert_eq!(reasons(Way::Out), [(Reason::TooLong, 2), (Reason::Refused, 3)]);
        assert_eq!(reasons(Way::In), [(Reason::Unfit, 4)]);
    }

    #[test]
    fn a_tally_is_the_sum_over_all_threads() {
        let tally = Tally::default();
        std::thread::scope(|scope| {
            for number in 1..=2 * CELLS as u64 {
                let tally = &tally;
                scope.spawn(move || (0..100).for_each(|_| tally.add(number)));
            }
        });
        let cells = CELLS as u64;
        assert_eq!(tally.load(Ordering::Relaxed), 100 * cells * (2 * cells + 1));
    }
}
