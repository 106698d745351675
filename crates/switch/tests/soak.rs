//! Rules change a thousand times a second while frames run: none is lost, misrouted or overtaken, and memory stays.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "soak/bed.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod bed;
#[path = "soak/memory.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod memory;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use bed::{Bed, Plan};
use memory::resident_bytes;

/// Frames of the round that finds out how many a second there can be.
const FIRST_FRAMES: u64 = 100_000;
const MODS_PER_S: f64 = 1000.0;
const SECONDS: f64 = 4.0;
/// What a quiet process may grow by.
const MOST_GROWTH: u64 = 1 << 20;

#[test]
fn no_frame_suffers_from_a_change() {
    let mut bed = Bed::new();
    let full_speed = |frames| Plan {
        frames,
        rate: f64::INFINITY,
        mods_per_s: MODS_PER_S,
    };
    let first = bed.run(full_speed(FIRST_FRAMES));
    assert_eq!(
        (first.lost, first.misrouted, first.overtaken),
        (0, 0, 0),
        "{} changes",
        first.mods
    );
    let rate = 0.8 * FIRST_FRAMES as f64 / first.took.as_secs_f64();
    let outcome = bed.run(Plan {
        frames: (rate * SECONDS) as u64,
        rate,
        mods_per_s: MODS_PER_S,
    });
    let slowest = outcome.times.iter().map(|time| (time.in_all, time.in_control)).max();
    assert_eq!(
        (outcome.lost, outcome.misrouted, outcome.overtaken),
        (0, 0, 0),
        "{} changes, the slowest took {slowest:?}",
        outcome.mods
    );
    assert!(outcome.mods > 100, "{} changes", outcome.mods);
    assert_eq!(outcome.times.len() as u64, outcome.mods);
    // Every place that a rule had is used again by now.
    let before = resident_bytes().unwrap();
    let mods = bed.run(full_speed(4 * FIRST_FRAMES)).mods;
    let after = resident_bytes().unwrap();
    assert!(
        after < before + MOST_GROWTH,
        "{mods} changes took {} bytes",
        after.saturating_sub(before)
    );
}

#[test]
fn no_frame_suffers_from_tables_that_are_replaced_in_a_storm() {
    let mut bed = Bed::new();
    let (handle, tables, ends) = (bed.handle(), Arc::new(bed.tables()), AtomicBool::new(false));
    let replace = || {
        let tables = Arc::clone(&tables);
        let done = handle.call(move |switch| switch.load("rules.flows", &tables, true));
        done.unwrap().unwrap();
    };
    let (outcome, replaced) = thread::scope(|scope| {
        let storm = scope.spawn(|| {
            let mut replaced = 0;
            while !ends.load(Relaxed) {
                replace();
                replaced += 1;
            }
            replaced
        });
        let outcome = bed.run(Plan {
            frames: 10 * FIRST_FRAMES,
            rate: f64::INFINITY,
            mods_per_s: 0.0,
        });
        ends.store(true, Relaxed);
        (outcome, storm.join().unwrap())
    });
    assert_eq!(
        (outcome.lost, outcome.misrouted, outcome.overtaken),
        (0, 0, 0),
        "{replaced} replacements"
    );
    assert!(replaced > 1, "{replaced} replacements");
}
