//! What the fuzzers begin with is read as it should be.

use std::fs;
use std::path::{Path, PathBuf};

use brimful_blockio::{Trace, WorkloadFile};

fn corpus(name: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let entries = fs::read_dir(folder).expect("the corpus is committed");
    let read = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a text");
        (path, text)
    });
    read.collect()
}

/// Names of those that were read; all others were refused in one line.
fn accepted(name: &str, read: fn(&str) -> Result<(), String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in corpus(name) {
        match read(&text) {
            Ok(()) => found.push(path.file_name().expect("a name").to_string_lossy().into_owned()),
            Err(error) => assert!(
                !error.is_empty() && !error.contains('\n'),
                "{}: {error}",
                path.display()
            ),
        }
    }
    found.sort();
    found
}

#[test]
fn workloads_of_the_corpus_are_read_or_refused() {
    let read = |text: &str| WorkloadFile::parse(text)?.workload().map(drop);
    assert_eq!(accepted("workload", read), ["empty", "mail", "streams"]);
}

#[test]
fn traces_of_the_corpus_are_read_or_refused() {
    assert_eq!(accepted("trace", |text| Trace::parse(text, None).map(drop)), ["fio"]);
}
