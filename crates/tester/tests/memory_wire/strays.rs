//! Frames that belong elsewhere.

use std::io;

use brimful_frame::VlanTag;
use brimful_netdev::{
    Arrived, MemoryPort, MemoryReceiver, MemorySender, Port, ReceiveStatistics, Receiver, Take, memory_wire,
};
use brimful_tester::{FlowLoss, Profile, Stamp, TestFrame, Tester, Threads, TrialReport};

use crate::bed::{MODES, RUNNING, clock_step, counted, plan, profile, profile_in, timing};
use crate::clock::StepClock;

/// Behind a device that puts every tenth frame of a trial on another VLAN.
struct Retagging {
    inner: MemoryReceiver,
    retagged: u64,
}

impl Receiver for Retagging {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        self.inner.receive_burst(limit, &mut |mut frame| {
            if TestFrame::parse(&frame).is_ok_and(|frame| frame.stamp.stream < 2 && frame.stamp.sequence % 10 == 3) {
                self.retagged += 1;
                frame[15] ^= 1;
            }
            take(frame);
        })
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.inner.statistics()
    }
}

/// Behind a device that does not forward the fourth of ten flows, each of which has the twelve sizes of a mix in turn.
struct WithoutAFlow(MemoryReceiver);

impl Receiver for WithoutAFlow {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        self.0.receive_burst(limit, &mut |frame| {
            let is_gone = |stamp: Stamp| stamp.stream < 2 && stamp.sequence / 12 % 10 == 3;
            if !TestFrame::parse(&frame).is_ok_and(|frame| is_gone(frame.stamp)) {
                take(frame);
            }
        })
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.0.statistics()
    }
}

/// A tester whose ports receive in another way.
fn tester_that_receives<R: Receiver>(
    threads: Threads,
    ports: [MemoryPort; 2],
    profile: Profile,
    receiver: impl Fn(MemoryReceiver) -> R,
) -> Tester<'static, MemorySender, R, StepClock> {
    let ports = ports.map(|port| Port {
        sender: port.sender,
        receiver: receiver(port.receiver),
    });
    let clock = StepClock::of(threads, clock_step(threads));
    let tester = Tester::new(ports, clock, profile, timing(), &RUNNING, 7).expect("valid");
    tester.with_threads(threads)
}

#[test]
fn frames_on_another_vlan_are_misrouted_and_lost() {
    for threads in MODES {
        let profile = profile_in(VlanTag::new(6).ok());
        let ports = memory_wire(["a", "b"], 4096);
        let mut tester = tester_that_receives(threads, ports, profile, |inner| Retagging { inner, retagged: 0 });
        let report = counted(tester.measure(&plan(20_000.0, None)).expect("a trial"));
        // The device of direction 0 is what port b receives.
        for (direction, port) in report.directions.iter().zip([1, 0]) {
            let retagged = tester.receivers_mut()[port].retagged;
            assert_eq!((direction.misrouted, direction.lost), (retagged, retagged));
            assert_eq!((retagged, direction.damaged), (200, 0));
        }
        assert_eq!(report.warnings[0].code, "misrouted-frames");
        assert!(report.warnings[0].text.starts_with("400 frames"), "{report:?}");
    }
}

/// Where one more frame has just arrived at each poll whose number `every` divides.
struct Babbling {
    inner: MemoryReceiver,
    frame: Vec<u8>,
    every: u64,
    polls: u64,
}

impl Receiver for Babbling {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        self.polls += 1;
        if !self.polls.is_multiple_of(self.every) {
            return self.inner.receive_burst(limit, take);
        }
        take(Arrived::new(&mut self.frame.clone(), 0, None));
        Ok(1 + self.inner.receive_burst(limit - 1, take)?)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.inner.statistics()
    }
}

/// One trial, in which the same frame arrives at both ports again and again.
fn trial_with_babble(threads: Threads, ports: [MemoryPort; 2], frame: &[u8], every: u64, load: f64) -> TrialReport {
    let mut tester = tester_that_receives(threads, ports, profile(), |inner| Babbling {
        inner,
        frame: frame.to_vec(),
        every,
        polls: 0,
    });
    counted(tester.measure(&plan(load, None)).expect("a trial"))
}

fn trial_on_a_wire_with_babble(threads: Threads, frame: &[u8]) -> TrialReport {
    trial_with_babble(threads, memory_wire(["a", "b"], 4096), frame, 1, 20_000.0)
}

fn frame_of_trial(trial: u16, stream: u8, sequence: u64) -> Vec<u8> {
    let stamp = Stamp {
        trial,
        stream,
        timestamp: 0,
        sequence,
    };
    let mut buffer = vec![0; 2000];
    let frames = profile().stream(0, 1).expect("valid");
    let len = frames.fill(&mut buffer, stamp);
    buffer.truncate(len);
    buffer
}

#[test]
fn frames_of_an_earlier_trial_do_not_count_but_are_told() {
    for threads in MODES {
        let report = trial_on_a_wire_with_babble(threads, &frame_of_trial(7, 0, 0));
        assert_eq!((report.counts.sent(), report.counts.lost()), (4000, 0));
        assert!(report.directions.iter().all(|direction| direction.duplicated == 0));
        assert_eq!(report.warnings[0].code, "stale-frames");
    }
}

#[test]
fn frames_never_sent_or_at_the_wrong_port_do_not_count() {
    for threads in MODES {
        let never_sent = trial_on_a_wire_with_babble(threads, &frame_of_trial(8, 0, 1_000_000));
        assert_eq!((never_sent.counts.sent(), never_sent.counts.lost()), (4000, 0));
        assert!(never_sent.warnings.is_empty());
        // Stream 0 belongs at port b; what babbles at port a must not count, so that b alone sees copies of frame 5.
        let copies = trial_on_a_wire_with_babble(threads, &frame_of_trial(8, 0, 5));
        assert!(copies.directions[0].duplicated > 0 && copies.directions[0].misrouted > 0);
        assert_eq!(
            (copies.directions[1].duplicated, copies.directions[1].misrouted),
            (0, 0)
        );
        assert_eq!(copies.warnings[0].code, "misrouted-frames");
    }
}

#[test]
fn foreign_and_damaged_frames_do_not_count() {
    for threads in MODES {
        let foreign = trial_on_a_wire_with_babble(threads, b"some other protocol, with an odd length");
        assert_eq!((foreign.counts.sent(), foreign.counts.lost()), (4000, 0));
        assert!(foreign.warnings.is_empty());
        let mut damaged = frame_of_trial(8, 0, 3);
        damaged[50] ^= 1;
        let damaged = trial_on_a_wire_with_babble(threads, &damaged);
        assert_eq!((damaged.counts.sent(), damaged.counts.lost()), (4000, 0));
        assert_eq!(damaged.warnings[0].code, "damaged-frames");
    }
}

/// An IPv6 packet with `ICMPv6`, checksum right, in a frame to everybody.
fn icmpv6(source: &str, destination: &str, message: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0xff; 6][..], &[2, 5, 5, 5, 5, 5, 0x86, 0xdd, 0x60, 0, 0, 0]].concat();
    bytes.extend((message.len() as u16).to_be_bytes());
    bytes.extend([58, 255]);
    for address in [source, destination] {
        bytes.extend(address.parse::<std::net::Ipv6Addr>().expect("an address").octets());
    }
    bytes.extend(message);
    let packet = brimful_frame::Ipv6View::parse(&bytes[14..]).expect("a packet");
    let checksum = packet.pseudo_header().with_bytes(packet.payload()).finish();
    bytes[56..58].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn what_routers_say_by_themselves_is_no_test_frame() {
    let sent = frame_of_trial(8, 0, 5);
    let group = "ff02::1:ff00:2";
    let target = "2001:2::7".parse::<std::net::Ipv6Addr>().expect("an address").octets();
    let of = |kind: u8, rest: &[u8]| [&[kind, 0, 0, 0, 0, 0, 0, 0], rest].concat();
    for frame in [
        // Router solicitation and advertisement, a solicitation for an address of another, one before it is taken.
        icmpv6("fe80::1", "ff02::2", &of(133, &[1, 1, 2, 5, 5, 5, 5, 5])),
        icmpv6("fe80::1", "ff02::1", &of(134, &[0; 8])),
        icmpv6(
            "fe80::1",
            group,
            &of(135, &[&target[..], &[1, 1, 2, 5, 5, 5, 5, 5]].concat()),
        ),
        icmpv6("::", group, &of(135, &target)),
        icmpv6("fe80::1", "ff02::1", &of(136, &target)),
        // A report of multicast listeners, and errors with the frame that they are about.
        icmpv6("fe80::1", "ff02::16", &of(143, &[4, 0, 0, 0].repeat(5))),
        icmpv6("2001:2::1", "2001:2::2", &of(1, &sent[14..])),
    ] {
        for threads in MODES {
            let report = trial_on_a_wire_with_babble(threads, &frame);
            assert_eq!((report.counts.sent(), report.counts.lost()), (4000, 0));
            assert!(report.warnings.is_empty(), "{:?}", report.warnings);
            let strays: u64 = report.directions.iter().map(|way| way.misrouted + way.damaged).sum();
            assert_eq!(strays, 0, "{frame:?}");
        }
    }
}

#[test]
fn a_neighbour_that_hears_no_answer_is_named() {
    // By ARP for the address of port a; port b does not own it.
    let mut question = vec![0; 60];
    question[..6].fill(0xff);
    question[6..22].copy_from_slice(&[2, 5, 5, 5, 5, 5, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    question[22..32].copy_from_slice(&[2, 5, 5, 5, 5, 5, 198, 18, 0, 1]);
    question[38..42].copy_from_slice(&[198, 18, 0, 2]);
    for threads in MODES {
        // The ring of a wire has room for the answers, however late they are taken from it.
        let report = trial_with_babble(threads, memory_wire(["a", "b"], 4096), &question, 64, 20_000.0);
        assert_eq!((report.counts.sent(), report.counts.lost()), (4000, 0));
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["unheard-answers"]);
        assert!(
            report.warnings[0].text.contains("one address at a: the answers"),
            "{report:?}"
        );
    }
}

#[test]
fn endless_chatter_does_not_hold_up_the_end_of_a_lossy_trial() {
    for threads in MODES {
        // No frame of the trial can arrive: port a is not joined to a receiver.
        let [a, _] = memory_wire(["a", "x"], 4096);
        let [b, _] = memory_wire(["b", "y"], 4096);
        let report = trial_with_babble(threads, [a, b], &[0; 60], 1, 1000.0);
        assert_eq!(report.counts.lost(), report.counts.sent());
    }
}

#[test]
fn a_flow_that_is_not_forwarded_is_named() {
    for threads in MODES {
        let ports = memory_wire(["a", "b"], 4096);
        let mut tester = tester_that_receives(threads, ports, profile(), WithoutAFlow);
        let report = counted(tester.measure(&plan(24_000.0, None)).expect("a trial"));
        for direction in &report.directions {
            let flows = direction.flows.as_ref().expect("there are ten");
            assert_eq!((flows.count, flows.with_loss, flows.dead), (10, 1, 1));
            let all_of_it = FlowLoss {
                flow: 3,
                sent: 240,
                lost: 240,
            };
            assert_eq!(flows.worst, [all_of_it]);
            assert_eq!(direction.lost, 240);
        }
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["dead-flows", "dead-flows"]);
    }
}
