//! How long tables take from a file to machine code that runs, and a single flow-mod until a frame meets it.
//!
//! usage: `load [ROUNDS]`
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement shows its figure, and ends where there is none"
)]

#[path = "support/mod.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module that examples share")]
mod support;

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use brimful_switch::tables::genflow::Specification;
use brimful_switch::tables::{self, Change};
use support::{HEADROOM, Plane, Sink, quantiles};

/// As in the switch itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// 128 entries each way, as the table of 256 flows that this switch's forerunner was measured with.
const SPECIFICATION: &str = "{test3,[{num_flows,128},{match,{1.0,eth_dst,16#ffffff}},{match,{0.5,vlan_vid,nomask}},\
                             {match,{0.1,ip_dscp}},allow_arp]}.";
const EXACT: u32 = 100_000;
const SINGLE: u32 = 20_000;
const FRAME_LEN: usize = 60;

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(9);
    let directory = tempfile::tempdir().expect("a directory");
    let specification = Specification::read("test3", SPECIFICATION).expect("a specification");
    let generated = directory.path().join("test3.tab");
    std::fs::write(&generated, specification[0].generate(1)).expect("a file");
    load("256 flows of genflow", &generated, rounds);

    let exact = directory.path().join("exact.flows");
    let mut text = String::new();
    for flow in 0..EXACT {
        let _ = writeln!(text, "{}", rule(flow));
    }
    std::fs::write(&exact, text).expect("a file");
    let mut plane = load("100,000 exact flows", &exact, rounds);
    one_by_one("rules of the same masks", &mut plane, |number| rule(EXACT + number));
    one_by_one("rules of other masks", &mut plane, |number| {
        format!("priority=9,in_port=1,{}", rule(EXACT + SINGLE + number))
    });
}

/// Prints medians; gives the last tables.
fn load(what: &str, path: &Path, rounds: usize) -> Plane {
    let name = path.to_string_lossy();
    let (mut read, mut in_force, mut compiled) = (Vec::new(), Vec::new(), Vec::new());
    let mut plane = Plane::new();
    for _ in 0..rounds {
        plane = Plane::new();
        let begun = Instant::now();
        let text = std::fs::read_to_string(path).expect("the file that was written");
        let rules = tables::read(&name, &text, 0).unwrap_or_else(|error| panic!("{error}"));
        read.push(begun.elapsed());
        let loaded = plane.load(&rules, begun);
        in_force.push(loaded.in_force);
        compiled.push(loaded.compiled);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    println!(
        "{what}, {} entries: read after {:.1} ms, in force after {:.1} ms, run by machine code after {:.1} ms (medians of \
         {rounds})",
        plane.pipeline.len(0),
        median(&mut read),
        median(&mut in_force),
        median(&mut compiled)
    );
    plane
}

/// Adds rules one by one; each has to be met by the frame that comes next.
fn one_by_one(what: &str, plane: &mut Plane, rule: impl Fn(u32) -> String) {
    let (mut times, mut interrupted) = (Vec::new(), 0);
    for number in 0..SINGLE {
        let text = rule(number);
        let rules = tables::read("rule.flows", &text, 0).expect("a rule");
        let Change::Flow(flow) = &rules.changes[0].value else {
            return;
        };
        let mut buffer = [0; HEADROOM + FRAME_LEN];
        let address = text
            .split("dl_dst=")
            .nth(1)
            .and_then(|rest| rest.split(',').next())
            .expect("an address");
        for (place, octet) in buffer[HEADROOM..].iter_mut().zip(address.split(':')) {
            *place = u8::from_str_radix(octet, 16).expect("an octet");
        }
        let mut sink = Sink::default();
        let before = interruptions();
        let begun = Instant::now();
        let changes = plane
            .pipeline
            .flow_mod(flow, 0)
            .unwrap_or_else(|error| panic!("{error}"));
        plane.engine.apply(&changes);
        plane.worker.begin();
        plane.process(&mut buffer, FRAME_LEN, &mut sink);
        let time = begun.elapsed();
        // Who else has run on this processor meanwhile is no part of it.
        if interruptions() == before {
            times.push(time);
        } else {
            interrupted += 1;
        }
        assert_eq!(sink.last, Some(2), "{text}");
        plane.worker.rest();
    }
    println!(
        "{} {what}, one by one, each met by a frame after {} ({interrupted} more were interrupted by other programs)",
        times.len(),
        quantiles(&mut times)
    );
}

/// How often others were given the processor of this thread though it had something to do.
fn interruptions() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

fn rule(flow: u32) -> String {
    let [a, b, c, d] = flow.to_be_bytes();
    format!("dl_dst=02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x},actions=output:2")
}
