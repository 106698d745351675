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
    /// Frames that groups would have made too many copies of.
    pub cut_short: Tally,
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
