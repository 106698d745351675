use std::collections::VecDeque;
use std::hint;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::{Faults, InjectedFaults};

/// Bytes that are never corrupted, so that a switch still forwards the frame: the Ethernet header.
const SPARED_LEN: usize = 14;

/// By so much a frame may go on before its time: about what has passed since it was stamped when it gets here, and half
/// of the usual time until somebody looks again.
const EARLY: Duration = Duration::from_nanos(200);

/// Mistreats the frames of one way. What comes out waits here until its time, and until somebody takes it.
#[derive(Debug)]
pub(super) struct Injector {
    faults: Faults,
    random: SplitMix64,
    /// Frames that are still to be lost of a burst of losses.
    rest_of_burst: u64,
    held: VecDeque<Held>,
    waiting: VecDeque<Waiting>,
    injected: InjectedFaults,
}

/// A frame that later ones overtake.
#[derive(Debug)]
struct Held {
    frame: Vec<u8>,
    overtaken_by: usize,
}

#[derive(Debug)]
struct Waiting {
    frame: Vec<u8>,
    due: Duration,
}

impl Injector {
    pub(super) fn new(faults: Faults, seed: u64) -> Self {
        Self {
            faults,
            random: SplitMix64::seed_from_u64(seed),
            rest_of_burst: 0,
            held: VecDeque::new(),
            waiting: VecDeque::new(),
            injected: InjectedFaults::default(),
        }
    }

    pub(super) fn injected(&self) -> InjectedFaults {
        self.injected
    }

    /// Whether frames pass as they are.
    pub(super) fn does_nothing(&self) -> bool {
        self.faults == Faults::default()
    }

    /// Takes a frame that may suffer.
    pub(super) fn pass(&mut self, frame: &[u8], now: Duration) {
        if self.rest_of_burst > 0 {
            self.rest_of_burst -= 1;
            self.injected.lost_in_bursts += 1;
            return;
        }
        let Faults {
            loss,
            burst_loss,
            duplication,
            reordering,
            corruption,
            ..
        } = self.faults;
        let mut draw: f64 = self.random.random();
        // Each share is a stretch of the unit interval; the rest of it spares the frame.
        let mut falls_to = |share: f64| {
            let falls = (0.0..share).contains(&draw);
            draw -= share;
            falls
        };
        if falls_to(loss) {
            self.injected.lost += 1;
            return;
        }
        if falls_to(burst_loss) {
            self.injected.lost_in_bursts += 1;
            self.rest_of_burst = self.faults.burst_len.saturating_sub(1);
            return;
        }
        if falls_to(reordering) {
            self.held.push_back(Held {
                frame: frame.to_vec(),
                overtaken_by: 0,
            });
            return;
        }
        let mut frame = frame.to_vec();
        if falls_to(duplication) {
            self.injected.duplicated += 1;
            self.delay(frame.clone(), now);
        } else if falls_to(corruption) && frame.len() > SPARED_LEN {
            self.injected.corrupted += 1;
            self.flip_a_bit(&mut frame);
        }
        self.delay(frame, now);
        for held in &mut self.held {
            held.overtaken_by += 1;
        }
        self.release(self.faults.reorder_distance.max(1), now);
    }

    /// Takes a frame that is spared; it overtakes none that waits.
    pub(super) fn spare(&mut self, frame: &[u8], now: Duration) {
        self.wait(frame.to_vec(), now);
    }

    /// Lets go of frames that were to be overtaken.
    pub(super) fn release_all(&mut self, now: Duration) {
        self.release(0, now);
    }

    /// The next frame whose time has come; it stays until [`Self::remove`].
    pub(super) fn due(&self, now: Duration) -> Option<&[u8]> {
        let first = self.waiting.front()?;
        // In the cache, as it is on the way to a wire: fetched only when due, it would leave some tenths of a us late.
        hint::black_box(first.frame.first());
        (first.due <= now + EARLY).then_some(&first.frame)
    }

    /// How many frames have waited long enough.
    pub(super) fn count_due(&self, now: Duration) -> usize {
        self.waiting.partition_point(|waiting| waiting.due <= now + EARLY)
    }

    /// Takes the next frame that has waited long enough.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<Vec<u8>> {
        let waiting = self.waiting.pop_front_if(|waiting| waiting.due <= now + EARLY)?;
        Some(waiting.frame)
    }

    /// Forgets the frame that [`Self::due`] gave.
    pub(super) fn remove(&mut self) {
        self.waiting.pop_front();
    }

    fn release(&mut self, distance: usize, now: Duration) {
        while let Some(held) = self.held.pop_front_if(|held| held.overtaken_by >= distance) {
            self.injected.reordered += u64::from(held.overtaken_by > 0);
            self.delay(held.frame, now);
        }
    }

    fn delay(&mut self, frame: Vec<u8>, now: Duration) {
        let Faults { delay, jitter, .. } = self.faults;
        if delay + jitter == Duration::ZERO {
            return self.wait(frame, now);
        }
        self.injected.delayed += 1;
        let jitter = if jitter == Duration::ZERO {
            jitter
        } else {
            jitter.mul_f64(self.random.random())
        };
        self.wait(frame, now + delay + jitter);
    }

    /// Frames leave in the order in which they came: a delay that varies reorders nothing.
    fn wait(&mut self, frame: Vec<u8>, due: Duration) {
        let due = self.waiting.back().map_or(due, |last| due.max(last.due));
        self.waiting.push_back(Waiting { frame, due });
    }

    fn flip_a_bit(&mut self, frame: &mut [u8]) {
        let bits = 8 * (frame.len() - SPARED_LEN) as u64;
        let bit = self.random.next_u64() % bits;
        frame[SPARED_LEN + (bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_on_a_fifth_of_a_microsecond_before_its_time() {
        let delay = Duration::from_millis(1);
        let mut injector = Injector::new(
            Faults {
                delay,
                ..Faults::default()
            },
            1,
        );
        let frame = [7; 60];
        injector.pass(&frame, EARLY);
        let tick = Duration::from_nanos(1);
        let too_early = delay.saturating_sub(tick);
        assert_eq!((injector.due(too_early), injector.count_due(too_early)), (None, 0));
        assert_eq!((injector.due(delay), injector.count_due(delay)), (Some(&frame[..]), 1));
    }
}
