//! What ten `set_field` actions on one field cost a frame of UDP: a rule with them beside one without, in turns.
//!
//! usage: `set_field [ROUNDS]`
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement shows its figure, and ends where there is none"
)]

#[path = "support/mod.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module that examples share")]
mod support;

use std::fmt::Write;
use std::time::Instant;

use brimful_switch::tables;
use support::{HEADROOM, Plane, Sink};

const FRAMES: usize = 1000;
const PASSES: usize = 50;
const STRIDE: usize = 256;
const BURST: usize = 64;
const TIMES: usize = 10;
/// An Ethernet, an IPv4 and a UDP header: a frame of 60 bytes.
const HEADERS: [u8; 42] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10, 0, 0, 1, 10, 0, 0, 2,
    0, 9, 0, 9, 0, 26, 0x12, 0x34,
];
const FRAME_LEN: usize = 60;

type Value = fn(usize) -> String;

/// Fields, and different values of each.
const FIELDS: [(&str, Value); 6] = [
    ("eth_dst", |number| format!("02:00:00:00:01:{number:02x}")),
    ("eth_src", |number| format!("02:00:00:00:02:{number:02x}")),
    ("ipv4_src", |number| format!("10.1.0.{number}")),
    ("ipv4_dst", |number| format!("10.2.0.{number}")),
    ("ip_dscp", |number| number.to_string()),
    ("ip_ecn", |number| (number % 4).to_string()),
];

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(15);
    for (field, value) in FIELDS {
        let mut sets = String::new();
        for number in 1..=TIMES {
            let _ = write!(sets, "set_field:{}->{field},", value(number));
        }
        let (mut without, mut with) = (Bench::new(""), Bench::new(&sets));
        let mut rows: Vec<(f64, f64)> = (0..rounds).map(|_| (without.measure(), with.measure())).collect();
        rows.sort_by(|one, other| (one.1 - one.0).total_cmp(&(other.1 - other.0)));
        let more = |row: &(f64, f64)| row.1 - row.0;
        let (without, with) = rows[rounds / 2];
        println!(
            "{field} set {TIMES} times: {:.1} ns more a frame ({:.1} to {:.1} in {rounds} rounds; {with:.1} and {without:.1} ns \
             in all)",
            more(&rows[rounds / 2]),
            more(&rows[0]),
            more(&rows[rounds - 1])
        );
    }
}

struct Bench {
    plane: Plane,
    memory: Vec<u8>,
}

impl Bench {
    fn new(sets: &str) -> Self {
        let rule = format!("in_port=1,ip,actions={sets}output:2");
        let rules = tables::read("rule.flows", &rule, 0).unwrap_or_else(|error| panic!("{error}"));
        let mut plane = Plane::new();
        plane.load(&rules, Instant::now());
        let mut memory = vec![0; FRAMES * STRIDE];
        for slot in memory.chunks_exact_mut(STRIDE) {
            slot[HEADROOM..HEADROOM + HEADERS.len()].copy_from_slice(&HEADERS);
        }
        Self { plane, memory }
    }

    /// Nanoseconds a frame.
    fn measure(&mut self) -> f64 {
        let begun = Instant::now();
        for _ in 0..PASSES {
            let mut sink = Sink::default();
            for (index, slot) in self.memory.chunks_exact_mut(STRIDE).enumerate() {
                if index % BURST == 0 {
                    self.plane.worker.begin();
                }
                self.plane.process(slot, FRAME_LEN, &mut sink);
            }
            assert_eq!(sink.last, Some(2));
        }
        begun.elapsed().as_secs_f64() * 1e9 / (PASSES * FRAMES) as f64
    }
}
