//! The wire format: every kind of message there and back, lies about lengths, and the published cases.

mod samples;
#[path = "../../skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use brimful_openflow::ErrorCode;
use brimful_openflow::wire::{Hello, HelloElement, Message, Version};
use proptest::prelude::*;
use skip::skip;

const BOTH: [Version; 2] = [Version::V13, Version::V14];

fn encoded() -> Vec<(Version, Message, Vec<u8>)> {
    let mut all = Vec::new();
    for version in BOTH {
        for message in samples::samples(version) {
            let bytes = message.encode(7, version);
            all.push((version, message, bytes));
        }
    }
    all
}

#[test]
fn every_kind_of_message_comes_back_as_it_was() {
    for (version, message, bytes) in encoded() {
        assert_eq!(Message::decode(&bytes, version).as_ref(), Ok(&message), "{message}");
        assert_eq!(bytes[1], message.number());
    }
    let numbers: BTreeSet<u8> = encoded().iter().map(|(_, message, _)| message.number()).collect();
    assert_eq!(numbers, (0..=34).collect());
}

#[test]
fn every_message_has_a_text_of_one_line() {
    for (_, message, _) in encoded() {
        let text = message.to_string();
        assert!(!text.is_empty() && !text.contains('\n'), "{text}");
    }
    let mods: Vec<String> = samples::samples(Version::V13)
        .iter()
        .filter(|message| {
            matches!(
                message,
                Message::MeterMod(_) | Message::RoleRequest(_) | Message::PortMod(_)
            )
        })
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        mods,
        [
            "RoleRequest role=2,generation=18446744073709551615",
            "PortMod port=1,addr=02:02:02:02:02:02,config=0x1/0x1",
            "MeterMod Add meter=1,flags=0xd bands=[type=drop,rate=1000,burst=10 type=dscp_remark,prec_level=1,rate=1000,burst=10]",
        ]
    );
}

#[test]
fn a_message_that_is_cut_off_is_never_taken_for_a_whole_one_that_says_the_same() {
    for (version, message, bytes) in encoded() {
        for end in 8..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            cut[2..4].copy_from_slice(&(end as u16).to_be_bytes());
            assert_ne!(Message::decode(&cut, version).as_ref(), Ok(&message), "{message}");
        }
    }
}

#[test]
fn lies_get_the_errors_that_the_specification_has() {
    let flow_mod = encoded()
        .into_iter()
        .find(|(_, message, _)| message.number() == 14)
        .unwrap()
        .2;
    let instructions = 48 + usize::from(u16::from_be_bytes([flow_mod[50], flow_mod[51]])).next_multiple_of(8);
    let cases: [(usize, u8, ErrorCode); 9] = [
        (3, 7, ErrorCode::BAD_LENGTH),
        (1, 99, ErrorCode::BAD_TYPE),
        (0, 5, ErrorCode::BAD_VERSION),
        (25, 9, ErrorCode::FLOW_COMMAND),
        (49, 0, ErrorCode::MATCH_TYPE),
        (50, 0xff, ErrorCode::MATCH_LENGTH),
        (54, 80 << 1, ErrorCode::MATCH_FIELD),
        (55, 3, ErrorCode::MATCH_LENGTH),
        (instructions + 1, 77, ErrorCode::INSTRUCTION_UNKNOWN),
    ];
    for (at, byte, ErrorCode(kind, code)) in cases {
        let mut bytes = flow_mod.clone();
        bytes[at] = byte;
        let error = Message::decode(&bytes, Version::V13).unwrap_err();
        assert_eq!((error.kind, error.code), (kind, code), "byte {at}: {error}");
    }
}

#[test]
fn versions_are_agreed_by_bitmap_and_without_one_by_the_smaller() {
    let offers = |bitmap| Hello {
        elements: vec![HelloElement::VersionBitmap(1, vec![bitmap])],
    };
    let none = Hello { elements: Vec::new() };
    assert_eq!(offers(0x10).negotiate(4, &BOTH), Some(Version::V13));
    assert_eq!(offers(0x72).negotiate(6, &BOTH), Some(Version::V14));
    assert_eq!(offers(0x42).negotiate(6, &BOTH), None);
    assert_eq!(offers(0x42).negotiate(6, &[]), None);
    assert_eq!(none.negotiate(6, &BOTH), Some(Version::V14));
    assert_eq!(none.negotiate(4, &BOTH), Some(Version::V13));
    assert_eq!(none.negotiate(1, &BOTH), None);
}

fn check_any(bytes: &[u8], version: Version) {
    let Ok(message) = Message::decode(bytes, version) else {
        return;
    };
    let again = message.encode(0, version);
    assert_eq!(Message::decode(&again, version).as_ref(), Ok(&message));
    assert!(!message.to_string().is_empty());
}

proptest! {
    #[test]
    fn messages_with_wrong_bytes_are_decoded_or_refused(
        which in 0_usize..200,
        changes in prop::collection::vec((0_usize..2000, any::<u8>()), 1..4),
    ) {
        let all = encoded();
        let (version, _, bytes) = &all[which % all.len()];
        let mut bytes = bytes.clone();
        let length = bytes.len();
        for (at, byte) in changes {
            // The header's length would only hide what is inside.
            let at = at % length;
            if !(2..4).contains(&at) {
                bytes[at] = byte;
            }
        }
        check_any(&bytes, *version);
    }
}

#[test]
fn the_corpus_of_the_fuzzer_is_decoded_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/openflow");
    let mut decoded = 0;
    for file in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        for version in BOTH {
            check_any(&bytes, version);
            decoded += usize::from(Message::decode(&bytes, version).is_ok());
        }
    }
    assert!(decoded > 50, "{decoded} messages");
}

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            json_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = (0..text.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

#[test]
fn messages_of_the_published_cases_come_back_byte_by_byte() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("BRIMFUL_SHARED").map_or(beside, PathBuf::from);
    let cases = shared.join("openflow/cases");
    if !cases.is_dir() {
        skip(&format!("{} is not there; set BRIMFUL_SHARED", cases.display()));
        return;
    }
    let mut files = Vec::new();
    json_files(&cases, &mut files);
    let mut messages = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        for case in list.as_array().unwrap() {
            for message in case["messages"].as_array().unwrap() {
                let bytes = from_hex(message["hex"].as_str().unwrap());
                let decoded = Message::decode(&bytes, Version::V13).unwrap();
                assert_eq!(decoded.encode(0, Version::V13), bytes, "{}: {decoded}", file.display());
                messages += 1;
            }
        }
    }
    assert!(messages > 700, "{messages} messages");
}
