use brimful_frame::header_len::ADDRESSES;
use brimful_trial::Nanoseconds;

use super::frame::template;
use super::request::SequenceRequest;
use crate::test_frames::{Stamp, TestTemplate};

/// A sequence as far as it is sent.
pub(super) struct Sequence<'r> {
    pub(super) request: &'r SequenceRequest,
    template: TestTemplate,
    stream: u8,
    trial: u16,
    pub(super) sent: u64,
    pub(super) most_behind: u64,
    pub(super) refused: Option<String>,
    pub(super) first_at: Nanoseconds,
    pub(super) last_at: Nanoseconds,
}

impl<'r> Sequence<'r> {
    pub(super) fn new(request: &'r SequenceRequest, stream: u8, trial: u16) -> Self {
        Self {
            request,
            template: template(request.frame_size),
            stream,
            trial,
            sent: 0,
            most_behind: 0,
            refused: None,
            first_at: Nanoseconds::ZERO,
            last_at: Nanoseconds::ZERO,
        }
    }

    /// Bytes of each frame, without check sequence.
    pub(super) fn frame_len(&self) -> usize {
        self.template.byte_len()
    }

    pub(super) fn is_over(&self) -> bool {
        self.refused.is_some() || self.sent == self.request.count
    }

    /// Frames that are due and not yet sent, a time after the begin.
    pub(super) fn due(&self, elapsed: Nanoseconds) -> u64 {
        let due = (elapsed.as_seconds() * self.request.rate) as u64 + 1;
        due.min(self.request.count).saturating_sub(self.sent)
    }

    /// When the next frame is due, after the begin.
    pub(super) fn next_due(&self) -> Nanoseconds {
        Nanoseconds((self.sent as f64 / self.request.rate * 1e9) as u64)
    }

    /// Writes the frame that comes after some that are not sent yet either.
    pub(super) fn fill(&self, buffer: &mut [u8], ahead: usize, now: Nanoseconds) -> usize {
        let sequence = self.sent + ahead as u64;
        let stamp = Stamp {
            trial: self.trial,
            stream: self.stream,
            timestamp: now.0,
            sequence,
        };
        let len = self.template.fill(buffer, stamp);
        buffer[..6].copy_from_slice(&self.request.destinations.of(sequence).0);
        buffer[6..ADDRESSES].copy_from_slice(&self.request.sources.of(sequence).0);
        len
    }
}
