//! Random tables and frames that meet each other, and both ways of running them.
#![allow(clippy::unwrap_used, reason = "a module of tests")]

use std::collections::VecDeque;
use std::sync::Arc;

use brimful_frame::{Headers, Packet};
use brimful_jit::{Engine, Worker};
use brimful_openflow::{Action, FieldMatch, FlowCommand, FlowMod, Instruction, Match, MatchField, Source, port};
use brimful_pipeline::{
    Change, Count, CounterBlock, Demands, Floods, Limits, Outputs, PacketIn, Passage, Pipeline, View,
};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub const HEADROOM: usize = 64;
pub const TABLES: u8 = 4;
const PORTS: [u32; 4] = [1, 2, 3, 4];

/// A generator of numbers, the same on every machine: bytes decide as long as there are some, one a number.
pub struct Random {
    random: SplitMix64,
    bytes: VecDeque<u8>,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self::of(seed, &[])
    }

    pub fn of(seed: u64, bytes: &[u8]) -> Self {
        Self {
            random: SplitMix64::seed_from_u64(seed),
            bytes: bytes.iter().copied().collect(),
        }
    }

    /// Whether no byte is left.
    pub fn has_run_out(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn next(&mut self) -> u64 {
        if let Some(byte) = self.bytes.pop_front() {
            return u64::from(byte);
        }
        self.random.next_u64()
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

/// What a frame left behind.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Seen {
    pub outputs: Vec<(u32, u32, Vec<u8>)>,
    pub packet_ins: Vec<String>,
    pub cut_short: u32,
}

impl Outputs for Seen {
    fn output(&mut self, frame: &[u8], port: u32, queue: u32) {
        self.outputs.push((port, queue, frame.to_vec()));
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        self.packet_ins.push(format!("{packet:?}"));
    }

    fn cut_short(&mut self, _: u32) {
        self.cut_short += 1;
    }
}

#[derive(Debug)]
struct AllPorts;

impl Floods for AllPorts {
    fn ports(&self, _: u32, _: bool) -> &[u32] {
        &PORTS
    }
}

/// A pipeline, run by the interpreter and by code.
pub struct Both {
    pub pipeline: Pipeline,
    pub engine: Engine,
    pub worker: Worker,
    interpreted: Arc<CounterBlock>,
    compiled: Arc<CounterBlock>,
}

impl Both {
    pub fn new(seed: u64) -> Self {
        let limits = Limits {
            tables: TABLES,
            ..Limits::default()
        };
        let pipeline = Pipeline::new(limits);
        let mut engine = Engine::new(&pipeline, seed).unwrap();
        let compiled = Arc::new(CounterBlock::new());
        Self {
            worker: engine.worker(Arc::clone(&compiled)),
            engine,
            pipeline,
            interpreted: Arc::new(CounterBlock::new()),
            compiled,
        }
    }

    pub fn apply(&mut self, changes: &[Change]) {
        self.engine.apply(changes);
    }

    /// Sends a frame both ways and compares; gives whether it met a rule that is no table-miss.
    pub fn send(&mut self, frame: &[u8], in_port: u32) -> bool {
        let view = |counters| View {
            shared: self.pipeline.shared(),
            live_ports: &PORTS,
            now: 0,
            counters,
            floods: &AllPorts,
        };
        let mut buffer = vec![0; HEADROOM + frame.len()];
        let mut run = |process: &mut dyn FnMut(&mut Passage<'_>, &mut Seen)| {
            buffer[HEADROOM..].copy_from_slice(frame);
            let mut passage = Passage::new(Packet::new(&mut buffer, HEADROOM, frame.len()), in_port);
            let mut seen = Seen::default();
            process(&mut passage, &mut seen);
            seen
        };
        let mut met = false;
        let expected = run(&mut |passage, seen| {
            let steps = self.pipeline.trace(passage, &view(&self.interpreted), seen);
            met = steps
                .iter()
                .any(|step| step.entry.as_ref().is_some_and(|entry| !entry.is_table_miss()));
        });
        self.worker.begin();
        let worker = &mut self.worker;
        let found = run(&mut |passage, seen| worker.process(passage, &view(&self.compiled), seen));
        assert_eq!(
            found,
            expected,
            "frame {frame:02x?} from port {in_port}\n{}",
            self.describe()
        );
        met
    }

    /// Every counter says the same.
    pub fn compare_counters(&self) {
        for table in 0..TABLES {
            for entry in self.pipeline.entries(table) {
                let of = |block: &CounterBlock| -> Count { block.read(entry.counter) };
                assert_eq!(of(&self.compiled), of(&self.interpreted), "{entry:?}");
            }
            let (lookups, matches) = self.pipeline.table_counters(table);
            for counter in [lookups, matches] {
                assert_eq!(
                    self.compiled.read(counter),
                    self.interpreted.read(counter),
                    "table {table}"
                );
            }
        }
    }

    fn describe(&self) -> String {
        let entries = (0..TABLES).flat_map(|table| self.pipeline.entries(table));
        let entries: Vec<String> = entries
            .map(|entry| {
                format!(
                    "table {} priority {} {:x?} {:?}",
                    entry.table,
                    entry.priority,
                    entry.demands,
                    entry.given()
                )
            })
            .collect();
        let forms: Vec<String> = (0..TABLES).map(|table| self.engine.explain(table)).collect();
        format!("{}\n{}", entries.join("\n"), forms.join("\n"))
    }
}

/// How the rules of a table look.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    Few,
    Exact,
    Prefixes,
    Acl,
    Anything,
}

pub const STYLES: [Style; 5] = [Style::Few, Style::Exact, Style::Prefixes, Style::Acl, Style::Anything];

fn small(random: &mut Random, field: MatchField) -> u128 {
    use MatchField as F;
    // Few values, so that rules overlap and frames meet them.
    let low = u128::from(random.below(4));
    match field {
        F::InPort => low % 4 + 1,
        F::EthType => random.pick(&[0x0800, 0x0800, 0x86dd, 0x0806, 0x8847]),
        F::VlanVid => random.pick(&[0, 0x1001, 0x1002]),
        F::IpProto => random.pick(&[6, 17, 1, 132, 58]),
        F::Ipv4Src | F::Ipv4Dst => 0x0a00_0000 | low << 8 | u128::from(random.below(4)),
        F::Ipv6Src | F::Ipv6Dst => 0xfe80 << 112 | low << 64 | u128::from(random.below(3)),
        F::EthDst | F::EthSrc => 0x0200_0000_0000 | low,
        F::ArpSpa | F::ArpTpa => 0x0a00_0000 | low,
        F::Ipv6Exthdr => random.pick(&[0, 0x40, 0x44]),
        F::Metadata | F::TunnelId => low,
        _ => low & field.largest(),
    }
}

fn rule_match(random: &mut Random, style: Style) -> Match {
    use MatchField as F;
    let fields: Vec<MatchField> = match style {
        Style::Few => (0..random.below(3))
            .map(|_| random.pick(&[F::InPort, F::EthDst, F::EthType]))
            .collect(),
        Style::Exact => vec![F::EthDst, F::VlanVid],
        Style::Prefixes => vec![F::EthType, F::Ipv4Dst],
        Style::Acl => {
            let mut fields = vec![F::EthType, F::IpProto];
            for field in [F::Ipv4Src, F::Ipv4Dst, F::TcpSrc, F::TcpDst, F::UdpDst, F::InPort] {
                if random.one_in(2) {
                    fields.push(field);
                }
            }
            fields
        }
        Style::Anything => {
            let all: Vec<MatchField> = brimful_openflow::MATCH_FIELDS.iter().map(|row| row.field).collect();
            (0..random.below(4)).map(|_| random.pick(&all)).collect()
        }
    };
    let mut matching = Match::default();
    for field in fields {
        if matching.fields.iter().any(|other| other.field == field) || field == F::InPhyPort {
            continue;
        }
        let mut value = small(random, field);
        if matches!(style, Style::Prefixes | Style::Acl) && field == F::EthType {
            value = 0x0800;
        }
        let mask = match (field, style) {
            (F::Ipv4Dst, Style::Prefixes) | (F::Ipv4Src | F::Ipv4Dst, Style::Acl) => {
                let len = random.pick(&[8_u32, 16, 20, 24, 30, 31, 32]);
                Some(u128::from(u32::MAX << (32 - len)))
            }
            _ if field.info().maskable && random.one_in(4) && !matches!(style, Style::Exact) => {
                Some(u128::from(random.next()) << 64 | u128::from(random.next()))
            }
            _ => None,
        };
        let mask = mask.map(|mask| mask & field.largest());
        value &= mask.unwrap_or(u128::MAX);
        matching.fields.push(FieldMatch { field, value, mask });
    }
    matching
}

/// A list of actions, most of which send a frame on.
pub fn actions(random: &mut Random) -> Vec<Action> {
    use MatchField as F;
    let mut actions: Vec<Action> = Vec::new();
    for _ in 0..random.below(4) {
        let field = random.pick(&[
            F::EthDst,
            F::EthSrc,
            F::Ipv4Src,
            F::Ipv4Dst,
            F::IpDscp,
            F::IpEcn,
            F::VlanVid,
            F::VlanPcp,
            F::TcpDst,
            F::UdpSrc,
            F::TunnelId,
            F::Ipv6Dst,
            F::IpProto,
        ]);
        let value = u128::from(random.next()) & field.largest();
        actions.push(match random.below(12) {
            0 => Action::PushVlan(0x8100),
            1 => Action::PopVlan,
            2 => Action::PushMpls(0x8847),
            3 => Action::DecNwTtl,
            4 => Action::SetQueue(random.below(3) as u32),
            _ => Action::SetField { field, value },
        });
    }
    if !random.one_in(4) {
        let port = random.pick(&[1, 2, 3, 4, port::IN_PORT, port::CONTROLLER, port::ALL, 2, 3]);
        actions.push(Action::Output { port, max_len: 128 });
    }
    if random.one_in(8) {
        actions.push(Action::Output { port: 3, max_len: 0 });
    }
    actions
}

/// A flow-mod for a table; most are additions.
pub fn flow_mod(random: &mut Random, table: u8, style: Style) -> FlowMod {
    let matching = rule_match(random, style);
    let mut instructions = Vec::new();
    if !random.one_in(5) {
        instructions.push(Instruction::ApplyActions(actions(random)));
    }
    if random.one_in(4) {
        instructions.push(Instruction::WriteActions(actions(random)));
    }
    if random.one_in(8) {
        instructions.push(Instruction::ClearActions);
    }
    if random.one_in(4) {
        instructions.push(Instruction::WriteMetadata {
            value: random.below(4),
            mask: random.below(8),
        });
    }
    if table + 1 < TABLES && random.one_in(3) {
        instructions.push(Instruction::GotoTable(
            table + 1 + random.below(u64::from(TABLES - table - 1)) as u8,
        ));
    }
    let prefix: u128 = matching
        .fields
        .iter()
        .find(|field| field.field == MatchField::Ipv4Dst)
        .map_or(0, |field| field.mask.unwrap_or(0));
    let priority = match style {
        Style::Prefixes => prefix.count_ones() as u16 + 1,
        Style::Exact => 10,
        _ => random.below(6) as u16,
    };
    let command = match random.below(10) {
        0 => FlowCommand::DeleteStrict,
        1 => FlowCommand::ModifyStrict,
        2 if random.one_in(10) => FlowCommand::Delete,
        _ => FlowCommand::Add,
    };
    FlowMod {
        command,
        ..FlowMod::add(table, priority, matching, instructions)
    }
}

/// A frame of which rules know the values.
pub fn frame(random: &mut Random) -> Vec<u8> {
    let low = |random: &mut Random| random.below(4) as u8;
    let mut frame = vec![2, 0, 0, 0, 0, low(random), 2, 0, 0, 0, 0, low(random)];
    for _ in 0..[0, 0, 0, 1, 1, 2][random.below(6) as usize] {
        frame.extend(if random.one_in(3) { [0x88, 0xa8] } else { [0x81, 0] });
        frame.extend([low(random) << 5, low(random)]);
    }
    let protocol = random.pick(&[6_u8, 17, 1, 132, 58]);
    let payload: Vec<u8> = (0..28 + random.below(30))
        .map(|index| if index % 2 == 0 { 0 } else { low(random) })
        .collect();
    match random.below(10) {
        0 => {
            frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, low(random)]);
            frame.extend([
                2,
                0,
                0,
                0,
                0,
                1,
                10,
                0,
                0,
                low(random),
                0,
                0,
                0,
                0,
                0,
                0,
                10,
                0,
                0,
                low(random),
            ]);
        }
        1 => frame.extend([0x88, 0x47, 0, 0, low(random) << 4 | 1, 64]),
        2 | 3 => {
            frame.extend([0x86, 0xdd, 0x60 | low(random), low(random) << 4, 0, low(random)]);
            let extends = random.one_in(3);
            frame.extend((payload.len() as u16 + if extends { 8 } else { 0 }).to_be_bytes());
            frame.extend([if extends { 0 } else { protocol }, 64]);
            for _ in 0..2 {
                frame.extend([0xfe, 0x80, 0, 0, 0, 0, 0, low(random), 0, 0, 0, 0, 0, 0, 0, low(random)]);
            }
            if extends {
                frame.extend([protocol, 0, 1, 4, 0, 0, 0, 0]);
            }
            frame.extend(&payload);
        }
        _ => {
            let fragment = if random.one_in(6) {
                [0x20, low(random)]
            } else {
                [0x40, 0]
            };
            frame.extend([8, 0, 0x45, low(random) << 2 | low(random)]);
            frame.extend((payload.len() as u16 + 20).to_be_bytes());
            frame.extend([0, 1, fragment[0], fragment[1], 64, protocol, 0x12, 0x34]);
            frame.extend([10, 0, low(random), low(random), 10, 0, low(random), low(random)]);
            frame.extend(&payload);
        }
    }
    frame
}

/// The same, changed so that it meets what some rule of the first table demands, as far as it has the fields.
pub fn aimed_frame(random: &mut Random, tables: &Pipeline) -> (Vec<u8>, u32) {
    let count = tables.len(0) as u64;
    let entry = (count > 0)
        .then(|| tables.entries(0).nth(random.below(count) as usize))
        .flatten();
    match entry {
        Some(entry) => frame_for(random, &entry.demands),
        None => (frame(random), 1),
    }
}

/// A frame that meets demands, as far as it has the fields.
pub fn frame_for(random: &mut Random, demands: &Demands) -> (Vec<u8>, u32) {
    let mut in_port = 1 + random.below(4) as u32;
    let wanted = |field| demands.iter().find(|demand| demand.0 == field).map(|demand| demand.1);
    let ether_type = wanted(MatchField::EthType).unwrap_or(0x0800) as u16;
    let mut bytes = (0..40)
        .map(|_| frame(random))
        .find(|bytes| Headers::parse(bytes).ether_type == ether_type);
    let bytes = bytes.get_or_insert_with(|| frame(random));
    for &(field, value, mask) in demands {
        let headers = Headers::parse(bytes);
        match field.info().source {
            Source::Frame(place) if field != MatchField::EthType => {
                let other = place.read(bytes, &headers).unwrap_or(0);
                place.write(bytes, &headers, other & !mask | value);
            }
            _ if field == MatchField::InPort => in_port = value as u32,
            _ => {}
        }
    }
    (bytes.clone(), in_port)
}

/// What bytes say: tables, changes of them, and frames in between, some of them cut; all counters are compared at the end.
/// Gives how many frames there were, and how many met a rule that is no table-miss.
pub fn replay(bytes: &[u8]) -> (u64, u64) {
    let mut random = Random::of(1, bytes);
    let mut both = Both::new(1);
    let styles: Vec<Style> = (0..TABLES).map(|_| random.pick(&STYLES)).collect();
    let (mut frames, mut met) = (0, 0);
    while !random.has_run_out() {
        match random.below(16) {
            0..7 => {
                let table = random.below(TABLES.into()) as u8;
                let change = flow_mod(&mut random, table, styles[usize::from(table)]);
                if let Ok(changes) = both.pipeline.flow_mod_without_prerequisites(&change, 0) {
                    both.apply(&changes);
                }
            }
            7 => both.engine.settle(),
            chosen => {
                // Two bytes for a frame, so that most of them are for rules.
                let mut own = Random::new(random.next() << 8 | random.next());
                let (mut bytes, in_port) = aimed_frame(&mut own, &both.pipeline);
                if chosen == 8 {
                    bytes.truncate(14 + random.below(80) as usize);
                }
                met += u64::from(both.send(&bytes, in_port));
                frames += 1;
            }
        }
    }
    both.compare_counters();
    (frames, met)
}
