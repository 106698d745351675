//! What happens when something is full, or still in use.
#![allow(clippy::unwrap_used, reason = "a test")]

use brimful_frame::{Headers, Packet};
use brimful_openflow::{
    Action, Band, BandType, Bucket, ErrorCode, ErrorMessage, FieldMatch, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY,
    GroupMod, GroupType, Instruction, Match, MatchField, MeterMod, ModCommand, port,
};
use brimful_pipeline::{CounterBlock, Floods, Limits, Outputs, PacketIn, Passage, Pipeline, View, flow_hash};

fn flow(in_port: u128) -> FlowMod {
    let fields = vec![FieldMatch {
        field: MatchField::InPort,
        value: in_port,
        mask: None,
    }];
    FlowMod::add(0, 1, Match { fields }, Vec::new())
}

/// What one frame becomes.
#[derive(Debug, Default)]
struct Seen {
    frames: u32,
    cut_short: u32,
}

impl Outputs for Seen {
    fn output(&mut self, _: &[u8], _: u32, _: u32) {
        self.frames += 1;
    }

    fn packet_in(&mut self, _: PacketIn<'_>) {}

    fn cut_short(&mut self, in_port: u32) {
        assert_eq!(in_port, 1);
        self.cut_short += 1;
    }
}

impl Floods for Seen {
    fn ports(&self, _: u32, _: bool) -> &[u32] {
        &[]
    }
}

/// Sends one frame through; no port is alive.
fn run(pipeline: &Pipeline) -> Seen {
    let (mut seen, mut frame, counters) = (Seen::default(), [0; 60], CounterBlock::new());
    let view = View {
        shared: pipeline.shared(),
        live_ports: &[],
        now: 0,
        counters: &counters,
        floods: &Seen::default(),
    };
    pipeline.process(&mut Passage::new(Packet::new(&mut frame, 0, 60), 1), &view, &mut seen);
    seen
}

fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

/// Groups 1 to `length`, each with buckets to the one before it, which begin with one that outputs.
fn chain(length: u32, buckets: usize, group_type: GroupType) -> Pipeline {
    let mut pipeline = Pipeline::new(Limits { tables: 1, entries: 2 });
    for number in 1..=length {
        let next = if number == 1 {
            output(2)
        } else {
            Action::Group(number - 1)
        };
        let mut change = group(ModCommand::Add, number, vec![next]);
        change.group_type = group_type;
        if group_type == GroupType::FastFailover {
            change.buckets[0].watch_port = if number == 1 { 2 } else { port::ANY };
            change.buckets[0].watch_group = if number == 1 { GROUP_ANY } else { number - 1 };
        }
        change.buckets = vec![change.buckets[0].clone(); buckets];
        pipeline.group_mod(&change, 0).unwrap();
    }
    let apply = Instruction::ApplyActions(vec![Action::Group(length), Action::Group(length)]);
    let change = FlowMod::add(0, 1, Match::default(), vec![apply]);
    pipeline.flow_mod(&change, 0).unwrap();
    pipeline
}

/// Of all frames that groups could make of one, some thousands are made, in as little time.
#[test]
fn copies_of_a_frame_are_bounded_and_counted() {
    let seen = run(&chain(64, 1, GroupType::All));
    assert_eq!((seen.frames, seen.cut_short), (2, 0));
    let seen = run(&chain(65, 1, GroupType::All));
    assert_eq!((seen.frames, seen.cut_short), (0, 1));
    let seen = run(&chain(11, 2, GroupType::All));
    assert!(seen.frames < 2 * 2048 && seen.cut_short == 1, "{seen:?}");
    for (length, buckets) in [(24, 2), (60, 2), (60, 500)] {
        let seen = run(&chain(length, buckets, GroupType::All));
        assert!(seen.frames <= 4096 && seen.cut_short == 1, "{seen:?}");
    }
}

/// Groups that watch one another take no time either, however many ways there are to a port that is down.
#[test]
fn what_groups_watch_is_bounded() {
    let seen = run(&chain(60, 100, GroupType::FastFailover));
    assert_eq!((seen.frames, seen.cut_short), (0, 0));
}

/// UDP from port 1,000 on, as one packet or a part of one, with ports where it is the first part.
fn datagram(is_v6: bool, port: u8, fragment: Option<bool>) -> Vec<u8> {
    let mut frame = [2; 12].to_vec();
    let first = fragment.is_none_or(|is_first| is_first);
    let (offset, more) = match fragment {
        None => (0, 0),
        Some(true) => (0, 1),
        Some(false) => (3, 0),
    };
    if is_v6 {
        frame.extend([
            0x86,
            0xdd,
            0x60,
            0,
            0,
            0,
            0,
            32,
            if fragment.is_some() { 44 } else { 17 },
            64,
        ]);
        frame.extend([1; 32]);
        if fragment.is_some() {
            frame.extend([17, 0, 0, offset << 3 | more, 0, 0, 0, 9]);
        }
    } else {
        frame.extend([
            8,
            0,
            0x45,
            0,
            0,
            48,
            0,
            9,
            more << 5,
            offset,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ]);
    }
    frame.extend(if first { [3, port, 4, port, 0, 28, 0, 0] } else { [7; 8] });
    frame.extend([0; 24]);
    frame
}

#[test]
fn all_parts_of_a_packet_go_to_one_bucket() {
    for is_v6 in [false, true] {
        let hash = |port, fragment| {
            let frame = datagram(is_v6, port, fragment);
            flow_hash(&frame, &Headers::parse(&frame))
        };
        assert_ne!(hash(1, None), hash(2, None));
        assert_eq!(hash(1, Some(true)), hash(1, Some(false)));
        assert_eq!(hash(1, Some(true)), hash(2, Some(true)));
    }
}

fn refusal(done: Result<Vec<brimful_pipeline::Change>, ErrorMessage>) -> Option<ErrorCode> {
    done.err().map(|error| ErrorCode(error.kind, error.code))
}

/// What could not be described in a message is refused, and the longest that can is taken.
#[test]
fn what_cannot_be_described_is_refused() {
    let mut pipeline = Pipeline::new(Limits { tables: 1, entries: 2 });
    let with_buckets = |buckets: usize, actions: usize| {
        let mut change = group(ModCommand::Add, 1, vec![output(2); actions]);
        change.group_type = GroupType::All;
        change.buckets = vec![change.buckets[0].clone(); buckets];
        change
    };
    for (buckets, actions) in [(4093, 0), (1, 4094), (1, 50_000), (2000, 2)] {
        let done = pipeline.group_mod(&with_buckets(buckets, actions), 0);
        assert_eq!(
            refusal(done),
            Some(ErrorCode::GROUP_TOO_MANY_BUCKETS),
            "{buckets} {actions}"
        );
    }
    for (buckets, actions) in [(4092, 0), (1, 4093), (1000, 3)] {
        pipeline.group_mod(&with_buckets(buckets, actions), 0).unwrap();
        let deletion = group(ModCommand::Delete, 1, Vec::new());
        pipeline.group_mod(&deletion, 0).unwrap();
    }
    let band = Band {
        band_type: BandType::Drop,
        rate: 1,
        burst: 0,
    };
    let meter = |bands| MeterMod {
        command: ModCommand::Add,
        flags: 1,
        meter: 1,
        bands: vec![band; bands],
    };
    assert_eq!(
        refusal(pipeline.meter_mod(&meter(4093), 0)),
        Some(ErrorCode::METER_TOO_MANY_BANDS)
    );
    pipeline.meter_mod(&meter(4092), 0).unwrap();
    let with_actions = |count| {
        FlowMod::add(
            0,
            1,
            Match::default(),
            vec![Instruction::ApplyActions(vec![output(2); count])],
        )
    };
    for count in [4000, 4094, 100_000] {
        assert_eq!(
            refusal(pipeline.flow_mod(&with_actions(count), 0)),
            Some(ErrorCode::ACTION_TOO_MANY),
            "{count}"
        );
    }
    pipeline.flow_mod(&with_actions(3800), 0).unwrap();
}

fn group(command: ModCommand, group: u32, actions: Vec<Action>) -> GroupMod {
    let bucket = Bucket {
        weight: 0,
        watch_port: port::ANY,
        watch_group: GROUP_ANY,
        actions,
    };
    GroupMod {
        command,
        group_type: GroupType::Indirect,
        group,
        buckets: vec![bucket],
    }
}

#[test]
fn a_full_table_refuses_an_entry_and_takes_one_in_the_place_of_another() {
    let mut pipeline = Pipeline::new(Limits { tables: 1, entries: 2 });
    pipeline.flow_mod(&flow(1), 0).unwrap();
    pipeline.flow_mod(&flow(2), 0).unwrap();
    let refused = pipeline.flow_mod(&flow(3), 0).unwrap_err();
    assert_eq!(ErrorCode(refused.kind, refused.code), ErrorCode::FLOW_TABLE_FULL);
    pipeline.flow_mod(&flow(2), 0).unwrap();
    assert_eq!(pipeline.len(0), 2);
    let deletion = FlowMod {
        command: FlowCommand::DeleteStrict,
        ..flow(1)
    };
    pipeline.flow_mod(&deletion, 0).unwrap();
    pipeline.flow_mod(&flow(3), 0).unwrap();
    assert_eq!(pipeline.len(0), 2);
}

#[test]
fn a_modification_keeps_what_the_whole_has_counted() {
    const PACKETS: u16 = 2;
    let mut pipeline = Pipeline::new(Limits::default());
    let block = pipeline.counters.block();
    let meter = |command, rate| MeterMod {
        command,
        flags: PACKETS,
        meter: 5,
        bands: vec![Band {
            band_type: BandType::Drop,
            rate,
            burst: 0,
        }],
    };
    pipeline.group_mod(&group(ModCommand::Add, 1, Vec::new()), 3).unwrap();
    pipeline.meter_mod(&meter(ModCommand::Add, 10), 3).unwrap();
    let state = |pipeline: &Pipeline| {
        let (group, meter) = (&pipeline.shared().groups[&1], &pipeline.shared().meters[&5]);
        let counters = [
            group.counter,
            group.bucket_counters[0],
            meter.counter,
            meter.band_counters[0],
        ];
        assert_eq!((group.installed_at, meter.installed_at), (3, 3));
        (
            counters,
            counters.map(|counter| pipeline.counters.read(counter).packets),
        )
    };
    let (before, _) = state(&pipeline);
    for counter in before {
        block.count(counter, 60);
    }
    pipeline
        .group_mod(&group(ModCommand::Modify, 1, vec![Action::PopVlan]), 9)
        .unwrap();
    pipeline.meter_mod(&meter(ModCommand::Modify, 20), 9).unwrap();
    let (after, counts) = state(&pipeline);
    assert_eq!(counts, [1, 0, 1, 0]);
    assert_eq!((before[0], before[2]), (after[0], after[2]));
    assert_eq!(pipeline.take_retired(), [before[1], before[3]]);
}

#[test]
fn a_group_that_another_one_leads_to_stays() {
    let mut pipeline = Pipeline::new(Limits::default());
    let delete = |number| group(ModCommand::Delete, number, Vec::new());
    pipeline.group_mod(&group(ModCommand::Add, 1, Vec::new()), 0).unwrap();
    pipeline
        .group_mod(&group(ModCommand::Add, 2, vec![Action::Group(1)]), 0)
        .unwrap();
    let refused = pipeline.group_mod(&delete(1), 0).unwrap_err();
    assert_eq!(ErrorCode(refused.kind, refused.code), ErrorCode::GROUP_CHAINED);
    assert_eq!(pipeline.shared().groups.len(), 2);
    pipeline.group_mod(&delete(2), 0).unwrap();
    pipeline.group_mod(&delete(1), 0).unwrap();
    pipeline.group_mod(&group(ModCommand::Add, 1, Vec::new()), 0).unwrap();
    pipeline
        .group_mod(&group(ModCommand::Add, 2, vec![Action::Group(1)]), 0)
        .unwrap();
    pipeline.group_mod(&delete(GROUP_ALL), 0).unwrap();
    assert!(pipeline.shared().groups.is_empty());
}
