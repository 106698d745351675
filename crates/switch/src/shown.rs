//! A frame in words: its fields, and which of them are others than they were.

use std::fmt::Write;

use brimful_frame::{FIELDS, Field, FieldInfo, Headers};
use brimful_openflow::{MATCH_FIELDS, MatchField, Source};

use crate::tables::ovs::match_name;
use crate::tables::values::write_value;

/// A line for each field that the frame has or had.
pub(crate) fn fields(before: &[u8], after: &[u8]) -> String {
    let (headers_before, headers_after) = (Headers::parse(before), Headers::parse(after));
    let mut text = String::new();
    for row in FIELDS.iter().filter(|row| is_shown(row.field)) {
        let old = read(row.field, before, &headers_before);
        let new = read(row.field, after, &headers_after);
        // Writing to a string cannot fail.
        let _ = match (old, new) {
            (None, None) => Ok(()),
            (Some(old), Some(new)) if old == new => writeln!(text, "  {}", said(row, new)),
            (Some(old), Some(new)) => writeln!(text, "  {} (was {})", said(row, new), value(row, old)),
            (None, Some(new)) => writeln!(text, "  {} (was absent)", said(row, new)),
            (Some(old), None) => writeln!(text, "  {} is gone (was {})", name(row), value(row, old)),
        };
    }
    text
}

fn read(field: Field, frame: &[u8], headers: &Headers) -> Option<u128> {
    let value = field.read(frame, headers);
    // A match sees a tag's absence as a value of the tag.
    value.filter(|value| field != Field::VlanVid || *value != 0)
}

/// What tables match or change.
fn is_shown(field: Field) -> bool {
    matches!(field, Field::IpTtl | Field::MplsTtl) || match_field(field).is_some()
}

fn match_field(field: Field) -> Option<MatchField> {
    let found = MATCH_FIELDS.iter().find(|row| row.source == Source::Frame(field));
    found.map(|row| row.field)
}

fn said(row: &FieldInfo, number: u128) -> String {
    format!("{}={}", name(row), value(row, number))
}

/// The name that tables have for it.
fn name(row: &FieldInfo) -> &'static str {
    match row.field {
        Field::IpTtl => "nw_ttl",
        field => match_field(field).map_or(row.name, match_name),
    }
}

fn value(row: &FieldInfo, number: u128) -> String {
    let mut text = String::new();
    match match_field(row.field) {
        Some(field) => write_value(&mut text, field, number),
        None => text = number.to_string(),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment between two hosts.
    fn segment() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        frame
    }

    #[test]
    fn fields_that_are_others_say_what_they_were() {
        let before = segment();
        let mut after = before.clone();
        after[5] = 9;
        after[22] = 63;
        let shown = fields(&before, &after);
        let lines: Vec<&str> = shown.lines().collect();
        let expected = [
            "  eth_dst=02:00:00:00:00:09 (was 02:00:00:00:00:01)",
            "  eth_src=02:00:00:00:00:02",
            "  eth_type=0x800",
        ];
        assert_eq!(lines[..3], expected);
        for line in ["  nw_src=10.0.0.1", "  tcp_dst=0x50", "  nw_ttl=63 (was 64)"] {
            assert!(lines.contains(&line), "{line} in {shown}");
        }
        // Sequence numbers and the like are nothing that tables know.
        assert!(!shown.contains("seq"), "{shown}");
    }

    #[test]
    fn headers_that_come_and_go_are_named() {
        let before = segment();
        let mut tagged = before.clone();
        tagged.splice(12..12, [0x81, 0, 0x60, 7]);
        let pushed = fields(&before, &tagged);
        assert!(pushed.contains("  vlan_vid=0x1007 (was absent)\n"), "{pushed}");
        let popped = fields(&tagged, &before);
        assert!(popped.contains("  vlan_vid is gone (was 0x1007)\n"), "{popped}");
        assert!(popped.contains("  vlan_pcp is gone (was 3)\n"), "{popped}");
    }

    #[test]
    fn no_bytes_are_too_few_or_too_odd() {
        let frame = segment();
        for len in 0..frame.len() {
            let _ = fields(&frame, &frame[..len]);
        }
    }
}
