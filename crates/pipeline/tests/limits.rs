//! What happens when something is full, or still in use.
#![allow(clippy::unwrap_used, reason = "a test")]

use brimful_openflow::{
    Action, Bucket, ErrorCode, FieldMatch, FlowCommand, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, Match,
    MatchField, ModCommand, port,
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
