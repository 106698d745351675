//! The inputs that fuzzing found worth keeping, replayed.

use std::fs;
use std::path::Path;

use brimful_tester::Request;

#[test]
fn every_line_of_the_corpus_is_a_request_or_an_error() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request");
    let mut plans = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let line = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        if let Ok(Request::Measure(request)) = serde_json::from_slice(&line) {
            plans += usize::from(request.plan().is_ok());
        }
    }
    assert!(plans > 0, "at least one of them is a whole request");
}
