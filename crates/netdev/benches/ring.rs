//! How many 60-byte frames a second the wire in memory carries, in bursts of 32, both ends touching every byte.
//!
//! `cargo bench -p brimful-netdev` prints
//!
//! * `wire/two threads`: one thread sends, another receives, each on a processor of its own where there are two. Where
//!   something else wants one of them, the figure is about that;
//! * `wire/one thread`: the same thread sends a burst and receives it;
//! * the median rate of short windows of two threads.
//!
//! Bar: 40 million frames a second for two threads.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brimful_netdev::{MemoryReceiver, MemorySender, Receiver, Sender, memory_wire};
use criterion::{Criterion, Throughput};

const FRAME_LEN: usize = 60;
const BURST: usize = 32;
const CAPACITY: u32 = 256;
const WINDOWS: usize = 101;
const WINDOW_FRAMES: u64 = 1_000_000;

fn send(sender: &mut MemorySender, frame: &[u8; FRAME_LEN]) {
    let sent = sender.send_burst(BURST, &mut |index, buffer| {
        buffer[..FRAME_LEN].copy_from_slice(frame);
        buffer[0] = index as u8;
        FRAME_LEN
    });
    black_box(sent).expect("a wire in memory takes everything");
}

fn receive(receiver: &mut MemoryReceiver, sum: &mut [u64; FRAME_LEN / 8]) -> u64 {
    let count = receiver.receive_burst(BURST, &mut |frame| {
        for (sum, word) in sum.iter_mut().zip(frame.as_chunks().0) {
            *sum ^= u64::from_ne_bytes(*word);
        }
    });
    count.expect("a wire in memory gives what it has") as u64
}

/// How long it takes until `frames` have crossed from one thread to another.
fn cross_threads(frames: u64) -> Duration {
    let [mut there, mut here] = memory_wire(["there", "here"], CAPACITY);
    let is_over = Arc::new(AtomicBool::new(false));
    let sending = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let frame = [0x5a; FRAME_LEN];
            while !is_over.load(Ordering::Relaxed) {
                send(&mut there.sender, &frame);
            }
        }
    });
    let mut sum = [0; FRAME_LEN / 8];
    while receive(&mut here.receiver, &mut sum) == 0 {}
    let start = Instant::now();
    let mut left = frames;
    while left > 0 {
        left = left.saturating_sub(receive(&mut here.receiver, &mut sum));
    }
    let elapsed = start.elapsed();
    is_over.store(true, Ordering::Relaxed);
    sending.join().expect("sending does not fail");
    black_box(sum);
    elapsed
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("wire");
    group.throughput(Throughput::Elements(1));
    group.bench_function("two threads", |bencher| bencher.iter_custom(cross_threads));
    group.throughput(Throughput::Elements(BURST as u64));
    group.bench_function("one thread", |bencher| {
        let [mut there, mut here] = memory_wire(["there", "here"], CAPACITY);
        let (frame, mut sum) = ([0x5a; FRAME_LEN], [0; FRAME_LEN / 8]);
        bencher.iter(|| {
            send(&mut there.sender, &frame);
            receive(&mut here.receiver, &mut sum)
        });
        black_box(sum);
    });
    group.finish();
    criterion.final_summary();
    print_median();
}

/// The median of many short windows: whatever else runs here spoils some of them, and with them criterion's mean.
#[expect(clippy::print_stdout, reason = "what it is for")]
fn print_median() {
    let rate = |_| WINDOW_FRAMES as f64 / cross_threads(WINDOW_FRAMES).as_secs_f64() / 1e6;
    let mut rates: Vec<f64> = (0..WINDOWS).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let [low, median, high] = [WINDOWS / 4, WINDOWS / 2, 3 * WINDOWS / 4].map(|at| rates[at]);
    println!(
        "two threads: median {median:.1} Mpps, quartiles {low:.1} and {high:.1}, of {WINDOWS} windows; bar 40 Mpps"
    );
}
