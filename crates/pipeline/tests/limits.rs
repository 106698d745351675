//! What happens when something is full, or still in use.
#![allow(clippy::unwrap_used, reason = "a test")]

use brimful_openflow::{
    Action, Band, BandType, Bucket, ErrorCode, FieldMatch, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod,
    GroupType, Match, MatchField, MeterMod, ModCommand, port,
};
use brimful_pipeline::{Limits, Pipeline};

fn flow(in_port: u128) -> FlowMod {
    let fields = vec![FieldMatch {
        field: MatchField::InPort,
        value: in_port,
        mask: None,
    }];
    FlowMod::add(0, 1, Match { fields }, Vec::new())
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
