//! The inputs that fuzzing found worth keeping, replayed.

use std::fs;
use std::path::Path;

use brimful_sim::SystemSpec;

#[test]
fn every_text_of_the_corpus_is_a_system_or_an_error() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/system_spec");
    let mut read = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(spec) = text.parse::<SystemSpec>() {
            assert_eq!(spec.to_string().parse(), Ok(spec), "{text:?}");
        }
        read += 1;
    }
    assert!(read > 0);
}
