use std::collections::VecDeque;
use std::io;

use crate::{InterfaceCounters, MAX_BURST, Port, SplitMix64, Statistics};

/// Room for the largest frame that passes.
const BUFFER_LEN: usize = 16 * 1024;

/// How often frames suffer; each frame suffers one fault at most. The three shares add up to 1 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Share of frames that vanish.
    pub loss: f64,
    /// Share of frames that arrive twice.
    pub duplication: f64,
    /// Share of frames that later ones overtake.
    pub reordering: f64,
    /// How many frames overtake such a frame.
    pub reorder_distance: usize,
}

/// What was done to the frames.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InjectedFaults {
    /// Frames that vanished.
    pub lost: u64,
    /// Frames that were sent twice.
    pub duplicated: u64,
    /// Frames that at least one later frame overtook.
    pub reordered: u64,
}

/// A port that mistreats the frames sent through it, the same way for the same seed.
#[derive(Debug)]
pub struct FaultyPort<P> {
    inner: P,
    faults: Faults,
    victims: fn(&[u8]) -> bool,
    random: SplitMix64,
    held: VecDeque<Held>,
    injected: InjectedFaults,
    accepted: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Held {
    frame: Vec<u8>,
    overtaken_by: usize,
}

impl<P: Port> FaultyPort<P> {
    /// Wraps a port; only frames for which `victims` holds can suffer.
    pub fn new(inner: P, faults: Faults, seed: u64, victims: fn(&[u8]) -> bool) -> Self {
        Self {
            inner,
            faults,
            victims,
            random: SplitMix64::new(seed),
            held: VecDeque::new(),
            injected: InjectedFaults::default(),
            accepted: 0,
            buffer: vec![0; BUFFER_LEN],
        }
    }

    /// What was done so far.
    pub fn injected(&self) -> InjectedFaults {
        self.injected
    }

    /// The port inside.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    fn pass(&mut self, frame: &[u8]) -> io::Result<()> {
        if !(self.victims)(frame) {
            return self.forward(frame);
        }
        let Faults {
            loss,
            duplication,
            reordering,
            ..
        } = self.faults;
        let draw = self.random.next_unit();
        if draw < loss {
            self.injected.lost += 1;
            return Ok(());
        }
        if draw < loss + duplication {
            self.injected.duplicated += 1;
            self.forward(frame)?;
        } else if draw < loss + duplication + reordering {
            self.held.push_back(Held {
                frame: frame.to_vec(),
                overtaken_by: 0,
            });
            return Ok(());
        }
        self.forward(frame)?;
        for held in &mut self.held {
            held.overtaken_by += 1;
        }
        self.release(self.faults.reorder_distance.max(1))
    }

    fn release(&mut self, distance: usize) -> io::Result<()> {
        while let Some(held) = self.held.front()
            && held.overtaken_by >= distance
        {
            let Some(held) = self.held.pop_front() else {
                break;
            };
            self.injected.reordered += u64::from(held.overtaken_by > 0);
            self.forward(&held.frame)?;
        }
        Ok(())
    }

    fn forward(&mut self, frame: &[u8]) -> io::Result<()> {
        let taken = self.inner.send_burst(1, &mut |_, buffer| {
            buffer[..frame.len()].copy_from_slice(frame);
            frame.len()
        })?;
        if taken == 1 {
            Ok(())
        } else {
            Err(io::Error::other("a fault injector needs a port that takes every frame"))
        }
    }
}

impl<P: Port> Port for FaultyPort<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(MAX_BURST);
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = (0..count).try_for_each(|index| {
            let len = fill(index, &mut buffer);
            self.pass(&buffer[..len])
        });
        self.buffer = buffer;
        result?;
        self.accepted += count as u64;
        Ok(count)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.inner.receive_burst(limit, take)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.release(0)?;
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        Ok(Statistics {
            sent: self.accepted,
            ..self.inner.statistics()?
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.inner.interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.inner.link_is_up()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::{MemoryPort, memory_wire};
    use proptest::prelude::*;

    fn run(faults: Faults, seed: u64, frames: usize) -> (InjectedFaults, Vec<u64>) {
        let [a, mut b] = memory_wire(["a", "b"], 4096);
        let mut a: FaultyPort<MemoryPort> = FaultyPort::new(a, faults, seed, |_| true);
        for sequence in 0..frames as u64 {
            a.send_burst(1, &mut |_, buffer| {
                buffer[..8].copy_from_slice(&sequence.to_be_bytes());
                8
            })
            .unwrap();
        }
        a.flush().unwrap();
        let mut arrived = Vec::new();
        b.receive_burst(usize::MAX, &mut |frame| {
            arrived.push(u64::from_be_bytes(frame.try_into().unwrap()));
        })
        .unwrap();
        (a.injected(), arrived)
    }

    proptest! {
        #[test]
        fn what_is_injected_is_what_arrives(seed: u64, loss in 0.0..0.3, duplication in 0.0..0.3,
                                            reordering in 0.0..0.3, reorder_distance in 1..20_usize) {
            let frames = 500;
            let faults = Faults { loss, duplication, reordering, reorder_distance };
            let (injected, arrived) = run(faults, seed, frames);
            prop_assert_eq!(arrived.len() as u64, frames as u64 - injected.lost + injected.duplicated);
            let mut distinct = arrived.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len() as u64, frames as u64 - injected.lost);
            let late = (1..arrived.len()).filter(|&at| arrived[..at].iter().max() > Some(&arrived[at])).count();
            prop_assert_eq!(late as u64, injected.reordered);
            prop_assert_eq!(run(faults, seed, frames), (injected, arrived));
        }
    }
}
