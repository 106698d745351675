//! What form a table has, and why, in words.

use std::fmt::Write;

use crate::plan::{Group, MOST_CODED};
use crate::version::Version;

pub(crate) fn describe(version: &Version, rules: usize, code_len: usize) -> String {
    let mut text = format!("{rules} entries, {code_len} bytes of code");
    for (index, group) in version.groups.iter().enumerate() {
        let form = match group {
            Group::Rules(rules) => format!(
                "{} entries compared one by one: the table has no more than {MOST_CODED}",
                rules.len()
            ),
            Group::Tuples(group) => {
                let entries: usize = group.tuples.iter().map(|tuple| tuple.len()).sum();
                match group.tuples.len() {
                    1 => format!("{entries} entries in one hash: all have the same masks"),
                    count => format!("{entries} entries in {count} hashes, one for each set of masks"),
                }
            }
            Group::Prefixes(group) => format!(
                "longest prefixes of {}: longer ones have higher priorities",
                group.field
            ),
            Group::Bitmap(bitmap) => format!(
                "rows of bits for {} bytes of the frame, {} kB: many sets of masks whose priorities mix",
                bitmap.octets.len(),
                bitmap.byte_len() / 1000
            ),
        };
        let _ = write!(text, "\n  {}. {form}", index + 1);
    }
    if version.has_overlay() {
        text.push_str("\n  and entries that came since, which wait to be compiled");
    }
    text
}
