//! Compiled tables do what the interpreter does, on every frame, while rules come and go.

#[allow(unreachable_pub, dead_code, reason = "a module of several tests")]
mod common;

use std::sync::Arc;

use brimful_jit::Engine;
use brimful_openflow::FlowCommand;
use brimful_pipeline::{Change, Limits, Pipeline};
use common::{Both, Random, STYLES, Style, TABLES, aimed_frame, flow_mod, frame};

/// How many (table, frame) pairs are compared: a million, ten in continuous integration, or what `BRIMFUL_PAIRS` says.
fn wanted_pairs() -> u64 {
    let asked = std::env::var("BRIMFUL_PAIRS").ok().and_then(|text| text.parse().ok());
    let usual = if std::env::var_os("CI").is_some() {
        10_000_000
    } else {
        1_000_000
    };
    asked.unwrap_or(usual)
}

/// Tables of one seed, with updates in between: pairs, and how many met a rule.
fn run(seed: u64, rules: u64, frames: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let mut both = Both::new(seed);
    let styles: Vec<Style> = (0..TABLES).map(|_| random.pick(&STYLES)).collect();
    let (mut pairs, mut met) = (0, 0);
    for round in 0..4 {
        for _ in 0..if round == 0 { rules } else { 6 } {
            let table = random.below(TABLES.into()) as u8;
            let change = flow_mod(&mut random, table, styles[usize::from(table)]);
            if let Ok(changes) = both.pipeline.flow_mod_without_prerequisites(&change, 0) {
                both.apply(&changes);
            }
            // The form that is being replaced, and rules that wait for code.
            if round > 0 {
                let bytes = frame(&mut random);
                met += u64::from(both.send(&bytes, 1));
                pairs += 1;
            }
        }
        if round % 2 == 0 {
            both.engine.settle();
        }
        for _ in 0..frames / 4 {
            let (bytes, in_port) = if random.one_in(4) {
                (frame(&mut random), random.below(4) as u32 + 1)
            } else {
                aimed_frame(&mut random, &both.pipeline)
            };
            met += u64::from(both.send(&bytes, in_port));
            pairs += 1;
        }
    }
    both.compare_counters();
    (pairs, met)
}

/// What an engine has replaced and not yet dropped goes once, whether a thread of frames is left or not.
#[test]
fn rules_that_were_taken_out_are_dropped_once() {
    for (seed, style) in (1..).zip(STYLES) {
        let mut random = Random::new(seed);
        let mut pipeline = Pipeline::new(Limits::default());
        let mut engine = Engine::new(&pipeline, seed).unwrap();
        let mut entries = Vec::new();
        for _ in 0..40 {
            let mut change = flow_mod(&mut random, 0, style);
            for command in [FlowCommand::Add, FlowCommand::Delete] {
                change.command = command;
                let Ok(changes) = pipeline.flow_mod_without_prerequisites(&change, 0) else {
                    continue;
                };
                engine.apply(&changes);
                entries.extend(changes.into_iter().filter_map(|change| match change {
                    Change::Removed { entry, .. } => Some(entry),
                    _ => None,
                }));
            }
            engine.tend();
        }
        assert!(!entries.is_empty(), "{style:?}");
        drop((engine, pipeline));
        for entry in entries {
            assert_eq!(Arc::strong_count(&entry), 1, "{style:?}: {entry:?}");
        }
    }
}

/// The last burst of a thread may begin after the switch has ended.
#[test]
fn a_worker_may_outlive_its_engine() {
    for (seed, style) in (1..).zip(STYLES) {
        let mut random = Random::new(seed);
        let mut both = Both::new(seed);
        for number in 0..200 {
            let change = flow_mod(&mut random, 0, style);
            if let Ok(changes) = both.pipeline.flow_mod_without_prerequisites(&change, 0) {
                both.apply(&changes);
            }
            if number == 150 {
                both.engine.settle();
            }
        }
        let other = Engine::new(&both.pipeline, seed).unwrap();
        drop(std::mem::replace(&mut both.engine, other));
        let met = (0..200).filter(|_| {
            let (bytes, in_port) = aimed_frame(&mut random, &both.pipeline);
            both.send(&bytes, in_port)
        });
        assert!(met.count() > 0, "{style:?}");
    }
}

#[test]
fn code_equals_the_interpreter() {
    let wanted = wanted_pairs();
    let (mut pairs, mut met, mut seed) = (0, 0, 1);
    while pairs < wanted {
        let (more, hits) = run(seed, [3, 12, 40, 150][seed as usize % 4], 20_000);
        pairs += more;
        met += hits;
        seed += 1;
    }
    eprintln!(
        "{pairs} pairs of table and frame, {:.1} % met a rule",
        100.0 * met as f64 / pairs as f64
    );
    assert!(met * 100 >= pairs * 60, "{met} of {pairs} frames met a rule");
}

/// A frame as IEEE 802.3 has it: a length, LLC and SNAP before the type.
fn with_snap(frame: &[u8]) -> Vec<u8> {
    let mut at = 12;
    while matches!(frame.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8])) {
        at += 4;
    }
    let mut changed = frame.to_vec();
    let length = (frame.len() - at + 6) as u16;
    let between = [&length.to_be_bytes()[..], &[0xaa, 0xaa, 3, 0, 0, 0]].concat();
    changed.splice(at..at, between);
    changed
}

#[test]
fn frames_cut_anywhere_are_read_alike() {
    for seed in 1..40 {
        let mut random = Random::new(seed);
        let mut both = Both::new(seed);
        let style = random.pick(&STYLES);
        for _ in 0..40 {
            let change = flow_mod(&mut random, 0, style);
            if let Ok(changes) = both.pipeline.flow_mod_without_prerequisites(&change, 0) {
                both.apply(&changes);
            }
        }
        both.engine.settle();
        for _ in 0..20 {
            let whole = frame(&mut random);
            let snap = with_snap(&whole);
            for whole in [whole, snap] {
                for len in 14..whole.len() {
                    both.send(&whole[..len], 1);
                }
            }
        }
    }
}

/// Updates one after the other while code is being compiled: what one form has taken out must not stay in the next.
#[test]
fn rules_that_went_while_code_was_compiled_are_gone() {
    for seed in 1..25 {
        let mut random = Random::new(seed);
        let mut both = Both::new(seed);
        let style = STYLES[seed as usize % STYLES.len()];
        for _ in 0..600 {
            let change = flow_mod(&mut random, 0, style);
            if let Ok(changes) = both.pipeline.flow_mod_without_prerequisites(&change, 0) {
                both.apply(&changes);
            }
            let (bytes, in_port) = aimed_frame(&mut random, &both.pipeline);
            both.send(&bytes, in_port);
        }
    }
}
