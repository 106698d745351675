//! The inputs that fuzzing found worth keeping, replayed.

use std::fs;
use std::path::Path;

use brimful_netdev::Capture;

#[test]
fn every_file_of_the_corpus_is_a_capture_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capture");
    let (mut captures, mut refused) = (0, 0);
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        match Capture::parse(bytes) {
            Ok(capture) => {
                captures += 1;
                assert!((0..capture.len()).all(|index| capture.frame(index).is_some()));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(captures > 0 && refused > 0, "the corpus has both kinds");
}
