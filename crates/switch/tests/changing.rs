//! Frames that run while tables change meet them as they were or as they are.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail, and says how much it did"
)]

mod during;

use std::fs;
use std::path::Path;

#[test]
fn every_sequence_of_the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/during");
    let (mut changes, mut frames, mut moved) = (0, 0, 0);
    for entry in fs::read_dir(corpus).unwrap() {
        let tally = during::run(&fs::read(entry.unwrap().path()).unwrap());
        changes += tally.changes;
        frames += tally.frames;
        moved += tally.moved;
    }
    eprintln!("{changes} changes beside {frames} frames, for {moved} kinds of which they made a difference");
    assert!(
        changes > 500 && moved * 4 > changes && frames > changes,
        "{changes} changes, {moved} differences, {frames} frames"
    );
}
