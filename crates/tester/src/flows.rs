use serde::Serialize;

use crate::division::{quotient, remainder};

/// Flows that a report names at most: those that lost most.
const MOST_NAMED: usize = 10;
/// A flow of which fewer frames were to be expected may have lost them all by chance.
const ENOUGH_TO_BE_DEAD: u128 = 10;

/// The flows of one direction that lost frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowsReport {
    /// Flows of which frames were sent.
    pub count: u64,
    /// Of those, flows that lost frames.
    pub with_loss: u64,
    /// Of those, flows of which none arrived, although ten or more would have with the loss ratio of all flows together.
    pub dead: u64,
    /// The ten that lost most, the most first.
    pub worst: Vec<FlowLoss>,
}

/// What one flow lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct FlowLoss {
    /// Its number, from 0.
    pub flow: u64,
    /// Its frames that were sent.
    pub sent: u64,
    /// Of those, frames that did not arrive.
    pub lost: u64,
}

/// Which flow a frame belongs to: flows take turns each time the pattern of sizes is through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FlowTurns {
    /// Frames of one turn.
    pub(crate) pattern: u64,
    pub(crate) flows: u64,
}

impl FlowTurns {
    fn flow_of(self, sequence: u64) -> u64 {
        remainder(quotient(sequence, self.pattern), self.flows)
    }

    /// Frames of a flow among the first `sent` of all.
    fn sent_of(self, flow: u64, sent: u64) -> u64 {
        let round = self.pattern * self.flows;
        let begun = (sent % round).saturating_sub(flow * self.pattern);
        sent / round * self.pattern + begun.min(self.pattern)
    }
}

/// Counts the frames of each flow of one direction.
#[derive(Clone, Debug)]
pub(crate) struct FlowsRecord {
    turns: FlowTurns,
    received: Vec<u32>,
}

impl FlowsRecord {
    pub(crate) fn new(turns: FlowTurns) -> Self {
        Self {
            turns,
            received: vec![0; turns.flows as usize],
        }
    }

    /// Adds the first copy of a frame and gives its flow.
    pub(crate) fn record(&mut self, sequence: u64) -> usize {
        let flow = self.turns.flow_of(sequence) as usize;
        self.received[flow] += 1;
        flow
    }

    /// The figures. Of the lots that flows take turns to be in, the frames below these numbers were sent.
    pub(crate) fn report(&self, unsent_from: &[u64]) -> FlowsReport {
        let lots = unsent_from.len();
        let sent_of = |flow| self.turns.sent_of(flow, unsent_from[flow as usize % lots]);
        let sent: u64 = (0..self.turns.flows).map(sent_of).sum();
        let flows = (0..).zip(&self.received).map(|(flow, &received)| {
            let sent = sent_of(flow);
            let lost = sent.saturating_sub(received.into());
            FlowLoss { flow, sent, lost }
        });
        let arrived: u128 = self.received.iter().map(|&received| u128::from(received)).sum();
        let is_dead = |flow: &FlowLoss| {
            flow.lost == flow.sent && u128::from(flow.sent) * arrived >= ENOUGH_TO_BE_DEAD * u128::from(sent)
        };
        let (mut count, mut dead) = (0, 0);
        let mut lossy: Vec<_> = flows
            .inspect(|flow| {
                count += u64::from(flow.sent > 0);
                dead += u64::from(flow.sent > 0 && is_dead(flow));
            })
            .filter(|flow| flow.lost > 0)
            .collect();
        let with_loss = lossy.len() as u64;
        lossy.sort_by_key(|flow| (std::cmp::Reverse(flow.lost), flow.flow));
        lossy.truncate(MOST_NAMED);
        FlowsReport {
            count,
            with_loss,
            dead,
            worst: lossy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn equals_the_naive_twin(
            pattern in 1..13_u64,
            flows in 2..40_u64,
            sent in 0..3000_u64,
            lost in proptest::collection::btree_set(0..3000_u64, 0..200),
            deaf in 0..40_u64,
        ) {
            let mut record = FlowsRecord::new(FlowTurns { pattern, flows });
            let mut naive: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            for sequence in 0..sent {
                let flow = sequence / pattern % flows;
                let is_lost = flow == deaf || lost.contains(&sequence);
                let (sent, lost) = naive.entry(flow).or_default();
                *sent += 1;
                *lost += u64::from(is_lost);
                if !is_lost {
                    record.record(sequence);
                }
            }
            let report = record.report(&[sent]);
            prop_assert_eq!(report.count, naive.len() as u64);
            prop_assert_eq!(report.with_loss, naive.values().filter(|counts| counts.1 > 0).count() as u64);
            let arrived: u64 = naive.values().map(|counts| counts.0 - counts.1).sum();
            let expected = |of_flow: u64| of_flow as f64 * arrived as f64 / sent as f64;
            let is_dead = |counts: &(u64, u64)| counts.0 == counts.1 && expected(counts.0) >= 10.0;
            let dead = naive.values().filter(|counts| is_dead(counts)).count() as u64;
            prop_assert_eq!(report.dead, dead);
            prop_assert_eq!(report.worst.len() as u64, report.with_loss.min(10));
            for found in &report.worst {
                prop_assert_eq!(naive.get(&found.flow), Some(&(found.sent, found.lost)));
            }
            let named: Vec<u64> = report.worst.iter().map(|flow| flow.lost).collect();
            let mut all: Vec<u64> = naive.values().map(|counts| counts.1).collect();
            all.sort_unstable_by(|one, two| two.cmp(one));
            prop_assert_eq!(&all[..named.len()], &named[..]);
        }
    }
}
