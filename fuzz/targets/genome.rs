//! Whatever text is a genome has sizes, or is refused.
#![no_main]

use std::collections::BTreeMap;

use brimful_tester::Genome;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let letters = BTreeMap::from([("z".to_owned(), 1500), ("A".to_owned(), 300)]);
    let _ = Genome::parse(text, &letters);
});
