use std::ops::Range;

use serde::Serialize;

use super::{Polls, TimeHistogram};
use crate::Nanoseconds;

/// Parts of a trial of which each has a mean of its own, so that a reader can see how much a mean over the trial is
/// worth although the delays of neighbouring frames are alike.
const BATCHES: u64 = 32;

/// How long the units of one direction took, in seconds; those of the packet tester are frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayReport {
    /// Frames of which it is known: all that arrived, copies, late and damaged ones excepted.
    pub frames: u64,
    /// The shortest.
    pub min_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// The longest.
    pub max_s: f64,
    /// The median.
    pub p50_s: f64,
    /// The delay that 90 % do not exceed; this and the other percentiles are less than 0.1 % too long at most.
    pub p90_s: f64,
    /// The delay that 99 % do not exceed.
    pub p99_s: f64,
    /// The delay that 99.9 % do not exceed.
    pub p999_s: f64,
    /// The mean absolute inter-packet delay variation (RFC 3393) over all pairs of frames of which one was sent
    /// directly after the other and arrived later; nothing where there is no such pair.
    pub jitter_s: Option<f64>,
    /// What only some readers want.
    #[serde(flatten)]
    pub detail: Option<DelayDetail>,
}

/// The delays in the course of a trial, and how they are distributed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayDetail {
    /// Frames that arrived, and their mean delay in seconds, of each of 32 equal parts of the frames of the whole
    /// trial, in the order of sending. Nothing has no mean.
    pub batches: Vec<(u64, Option<f64>)>,
    /// The V2 serialisation of an `HdrHistogram` of nanoseconds with three significant digits, in base64.
    pub histogram: String,
    /// Times between two looks at the ports, and their sum in seconds, those with the same number of bits of
    /// nanoseconds together: how long a frame that has arrived may have waited.
    pub polls: Vec<(u64, f64)>,
}

/// Collects the delays of one direction of one trial.
#[derive(Clone, Debug)]
pub struct DelayRecord {
    histogram: TimeHistogram,
    min: Nanoseconds,
    /// Frames of the whole trial.
    count: u64,
    batches: [Sum; BATCHES as usize],
    /// The batch of the last frame and the sequence numbers in it: a division a frame would cost more than the rest.
    batch: usize,
    in_batch: Range<u64>,
    variation: Sum,
    last_in_order: Option<(u64, Nanoseconds)>,
    /// When the program looked for what arrives.
    pub polls: Polls,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    terms: u64,
    nanoseconds: u128,
}

impl DelayRecord {
    /// For up to `count` frames.
    pub fn new(count: u64) -> Self {
        Self {
            histogram: TimeHistogram::new(),
            min: Nanoseconds(u64::MAX),
            count,
            batches: [Sum::default(); BATCHES as usize],
            batch: 0,
            in_batch: 0..0,
            variation: Sum::default(),
            last_in_order: None,
            polls: Polls::new(),
        }
    }

    /// Adds the first copy of a frame; `in_order` when no later one came before it.
    pub fn record(&mut self, sequence: u64, delay: Nanoseconds, in_order: bool) {
        self.histogram.record(delay);
        self.min = self.min.min(delay);
        if !self.in_batch.contains(&sequence) {
            self.find_batch(sequence);
        }
        self.batches[self.batch].add(delay.0);
        if in_order {
            if let Some((last, last_delay)) = self.last_in_order
                && last + 1 == sequence
            {
                self.variation.add(delay.0.abs_diff(last_delay.0));
            }
            self.last_in_order = Some((sequence, delay));
        }
    }

    /// The figures; nothing when no frame arrived.
    pub fn report(&self) -> Option<DelayReport> {
        let mut total = Sum::default();
        for batch in &self.batches {
            total.terms += batch.terms;
            total.nanoseconds += batch.nanoseconds;
        }
        let percentile = |thousandths| self.histogram.percentile(thousandths).as_seconds();
        Some(DelayReport {
            frames: total.terms,
            min_s: self.min.as_seconds(),
            mean_s: total.mean_s()?,
            max_s: self.histogram.highest().as_seconds(),
            p50_s: percentile(500),
            p90_s: percentile(900),
            p99_s: percentile(990),
            p999_s: percentile(999),
            jitter_s: self.variation.mean_s(),
            detail: Some(DelayDetail {
                batches: self.batches.iter().map(|batch| (batch.terms, batch.mean_s())).collect(),
                histogram: self.histogram.to_base64(),
                polls: self.polls.report(),
            }),
        })
    }

    fn find_batch(&mut self, sequence: u64) {
        let batch = sequence * BATCHES / self.count;
        let first_of = |batch: u64| (batch * self.count).div_ceil(BATCHES);
        self.in_batch = first_of(batch)..first_of(batch + 1);
        self.batch = batch as usize;
    }
}

impl Sum {
    fn add(&mut self, nanoseconds: u64) {
        self.terms += 1;
        self.nanoseconds += u128::from(nanoseconds);
    }

    fn mean_s(&self) -> Option<f64> {
        (self.terms > 0).then(|| self.nanoseconds as f64 / self.terms as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean_s(times: &[u64]) -> Option<f64> {
        let sum: u128 = times.iter().map(|&time| u128::from(time)).sum();
        (!times.is_empty()).then(|| sum as f64 / times.len() as f64 / 1e9)
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(
            count in 1..500_u64,
            arrivals in proptest::collection::vec((0..500_u64, 0..1_u64 << 39), 1..600),
        ) {
            let mut record = DelayRecord::new(count);
            let mut first_copies: Vec<(u64, u64)> = Vec::new();
            for (sequence, delay) in arrivals {
                let sequence = sequence % count;
                if first_copies.iter().all(|copy| copy.0 != sequence) {
                    let in_order = first_copies.iter().all(|copy| copy.0 < sequence);
                    record.record(sequence, Nanoseconds(delay), in_order);
                    first_copies.push((sequence, delay));
                }
            }
            let report = record.report().expect("a frame arrived");
            let delays: Vec<u64> = first_copies.iter().map(|copy| copy.1).collect();
            prop_assert_eq!(report.frames, delays.len() as u64);
            prop_assert_eq!(Some(report.mean_s), mean_s(&delays));
            let (min, max) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
            prop_assert_eq!((report.min_s, report.max_s), (*min as f64 / 1e9, *max as f64 / 1e9));

            let in_batch = |batch: u64| -> Vec<u64> {
                let members = first_copies.iter().filter(|copy| copy.0 * 32 / count == batch);
                members.map(|copy| copy.1).collect()
            };
            let batches: Vec<_> = (0..32).map(in_batch).map(|delays| (delays.len() as u64, mean_s(&delays))).collect();
            prop_assert_eq!(report.detail.unwrap().batches, batches);

            let in_order: Vec<_> = (0..first_copies.len())
                .filter(|&at| first_copies[..at].iter().all(|copy| copy.0 < first_copies[at].0))
                .map(|at| first_copies[at])
                .collect();
            let pairs = in_order.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0);
            let variations: Vec<u64> = pairs.map(|pair| pair[0].1.abs_diff(pair[1].1)).collect();
            prop_assert_eq!(report.jitter_s, mean_s(&variations));
        }
    }

    #[test]
    fn nothing_arrived_has_no_delay() {
        assert_eq!(DelayRecord::new(10).report(), None);
    }
}
