//! Broadcasts among the frames of a trial: RFC 2544 section 11.1.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use brimful_frame::{EtherType, EthernetView, MacAddress};
use brimful_tester::{Profile, ProfileFile, ProfileOptions, Tester};

use crate::bed::{MODES, RUNNING, clock_step, counted, plan, timing};
use crate::clock::StepClock;
use crate::switch::switch;

static SEEN: AtomicU64 = AtomicU64::new(0);

/// Like a router, which takes broadcasts for itself; announcements of addresses are broadcasts as well.
fn keeps_broadcasts(frame: &[u8], _: usize, _: usize) -> bool {
    let is_one = EthernetView::parse(frame)
        .is_ok_and(|view| view.destination() == MacAddress::BROADCAST && view.ether_type() == EtherType::IPV4);
    SEEN.fetch_add(u64::from(is_one), Ordering::Relaxed);
    is_one
}

#[test]
fn one_of_a_hundred_frames_is_a_broadcast_and_none_of_them_counts() {
    for threads in MODES {
        for (every, each_way) in [(None, 0), (NonZeroU64::new(100), 1980 / 99), (NonZeroU64::new(2), 1980)] {
            SEEN.store(0, Ordering::Relaxed);
            let profile =
                Profile::new(&ProfileFile::default(), Path::new(""), &ProfileOptions::default()).expect("these fit");
            let clock = StepClock::new(clock_step(threads));
            let ports = switch(2, keeps_broadcasts, None);
            let tester = Tester::new(ports, clock, profile, timing(), &RUNNING, 0).expect("the profile is valid");
            let mut tester = tester.with_threads(threads).with_broadcasts(every);
            let report = counted(tester.measure(&plan(19_800.0, None)).expect("a trial"));
            assert_eq!((report.counts.sent(), report.counts.missing()), (2 * 1980, 0));
            assert!(report.warnings.is_empty(), "{report:?}");
            assert_eq!(SEEN.load(Ordering::Relaxed), 2 * each_way);
        }
    }
}
