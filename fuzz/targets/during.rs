//! Whatever changes while frames run, a frame meets the tables as they were before or as they are after.
#![no_main]

#[path = "../../crates/switch/tests/during/mod.rs"]
mod during;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    during::run(bytes);
});
