//! Headers of any bytes lie within them, and fields of them can be read and written.
#![no_main]

#[path = "../../crates/openflow/tests/parser/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::fields_of(bytes);
});
