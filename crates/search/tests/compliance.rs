//! The requirement list and the tests name each other: `python/brimful/throughput/compliance.toml` says which test satisfies which
//! requirement, and a test says so in a line `// spec: MLRsearch-15 <section> #<number>` above it.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Requirements on what the engine does; the others are on reports, testers and people.
const OF_THE_ENGINE: [u32; 19] = [4, 5, 9, 11, 12, 13, 16, 18, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31];
const COUNT: u32 = 35;
const SPECIFICATION: &str = "// spec: MLRsearch-15 ";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    number: u32,
    level: String,
    section: String,
    text: String,
    satisfied_by: Vec<String>,
}

/// A requirement number, a file and a test function.
type Claim = (u32, String, String);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

fn requirements() -> Vec<Requirement> {
    let text = fs::read_to_string(repository().join("python/brimful/throughput/compliance.toml")).unwrap();
    toml::from_str::<List>(&text).unwrap().requirement
}

fn claims_of_the_list() -> BTreeSet<Claim> {
    let mut claims = BTreeSet::new();
    for requirement in requirements() {
        for test in requirement
            .satisfied_by
            .iter()
            .filter_map(|item| item.strip_prefix("test:"))
        {
            let (file, function) = test.split_once("::").expect("a test is file::function");
            claims.insert((requirement.number, file.to_owned(), function.to_owned()));
        }
    }
    claims
}

/// What the tests in a file say of themselves.
fn claims_of_a_file(file: &str) -> BTreeSet<Claim> {
    let source = fs::read_to_string(repository().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (mut claims, mut numbers) = (BTreeSet::new(), Vec::new());
    for line in source.lines().map(str::trim) {
        if let Some(tag) = line.strip_prefix(SPECIFICATION) {
            let (_, number) = tag
                .rsplit_once(" #")
                .expect("a tag ends with the number of the requirement");
            numbers.push(number.parse().unwrap());
        } else if let Some(signature) = line.strip_prefix("fn ") {
            let function = signature.split('(').next().unwrap();
            let numbers = std::mem::take(&mut numbers).into_iter();
            claims.extend(numbers.map(|number| (number, file.to_owned(), function.to_owned())));
        }
    }
    claims
}

#[test]
fn the_list_is_complete_and_in_order() {
    let requirements = requirements();
    let numbers: Vec<u32> = requirements.iter().map(|requirement| requirement.number).collect();
    assert_eq!(numbers, (1..=COUNT).collect::<Vec<u32>>());
    for requirement in requirements {
        let Requirement {
            number,
            level,
            section,
            text,
            satisfied_by,
        } = requirement;
        assert!(
            ["must", "should", "may", "advice"].contains(&level.as_str()),
            "{number}: {level}"
        );
        assert!(!section.is_empty() && text.ends_with('.'), "{number}");
        assert!(!satisfied_by.is_empty(), "nothing satisfies {number}");
        for item in satisfied_by {
            let kind = item.split_once(':').map(|(kind, _)| kind);
            assert!(
                matches!(kind, Some("test" | "report" | "type" | "guide")),
                "{number}: {item}"
            );
        }
    }
}

#[test]
fn every_requirement_on_the_engine_has_a_test_or_a_type() {
    for requirement in requirements().iter().filter(|one| OF_THE_ENGINE.contains(&one.number)) {
        let satisfied = |item: &String| item.starts_with("test:") || item.starts_with("type:");
        assert!(requirement.satisfied_by.iter().any(satisfied), "{}", requirement.number);
    }
}

/// The test files of the engine.
fn own_files() -> Vec<String> {
    let own = "crates/search/tests";
    let entries = fs::read_dir(repository().join(own)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    sources.map(|path| format!("{own}/{}", name(path))).collect()
}

#[test]
fn the_list_and_the_tests_name_each_other() {
    let of_the_list = claims_of_the_list();
    let mut files: BTreeSet<String> = of_the_list.iter().map(|(_, file, _)| file.clone()).collect();
    files.extend(own_files());
    let of_the_tests: BTreeSet<Claim> = files.iter().flat_map(|file| claims_of_a_file(file)).collect();
    let missing: Vec<_> = of_the_list.difference(&of_the_tests).collect();
    assert!(missing.is_empty(), "no test with such a tag: {missing:?}");
    let unlisted: Vec<_> = of_the_tests.difference(&of_the_list).collect();
    assert!(unlisted.is_empty(), "not in the list: {unlisted:?}");
}
