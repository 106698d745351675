//! Rules change while frames run through a switch on ports in memory: what is lost or misrouted, and what memory grows by.
//!
//! usage: `soak updates [SECONDS [MODS_PER_S]]`: at 80 % load; `soak memory [FRAMES [MODS]]`: at full load.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement shows its figure, and ends where there is none"
)]

#[path = "../tests/soak/bed.rs"]
#[allow(unreachable_pub, reason = "a module that a test shares")]
mod bed;
#[path = "../tests/soak/memory.rs"]
#[allow(unreachable_pub, reason = "a module that a test shares")]
mod memory;
#[path = "support/mod.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module that examples share")]
mod support;

use bed::{Bed, Outcome, Plan};
use memory::resident_bytes;
use support::quantiles;

/// As in the switch itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CALIBRATION_FRAMES: u64 = 5_000_000;
const PARTS: u64 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| {
        arguments
            .get(index)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    match arguments.first().map(String::as_str) {
        Some("updates") => updates(number(1, 60.0), number(2, 1000.0)),
        Some("memory") => keep_memory(number(1, 1e9), number(2, 1e5)),
        _ => {
            eprintln!("usage: soak updates [SECONDS [MODS_PER_S]] | soak memory [FRAMES [MODS]]");
            std::process::exit(2);
        }
    }
}

/// Frames a second that go through without a pause, while rules change so often.
fn capacity(bed: &mut Bed, mods_per_s: f64) -> f64 {
    let plan = Plan {
        frames: CALIBRATION_FRAMES,
        rate: f64::INFINITY,
        mods_per_s,
    };
    CALIBRATION_FRAMES as f64 / bed.run(plan).took.as_secs_f64()
}

fn updates(seconds: f64, mods_per_s: f64) {
    let mut bed = Bed::new();
    let most = capacity(&mut bed, mods_per_s);
    let rate = 0.8 * most;
    let outcome = bed.run(Plan {
        frames: (rate * seconds) as u64,
        rate,
        mods_per_s,
    });
    println!("{:.2} Mpps at most, {:.2} asked for", most / 1e6, rate / 1e6);
    show(&outcome);
}

fn keep_memory(frames: f64, mods: f64) {
    let mut bed = Bed::new();
    let most = capacity(&mut bed, 1000.0);
    let seconds = frames / most;
    let mut total = Outcome::default();
    let mut sizes: Vec<u64> = Vec::new();
    for _ in 0..PARTS {
        let part = bed.run(Plan {
            frames: frames as u64 / PARTS,
            rate: f64::INFINITY,
            mods_per_s: mods / seconds,
        });
        total.sent += part.sent;
        total.lost += part.lost;
        total.misrouted += part.misrouted;
        total.overtaken += part.overtaken;
        total.mods += part.mods;
        total.took += part.took;
        total.times.extend(part.times);
        sizes.push(resident_bytes().expect("the system tells"));
    }
    show(&total);
    let mebibytes: Vec<String> = sizes
        .iter()
        .map(|&bytes| format!("{:.2}", bytes as f64 / 1_048_576.0))
        .collect();
    println!("resident MiB after each twentieth: {}", mebibytes.join(" "));
}

fn show(outcome: &Outcome) {
    println!(
        "{} frames in {:.1} s ({:.2} Mpps): {} lost, {} misrouted, {} overtaken",
        outcome.sent,
        outcome.took.as_secs_f64(),
        outcome.sent as f64 / outcome.took.as_secs_f64() / 1e6,
        outcome.lost,
        outcome.misrouted,
        outcome.overtaken,
    );
    let mut in_all: Vec<_> = outcome.times.iter().map(|time| time.in_all).collect();
    let mut in_control: Vec<_> = outcome.times.iter().map(|time| time.in_control).collect();
    println!("{} flow-mods in force after {}", outcome.mods, quantiles(&mut in_all));
    println!(
        "of that, since the control thread was woken: {}",
        quantiles(&mut in_control)
    );
}
