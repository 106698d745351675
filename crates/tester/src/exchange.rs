//! What the sides of a trial exchange while frames are sent, each perhaps in a thread of its own.

#[cfg(all(feature = "loom", test))]
use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
use std::mem;
use std::sync::PoisonError;
#[cfg(not(all(feature = "loom", test)))]
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use crate::question::Question;

/// Shared by the sending sides and the receiving sides of one trial.
#[derive(Debug)]
pub(crate) struct Exchange {
    lanes: Box<[Progress]>,
    is_called_off: AtomicBool,
    /// Of each receiving side, frames to its ports that are certainly lost.
    certain_losses: Box<[AtomicU64]>,
    /// Sending sides that have not ended.
    sides_left: AtomicUsize,
    /// By port, which sending side answers there.
    sides: Box<[usize]>,
    /// Of each sending side.
    questions: Box<[Questions]>,
}

/// Asked on ports of one sending side, to be answered there.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Questions {
    list: Mutex<Vec<(usize, Question)>>,
    /// Spares the sending side the lock when there are none.
    are_there: AtomicBool,
}

/// How far the sending side is with one port.
///
/// A frame can arrive before its sender has counted it. What may arrive is therefore announced before the frames are
/// handed to a port, and what was sent after they were taken. What the sending side writes all the time is alone in two
/// cache lines, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress {
    offered: AtomicU64,
    sent: AtomicU64,
}

impl Progress {
    /// Frames below `end` may be on their way from now on.
    pub(crate) fn offer(&self, end: u64) {
        self.offered.store(end, Ordering::Release);
    }

    /// Whether a frame that arrived was handed to a port. What carries frames keeps the order: a frame that arrives
    /// shows what was offered with it.
    pub(crate) fn was_offered(&self, sequence: u64) -> bool {
        sequence < self.offered.load(Ordering::Acquire)
    }

    /// Frames below `end` have been sent.
    pub(crate) fn note_sent(&self, end: u64) {
        self.sent.store(end, Ordering::Release);
    }

    /// Frames sent so far, or a moment ago.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }
}

impl Exchange {
    /// For this number of lanes that send, of sending sides and of receiving sides; `sides` says of each port which sending
    /// side answers there.
    pub(crate) fn new(lanes: usize, count: usize, receiving: usize, sides: Vec<usize>) -> Self {
        Self {
            lanes: (0..lanes).map(|_| Progress::default()).collect(),
            is_called_off: AtomicBool::new(false),
            certain_losses: (0..receiving).map(|_| AtomicU64::new(0)).collect(),
            sides_left: AtomicUsize::new(count),
            sides: sides.into(),
            questions: (0..count).map(|_| Questions::default()).collect(),
        }
    }

    /// Of the lanes that send, in their order.
    pub(crate) fn lanes(&self) -> &[Progress] {
        &self.lanes
    }

    pub(crate) fn sending_sides(&self) -> usize {
        self.questions.len()
    }

    /// Has the sending sides stop before their schedules end.
    pub(crate) fn call_off(&self) {
        self.is_called_off.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_called_off(&self) -> bool {
        self.is_called_off.load(Ordering::Relaxed)
    }

    /// Notes how many frames a receiving side knows to be lost; gives how many all of them do.
    pub(crate) fn note_certain_loss(&self, side: usize, lost: u64) -> u64 {
        self.certain_losses[side].store(lost, Ordering::Relaxed);
        let all = self.certain_losses.iter();
        all.map(|lost| lost.load(Ordering::Relaxed)).sum()
    }

    /// One of the sending sides has ended.
    pub(crate) fn end_sending(&self) {
        // Each adds to what the others released before, so that the last one shows what all have sent.
        self.sides_left.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether all sending sides have ended.
    pub(crate) fn sending_is_over(&self) -> bool {
        self.sides_left.load(Ordering::Acquire) == 0
    }

    /// Has the sending side of a port answer a question that came in there.
    pub(crate) fn ask(&self, port: usize, question: Question) {
        let questions = &self.questions[self.sides[port]];
        let mut list = questions.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push((port, question));
        questions.are_there.store(true, Ordering::Release);
    }

    /// The questions to a sending side since the last call, each with its port.
    pub(crate) fn take_questions(&self, side: usize) -> Vec<(usize, Question)> {
        let questions = &self.questions[side];
        if !questions.are_there.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut list = questions.list.lock().unwrap_or_else(PoisonError::into_inner);
        questions.are_there.store(false, Ordering::Relaxed);
        mem::take(&mut list)
    }
}

/// Every order in which two threads can touch it, with the feature `loom`.
#[cfg(all(feature = "loom", test))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    /// A wire: frames below its position have crossed it.
    type Wire = Arc<AtomicU64>;

    #[test]
    fn no_frame_arrives_that_was_not_offered_and_the_end_shows_all_that_was_sent() {
        loom::model(|| {
            let (exchange, wire) = (Arc::new(Exchange::new(1, 1, 1, vec![0])), Wire::default());
            let sending = loom::thread::spawn({
                let (exchange, wire) = (Arc::clone(&exchange), Arc::clone(&wire));
                move || {
                    let progress = &exchange.lanes()[0];
                    for sent in 0..2 {
                        if exchange.is_called_off() {
                            break;
                        }
                        progress.offer(sent + 1);
                        wire.store(sent + 1, Ordering::Release);
                        progress.note_sent(sent + 1);
                    }
                    exchange.end_sending();
                }
            });
            let progress = &exchange.lanes()[0];
            let arrived = wire.load(Ordering::Acquire);
            assert!((0..arrived).all(|sequence| progress.was_offered(sequence)));
            let sent = progress.sent();
            assert!(wire.load(Ordering::Acquire) >= sent, "counted before it left");
            if arrived == 1 {
                exchange.call_off();
            }
            if exchange.sending_is_over() {
                assert_eq!(progress.sent(), wire.load(Ordering::Acquire));
            }
            sending.join().unwrap();
        });
    }

    #[test]
    fn the_end_of_the_last_sending_side_shows_what_all_have_sent() {
        loom::model(|| {
            let exchange = Arc::new(Exchange::new(2, 2, 1, vec![0, 1]));
            let sides = [0, 1].map(|side: usize| {
                let exchange = Arc::clone(&exchange);
                loom::thread::spawn(move || {
                    exchange.lanes()[side].offer(1);
                    exchange.lanes()[side].note_sent(1);
                    exchange.end_sending();
                })
            });
            if exchange.sending_is_over() {
                assert!(
                    exchange
                        .lanes()
                        .iter()
                        .all(|lane| lane.sent() == 1 && lane.was_offered(0))
                );
            }
            for side in sides {
                side.join().unwrap();
            }
            assert!(exchange.sending_is_over());
        });
    }
}
