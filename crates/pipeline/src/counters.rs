//! Counters that a data-plane thread bumps without asking anyone: each thread has a block of cells of its own, and a
//! count is the sum over all blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Cells of a block. Memory is taken as cells are used.
pub const MOST_COUNTERS: usize = 1 << 21;

/// The number of a counter: of a flow entry, a table, a group, a bucket, a meter or a band.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CounterId(pub u32);

/// Packets and bytes.
pub type CounterCell = [AtomicU64; 2];

/// Packets and bytes, as read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The cells of one data-plane thread, which alone writes them.
#[derive(Debug)]
pub struct CounterBlock(Box<[CounterCell]>);

impl Default for CounterBlock {
    fn default() -> Self {
        Self::new()
    }
}

impl CounterBlock {
    /// Where packets lie in a cell, for compiled code.
    pub const PACKETS_AT: usize = 0;
    /// Where bytes lie in a cell, for compiled code.
    pub const BYTES_AT: usize = size_of::<AtomicU64>();

    /// A block of zeros.
    pub fn new() -> Self {
        Self(bytemuck::allocation::zeroed_slice_box(MOST_COUNTERS))
    }

    /// Counts a frame. Only the thread whose block it is may do so.
    #[inline]
    pub fn count(&self, counter: CounterId, bytes: u64) {
        let [packet_cell, byte_cell] = &self.0[counter.0 as usize];
        packet_cell.store(packet_cell.load(Relaxed) + 1, Relaxed);
        byte_cell.store(byte_cell.load(Relaxed) + bytes, Relaxed);
    }

    /// The first cell.
    pub fn as_ptr(&self) -> *const CounterCell {
        self.0.as_ptr()
    }

    /// What this thread has counted since it began.
    pub fn read(&self, counter: CounterId) -> Count {
        let [packets, bytes] = &self.0[counter.0 as usize];
        Count {
            packets: packets.load(Relaxed),
            bytes: bytes.load(Relaxed),
        }
    }
}

/// The blocks of all data-plane threads, and which numbers are given.
#[derive(Debug)]
pub struct Counters {
    blocks: Vec<Arc<CounterBlock>>,
    /// What the cells said when a number was given: cells are never set to zero, as only their thread writes them. Memory
    /// is taken as numbers are given.
    starts: Vec<[u64; 2]>,
    /// Numbers from here on have never been given.
    fresh: u32,
    free: Vec<CounterId>,
    log: Option<CounterLog>,
}

/// What has been done to counters since a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct CounterLog {
    given: Vec<CounterId>,
    resets: Vec<(CounterId, [u64; 2])>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            starts: vec![[0; 2]; MOST_COUNTERS],
            fresh: 0,
            free: Vec::new(),
            log: None,
        }
    }
}

impl Counters {
    /// A block for one more thread.
    pub fn block(&mut self) -> Arc<CounterBlock> {
        let block = Arc::new(CounterBlock::new());
        self.blocks.push(Arc::clone(&block));
        block
    }

    /// The count of a counter, summed over all threads.
    pub fn read(&self, counter: CounterId) -> Count {
        let now = self.sum(counter);
        let [packets, bytes] = self.starts[counter.0 as usize];
        Count {
            packets: now.packets - packets,
            bytes: now.bytes - bytes,
        }
    }

    /// Begins to count anew.
    pub fn reset(&mut self, counter: CounterId) {
        let now = self.sum(counter);
        let place = &mut self.starts[counter.0 as usize];
        let start = std::mem::replace(place, [now.packets, now.bytes]);
        if let Some(log) = &mut self.log {
            log.resets.push((counter, start));
        }
    }

    /// Notes what is done from now on, so that it can be undone.
    pub(crate) fn begin_log(&mut self) {
        self.log = Some(CounterLog::default());
    }

    /// Notes no more.
    pub(crate) fn end_log(&mut self) {
        self.log = None;
    }

    /// Undoes what has been noted.
    pub(crate) fn undo(&mut self) {
        let log = self.log.take().unwrap_or_default();
        for (counter, start) in log.resets.into_iter().rev() {
            self.starts[counter.0 as usize] = start;
        }
        self.free.extend(log.given);
    }

    fn sum(&self, counter: CounterId) -> Count {
        self.blocks
            .iter()
            .map(|block| block.read(counter))
            .fold(Count::default(), |sum, count| Count {
                packets: sum.packets + count.packets,
                bytes: sum.bytes + count.bytes,
            })
    }

    /// Whether all numbers are given.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.free.is_empty() && self.fresh as usize == MOST_COUNTERS
    }

    /// A number for a counter that begins at 0; `None` when all are given.
    pub fn give(&mut self) -> Option<CounterId> {
        let counter = match self.free.pop() {
            Some(counter) => {
                self.reset(counter);
                counter
            }
            None if self.fresh as usize == MOST_COUNTERS => return None,
            None => {
                self.fresh += 1;
                CounterId(self.fresh - 1)
            }
        };
        if let Some(log) = &mut self.log {
            log.given.push(counter);
        }
        Some(counter)
    }

    /// Takes numbers back once no thread can be counting with them any more.
    pub fn take_back(&mut self, counters: impl IntoIterator<Item = CounterId>) {
        self.free.extend(counters);
    }
}
