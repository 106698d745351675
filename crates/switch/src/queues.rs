//! Output queues of a port, with a least and a most of its speed each.

use std::collections::VecDeque;

/// Bytes that wait in a queue at most.
const MOST_WAITING: usize = 8 << 20;
/// Nanoseconds of its rate that a queue which has been idle may send at once.
const BURST_NS: u64 = 5_000_000;
const NANOSECONDS: u128 = 1_000_000_000;
/// A rate of a queue is a number of these parts of the port's speed (OF 1.3.5 section 7.2.2).
const PARTS: u64 = 1000;
/// What stands for no rate (`OFPQ_MIN_RATE_UNCFG`).
pub const NO_RATE: u16 = 0xffff;

/// What a queue is to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QueueSettings {
    /// Its number.
    pub queue: u32,
    /// Of the port's speed, in thousandths; above 1000 for none.
    pub min_rate: u16,
    /// Of the port's speed, in thousandths; above 1000 for none.
    pub max_rate: u16,
}

/// What a queue has counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueueCounts {
    /// Its number.
    pub queue: u32,
    /// Frames that left.
    pub frames: u64,
    /// Bytes that left.
    pub bytes: u64,
    /// Frames that found it full.
    pub dropped: u64,
}

/// A frame that may leave.
#[derive(Debug, Eq, PartialEq)]
pub struct Waiting {
    /// It.
    pub frame: Vec<u8>,
    /// The queue that it waited in.
    pub queue: u32,
}

/// The queues of a port.
#[derive(Debug)]
pub struct Queues {
    port: Bucket,
    queues: Vec<Queue>,
}

#[derive(Debug)]
struct Queue {
    counts: QueueCounts,
    least: Option<Bucket>,
    most: Option<Bucket>,
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// A rate as the moment at which all that has left would have left at exactly that rate.
#[derive(Debug)]
struct Bucket {
    bits_per_s: u64,
    due: u64,
}

impl Queues {
    /// Queues of a port of a speed; those not among them are queue 0, which there always is.
    pub fn new(bits_per_s: u64, settings: &[QueueSettings]) -> Self {
        let bucket = |rate: u16| {
            let rate = u64::from(rate);
            (rate <= PARTS).then(|| Bucket::new(bits_per_s * rate / PARTS))
        };
        let mut queues: Vec<Queue> = settings
            .iter()
            .map(|one| Queue::new(one.queue, bucket(one.min_rate), bucket(one.max_rate)))
            .collect();
        if queues.iter().all(|queue| queue.counts.queue != 0) {
            queues.insert(0, Queue::new(0, None, None));
        }
        Self {
            port: Bucket::new(bits_per_s),
            queues,
        }
    }

    /// The same with what these have counted and what waits in them; frames of queues that are gone wait in queue 0.
    #[must_use]
    pub fn following(mut self, before: Option<Self>) -> Self {
        for old in before.into_iter().flat_map(|before| before.queues) {
            if let Some(own) = self.queues.iter_mut().find(|own| own.counts.queue == old.counts.queue) {
                own.counts = old.counts;
            }
            let number = old.counts.queue;
            self.enter(old.waiting.iter().map(|frame| (frame.as_slice(), number)));
        }
        self
    }

    /// Frames that wait, and their queues.
    pub fn into_waiting(self) -> impl Iterator<Item = (Vec<u8>, u32)> {
        let of = |queue: Queue| {
            let number = queue.counts.queue;
            queue.waiting.into_iter().map(move |frame| (frame, number))
        };
        self.queues.into_iter().flat_map(of)
    }

    /// Takes frames in; gives how many found no room.
    pub fn enter<'f>(&mut self, frames: impl Iterator<Item = (&'f [u8], u32)>) -> u64 {
        let mut dropped = 0;
        for (frame, number) in frames {
            let at = self.queues.iter().position(|queue| queue.counts.queue == number);
            let default = self.queues.iter().position(|queue| queue.counts.queue == 0);
            let Some(at) = at.or(default) else {
                continue;
            };
            let queue = &mut self.queues[at];
            if queue.bytes + frame.len() > MOST_WAITING {
                queue.counts.dropped += 1;
                dropped += 1;
                continue;
            }
            queue.bytes += frame.len();
            queue.waiting.push_back(frame.to_vec());
        }
        dropped
    }

    /// The next frame that may leave: first of queues that are below their least, then of any below its most.
    pub fn leave(&mut self, now: u64) -> Option<Waiting> {
        if !self.port.has_room(now) {
            return None;
        }
        let may = |queue: &&mut Queue| !queue.waiting.is_empty() && has_room(queue.most.as_ref(), now);
        let is_owed = |queue: &Queue| queue.least.as_ref().is_some_and(|least| least.has_room(now));
        let chosen = self.queues.iter_mut().filter(may).min_by_key(|queue| {
            // Among those alike, the one that has sent least.
            (!is_owed(queue), queue.counts.bytes)
        })?;
        let frame = chosen.waiting.pop_front()?;
        chosen.bytes -= frame.len();
        chosen.counts.frames += 1;
        chosen.counts.bytes += frame.len() as u64;
        for bucket in [Some(&mut self.port), chosen.least.as_mut(), chosen.most.as_mut()]
            .into_iter()
            .flatten()
        {
            bucket.take(frame.len(), now);
        }
        Some(Waiting {
            frame,
            queue: chosen.counts.queue,
        })
    }

    /// Frames that wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.waiting.len()).sum()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What each has counted.
    pub fn counts(&self) -> Vec<QueueCounts> {
        self.queues.iter().map(|queue| queue.counts).collect()
    }
}

impl Queue {
    fn new(queue: u32, least: Option<Bucket>, most: Option<Bucket>) -> Self {
        Self {
            counts: QueueCounts {
                queue,
                ..QueueCounts::default()
            },
            least,
            most,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }
}

fn has_room(bucket: Option<&Bucket>, now: u64) -> bool {
    bucket.is_none_or(|bucket| bucket.has_room(now))
}

impl Bucket {
    fn new(bits_per_s: u64) -> Self {
        Self { bits_per_s, due: 0 }
    }

    fn has_room(&self, now: u64) -> bool {
        self.bits_per_s > 0 && self.due <= now
    }

    fn take(&mut self, bytes: usize, now: u64) {
        let cost = (bytes as u128 * 8 * NANOSECONDS / u128::from(self.bits_per_s.max(1))) as u64;
        self.due = self.due.max(now.saturating_sub(BURST_NS)).saturating_add(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of each queue that leave in a second, when all always have frames of 1,000 bytes waiting.
    fn served(bits_per_s: u64, settings: &[QueueSettings]) -> Vec<u64> {
        let mut queues = Queues::new(bits_per_s, settings);
        let frame = [0; 1000];
        for now in (0..1_000_000_000).step_by(100_000) {
            for one in settings {
                queues.enter((0..20).map(|_| (&frame[..], one.queue)));
            }
            while queues.leave(now).is_some() {}
        }
        settings
            .iter()
            .map(|one| {
                queues
                    .counts()
                    .iter()
                    .find(|other| other.queue == one.queue)
                    .map_or(0, |counts| counts.bytes)
            })
            .collect()
    }

    fn settings(queue: u32, min_rate: u16, max_rate: u16) -> QueueSettings {
        QueueSettings {
            queue,
            min_rate,
            max_rate,
        }
    }

    const NONE: u16 = NO_RATE;

    #[test]
    fn no_queue_sends_more_than_its_most() {
        let sent = served(100_000_000, &[settings(1, NONE, 250), settings(2, NONE, 100)]);
        // Thousandths of 100 Mbit/s in a second, and what may leave at once.
        assert!(sent[0].abs_diff(3_125_000) < 31_250, "{sent:?}");
        assert!(sent[1].abs_diff(1_250_000) < 12_500, "{sent:?}");
    }

    #[test]
    fn every_queue_has_its_least() {
        let sent = served(80_000_000, &[settings(0, NONE, NONE), settings(1, 700, NONE)]);
        assert!(sent.iter().sum::<u64>().abs_diff(10_000_000) < 100_000, "{sent:?}");
        assert!(sent[1] >= 6_900_000, "{sent:?}");
    }

    #[test]
    fn other_queues_keep_what_waits_and_the_counts_of_those_that_stay() {
        let mut before = Queues::new(1_000_000, &[settings(1, NONE, NONE), settings(2, NONE, NONE)]);
        before.enter([(&[9_u8; 100][..], 1)].into_iter());
        assert_eq!(before.leave(0).map(|left| left.queue), Some(1));
        before.enter([(&[1_u8; 60][..], 1), (&[2; 60], 2)].into_iter());
        let after = Queues::new(1_000_000, &[settings(1, NONE, 500), settings(3, NONE, NONE)]).following(Some(before));
        let counted = |counts: &QueueCounts| (counts.queue, counts.frames);
        let counts = after.counts();
        assert_eq!(counts.iter().map(counted).collect::<Vec<_>>(), [(0, 0), (1, 1), (3, 0)]);
        let waiting: Vec<_> = after.into_waiting().map(|(frame, queue)| (frame[0], queue)).collect();
        assert_eq!(waiting, [(2, 0), (1, 1)]);
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let mut queues = Queues::new(1_000_000, &[settings(5, NONE, 1000)]);
        let frame = vec![0; 1 << 20];
        assert_eq!(queues.enter((0..10).map(|_| (&frame[..], 5))), 2);
        assert_eq!(queues.len(), 8);
        // A number that there is not is queue 0.
        queues.enter([(&[1_u8, 2][..], 9)].into_iter());
        assert_eq!(
            queues
                .counts()
                .iter()
                .map(|counts| (counts.queue, counts.dropped))
                .collect::<Vec<_>>(),
            [(0, 0), (5, 2)]
        );
        assert_eq!(
            queues.leave(0),
            Some(Waiting {
                frame: vec![1, 2],
                queue: 0
            })
        );
    }
}
