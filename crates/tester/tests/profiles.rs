//! Profile files as people write them: the examples are sent and come back whole, nonsense is refused in one line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brimful_frame::{Malformed, VlanTag};
use brimful_netdev::memory_wire;
use brimful_tester::{
    Clock, FrameSizes, IpVersion, LoadShape, Outcome, PacingBounds, Profile, ProfileFile, ProfileOptions, Stamp,
    TestFrame, Tester, Timing, TrialPlan,
};
use brimful_trial::{Load, Nanoseconds};

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Each look takes a microsecond.
struct StepClock(AtomicU64);

impl Clock for StepClock {
    fn now(&self) -> Nanoseconds {
        self.sleep(Nanoseconds(1000));
        Nanoseconds(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, span: Nanoseconds) {
        self.0.fetch_add(span.0, Ordering::Relaxed);
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/profiles")
}

fn profile(text: &str, options: &ProfileOptions) -> Result<Profile, String> {
    let profile = Profile::new(&ProfileFile::parse(text)?, &examples(), options)?;
    profile.size_pattern().map_err(|error| format!("sizes: {error}"))?;
    Ok(profile)
}

fn from_text(text: &str) -> Profile {
    profile(text, &ProfileOptions::default()).expect("it makes sense")
}

fn example(name: &str) -> Profile {
    from_text(&fs::read_to_string(examples().join(name)).expect("it is committed"))
}

fn frame(profile: &Profile, port: usize, sequence: u64) -> Vec<u8> {
    let stamp = Stamp {
        trial: 1,
        stream: 0,
        timestamp: 0,
        sequence,
    };
    let mut buffer = vec![0; 9216];
    let len = profile
        .stream(port, 1 - port)
        .expect("sizes fit")
        .fill(&mut buffer, stamp);
    buffer.truncate(len);
    buffer
}

#[test]
fn every_example_goes_over_a_wire_without_loss() {
    let mut seen = 0;
    for entry in fs::read_dir(examples()).expect("they are committed") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        seen += 1;
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let profile = example(name);
        let directions = profile.routes().directions().len() as u64;
        let timing = Timing {
            straggler_wait: Nanoseconds(100_000_000),
            stop_grace: Nanoseconds(50_000_000),
            rest_after_stop: Nanoseconds(200_000_000),
            bounds: PacingBounds::default(),
        };
        let ports = memory_wire(["a", "b"], 4096);
        let mut tester =
            Tester::new(ports, StepClock(AtomicU64::new(0)), profile, timing, &RUNNING, 7).expect("sizes fit");
        let plan = TrialPlan {
            load: Load::new(20_000.0).expect("a load"),
            duration: Nanoseconds(100_000_000),
            stop_above: None,
        };
        match tester.measure(&plan).expect("a trial") {
            Outcome::Counted(report) => {
                assert_eq!(
                    (report.counts.sent(), report.counts.lost()),
                    (2000 * directions, 0),
                    "{name}"
                );
                assert!(report.warnings.is_empty(), "{name}: {report:?}");
                let late = report.directions.iter().map(|direction| direction.pacing.late_share);
                assert!(late.sum::<f64>() <= 0.0, "{name}: {report:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(seen >= 8, "the examples are there");
}

#[test]
fn the_sizes_of_a_mix_come_as_often_as_they_weigh() {
    let imix = example("imix.toml");
    let mut sizes = imix.size_pattern().expect("sizes fit");
    assert_eq!(sizes.len(), 12);
    sizes.sort_unstable();
    assert_eq!(
        [sizes[0], sizes[6], sizes[7], sizes[10], sizes[11]],
        [64, 64, 594, 594, 1518]
    );
    let genome = example("genome.toml").size_pattern().expect("sizes fit");
    assert_eq!(genome, [64, 64, 64, 64, 512, 512, 300, 1500]);
}

#[test]
fn imix_makes_room_for_ipv6() {
    let options = ProfileOptions {
        ip: Some(IpVersion::V6),
        sizes: Some(FrameSizes::Imix),
        ..ProfileOptions::default()
    };
    let sizes = profile("", &options)
        .expect("it fits")
        .size_pattern()
        .expect("sizes fit");
    assert_eq!(sizes[..2], [84, 594]);
}

#[test]
fn every_flow_gets_its_share() {
    let profile = from_text("flows = 40000");
    let ports: BTreeSet<_> = (0..80_000)
        .map(|sequence| frame(&profile, 0, sequence)[34..38].to_vec())
        .collect();
    assert_eq!(ports.len(), 40_000);
}

#[test]
fn flows_are_as_many_as_the_longest_range() {
    let profile = from_text("[ipv4]\nsource = [\"10.0.0.1\", \"10.0.0.2\"]\nttl = { from = 10, to = 14, every = 2 }");
    assert_eq!(profile.description()["flows"], 10);
}

#[test]
fn options_go_before_the_file() {
    let options = ProfileOptions {
        sizes: Some(FrameSizes::Fixed(200)),
        flows: Some(3),
        vlan: VlanTag::new(9).ok(),
        ..ProfileOptions::default()
    };
    let text = "sizes = 64\nflows = 7\n[[vlan]]\nid = 4\n[[vlan]]\nid = 5";
    let profile = profile(text, &options).expect("it fits");
    assert_eq!(profile.size_pattern(), Ok(vec![200]));
    assert_eq!(profile.description()["flows"], 3);
    let tag = TestFrame::parse(&frame(&profile, 0, 0)).expect("intact").vlan;
    assert_eq!(tag.map(VlanTag::id), Some(9));
    assert_eq!(frame(&profile, 0, 0)[16..18], [0x08, 0x00]);
}

#[test]
fn what_nobody_wrote_has_the_documented_default() {
    let udp = frame(&from_text(""), 0, 0);
    let [version, class, .., whole, _, ttl, _] = udp[14..24] else {
        panic!("there is a header")
    };
    assert_eq!((version, class, whole, ttl), (0x45, 0, 0x40, 64));
    assert_eq!(udp[26..34], [198, 18, 0, 2, 198, 19, 0, 2]);
    let may_be_split = frame(&from_text("[ipv4]\ndont_fragment = 0"), 0, 0);
    assert_eq!(may_be_split[20], 0);
    let tcp = frame(&from_text("sizes = 100\n[tcp]"), 0, 0);
    assert_eq!(tcp[46..50], [0x50, 0x18, 0xff, 0xff]);
    assert_eq!(tcp[52..54], [0, 0]);
    let ipv6 = frame(&from_text("sizes = 100\n[ipv6]"), 0, 0);
    assert_eq!((&ipv6[14..18], ipv6[21]), (&[0x60, 0, 0, 0][..], 64));
}

#[test]
fn the_parts_of_a_frame_are_neither_test_frames_nor_damage() {
    let whole = frame(&from_text("sizes = 1000\n[ipv4]\ndont_fragment = 0"), 0, 0);
    assert!(TestFrame::parse(&whole).is_ok());
    let (header, payload) = (&whole[..34], &whole[34..]);
    for (first, last, flags) in [(0, 480, 0x2000_u16), (480, payload.len(), 60)] {
        let part = [header, &payload[first..last]].concat();
        let found = TestFrame::parse(&fragment(part, flags));
        assert!(
            matches!(
                found,
                Err(Malformed::Field {
                    format: "test stamp",
                    ..
                })
            ),
            "{found:?}"
        );
    }
}

/// A packet of its own, its header put right.
fn fragment(mut bytes: Vec<u8>, flags: u16) -> Vec<u8> {
    let len = (bytes.len() - 14) as u16;
    bytes[16..18].copy_from_slice(&len.to_be_bytes());
    bytes[20..22].copy_from_slice(&flags.to_be_bytes());
    bytes[24..26].fill(0);
    let sum: u32 = bytes[14..34]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    bytes[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    bytes
}

#[test]
fn a_next_hop_is_where_frames_go() {
    let router = "02:09:09:09:09:09".parse().expect("an address");
    let options = ProfileOptions {
        next_hop_macs: Some(vec![router; 2]),
        ..ProfileOptions::default()
    };
    for text in ["", "[replay]\nfile = \"replay.pcap\""] {
        let profile = profile(text, &options).expect("it fits");
        assert_eq!(frame(&profile, 0, 0)[..6], router.0);
        assert_eq!(frame(&profile, 1, 0)[..6], router.0);
        assert_eq!(frame(&profile, 1, 0)[6..12], profile.mac(1).0);
    }
}

#[test]
fn a_replay_keeps_frames_but_for_the_stamp_and_mirrors_them() {
    let replay = example("replay.toml");
    let request = frame(&replay, 0, 5);
    assert!(request.windows(14).any(|text| text == b"GET / HTTP/1.1"));
    let back = frame(&replay, 1, 5);
    assert_eq!((&request[26..30], &request[30..34]), (&back[30..34], &back[26..30]));
    assert_eq!((&request[34..36], &request[36..38]), (&back[36..38], &back[34..36]));
    let LoadShape::Timeline(places) = replay.shape() else {
        panic!("it is timed");
    };
    assert_eq!(places.len(), 8);
    assert!((places[7] - 7.0).abs() < 1e-9);
    assert!((places[1] / places[7] - 0.3).abs() < 1e-9);
    let as_captured = from_text("[replay]\nfile = \"replay.pcap\"\ntiming = \"even\"\nmacs = \"captured\"");
    assert_eq!(as_captured.shape(), &LoadShape::Even);
    assert_eq!(
        frame(&as_captured, 0, 0)[..12],
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1]
    );
}

fn is_refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = profile(text, &ProfileOptions::default()).map(drop).expect_err(text);
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    is_refused(&[
        ("sizes = 64\nspeed = 3", "line 2, column 1: unknown field `speed`"),
        ("[ipv4]\nflow_label = 3", "line 2, column 1: unknown field `flow_label`"),
        (
            "[icmp]\nsource_port = 3",
            "line 2, column 1: unknown field `source_port`",
        ),
        (
            "[udp]\nsource_port = { from = 1, to = 2, stp = 1 }",
            "line 2, column 35: unknown field `stp`",
        ),
        (
            "sizes = [64, { size = 64, wait = 2 }]",
            "line 1, column 27: unknown field `wait`",
        ),
        ("sizes = 6.4", "line 1, column 9: invalid type"),
        ("sizes = -1", "-1, expected bytes"),
        ("sizes =", "line 1, column"),
        ("sizes = \"aQ\"", "sizes: genome `aQ`: `Q` stands for no size"),
        ("sizes = []", "sizes: there is no size"),
        ("sizes = 63", "sizes: frame size 63 is not between 64 and 9216"),
        ("sizes = \"aj\"", "frame size 16000"),
        ("sizes = 64\n[ipv6]", "frame size 64 is not between 84"),
        ("sizes = 64\n[tcp]", "frame size 64 is not between 76"),
        ("sizes = 64\n[[mpls]]\nlabel = 16", "frame size 64 is not between 68"),
        ("flows = 0", "flows: not between 1"),
        ("flows = 5\n[icmp]", "flows: nothing tells them apart"),
        ("flows = 5\n[raw]", "flows: nothing tells them apart"),
        ("[ipv4]\n[ipv6]", "[ipv4] and [ipv6]: leave one of them out"),
        ("[udp]\n[icmp]", "[udp] and [icmp]: leave one of them out"),
        ("[raw]\n[tcp]", "[raw] and [tcp]: leave one of them out"),
        ("[raw]\n[ipv4]", "[ipv4] and [raw]: leave one of them out"),
        ("[raw]\nether_type = 0x0800", "raw.ether_type: write [ipv4]"),
        (
            "[raw]\nether_type = 0x8100",
            "raw.ether_type: 0x8100 has headers of its own",
        ),
        ("[raw]\nether_type = 64", "raw.ether_type: 0x0040 is a length"),
        (
            "[raw]\nether_type = 0x88b5\n[[mpls]]\nlabel = 16",
            "raw.ether_type: below MPLS labels",
        ),
        ("[[vlan]]\nid = 0", "vlan[0].id: 0 is not a number from 1 to 4094"),
        ("[[vlan]]\npriority = 1", "missing field `id`"),
        ("[[vlan]]\nid = 1\ntype = \"qinq\"", "line 3, column 8"),
        ("[[mpls]]\nlabel = 1048576", "mpls[0].label: 1048576 is not a number"),
        ("[ipv4]\nsource = \"::1\"", "ipv4.source: `::1` is no IPv4 address"),
        (
            "[ipv6]\nsource = \"10.0.0.1\"",
            "ipv6.source: `10.0.0.1` is no IPv6 address",
        ),
        ("[ipv4]\nttl = 0", "ipv4.ttl: 0 is not"),
        ("[ipv4]\ndscp = \"ef\"", "ipv4.dscp: ef is not a number from 0 to 63"),
        ("[ipv4]\necn = 4", "ipv4.ecn: 4 is not a number from 0 to 3"),
        ("[ipv6]\ndont_fragment = 1", "unknown field `dont_fragment`"),
        ("[[vlan]]\nid = 1\ndrop_eligible = 2", "vlan[0].drop_eligible: 2 is not"),
        (
            "[ethernet]\nsource = \"03:00:00:00:00:01\"",
            "ethernet.source: 03:00:00:00:00:01 is a group address",
        ),
        ("[udp]\nsource_port = []", "udp.source_port: a list without values"),
        ("[udp]\nsource_port = { from = 2 }", "udp.source_port: a pattern has"),
        ("[udp]\nsource_port = { from = 2, to = 1 }", "`to` is less than `from`"),
        ("[udp]\nsource_port = { from = 1, to = 2, step = 0 }", "`step` is 0"),
        ("[udp]\nsource_port = { from = 1, to = 2, every = 0 }", "`every` is 0"),
        (
            "[udp]\nsource_port = { from = 1, to = 2, seed = 0 }",
            "`seed` is for order = \"random\"",
        ),
        (
            "[udp]\nsource_port = { from = 1, to = 2, order = \"random\" }",
            "flows: give their number",
        ),
        ("[tcp]\nflags = [\"new\"]", "line 2, column 10: unknown variant `new`"),
    ]);
}

#[test]
fn what_makes_no_sense_as_a_whole_is_refused_too() {
    is_refused(&[
        ("symmetric = true\n[reverse]", "reverse: a symmetric profile has none"),
        (
            "direction = \"uni\"\n[reverse]",
            "reverse: there is no second direction",
        ),
        ("[reverse]\nsizes = \"x\"", "reverse.sizes: genome `x`"),
        ("[bursts]\nframes = 0", "bursts.frames: not between 1"),
        (
            "[bursts]\nframes = 5\nspacing = \"soon\"",
            "bursts.spacing: `soon` is no time",
        ),
        (
            "[bursts]\nframes = 5\n[replay]\nfile = \"replay.pcap\"",
            "bursts: a replay has its own",
        ),
        (
            "flows = 5\n[replay]\nfile = \"replay.pcap\"",
            "flows: a replay sends frames as they were captured",
        ),
        ("[replay]\nfile = \"none.pcap\"", "none.pcap: No such file"),
        (
            "[replay]\nfile = \"imix.toml\"",
            "imix.toml: offset 0: this is no pcap file",
        ),
    ]);
}

#[test]
fn options_that_do_not_fit_the_frames_are_refused() {
    let ip6 = ProfileOptions {
        ip: Some(IpVersion::V6),
        ..ProfileOptions::default()
    };
    let address = ProfileOptions {
        source_ips: Some(vec![
            "::1".parse().expect("an address"),
            "::2".parse().expect("an address"),
        ]),
        ..ProfileOptions::default()
    };
    for (text, options, expected) in [
        ("[ipv4]", &ip6, "ipv4: the frames have such headers, but --ip 6"),
        ("[raw]", &ip6, "raw: such frames have no IP, but --ip"),
        ("[raw]", &address, "--source-ip"),
        ("", &address, "--source-ip ::1 --source-ip ::2: the frames are IPv4"),
        ("[replay]\nfile = \"replay.pcap\"", &ip6, "--ip: a replay"),
    ] {
        let error = profile(text, options).map(drop).expect_err(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
}
