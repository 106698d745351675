//! A wire in memory: one ring of frames for each way, so that a thread at each end needs no lock.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::ring::{Consumer, Producer, RingMemory};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, UnsafeCell};
use crate::{
    Arrived, Capabilities, InterfaceCounters, MAX_BURST, Port, ReceiveStatistics, Receiver, SendStatistics, Sender,
    Take,
};

/// Cache lines of a slot: odd, so that the slots of a ring do not all fall into the same few sets of a cache.
const SLOT_LINES: usize = 33;
const CACHE_LINE_LEN: usize = 64;
const LENGTH_LEN: usize = size_of::<u32>();

/// One end of a wire without a kernel: see [`memory_wire`].
pub type MemoryPort = Port<MemorySender, MemoryReceiver>;

/// The sending half of a [`MemoryPort`].
#[derive(Debug)]
pub struct MemorySender {
    name: String,
    outgoing: Producer<Arc<Way>>,
    sent: u64,
}

/// The receiving half of a [`MemoryPort`].
#[derive(Debug)]
pub struct MemoryReceiver {
    incoming: Consumer<Arc<Way>>,
    received: u64,
}

/// One of the two ways of a wire. What one end writes often does not share a cache line with what the other writes.
#[derive(Debug)]
struct Way {
    produced: OwnLines<AtomicU32>,
    consumed: OwnLines<AtomicU32>,
    dropped: OwnLines<AtomicU64>,
    is_up: AtomicBool,
    slots: Box<[UnsafeCell<Slot>]>,
}

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct OwnLines<T>(T);

/// A frame of 60 bytes and its length are one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Slot {
    len: u32,
    bytes: [u8; MemoryPort::MAX_FRAME_LEN],
}

// SAFETY: every member but the slots is atomic. A slot belongs to one end at a time: to the producer until it publishes
// it, then to the consumer until it releases it, and the positions order the accesses of one before the other's.
// `memory_wire` makes one producer and one consumer of each way.
unsafe impl Sync for Way {}

/// Two ports joined by a wire, each half of which one thread may hold. Each end has room for `capacity` arrived frames,
/// rounded up to a power of two, of [`MemoryPort::MAX_FRAME_LEN`]; further ones are dropped and counted.
///
/// # Panics
/// When the capacity is 0 or above 2^31.
pub fn memory_wire(names: [&str; 2], capacity: u32) -> [MemoryPort; 2] {
    assert!(capacity > 0, "a wire needs room for a frame");
    let size = capacity.checked_next_power_of_two().expect("at most 2^31 frames");
    let (there, back) = (Arc::new(Way::new(size)), Arc::new(Way::new(size)));
    let port = |name: &str, outgoing: &Arc<Way>, incoming: &Arc<Way>| Port {
        sender: MemorySender {
            name: name.to_owned(),
            outgoing: Producer::new(Arc::clone(outgoing), size),
            sent: 0,
        },
        receiver: MemoryReceiver {
            incoming: Consumer::new(Arc::clone(incoming), size),
            received: 0,
        },
    };
    [port(names[0], &there, &back), port(names[1], &back, &there)]
}

impl Way {
    fn new(size: u32) -> Self {
        let empty = Slot {
            len: 0,
            bytes: [0; MemoryPort::MAX_FRAME_LEN],
        };
        Self {
            produced: OwnLines(AtomicU32::new(0)),
            consumed: OwnLines(AtomicU32::new(0)),
            dropped: OwnLines(AtomicU64::new(0)),
            is_up: AtomicBool::new(true),
            slots: (0..size).map(|_| UnsafeCell::new(empty)).collect(),
        }
    }
}

impl RingMemory for Arc<Way> {
    type Position = AtomicU32;

    fn produced(&self) -> &AtomicU32 {
        &self.produced.0
    }

    fn consumed(&self) -> &AtomicU32 {
        &self.consumed.0
    }
}

impl MemoryPort {
    /// The longest frame that it carries.
    pub const MAX_FRAME_LEN: usize = SLOT_LINES * CACHE_LINE_LEN - LENGTH_LEN;
}

impl MemorySender {
    /// Takes the link down, seen by this end: what it sends from now on is refused.
    pub fn unplug(&mut self) {
        self.outgoing.memory().is_up.store(false, Ordering::Relaxed);
    }

    fn is_up(&self) -> bool {
        self.outgoing.memory().is_up.load(Ordering::Relaxed)
    }
}

impl Sender for MemorySender {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: MemoryPort::MAX_FRAME_LEN,
            headroom: 0,
            can_wait: false,
            notes_arrival: false,
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        if !self.is_up() {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        let count = count.min(MAX_BURST);
        let room = self.outgoing.free(count as u32);
        for ahead in 0..room {
            let slot = self.outgoing.slot(ahead) as usize;
            self.outgoing.memory().slots[slot].with_mut(|slot| {
                // SAFETY: the slot is free, so that it is this end's alone until it is published.
                let slot = unsafe { &mut *slot };
                slot.len = fill(ahead as usize, &mut slot.bytes).min(slot.bytes.len()) as u32;
            });
        }
        self.outgoing.publish(room);
        self.sent += count as u64;
        let dropped = count as u64 - u64::from(room);
        if dropped > 0 {
            self.outgoing.memory().dropped.0.fetch_add(dropped, Ordering::Relaxed);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(SendStatistics {
            sent: self.sent,
            sent_into_full_queue: 0,
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(None)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        Ok(self.is_up())
    }
}

impl MemoryReceiver {
    /// Has the first lines of the next frames come over from the sender's processor all at once instead of one by one:
    /// measured to double the rate between two threads.
    fn fetch_ahead(&self, count: u32) {
        for ahead in 0..count {
            let slot = self.incoming.slot(ahead) as usize;
            self.incoming.memory().slots[slot].with(prefetch);
        }
    }
}

impl Receiver for MemoryReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let count = self.incoming.ready(u32::try_from(limit).unwrap_or(u32::MAX));
        self.fetch_ahead(count.min(MAX_BURST as u32));
        for ahead in 0..count {
            let slot = self.incoming.slot(ahead) as usize;
            self.incoming.memory().slots[slot].with_mut(|slot| {
                // SAFETY: the slot was published, so that it is this end's alone until it is released.
                let slot = unsafe { &mut *slot };
                take(Arrived::new(&mut slot.bytes[..slot.len as usize], 0, None));
            });
        }
        self.incoming.release(count);
        self.received += u64::from(count);
        Ok(count as usize)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics {
            received: self.received,
            receive_dropped: self.incoming.memory().dropped.0.load(Ordering::Relaxed),
        })
    }
}

fn prefetch(slot: *const Slot) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that accesses nothing; every processor of this architecture knows it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slot.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) slot, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = slot;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(port: &mut MemoryPort, bytes: &[&[u8]]) -> io::Result<usize> {
        port.sender.send_burst(bytes.len(), &mut |index, buffer| {
            buffer[..bytes[index].len()].copy_from_slice(bytes[index]);
            bytes[index].len()
        })
    }

    fn receive(port: &mut MemoryPort, limit: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        port.receiver
            .receive_burst(limit, &mut |frame| frames.push(frame.to_vec()))
            .unwrap();
        frames
    }

    #[cfg(not(feature = "loom"))]
    #[test]
    fn frames_cross_both_ways_in_order() {
        let [mut a, mut b] = memory_wire(["a", "b"], 10);
        send(&mut a, &[b"one", b"two"]).unwrap();
        send(&mut b, &[b"back"]).unwrap();
        assert_eq!(receive(&mut b, 1), [b"one"]);
        assert_eq!(receive(&mut b, 5), [b"two"]);
        assert_eq!(receive(&mut a, 5), [b"back"]);
    }

    #[cfg(not(feature = "loom"))]
    #[test]
    fn a_full_end_drops_and_counts() {
        let [mut a, mut b] = memory_wire(["a", "b"], 2);
        assert_eq!(send(&mut a, &[b"1", b"2", b"3"]).unwrap(), 3);
        assert_eq!(receive(&mut b, 5).len(), 2);
        assert_eq!(a.sender.statistics().unwrap().sent, 3);
        let statistics = b.receiver.statistics().unwrap();
        assert_eq!((statistics.received, statistics.receive_dropped), (2, 1));
    }

    #[cfg(not(feature = "loom"))]
    #[test]
    fn an_unplugged_end_refuses() {
        let [mut a, _b] = memory_wire(["a", "b"], 2);
        a.sender.unplug();
        assert!(!a.sender.link_is_up().unwrap());
        assert!(send(&mut a, &[b"1"]).is_err());
    }

    #[cfg(not(feature = "loom"))]
    #[test]
    fn a_length_beyond_the_slot_is_cut() {
        let [mut a, mut b] = memory_wire(["a", "b"], 2);
        a.sender.send_burst(1, &mut |_, buffer| buffer.len() + 1).unwrap();
        assert_eq!(receive(&mut b, 5)[0].len(), MemoryPort::MAX_FRAME_LEN);
    }

    #[cfg(not(feature = "loom"))]
    #[test]
    fn the_halves_of_an_end_may_be_in_two_threads() {
        let [mut a, mut b] = memory_wire(["a", "b"], 64);
        std::thread::scope(|scope| {
            scope.spawn(|| b.sender.send_burst(1, &mut |_, _| 1).unwrap());
            scope.spawn(|| while b.receiver.receive_burst(1, &mut |_| ()).unwrap() == 0 {});
            a.sender.send_burst(1, &mut |_, _| 1).unwrap();
            while a.receiver.receive_burst(1, &mut |_| ()).unwrap() == 0 {}
        });
    }

    /// What arrives on another thread is what was sent, in order and whole; the rest is counted as dropped.
    #[cfg(not(feature = "loom"))]
    #[test]
    fn two_threads_hold_the_two_ends() {
        const FRAMES: u64 = 200_000;
        let [mut a, mut b] = memory_wire(["a", "b"], 64);
        let sending = std::thread::spawn(move || {
            let mut next = 0;
            while next < FRAMES {
                let first = next;
                let count = a
                    .sender
                    .send_burst((FRAMES - next).min(20) as usize, &mut |index, buffer| {
                        let number = first + index as u64;
                        let len = 60 + (number % 40) as usize;
                        buffer[..len].fill(number as u8);
                        buffer[..8].copy_from_slice(&number.to_ne_bytes());
                        len
                    });
                next += count.unwrap() as u64;
            }
            drop(a);
        });
        let (mut received, mut last) = (0, None);
        loop {
            let is_over = sending.is_finished();
            let count = b
                .receiver
                .receive_burst(32, &mut |frame| {
                    let number = u64::from_ne_bytes(frame[..8].try_into().unwrap());
                    assert!(last < Some(number), "{last:?} before {number}");
                    assert_eq!(frame.len(), 60 + (number % 40) as usize);
                    assert!(frame[8..].iter().all(|&byte| byte == number as u8));
                    last = Some(number);
                })
                .unwrap();
            received += count as u64;
            if is_over && count == 0 {
                break;
            }
        }
        sending.join().unwrap();
        let statistics = b.receiver.statistics().unwrap();
        assert_eq!(statistics.received, received);
        assert_eq!(received + statistics.receive_dropped, FRAMES);
    }

    /// Every order in which two threads can use the port; loom fails where both could touch a slot at once.
    #[cfg(feature = "loom")]
    #[test]
    fn frames_cross_threads_whole_and_in_order() {
        const FRAMES: [&[u8]; 3] = [b"first", b"second", b"third"];
        loom::model(|| {
            let [mut a, mut b] = memory_wire(["a", "b"], 2);
            let sending = loom::thread::spawn(move || {
                for frame in FRAMES {
                    assert_eq!(send(&mut a, &[frame]).unwrap(), 1);
                }
            });
            let mut arrived = receive(&mut b, 2);
            arrived.extend(receive(&mut b, 1));
            sending.join().unwrap();
            arrived.extend(receive(&mut b, 3));
            let dropped = b.receiver.statistics().unwrap().receive_dropped;
            assert_eq!(arrived.len() as u64 + dropped, FRAMES.len() as u64);
            let mut sent = FRAMES.iter();
            assert!(arrived.iter().all(|frame| sent.any(|other| other == frame)));
        });
    }
}
