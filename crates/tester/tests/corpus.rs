//! The inputs that fuzzing found worth keeping, replayed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use brimful_frame::{ArpPacket, NeighbourSolicitation};
use brimful_tester::{Genome, Profile, ProfileFile, ProfileOptions, TestFrame};
use brimful_trial::program::Request;

#[test]
fn every_line_of_the_corpus_is_a_request_or_an_error() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request");
    let mut plans = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let line = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        if let Ok(Request::Measure(request)) = serde_json::from_slice(&line) {
            plans += usize::from(request.trial().is_ok());
        }
    }
    assert!(plans > 0, "at least one of them is a whole request");
}

fn texts(corpus: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(corpus);
    let entries = fs::read_dir(folder).expect("the corpus is committed");
    let read = |entry: std::io::Result<fs::DirEntry>| fs::read_to_string(entry.expect("a readable entry").path());
    entries.map(|entry| read(entry).expect("text")).collect()
}

#[test]
fn every_profile_of_the_corpus_is_one_or_refused() {
    let profile = |text: &String| {
        let file = ProfileFile::parse(text)?;
        let profile = Profile::new(&file, Path::new(""), &ProfileOptions::default())?;
        profile.max_frame_len().map_err(|error| error.to_string())
    };
    let (profiles, refused): (Vec<_>, Vec<_>) = texts("profile").iter().map(profile).partition(Result::is_ok);
    assert!(!profiles.is_empty() && !refused.is_empty(), "the corpus has both kinds");
    assert!(
        refused
            .iter()
            .filter_map(|error| error.as_ref().err())
            .all(|error| !error.contains('\n'))
    );
}

#[test]
fn every_genome_of_the_corpus_is_one_or_refused() {
    let letters = BTreeMap::from([("z".to_owned(), 1500), ("A".to_owned(), 300)]);
    let genome = |text: &String| Genome::parse(text, &letters).is_ok();
    let (genomes, refused): (Vec<_>, Vec<_>) = texts("genome").iter().map(genome).partition(|is_one| *is_one);
    assert!(!genomes.is_empty() && !refused.is_empty(), "the corpus has both kinds");
}

#[test]
fn every_frame_of_the_corpus_is_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frame");
    let (mut frames, mut refused) = (0, 0);
    for entry in fs::read_dir(corpus).expect("the corpus is committed") {
        let bytes = fs::read(entry.expect("a readable entry").path()).expect("a readable file");
        let read = TestFrame::parse(&bytes).is_ok()
            || ArpPacket::parse(&bytes).is_ok()
            || NeighbourSolicitation::parse(&bytes).is_ok();
        frames += usize::from(read);
        refused += usize::from(!read);
    }
    assert!(frames > 0 && refused > 0, "the corpus has both kinds");
}
