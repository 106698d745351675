//! Rules change a thousand times a second while frames run: none is lost, misrouted or overtaken, and memory stays.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "soak/bed.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod bed;
#[path = "soak/memory.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod memory;

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
    assert_eq!((first.lost, first.misrouted, first.overtaken), (0, 0, 0), "{first:?}");
    let rate = 0.8 * FIRST_FRAMES as f64 / first.took.as_secs_f64();
    let outcome = bed.run(Plan {
        frames: (rate * SECONDS) as u64,
        rate,
        mods_per_s: MODS_PER_S,
    });
    assert_eq!(
        (outcome.lost, outcome.misrouted, outcome.overtaken),
        (0, 0, 0),
        "{outcome:?}"
    );
    assert!(outcome.mods > 100, "{outcome:?}");
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
