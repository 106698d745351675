//! The inputs that fuzzing found worth keeping, replayed.

use std::fs;
use std::path::Path;

use brimful_frame::{ArpPacket, TestFrame};

#[test]
fn every_frame_of_the_corpus_is_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frame");
    let (mut frames, mut refused) = (0, 0);
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        let read = TestFrame::parse(&bytes).is_ok() || ArpPacket::parse(&bytes).is_ok();
        frames += usize::from(read);
        refused += usize::from(!read);
    }
    assert!(frames > 0 && refused > 0, "the corpus has both kinds");
}
