//! How a test is skipped: aloud, and never where `CI` is set, which has to have all that the tests need.

/// Says why a test, or a case of it, is skipped.
///
/// # Panics
///
/// Where `CI` is set.
#[expect(clippy::print_stderr, reason = "says why a test is skipped")]
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped where CI is set: {reason}");
    eprintln!("skipped: {reason}");
}
