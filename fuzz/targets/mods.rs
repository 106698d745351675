//! After any sequence of changes, alone or in bundles, the tables are what a simple model says.
#![no_main]

#[path = "../../crates/pipeline/tests/model/mod.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    model::run(bytes);
});
