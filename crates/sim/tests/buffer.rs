//! A buffer of known size loses as many frames of a burst as a queue that is followed frame by frame.

#![allow(clippy::unwrap_used)]

use brimful_sim::{Simulator, SystemSpec};
use brimful_trial::{Load, Measurer, Nanoseconds, TrialInput};
use proptest::prelude::*;

/// Frames lost of a burst, frame by frame: frame i arrives at i / rate, and one leaves every 1 / capacity while there
/// are any. Times are multiples of 1 / (rate x capacity) s, hence whole numbers.
fn lost_of(burst: u64, rate: u64, capacity: u64, frames: u64) -> u64 {
    let (mut waiting, mut next_leaves, mut lost) = (0, 0, 0);
    for now in (0..burst).map(|frame| frame * capacity) {
        while waiting > 0 && next_leaves <= now {
            waiting -= 1;
            next_leaves += rate;
        }
        if waiting == frames {
            lost += 1;
            continue;
        }
        if waiting == 0 {
            next_leaves = now + rate;
        }
        waiting += 1;
    }
    lost
}

/// The counts of a burst, offered as a trial of N frames at a rate.
fn measured(simulator: &mut Simulator, burst: u64, rate: u64) -> (u64, u64, u64) {
    let input = TrialInput {
        load: Load::new(rate as f64).unwrap(),
        duration: Nanoseconds::from_seconds(burst as f64 / rate as f64).unwrap(),
    };
    let counts = simulator.measure(input, None).unwrap().counts;
    (counts.intended(), counts.sent(), counts.lost())
}

fn simulator(capacity: u64, frames: u64) -> Simulator {
    let text = format!("buffer,capacity={capacity}pps,frames={frames}");
    Simulator::new(&text.parse::<SystemSpec>().unwrap())
}

proptest! {
    #[test]
    fn loses_what_a_queue_loses(
        burst in 1..5000_u64,
        rate in 1_000..20_000_000_u64,
        share in 1..1500_u64,
        frames in prop_oneof![0..4_u64, 0..3000_u64],
    ) {
        let capacity = (rate * share / 1000).max(1);
        let lost = lost_of(burst, rate, capacity, frames);
        prop_assert_eq!(measured(&mut simulator(capacity, frames), burst, rate), (burst, burst, lost));
    }

    #[test]
    fn the_longest_burst_without_loss_is_known(
        rate in 1_000..20_000_000_u64,
        share in 1..999_u64,
        frames in 1..100_000_u64,
    ) {
        let capacity = (rate * share / 1000).max(1);
        // Frame i finds i - floor(i capacity / rate) before it, and has no room where those are as many as fit.
        let longest = (frames - 1) * rate / (rate - capacity) + 1;
        let mut simulator = simulator(capacity, frames);
        prop_assert_eq!(measured(&mut simulator, longest, rate), (longest, longest, 0));
        prop_assert_eq!(measured(&mut simulator, longest + 1, rate), (longest + 1, longest + 1, 1));
    }
}

#[test]
fn bursts_of_any_length_have_as_many_frames_as_asked_for() {
    let mut simulator = simulator(1_000_000, 1);
    for rate in [3, 1_000, 14_880_952, 148_809_523] {
        for burst in (1..200).chain([100_003, 10_000_019, 446_428_560]) {
            let (intended, sent, _) = measured(&mut simulator, burst, rate);
            assert_eq!((intended, sent), (burst, burst), "{rate}");
        }
    }
}

#[test]
fn a_buffer_of_one_frame_is_empty_between_frames() {
    // The second frame finds the first, which leaves before the third comes; that one meets the fourth.
    assert_eq!(measured(&mut simulator(667, 1), 4, 1000), (4, 4, 2));
}

#[test]
fn loss_is_the_same_second_by_second() {
    let (rate, capacity) = (1_000_003, 900_001);
    let burst = 3 * rate + 17;
    let (_, _, lost) = measured(&mut simulator(capacity, 5000), burst, rate);
    assert_eq!(lost, lost_of(burst, rate, capacity, 5000));
}
