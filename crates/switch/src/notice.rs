//! What the process says to those who run it.

use std::fmt::Display;
use std::io::{self, Write};

/// Says something in a line of its own on standard error. `eprintln` would panic where that cannot be written, such as
/// into a file on a full disk.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "brimful-switchd: {text}");
}
