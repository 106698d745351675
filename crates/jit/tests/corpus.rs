//! Sequences of changes and frames that fuzzing began with or found, replayed: code equals the interpreter.

use std::fs;
use std::path::Path;

#[allow(unreachable_pub, dead_code, reason = "a module of several tests")]
mod common;

#[test]
fn every_sequence_of_the_corpus_is_run_alike() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tables");
    let (mut sequences, mut frames, mut met) = (0, 0, 0);
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        let (more, hits) = common::replay(&bytes);
        sequences += 1;
        frames += more;
        met += hits;
    }
    eprintln!(
        "{sequences} sequences, {frames} frames, {:.1} % met a rule",
        100.0 * met as f64 / frames as f64
    );
    assert!(
        sequences > 0 && met * 100 >= frames * 60,
        "{met} of {frames} frames met a rule"
    );
}
