//! Conformance cases of OpenFlow 1.3, the published ones and those that `tests/switch/made_cases.py` makes from the
//! specification, by the interpreter and by compiled tables. Frames are handed to the tables themselves; the switch around
//! them has tests of its own.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

#[path = "../../skip.rs"]
mod skip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use brimful_frame::{Field, Headers, Packet};
use brimful_jit::Engine;
use brimful_openflow::MatchField;
use brimful_openflow::wire::{Message, Version};
use brimful_pipeline::{Change, CounterBlock, Floods, Limits, Outputs, PacketIn, Passage, Pipeline, View};
use serde_json::Value;
use skip::skip;

const HEADROOM: usize = 128;
const SECOND: u64 = 1_000_000_000;
const PORTS: [u32; 3] = [1, 2, 3];

#[derive(Debug)]
struct NoFloods;

impl Floods for NoFloods {
    fn ports(&self, _: u32, _: bool) -> &[u32] {
        &[2, 3]
    }
}

#[derive(Default)]
struct Seen {
    outputs: Vec<(u32, Vec<u8>)>,
    packet_ins: Vec<Vec<u8>>,
}

impl Outputs for Seen {
    fn output(&mut self, frame: &[u8], port: u32, _: u32) {
        self.outputs.push((port, frame.to_vec()));
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        self.packet_ins.push(packet.frame.to_vec());
    }

    fn cut_short(&mut self, _: u32) {
        panic!("no case makes so many copies");
    }
}

/// Tables of a case, run one way.
struct Device {
    pipeline: Pipeline,
    compiled: Option<(Engine, brimful_jit::Worker)>,
    counters: Arc<CounterBlock>,
}

impl Device {
    fn new(messages: &[Message], is_compiled: bool) -> Result<Self, String> {
        let limits = Limits {
            tables: 8,
            ..Limits::default()
        };
        let mut pipeline = Pipeline::new(limits);
        let mut changes: Vec<Change> = Vec::new();
        for message in messages {
            let done = match message {
                Message::FlowMod(change) => pipeline.flow_mod(change, 0),
                Message::GroupMod(change) => pipeline.group_mod(change, 0),
                Message::MeterMod(change) => pipeline.meter_mod(change, 0),
                other => return Err(format!("{other} is no change of tables")),
            };
            changes.extend(done.map_err(|error| error.to_string())?);
        }
        let counters = pipeline.counters.block();
        let compiled = is_compiled.then(|| {
            let mut engine = Engine::new(&pipeline, 7).unwrap();
            engine.settle();
            let mut worker = engine.worker(Arc::clone(&counters));
            worker.begin();
            (engine, worker)
        });
        Ok(Self {
            pipeline,
            compiled,
            counters,
        })
    }

    fn send(&mut self, frame: &[u8], now: u64) -> Seen {
        let mut buffer = vec![0; HEADROOM + frame.len()];
        buffer[HEADROOM..].copy_from_slice(frame);
        let mut passage = Passage::new(Packet::new(&mut buffer, HEADROOM, frame.len()), 1);
        let view = View {
            shared: self.pipeline.shared(),
            live_ports: &PORTS,
            now,
            counters: &self.counters,
            floods: &NoFloods,
        };
        let mut seen = Seen::default();
        match &mut self.compiled {
            Some((_, worker)) => worker.process(&mut passage, &view, &mut seen),
            None => self.pipeline.process(&mut passage, &view, &mut seen),
        }
        seen
    }

    fn misses(&self, table: u8) -> u64 {
        let (lookups, matches) = self.pipeline.table_counters(table);
        let packets = |counter| self.pipeline.counters.read(counter).packets;
        packets(lookups) - packets(matches)
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value["hex"].as_str().unwrap();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// As Ethernet pads it.
fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(60), 0);
    frame
}

fn check_step(device: &mut Device, step: &Value) -> Result<(), String> {
    if !step["throughput"].is_null() {
        return check_throughput(device, step);
    }
    let tables: Vec<u8> = step["table_miss"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|table| table.as_u64().unwrap() as u8)
        .collect();
    let before: Vec<u64> = tables.iter().map(|&table| device.misses(table)).collect();
    let seen = device.send(&bytes(&step["ingress"]), 0);
    let mut outputs: Vec<(u32, Vec<u8>)> = seen
        .outputs
        .into_iter()
        .map(|(port, frame)| (port, padded(frame)))
        .collect();
    outputs.sort();
    let packet_ins: Vec<Vec<u8>> = seen.packet_ins.into_iter().map(padded).collect();
    let (mut wanted, mut wanted_in) = (Vec::new(), Vec::new());
    if !step["egress"].is_null() {
        wanted.push((2, padded(bytes(&step["egress"]))));
    }
    for output in step["outputs"].as_array().into_iter().flatten() {
        // A port that is not there drops what the tables send to it.
        wanted.push((output["port"].as_u64().unwrap() as u32, padded(bytes(output))));
    }
    outputs.retain(|(port, _)| PORTS.contains(port));
    wanted.sort();
    if !step["packet_in"].is_null() {
        wanted_in.push(padded(bytes(&step["packet_in"])));
    }
    if !step["invalid_ttl"].is_null() {
        // For controllers that have asked to be notified.
        wanted_in.push(padded(bytes(&step["invalid_ttl"])));
    }
    if (&outputs, &packet_ins) != (&wanted, &wanted_in) {
        return Err(format!(
            "came out {outputs:02x?} {packet_ins:02x?}\nexpected {wanted:02x?} {wanted_in:02x?}"
        ));
    }
    let has_missed = tables
        .iter()
        .zip(before)
        .all(|(&table, before)| device.misses(table) == before + 1);
    has_missed
        .then_some(())
        .ok_or_else(|| format!("no miss in each of tables {tables:?}"))
}

fn check_throughput(device: &mut Device, step: &Value) -> Result<(), String> {
    let ingress = &step["ingress"];
    let (rate, seconds) = (
        ingress["packets_per_s"].as_u64().unwrap(),
        ingress["duration_s"].as_u64().unwrap(),
    );
    let (template, text) = (bytes(ingress), ingress["text"].to_string());
    let mut random = 1_u64;
    let mut seen: Vec<(u32, Vec<u8>)> = Vec::new();
    for index in 0..rate * seconds {
        let frame = randomised(template.clone(), &text, &mut random);
        seen.extend(device.send(&frame, index * SECOND / rate).outputs);
    }
    for wanted in step["throughput"].as_array().unwrap() {
        let fields = wanted["OFPMatch"]["oxm_fields"].as_array().unwrap();
        let met = seen
            .iter()
            .filter(|(port, frame)| fields.iter().all(|field| field_holds(&field["OXMTlv"], *port, frame)));
        let met: Vec<&(u32, Vec<u8>)> = met.collect();
        let bits: usize = met.iter().map(|(_, frame)| frame.len() * 8).sum();
        let (found, expected) = match wanted["kbps"].as_f64() {
            Some(kbps) => (bits as f64 / 1000.0, kbps * 1000.0 / 1000.0 * seconds as f64),
            None => (met.len() as f64, wanted["pktps"].as_f64().unwrap() * seconds as f64),
        };
        if (found - expected).abs() > expected * 0.1 {
            return Err(format!(
                "{wanted}: {:.0} instead of {:.0}",
                found / seconds as f64,
                expected / seconds as f64
            ));
        }
    }
    Ok(())
}

fn field_holds(field: &Value, port: u32, frame: &[u8]) -> bool {
    let value = u128::from(field["value"].as_u64().unwrap());
    match field["field"].as_str().unwrap() {
        "in_port" => u128::from(port) == value,
        name => {
            let brimful_openflow::Source::Frame(place) = MatchField::from_name(name).unwrap().info().source else {
                return false;
            };
            place.read(frame, &Headers::parse(frame)) == Some(value)
        }
    }
}

/// Fields that the case draws anew for every frame.
fn randomised(mut frame: Vec<u8>, text: &str, random: &mut u64) -> Vec<u8> {
    let mut draw = || {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u128::from(*random >> 8) * 0x1_0000_0001_0000_0001
    };
    let headers = Headers::parse(&frame);
    let mut set = |fields: &[Field], draw: &mut dyn FnMut() -> u128| {
        for field in fields {
            field.write(&mut frame, &headers, draw() & field.largest());
        }
    };
    if text.contains("EUI(randint") {
        set(&[Field::EthDst, Field::EthSrc], &mut draw);
    }
    if text.contains("IPAddress(randint") {
        let addresses = [
            Field::Ipv4Src,
            Field::Ipv4Dst,
            Field::Ipv6Src,
            Field::Ipv6Dst,
            Field::ArpSpa,
            Field::ArpTpa,
        ];
        set(&addresses, &mut draw);
    }
    if text.contains("port=randint") {
        set(&[Field::TcpSrc, Field::TcpDst], &mut draw);
    }
    frame
}

fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("BRIMFUL_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(root.join("openflow/cases")).filter(|cases| cases.is_dir())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn check_case(case: &Value, is_compiled: bool) -> Result<(), String> {
    let messages: Vec<Message> = case["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| Message::decode(&bytes(message), Version::V13).unwrap())
        .collect();
    let mut device = Device::new(&messages, is_compiled)?;
    let steps = case["steps"].as_array().unwrap();
    let way = if is_compiled { "compiled" } else { "interpreted" };
    steps
        .iter()
        .try_for_each(|step| check_step(&mut device, step))
        .map_err(|error| format!("{way}: {error}"))
}

/// Plays cases both ways and says how many of each category pass; fails when any does not.
fn play(categories: &BTreeMap<String, Vec<Value>>) {
    let mut failures = Vec::new();
    for (category, cases) in categories {
        let before = failures.len();
        for case in cases {
            let passed = [false, true].iter().try_for_each(|&way| check_case(case, way));
            failures.extend(
                passed
                    .err()
                    .map(|error| format!("{category}: {}\n{error}", case["description"])),
            );
        }
        eprintln!(
            "{category}: {} of {}",
            cases.len() - (failures.len() - before),
            cases.len()
        );
    }
    assert!(
        failures.is_empty(),
        "{} cases fail\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

#[test]
fn published_cases_pass() {
    let Some(cases) = shared() else {
        skip("the published cases are not in ../shared nor in BRIMFUL_SHARED");
        return;
    };
    let mut paths = Vec::new();
    files(&cases, &mut paths);
    paths.sort();
    let mut categories = BTreeMap::<String, Vec<Value>>::new();
    for path in &paths {
        let category = path.strip_prefix(&cases).unwrap().iter().next().unwrap();
        let list: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        categories
            .entry(category.to_string_lossy().into_owned())
            .or_default()
            .extend(list);
    }
    play(&categories);
}

#[test]
fn cases_made_from_the_specification_pass() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/switch/made_cases.py");
    let made = Command::new("python3").arg("-B").arg(script).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    play(&serde_json::from_slice(&made.stdout).unwrap());
}
