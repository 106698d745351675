//! Whatever line a driver sends is a request or an error.
#![no_main]

use brimful_trial::program::Request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(Request::Measure(request)) = serde_json::from_slice(bytes) {
        let _ = request.trial();
    }
});
