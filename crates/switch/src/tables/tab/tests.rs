use brimful_openflow::{Action, FlowMod, Instruction};
use proptest::prelude::*;

use super::*;
use crate::tables::testing::any_flow;

fn flows(text: &str) -> Vec<FlowMod> {
    let changes = read("test.tab", text, 0).unwrap().changes.into_iter();
    let to_flow = |change: Placed<Change>| match change.value {
        Change::Flow(flow) => *flow,
        other => panic!("{other:?}"),
    };
    changes.map(to_flow).collect()
}

fn said(flow: &FlowMod) -> Vec<(&'static str, u128, Option<u128>)> {
    let fields = flow.matching.fields.iter();
    fields
        .map(|said| (said.field.info().name, said.value, said.mask))
        .collect()
}

#[test]
fn entries_of_the_first_generation_are_read_in_their_order() {
    let text = "% forward\n{flow,[{in_port,1},{vlan_vid,2375,nomask},{eth_dst,16#aabbcc,16#ffffff}],\n\
        {instr,{meter,2},{apply,[{output,3}]},{write,[{output,2},{group,9},{queue,1}]},{metadata,16#ff,16#0f},{goto,4}}}.\n\
        {flow,[],{instr,undefined,undefined,{clear,[{output,controller}]},undefined,undefined}}.\n";
    let flows = flows(text);
    assert_eq!(
        said(&flows[0]),
        [
            ("in_port", 1, None),
            ("eth_dst", 0x00aa_bbcc, Some(0x00ff_ffff)),
            ("vlan_vid", 0x1947, None)
        ]
    );
    assert_eq!(
        flows.iter().map(|flow| flow.priority).collect::<Vec<_>>(),
        [0xffff, 0xfffe]
    );
    let output = |port| Action::Output { port, max_len: 0xffff };
    assert_eq!(
        flows[0].instructions,
        [
            Instruction::Meter(2),
            Instruction::ApplyActions(vec![output(3)]),
            Instruction::WriteActions(vec![output(2), Action::Group(9), Action::SetQueue(1)]),
            Instruction::WriteMetadata {
                value: 0x0f,
                mask: 0x0f
            },
            Instruction::GotoTable(4),
        ]
    );
    assert_eq!(flows[1].instructions[0], Instruction::ClearActions);
}

#[test]
fn fields_imply_the_headers_that_have_them() {
    let matches = |fields: &str| {
        let text = format!("{{flow,[{fields}],{{instr,undefined,undefined,undefined,undefined,undefined}}}}.");
        flows(&text).iter().map(said).collect::<Vec<_>>()
    };
    assert_eq!(
        matches("{ip_dscp,47}"),
        [
            [("eth_type", 0x0800, None), ("ip_dscp", 47, None)],
            [("eth_type", 0x86dd, None), ("ip_dscp", 47, None)],
        ]
    );
    assert_eq!(
        matches("{tcp_dst,80},{ipv4_src,1,nomask}"),
        [[
            ("eth_type", 0x0800, None),
            ("ip_proto", 6, None),
            ("ipv4_src", 1, None),
            ("tcp_dst", 80, None)
        ]]
    );
    assert_eq!(matches("{vlan_vid,16#0000,nomask}"), [[("vlan_vid", 0, None)]]);
    assert_eq!(
        matches("{vlan_vid,16#1000,16#1000}"),
        [[("vlan_vid", 0x1000, Some(0x1000))]]
    );
    assert_eq!(
        matches("{vlan_pcp,3}"),
        [[("vlan_vid", 0x1000, Some(0x1000)), ("vlan_pcp", 3, None)]]
    );
    let nothing: Vec<Vec<(&str, u128, Option<u128>)>> = Vec::new();
    assert_eq!(matches("{eth_type,16#0806},{ipv4_src,1,nomask}"), nothing);
    assert_eq!(matches("{ip_proto,6},{udp_dst,1}"), nothing);
    assert_eq!(matches("{in_port,1},{in_port,2}"), nothing);
}

#[test]
fn an_entry_that_repeats_a_match_is_never_reached() {
    let entry = |port| {
        format!(
            "{{flow,[{{in_port,1}}],{{instr,undefined,undefined,{{write,[{{output,{port}}}]}},undefined,undefined}}}}.\n"
        )
    };
    let flows = flows(&(entry(2) + &entry(3)));
    assert_eq!(flows.len(), 1);
    assert!(
        matches!(&flows[0].instructions[..], [Instruction::WriteActions(list)] if matches!(list[0], Action::Output { port: 2, .. }))
    );
}

#[test]
fn records_of_the_second_generation_are_read() {
    let text = "{flow_entry,3,7,{ofp_match,[{ofp_field,openflow_basic,ip_dscp,false,<<29:6>>,undefined},\n\
        {ofp_field,openflow_basic,eth_type,false,<<8,0>>,undefined},\n\
        {ofp_field,openflow_basic,ipv4_dst,true,<<10,0,0,0>>,<<255,0,0,0>>}]},<<0,0,0,0,0,0,1,2>>,[send_flow_rem],\n\
        {1392,1,2},{infinity,0,0},{infinity,0,0},[{ofp_instruction_apply_actions,2,[\n\
        {ofp_action_set_field,13,{ofp_field,openflow_basic,eth_src,false,<<2,0,0,0,0,1>>,undefined}}]},\n\
        {ofp_instruction_write_actions,4,[{ofp_action_output,16,2,no_buffer}]}]}.";
    let flow = flows(text).remove(0);
    assert_eq!((flow.priority, flow.cookie, flow.flags), (7, 0x102, 1));
    assert_eq!(
        said(&flow),
        [
            ("eth_type", 0x0800, None),
            ("ip_dscp", 29, None),
            ("ipv4_dst", 0x0a00_0000, Some(0xff00_0000))
        ]
    );
    assert_eq!(flow.instructions.len(), 2);
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_error() {
    let entry = |fields: &str, slot: &str| {
        format!("% x\n{{flow,[{fields}],{{instr,undefined,undefined,{slot},undefined,undefined}}}}.")
    };
    for (text, expected) in [
        (
            entry("{foo,1}", "undefined"),
            "test.tab:2:8: there is no match field foo (OpenFlow error 4/6)",
        ),
        (
            entry("{ip_dscp,64}", "undefined"),
            "test.tab:2:17: ip_dscp is 64: use a whole number of at most 6 bits (OpenFlow error 4/7)",
        ),
        (
            entry("", "{write,[{tag,1}]}"),
            "there is no action {tag,1} (OpenFlow error 2/0)",
        ),
        (
            entry("", "{goto,1}"),
            "{goto,1} is no instruction of this place (OpenFlow error 3/0)",
        ),
        ("{flow,[]}.".to_owned(), "a flow is {flow,Matches,{instr,...}}"),
        ("{flow,[],x}".to_owned(), "test.tab:1:12: expected \".\", found the end"),
        ("{flow,[".to_owned(), "expected a term"),
        ("[".repeat(100), "nested deeper"),
        ("16#zz.".to_owned(), "not a number"),
        ("<<1:200>>.".to_owned(), "more than 128 bits"),
        ("hello.".to_owned(), "expected {flow,Matches"),
    ] {
        let message = read("test.tab", &text, 0).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

proptest! {
    #[test]
    fn records_are_read_as_they_were_written(flow in any_flow()) {
        // They have no place for the table and the importance.
        let flow = FlowMod { table: 0, importance: 0, ..flow };
        let text = write_record(0, &flow);
        prop_assert_eq!(flows(&text), [flow], "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z{}\\[\\]<>,.#:%' 0-9]{0,60}") {
        let _ = read("test.tab", &text, 0);
    }
}
