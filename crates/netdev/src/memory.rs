use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{InterfaceCounters, MAX_BURST, Port, Statistics};

/// Room for the largest frame that a memory port carries.
const BUFFER_LEN: usize = 16 * 1024;

/// One end of a wire without a kernel: see [`memory_wire`].
#[derive(Debug)]
pub struct MemoryPort {
    name: String,
    outgoing: Arc<Mutex<Queue>>,
    incoming: Arc<Mutex<Queue>>,
    buffer: Vec<u8>,
    sent: u64,
    received: u64,
}

#[derive(Debug)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    capacity: usize,
    dropped: u64,
    is_up: bool,
}

/// Two ports joined by a wire; each holds up to `capacity` arrived frames and drops further ones, counted.
pub fn memory_wire(names: [&str; 2], capacity: usize) -> [MemoryPort; 2] {
    let queue = || {
        Arc::new(Mutex::new(Queue {
            frames: VecDeque::new(),
            capacity,
            dropped: 0,
            is_up: true,
        }))
    };
    let (there, back) = (queue(), queue());
    [
        MemoryPort::new(names[0], Arc::clone(&there), Arc::clone(&back)),
        MemoryPort::new(names[1], back, there),
    ]
}

impl MemoryPort {
    fn new(name: &str, outgoing: Arc<Mutex<Queue>>, incoming: Arc<Mutex<Queue>>) -> Self {
        Self {
            name: name.to_owned(),
            outgoing,
            incoming,
            buffer: vec![0; BUFFER_LEN],
            sent: 0,
            received: 0,
        }
    }

    /// Takes the link down, seen by this end: what it sends from now on is refused.
    pub fn unplug(&mut self) {
        with(&self.outgoing, |queue| queue.is_up = false);
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(MAX_BURST);
        let buffer = &mut self.buffer;
        let sent = with(&self.outgoing, |queue| {
            if !queue.is_up {
                return Err(io::Error::from(io::ErrorKind::NetworkDown));
            }
            for index in 0..count {
                let len = fill(index, buffer);
                if queue.frames.len() < queue.capacity {
                    queue.frames.push_back(buffer[..len].to_vec());
                } else {
                    queue.dropped += 1;
                }
            }
            Ok(count)
        })?;
        self.sent += sent as u64;
        Ok(sent)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let arrived: Vec<Vec<u8>> = with(&self.incoming, |queue| {
            let count = limit.min(queue.frames.len());
            queue.frames.drain(..count).collect()
        });
        for frame in &arrived {
            take(frame);
        }
        self.received += arrived.len() as u64;
        Ok(arrived.len())
    }

    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        Ok(Statistics {
            sent: self.sent,
            sent_into_full_queue: 0,
            received: self.received,
            receive_dropped: with(&self.incoming, |queue| queue.dropped),
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(None)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        Ok(with(&self.outgoing, |queue| queue.is_up))
    }
}

/// A queue is whole after every operation, so a panic elsewhere does not spoil it.
fn with<T>(queue: &Mutex<Queue>, operation: impl FnOnce(&mut Queue) -> T) -> T {
    operation(&mut queue.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(port: &mut MemoryPort, bytes: &[&[u8]]) -> io::Result<usize> {
        port.send_burst(bytes.len(), &mut |index, buffer| {
            buffer[..bytes[index].len()].copy_from_slice(bytes[index]);
            bytes[index].len()
        })
    }

    fn receive(port: &mut MemoryPort, limit: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        port.receive_burst(limit, &mut |frame| frames.push(frame.to_vec()))
            .unwrap();
        frames
    }

    #[test]
    fn frames_cross_both_ways_in_order() {
        let [mut a, mut b] = memory_wire(["a", "b"], 10);
        send(&mut a, &[b"one", b"two"]).unwrap();
        send(&mut b, &[b"back"]).unwrap();
        assert_eq!(receive(&mut b, 1), [b"one"]);
        assert_eq!(receive(&mut b, 5), [b"two"]);
        assert_eq!(receive(&mut a, 5), [b"back"]);
    }

    #[test]
    fn a_full_end_drops_and_counts() {
        let [mut a, mut b] = memory_wire(["a", "b"], 2);
        assert_eq!(send(&mut a, &[b"1", b"2", b"3"]).unwrap(), 3);
        assert_eq!(receive(&mut b, 5).len(), 2);
        assert_eq!(a.statistics().unwrap().sent, 3);
        let statistics = b.statistics().unwrap();
        assert_eq!((statistics.received, statistics.receive_dropped), (2, 1));
    }

    #[test]
    fn an_unplugged_end_refuses() {
        let [mut a, _b] = memory_wire(["a", "b"], 2);
        a.unplug();
        assert!(!a.link_is_up().unwrap());
        assert!(send(&mut a, &[b"1"]).is_err());
    }
}
