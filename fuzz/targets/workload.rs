//! Whatever text is a workload asks for IOs within the area, or is refused in one line.
#![no_main]

use brimful_blockio::{Area, WorkloadFile};

const AREA: Area = Area {
    start: 1 << 20,
    len: 1 << 30,
};
const BLOCK: u32 = 512;

libfuzzer_sys::fuzz_target!(|text: &str| {
    // A replay would read whatever file the text names.
    if text.contains("replay") {
        return;
    }
    let workload = WorkloadFile::parse(text).and_then(|file| file.workload());
    let checked = workload.and_then(|workload| workload.check(AREA, BLOCK).map(|()| workload));
    match checked {
        Ok(workload) => {
            let mut stream = workload.stream(AREA, 1);
            for _ in 0..100 {
                let io = stream.next_io();
                assert!(io.offset >= AREA.start && io.offset + u64::from(io.len) <= AREA.start + AREA.len);
                assert!(io.offset.is_multiple_of(u64::from(BLOCK)) && io.len.is_multiple_of(BLOCK) && io.len > 0);
            }
        }
        Err(error) => assert!(!error.contains('\n')),
    }
});
