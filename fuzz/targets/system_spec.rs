//! Whatever text names a simulated system is one, with a canonical form that means the same, or an error.
#![no_main]

use brimful_sim::SystemSpec;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<SystemSpec>() {
        assert_eq!(spec.to_string().parse(), Ok(spec));
    }
});
