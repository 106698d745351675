//! Whatever comes from the wire is a test frame or an error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = brimful_tester::TestFrame::parse(bytes);
    let _ = brimful_frame::ArpPacket::parse(bytes);
    let _ = brimful_frame::NeighbourSolicitation::parse(bytes);
});
