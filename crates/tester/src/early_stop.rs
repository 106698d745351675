use std::collections::VecDeque;

use brimful_trial::Nanoseconds;

use crate::Tracker;

/// How many frames of one direction had been sent at which time, at the coarse steps at which it is reported.
#[derive(Clone, Debug, Default)]
pub struct SentHistory {
    entries: VecDeque<(Nanoseconds, u64)>,
}

impl SentHistory {
    /// Notes how many frames have been sent by now; times never go back. Forgets what is older than `keep`, but for
    /// the newest such entry.
    pub fn note(&mut self, now: Nanoseconds, sent: u64, keep: Nanoseconds) {
        self.entries.push_back((now, sent));
        let horizon = now.saturating_sub(keep);
        while self.entries.get(1).is_some_and(|entry| entry.0 <= horizon) {
            self.entries.pop_front();
        }
    }

    /// Frames that were certainly sent by a time.
    pub fn sent_by(&self, time: Nanoseconds) -> u64 {
        let after = self.entries.partition_point(|entry| entry.0 <= time);
        after.checked_sub(1).map_or(0, |at| self.entries[at].1)
    }
}

/// Frames of one direction that are lost beyond reasonable doubt.
///
/// A missing frame counts when it was sent more than `grace` ago and a later one has arrived: being overtaken within
/// the grace time is reordering, not loss. It also counts, without a later one, when it was sent more than `silence`
/// ago, or a dead device would never be noticed. What arrives after all is taken back by the tracker, and the tester
/// checks the final count, so that a wrong guess can spoil a trial but never decide one.
pub fn certainly_lost(
    tracker: &mut Tracker,
    history: &SentHistory,
    now: Nanoseconds,
    grace: Nanoseconds,
    silence: Nanoseconds,
) -> u64 {
    let overtaken = tracker.highest().map_or(0, |highest| highest + 1);
    let aged = history.sent_by(now.saturating_sub(grace)).min(overtaken);
    let silent = history.sent_by(now.saturating_sub(silence.max(grace)));
    tracker.missing_below(aged.max(silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const GRACE: Nanoseconds = Nanoseconds(100 * MS);
    const SILENCE: Nanoseconds = Nanoseconds(500 * MS);

    fn at(milliseconds: u64) -> Nanoseconds {
        Nanoseconds(milliseconds * MS)
    }

    #[test]
    fn an_overtaken_frame_is_lost_only_after_the_grace_time() {
        let (mut tracker, mut history) = (Tracker::new(100), SentHistory::default());
        history.note(at(10), 10, SILENCE);
        for sequence in (0..10).filter(|&sequence| sequence != 4) {
            tracker.record(sequence);
        }
        assert_eq!(certainly_lost(&mut tracker, &history, at(60), GRACE, SILENCE), 0);
        assert_eq!(certainly_lost(&mut tracker, &history, at(110), GRACE, SILENCE), 1);
        tracker.record(4);
        assert_eq!(certainly_lost(&mut tracker, &history, at(111), GRACE, SILENCE), 0);
    }

    #[test]
    fn frames_behind_the_newest_are_on_their_way_until_silence_says_otherwise() {
        let (mut tracker, mut history) = (Tracker::new(100), SentHistory::default());
        history.note(at(10), 10, SILENCE);
        tracker.record(2);
        assert_eq!(certainly_lost(&mut tracker, &history, at(400), GRACE, SILENCE), 2);
        assert_eq!(certainly_lost(&mut tracker, &history, at(510), GRACE, SILENCE), 9);
    }

    proptest! {
        #[test]
        fn never_more_than_what_is_missing_of_the_old_ones(
            sent in proptest::collection::vec(0..20_u64, 1..100),
            arrived in proptest::collection::vec(0..1000_u64, 0..500),
        ) {
            let (mut tracker, mut history) = (Tracker::new(2000), SentHistory::default());
            let mut naive = Vec::new();
            let mut total = 0;
            for (step, count) in sent.iter().enumerate() {
                total += count;
                naive.push((at(step as u64 * 10), total));
                history.note(at(step as u64 * 10), total, SILENCE);
            }
            let now = at((sent.len() as u64 - 1) * 10);
            let mut seen: Vec<u64> = arrived.into_iter().filter(|&sequence| sequence < total).collect();
            for &sequence in &seen { tracker.record(sequence); }
            seen.sort_unstable();
            seen.dedup();
            let old = |age: Nanoseconds| naive.iter().rfind(|entry| now.0 >= age.0 && entry.0.0 <= now.0 - age.0)
                .map_or(0, |entry| entry.1);
            let bound = old(GRACE).min(seen.last().map_or(0, |last| last + 1)).max(old(SILENCE));
            let missing = bound - seen.iter().filter(|&&sequence| sequence < bound).count() as u64;
            // Before the clock has run for the grace time, entry 0 counts as old although it is not: nothing was sent.
            if now.0 >= SILENCE.0 {
                prop_assert_eq!(certainly_lost(&mut tracker, &history, now, GRACE, SILENCE), missing);
            }
        }
    }
}
