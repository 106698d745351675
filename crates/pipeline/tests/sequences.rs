//! After any sequence of changes the tables are what a simple model says.
#![allow(clippy::unwrap_used, reason = "tests")]

mod model;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn tables_equal_the_model(bytes in prop::collection::vec(any::<u8>(), 0..1200)) {
        model::run(&bytes);
    }
}

#[test]
fn the_corpus_of_the_fuzzer_is_done() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/mods");
    let (mut done, mut refused) = (0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let counts = model::run(&fs::read(file.unwrap().path()).unwrap());
        done += counts.0;
        refused += counts.1;
    }
    assert!(done > 300 && refused > 100, "{done} done, {refused} refused");
}
