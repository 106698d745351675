use std::io;

use crate::{InterfaceCounters, MemoryPort, Port, Statistics, memory_wire};

/// A port that receives what it sends.
#[derive(Debug)]
pub struct LoopbackPort {
    near: MemoryPort,
    far: MemoryPort,
}

impl LoopbackPort {
    /// Holds up to `capacity` frames, as [`memory_wire`] does; further ones are dropped and counted.
    pub fn new(name: &str, capacity: u32) -> Self {
        let [near, far] = memory_wire([name, name], capacity);
        Self { near, far }
    }
}

impl Port for LoopbackPort {
    fn name(&self) -> &str {
        self.near.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        self.near.send_burst(count, fill)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.far.receive_burst(limit, take)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.near.flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        Ok(Statistics {
            sent: self.near.statistics()?.sent,
            ..self.far.statistics()?
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.near.interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.near.link_is_up()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let mut port = LoopbackPort::new("lo", 2);
        let sent = port.send_burst(3, &mut |index, buffer| {
            buffer[0] = index as u8;
            1
        });
        assert_eq!(sent.unwrap(), 3);
        let mut arrived: Vec<u8> = Vec::new();
        port.receive_burst(9, &mut |frame| arrived.extend(frame)).unwrap();
        assert_eq!(arrived, [0, 1]);
        let expected = Statistics {
            sent: 3,
            sent_into_full_queue: 0,
            received: 2,
            receive_dropped: 1,
        };
        assert_eq!(port.statistics().unwrap(), expected);
    }
}
