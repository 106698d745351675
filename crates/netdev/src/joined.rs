use std::io;

use crate::{ReceiveStatistics, Receiver, Take};

/// Several receive queues of an interface as one receiver: frames of one queue keep their order.
pub(crate) struct JoinedReceiver<R> {
    queues: Vec<R>,
    /// Who comes first next time, so that a busy queue holds up no other one.
    first: usize,
}

impl<R> JoinedReceiver<R> {
    pub(crate) fn new(queues: Vec<R>) -> Self {
        Self { queues, first: 0 }
    }
}

impl<R: Receiver> Receiver for JoinedReceiver<R> {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let count = self.queues.len();
        let mut received = 0;
        for turn in 0..count {
            if received == limit {
                break;
            }
            let queue = &mut self.queues[(self.first + turn) % count];
            received += queue.receive_burst(limit - received, take)?;
        }
        self.first = (self.first + 1) % count;
        Ok(received)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        let mut all = ReceiveStatistics::default();
        for queue in &mut self.queues {
            let ReceiveStatistics {
                received,
                receive_dropped,
            } = queue.statistics()?;
            all.received += received;
            all.receive_dropped += receive_dropped;
        }
        Ok(all)
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;
    use crate::{Sender, memory_wire};

    #[test]
    fn all_queues_are_read_in_turn_up_to_the_limit_and_counted_together() {
        let wires = [0, 10, 20].map(|first: u8| {
            let [mut near, far] = memory_wire(["near", "far"], 4);
            let sent = near.sender.send_burst(5, &mut |index, buffer| {
                buffer[0] = first + index as u8;
                1
            });
            assert_eq!(sent.unwrap(), 5);
            far.receiver
        });
        let mut joined = JoinedReceiver::new(wires.into());
        let mut bursts = Vec::new();
        for limit in [3, 6, 9] {
            let mut burst = Vec::new();
            let count = joined.receive_burst(limit, &mut |frame| burst.push(frame[0])).unwrap();
            assert_eq!(count, burst.len());
            bursts.push(burst);
        }
        assert_eq!(bursts, [vec![0, 1, 2], vec![10, 11, 12, 13, 20, 21], vec![22, 23, 3]]);
        let statistics = joined.statistics().unwrap();
        assert_eq!((statistics.received, statistics.receive_dropped), (12, 3));
    }
}
