//! Whatever the changes of tables and the frames between them, compiled code does what the interpreter does.
#![no_main]

#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/jit/tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    common::replay(bytes);
});
