//! Whatever text is a profile makes frames that come back, or is refused in one line.
#![no_main]

use std::path::Path;

use brimful_tester::{Profile, ProfileFile, ProfileOptions, Stamp, TestFrame};

libfuzzer_sys::fuzz_target!(|text: &str| {
    // A replay would read whatever file the text names.
    if text.contains("replay") {
        return;
    }
    let file = ProfileFile::parse(text);
    let profile = file.and_then(|file| Profile::new(&file, Path::new(""), &ProfileOptions::default()));
    match profile {
        Ok(profile) => send(&profile),
        Err(error) => assert!(!error.contains('\n')),
    }
});

fn send(profile: &Profile) {
    let Ok(longest) = profile.max_frame_len() else {
        return;
    };
    let mut buffer = vec![0; longest];
    for port in [0, 1] {
        let stream = profile.stream(port, 1 - port).expect("sizes were fine a moment ago");
        for sequence in [0, 1, 1_000_003] {
            let stamp = Stamp {
                trial: 1,
                stream: 0,
                timestamp: 0,
                sequence,
            };
            let len = stream.fill(&mut buffer, stamp);
            assert_eq!(TestFrame::parse(&buffer[..len]).map(|frame| frame.stamp), Ok(stamp));
        }
    }
}
