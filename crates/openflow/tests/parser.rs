//! Frames that fuzzing began with or found, replayed, whole and cut at every length.

use std::fs;
use std::path::Path;

#[path = "parser/check.rs"]
#[allow(unreachable_pub, reason = "a module that a fuzz target shares")]
mod check;

#[test]
fn every_frame_of_the_corpus_is_read_within_its_bounds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parser");
    let mut most = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        for len in 0..=bytes.len() {
            most = most.max(check::fields_of(&bytes[..len]));
        }
    }
    assert!(most > 8, "the corpus has frames with {most} fields at most");
}
