use brimful_openflow::{Action, ErrorCode, FieldMatch, FlowMod, Instruction, MATCH_FIELDS, MatchField};
use proptest::prelude::*;

use super::*;
use crate::tables::testing::{any_flow, any_group, any_meter};

fn flow(line: &str) -> FlowMod {
    match read("test", line).unwrap().changes.remove(0).value {
        Change::Flow(flow) => *flow,
        other => panic!("{line} is {other:?}"),
    }
}

fn said(flow: &FlowMod) -> Vec<(&'static str, u128, Option<u128>)> {
    let fields = flow.matching.fields.iter();
    fields
        .map(|said| (said.field.info().name, said.value, said.mask))
        .collect()
}

fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0xffff }
}

#[test]
fn shorthands_and_dependent_names_come_in_any_order() {
    let expected = [
        ("eth_type", 0x0800, None),
        ("ip_proto", 6, None),
        ("ipv4_dst", 0x0a00_0000, Some(0xff00_0000)),
        ("tcp_dst", 0x400, Some(0xfc00)),
    ];
    assert_eq!(
        said(&flow("tcp,nw_dst=10.0.0.0/8,tp_dst=0x400/0xfc00,actions=drop")),
        expected
    );
    assert_eq!(
        said(&flow(
            "tp_dst=0x400/0xfc00 nw_dst=10.0.0.0/8 nw_proto=6 dl_type=0x800 actions=drop"
        )),
        expected
    );
    let arp = flow("nw_src=192.0.2.1,arp,nw_proto=1,actions=drop");
    assert_eq!(
        said(&arp),
        [
            ("eth_type", 0x0806, None),
            ("arp_op", 1, None),
            ("arp_spa", 0xc000_0201, None)
        ]
    );
}

#[test]
fn tags_are_read_in_all_their_forms() {
    for (text, expected) in [
        ("dl_vlan=5", vec![("vlan_vid", 0x1005, None)]),
        ("dl_vlan=0xffff", vec![("vlan_vid", 0, None)]),
        ("vlan_vid=0x1000/0x1000", vec![("vlan_vid", 0x1000, Some(0x1000))]),
        (
            "vlan_tci=0x7005",
            vec![("vlan_vid", 0x1005, None), ("vlan_pcp", 3, None)],
        ),
        ("vlan_tci=0", vec![("vlan_vid", 0, None)]),
        (
            "dl_vlan=5,dl_vlan_pcp=3",
            vec![("vlan_vid", 0x1005, None), ("vlan_pcp", 3, None)],
        ),
    ] {
        assert_eq!(said(&flow(&format!("{text},actions=drop"))), expected, "{text}");
    }
}

#[test]
fn instructions_are_in_the_order_of_their_execution() {
    let read = flow("table=1,actions=meter:3,set_field:5->vlan_vid,2,write_actions(group:7),goto_table:9");
    let set = Action::SetField {
        field: MatchField::VlanVid,
        value: 0x1005,
    };
    assert_eq!(
        read.instructions,
        [
            Instruction::Meter(3),
            Instruction::ApplyActions(vec![set, output(2)]),
            Instruction::WriteActions(vec![Action::Group(7)]),
            Instruction::GotoTable(9),
        ]
    );
    assert_eq!(flow("actions=drop").instructions, []);
}

#[test]
fn old_actions_mean_what_they_do_in_openflow_13() {
    let actions = |text: &str| match flow(text).instructions.remove(0) {
        Instruction::ApplyActions(actions) => actions,
        other => panic!("{other:?}"),
    };
    let set = |field, value| Action::SetField { field, value };
    assert_eq!(
        actions("udp,actions=mod_vlan_vid:7,mod_vlan_pcp:1,mod_tp_dst:53,mod_nw_tos:0xb8,enqueue:2:4"),
        [
            Action::PushVlan(0x8100),
            set(MatchField::VlanVid, 0x1007),
            set(MatchField::VlanPcp, 1),
            set(MatchField::UdpDst, 53),
            set(MatchField::IpDscp, 46),
            Action::SetQueue(4),
            output(2),
        ]
    );
    assert_eq!(
        actions("dl_vlan=3,actions=mod_vlan_vid:7")[0],
        set(MatchField::VlanVid, 0x1007)
    );
}

#[test]
fn groups_and_meters_stand_in_the_same_file() {
    let text = "# three kinds\ngroup_id=1,type=select,bucket=weight:2,actions=output:1,bucket=watch_port:2,output:2\n\
        meter=7,kbps,burst,bands=type=drop,rate=10,burst_size=3,type=dscp_remark,rate=5,prec_level=1\n\
        \n  modify table=2,actions=meter:7,group:1\n";
    let tables = read("test", text).unwrap();
    let places: Vec<_> = tables
        .changes
        .iter()
        .map(|change| (change.place.line, change.place.column))
        .collect();
    assert_eq!(places, [(2, 1), (3, 1), (5, 3)]);
    let Change::Group(group) = &tables.changes[0].value else {
        panic!("no group")
    };
    assert_eq!(
        group.buckets.iter().map(|bucket| bucket.weight).collect::<Vec<_>>(),
        [2, 1]
    );
    assert_eq!(group.buckets[1].actions, [output(2)]);
    let Change::Meter(meter) = &tables.changes[1].value else {
        panic!("no meter")
    };
    assert_eq!((meter.flags, meter.bands.len(), meter.bands[0].burst), (5, 2, 3));
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_error() {
    for (text, expected) in [
        (
            "in_port=1,foo=2,actions=drop",
            "test:1:11: there is no match field foo (OpenFlow error 4/6)",
        ),
        (
            "\ntcp,tp_dst=70000,actions=drop",
            "test:2:12: tcp_dst is 70000, but has 16 bits (OpenFlow error 4/7)",
        ),
        (
            "tp_dst=80,actions=drop",
            "test:1:1: tp_dst needs a protocol that has it, such as tcp, udp or icmp (OpenFlow error 4/9)",
        ),
        (
            "tcp,udp,actions=drop",
            "test:1:5: the match says ip_proto twice (OpenFlow error 4/10)",
        ),
        ("nw_dst=10.0.0.0/33,ip,actions=drop", "OpenFlow error 4/8"),
        (
            "actions=resubmit(,1)",
            "test:1:9: resubmit(,1) is an extension of Open vSwitch's",
        ),
        ("actions=fly", "test:1:9: there is no action fly (OpenFlow error 2/0)"),
        (
            "actions=set_field:1->nothing",
            "test:1:22: there is no field nothing to set (OpenFlow error 2/13)",
        ),
        ("actions=output:2,drop", "drop stands alone"),
        ("in_port=1", "the flow says no actions"),
        (
            "priority=65536,actions=drop",
            "test:1:10: priority is \"65536\": use a whole number of at most 16 bits",
        ),
        ("actions=write_actions(output:2", "a parenthesis is not closed"),
        (
            "group_id=1,type=some,bucket=output:1",
            "test:1:17: there is no group type some",
        ),
        ("meter=1,kbps,band=rate=1", "a band begins with type=drop"),
    ] {
        let message = read("test", text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
    assert_eq!(
        read("test", "foo=1,actions=drop").unwrap_err().code,
        Some(ErrorCode::MATCH_FIELD)
    );
}

#[test]
fn every_field_of_openflow_is_known_by_its_name() {
    for row in &MATCH_FIELDS {
        let text = format!("{}=1,actions=drop", row.name);
        let text = match row.field {
            MatchField::EthDst | MatchField::EthSrc | MatchField::ArpSha | MatchField::ArpTha => {
                text.replace("=1", "=0:0:0:0:0:1")
            }
            MatchField::Ipv6NdSll | MatchField::Ipv6NdTll => text.replace("=1", "=0:0:0:0:0:1"),
            _ => text,
        };
        let read = flow(&text);
        assert_eq!(
            read.matching.fields,
            [FieldMatch {
                field: row.field,
                value: 1,
                mask: None
            }],
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn flows_are_read_as_they_were_written(flow in any_flow()) {
        let text = write_flow(&flow);
        prop_assert_eq!(read("test", &text).map(|tables| tables.changes[0].value.clone()), Ok(Change::Flow(Box::new(flow))), "{}", text);
    }

    #[test]
    fn groups_are_read_as_they_were_written(group in any_group()) {
        let text = write_group(&group);
        prop_assert_eq!(read("test", &text).map(|tables| tables.changes[0].value.clone()), Ok(Change::Group(group)), "{}", text);
    }

    #[test]
    fn meters_are_read_as_they_were_written(meter in any_meter()) {
        let text = write_meter(&meter);
        prop_assert_eq!(read("test", &text).map(|tables| tables.changes[0].value.clone()), Ok(Change::Meter(meter)), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z_=,:()0-9/>. \\n-]{0,60}") {
        let _ = read("test", &text);
        let _ = read("test", &format!("actions={text}"));
    }
}

#[test]
fn names_of_ports_stand_for_their_numbers() {
    let ports =
        std::collections::BTreeMap::from([("p1".to_owned(), 1), ("2".to_owned(), 12), ("eth0.7".to_owned(), 3)]);
    let names = PortNames::These(&ports);
    let known = Known {
        names,
        ..Known::default()
    };
    let read = |text: &str| read_for("test", text, &known).map(|tables| ovs_lines(&tables));
    for (text, expected) in [
        (
            "in_port=\"p1\",actions=output:eth0.7,p1",
            "in_port=1,actions=output:3,output:1",
        ),
        // Quotes distinguish a name from a number.
        ("in_port=\"2\",actions=output:2", "in_port=12,actions=output:2"),
        ("actions=enqueue:p1:4", "actions=set_queue:4,output:1"),
        ("delete out_port=p1", "delete out_port=1"),
        (
            "group_id=1,type=ff,bucket=watch_port:p1,output:eth0.7",
            "group_id=1,type=ff,bucket=watch_port=1,actions=output:3",
        ),
    ] {
        assert_eq!(read(text), Ok(expected.to_owned()), "{text}");
    }
    let error = read("actions=output:p9").unwrap_err().to_string();
    assert!(error.contains("test:1:16: there is no port p9"), "{error}");

    let is_used = std::cell::Cell::new(false);
    let any = Known {
        names: PortNames::Any(&is_used),
        ..Known::default()
    };
    assert!(read_for("test", "in_port=1,tcp,actions=output:LOCAL", &any).is_ok() && !is_used.get());
    assert!(read_for("test", "in_port=1,actions=output:p1", &any).is_ok() && is_used.get());
}

fn ovs_lines(tables: &Tables) -> String {
    write_tables(tables).trim_end().to_owned()
}

#[test]
fn deletions_are_of_all_tables_and_of_all_groups_and_meters() {
    let deletion = flow("delete in_port=1");
    assert_eq!((deletion.table, flow("delete table=0,in_port=1").table), (0xff, 0));
    for text in [
        "delete in_port=1",
        "delete table=0,in_port=1",
        "delete group_id=all,type=all",
        "delete meter=all",
    ] {
        let tables = read("test", text).unwrap();
        assert_eq!(ovs_lines(&tables), text);
    }
}

#[test]
fn files_of_bundles_say_what_a_line_is_about() {
    let tables = read(
        "test",
        "flow add actions=drop\ngroup delete group_id=1\nmeter delete meter=2\nflow in_port=1,actions=drop\n",
    );
    let kinds = tables.unwrap().changes.into_iter().map(|change| match change.value {
        Change::Flow(_) => 'f',
        Change::Group(_) => 'g',
        Change::Meter(_) => 'm',
    });
    assert_eq!(kinds.collect::<String>(), "fgmf");
}

#[test]
fn only_a_switch_with_tunnels_sets_one() {
    let text = "actions=set_tunnel:7,output:1";
    let error = read("test", text).unwrap_err().to_string();
    assert!(
        error.contains("test:1:9: set_tunnel:7: this switch has no tunnels: to mark frames for later tables, use"),
        "{error}"
    );
    let known = Known {
        has_tunnels: true,
        ..Known::default()
    };
    let tables = read_for("test", text, &known).unwrap();
    assert_eq!(ovs_lines(&tables), "actions=set_field:7->tunnel_id,output:1");
    assert!(read("test", "actions=set_field:7->tunnel_id,goto_table:1").is_ok());
}

#[test]
fn bits_that_a_mask_leaves_out_are_masked_with_a_note() {
    for (given, taken) in [
        ("ip,nw_dst=10.0.0.1/8", "eth_type=0x0800,nw_dst=10.0.0.0/8"),
        ("ipv6,ipv6_src=2001:db8::1/32", "eth_type=0x86dd,ipv6_src=2001:db8::/32"),
        (
            "arp,arp_spa=10.1.2.3/255.255.0.0",
            "eth_type=0x0806,arp_spa=10.1.0.0/16",
        ),
        (
            "dl_dst=01:00:00:00:00:05/01:00:00:00:00:00",
            "eth_dst=01:00:00:00:00:00/01:00:00:00:00:00",
        ),
        ("metadata=0xff/0x0f", "metadata=0x0f/0x0f"),
    ] {
        let tables = read("rules.flows", &format!("# first\n{given},actions=drop\n")).unwrap();
        let notes: Vec<String> = tables.notes_of("rules.flows").collect();
        assert_eq!(notes.len(), 1, "{given}: {notes:?}");
        assert!(notes[0].starts_with("rules.flows:2:1: "), "{notes:?}");
        assert!(
            notes[0].contains("has bits that its mask leaves out: taken as "),
            "{notes:?}"
        );
        let again = read("rules.flows", &format!("{taken},actions=drop\n")).unwrap();
        assert_eq!(
            (&again.changes[0].value, again.notes.len()),
            (&tables.changes[0].value, 0),
            "{given}"
        );
    }
    // No bit counts: nothing is said of the field.
    let any = read("rules.flows", "ip,nw_dst=10.0.0.1/0,actions=drop\n").unwrap();
    assert_eq!(
        any.changes[0].value,
        read("rules.flows", "ip,actions=drop\n").unwrap().changes[0].value
    );
}
