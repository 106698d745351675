//! Whatever is in a file is a capture, whose frames can all be read, or an error.
#![no_main]

use brimful_netdev::Capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(capture) = Capture::parse(bytes.to_vec()) {
        assert!((0..capture.len()).all(|index| capture.frame(index).is_some() && capture.time(index).is_some()));
    }
});
