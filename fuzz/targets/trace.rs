//! Whatever text is a trace has IOs in the order of their times, or is refused in one line.
#![no_main]

use brimful_blockio::{Arrivals, Trace};

libfuzzer_sys::fuzz_target!(|text: &str| {
    match Trace::parse(text, None) {
        Ok(trace) => {
            let Arrivals::Timeline(places) = trace.arrivals() else {
                panic!("a trace has a timeline");
            };
            assert_eq!(places.len(), trace.len());
            assert!(places[0] == 0.0 && places.is_sorted() && places[places.len() - 1].is_finite());
            assert!(trace.recorded_load() > 0.0);
        }
        Err(error) => assert!(!error.contains('\n')),
    }
});
