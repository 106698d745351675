//! What one and two data-plane threads forward from memory: 10,000 exact flows through a whole switch, each thread with a
//! receive queue of its own; frames are handed to ports that throw them away. Rounds of one and of two threads alternate.
//!
//! usage: `threads [ROUNDS]`
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement shows its figure, and ends where there is none"
)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use brimful_netdev::{
    Arrived, Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, ReceiveStatistics, Receiver, SendStatistics, Sender,
    Take, processor_cycles,
};
use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::compiled::Compiled;
use brimful_switch::control::{Running, Switch};
use brimful_switch::plane::SharedPipeline;
use brimful_switch::ports::{Input, Ports, SwitchPort};
use brimful_switch::tables;
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

const FLOWS: usize = 10_000;
const FRAMES: usize = 20_000;
const FRAME_LEN: usize = 60;
const STRIDE: usize = 256;
const MOST_THREADS: usize = 2;
const WARM_UP: Duration = Duration::from_millis(300);
const WINDOW: Duration = Duration::from_millis(700);

/// Replays frames from memory without end, and counts them.
struct Replay {
    memory: Vec<u8>,
    next: usize,
    count: Arc<AtomicU64>,
    /// Where the thread that receives is to run, until it has been put there.
    processor: Option<usize>,
}

impl Receiver for Replay {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        if let Some(processor) = self.processor.take() {
            let mut set = CpuSet::new();
            set.set(processor);
            sched_setaffinity(None::<Pid>, &set)?;
        }
        let count = limit.min(FRAMES - self.next);
        for place in self.next..self.next + count {
            let slot = &mut self.memory[place * STRIDE..][..HEADROOM + FRAME_LEN];
            take(Arrived::new(slot, HEADROOM, None));
        }
        self.next = (self.next + count) % FRAMES;
        self.count.fetch_add(count as u64, Relaxed);
        Ok(count)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics::default())
    }
}

/// Takes every frame into a buffer and forgets it.
struct Discard(Vec<u8>);

impl Sender for Discard {
    fn name(&self) -> &'static str {
        "discard"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: self.0.len(),
            headroom: 0,
            can_wait: false,
            notes_arrival: false,
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(MAX_BURST);
        let taken: usize = (0..count)
            .map(|index| fill(index, &mut self.0))
            .filter(|&len| len > 0)
            .count();
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(SendStatistics::default())
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(None)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(7);
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let (one, two) = (measure(1), measure(2));
        println!(
            "round {round}: one thread {:.2} Mpps ({:.0} cycles a frame), two threads {:.2} Mpps, ratio {:.3}",
            one.rate / 1e6,
            one.cycles,
            two.rate / 1e6,
            two.rate / one.rate
        );
        ratios.push(two.rate / one.rate);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "two threads forward {:.3} x what one does (median of {rounds} rounds; {:.3} to {:.3})",
        ratios[rounds / 2],
        ratios[0],
        ratios[rounds - 1]
    );
}

struct Measured {
    /// Frames a second of all threads.
    rate: f64,
    /// Of the time-stamp counter, of one thread.
    cycles: f64,
}

fn measure(threads: usize) -> Measured {
    let (running, count) = start(threads);
    std::thread::sleep(WARM_UP);
    let (frames, cycles, begun) = (count.load(Relaxed), processor_cycles().unwrap_or(0), Instant::now());
    std::thread::sleep(WINDOW);
    let frames = (count.load(Relaxed) - frames) as f64;
    let cycles = (processor_cycles().unwrap_or(0) - cycles) as f64;
    let took = begun.elapsed().as_secs_f64();
    running.stop();
    Measured {
        rate: frames / took,
        cycles: cycles * threads as f64 / frames,
    }
}

/// A switch whose first port has a queue for each thread.
fn start(threads: usize) -> (Running, Arc<AtomicU64>) {
    let discard = || Box::new(Discard(vec![0; 2048])) as Box<dyn Sender>;
    let more = || (1..MOST_THREADS).map(|_| discard());
    let ports = [1, 2, 3].map(|number| {
        let port = SwitchPort::new(number, [0; 6], discard(), None).with_more_senders(more());
        Arc::new(port)
    });
    let count = Arc::new(AtomicU64::new(0));
    let inputs = (0..threads).map(|thread| {
        let replay = Replay {
            memory: frames(),
            next: thread * FRAMES / threads,
            count: Arc::clone(&count),
            processor: Some(thread),
        };
        vec![Input::new(Arc::clone(&ports[0]), Box::new(replay))]
    });
    let inputs = inputs.collect();
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Compiled::new(pipeline.clone(), 7).expect("machine code for this processor");
    let switch = Switch::new("threads".to_owned(), 1, Ports::new(ports), pipeline, Box::new(plane));
    let running = switch.start(inputs);
    let rules: Vec<String> = (0..FLOWS)
        .map(|flow| format!("dl_dst={},actions=output:{}", text(flow), 2 + flow % 2))
        .collect();
    let rules = tables::read("rules.flows", &rules.join("\n"), 0).expect("rules");
    let loaded = running
        .handle
        .call(move |switch| switch.load("rules.flows", &rules, true));
    loaded.expect("it runs").expect("the rules can be");
    (running, count)
}

fn frames() -> Vec<u8> {
    let mut memory = vec![0; FRAMES * STRIDE];
    for (number, slot) in memory.chunks_exact_mut(STRIDE).enumerate() {
        // Any order that is not that of the rules.
        let flow = number.wrapping_mul(7919) % FLOWS;
        slot[HEADROOM..HEADROOM + 6].copy_from_slice(&address(flow));
        slot[HEADROOM + 12..HEADROOM + 14].copy_from_slice(&[0x88, 0xb5]);
    }
    memory
}

fn address(flow: usize) -> [u8; 6] {
    let [a, b, c, d] = (flow as u32).to_be_bytes();
    [2, 0, a, b, c, d]
}

fn text(flow: usize) -> String {
    address(flow).map(|octet| format!("{octet:02x}")).join(":")
}
