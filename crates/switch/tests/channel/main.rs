//! The channel as controllers meet it, over real sockets: what 1.4 adds, and what must not harm others.
#![allow(clippy::unwrap_used, reason = "tests")]

mod client;
mod secured;
mod version_14;

use std::io::{Read, Write};
use std::net::TcpListener;

use brimful_openflow::wire::{
    Data, ErrorBody, FlowFilter, Hello, Message, PacketOut, Part, Request, Role, Selector, Version,
};
use brimful_openflow::{
    Action, Band, BandType, Bucket, ErrorCode, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, Instruction,
    MAX_LEN_NO_BUFFER, Match, MeterMod, ModCommand, NO_BUFFER, port,
};
use brimful_switch::channel::{Endpoint, Peers};
use client::{Bench, Client, connected, flow};

/// A frame to all controllers, and the bytes of it that they want.
fn to_controllers(max_len: u16, buffer: u32, data: Vec<u8>) -> Message {
    Message::PacketOut(PacketOut {
        buffer,
        in_port: port::CONTROLLER,
        actions: vec![Action::Output {
            port: port::CONTROLLER,
            max_len,
        }],
        data,
    })
}

/// A request for all entries.
fn flows() -> Request {
    Request::Flow(FlowFilter {
        table: 255,
        out_port: port::ANY,
        out_group: GROUP_ANY,
        cookie: 0,
        cookie_mask: 0,
        matching: Match::default(),
    })
}

#[test]
fn a_packet_waits_for_its_controller_and_is_given_out_once() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    let frame: Vec<u8> = (0..200).collect();
    controller.send(&to_controllers(20, NO_BUFFER, frame.clone()));
    let (_, Message::PacketIn(packet)) = controller.message() else {
        panic!("no packet-in");
    };
    assert_eq!((packet.total_len, &packet.data.0[..]), (200, &frame[..20]));
    controller.send(&to_controllers(0xffff, packet.buffer, Vec::new()));
    let (_, Message::PacketIn(whole)) = controller.message() else {
        panic!("no packet-in");
    };
    assert_eq!((whole.buffer, &whole.data.0), (NO_BUFFER, &frame));
    let again = to_controllers(0xffff, packet.buffer, Vec::new());
    assert_eq!(controller.refused(&again), ErrorCode::BUFFER_EMPTY);
    let other = to_controllers(0xffff, packet.buffer + 9, Vec::new());
    assert_eq!(controller.refused(&other), ErrorCode::BUFFER_UNKNOWN);
    bench.end();
}

#[test]
fn an_entry_for_a_buffer_that_is_gone_is_there_and_the_error_too() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    let change = brimful_openflow::FlowMod {
        buffer: 7,
        ..flow(1, 1)
    };
    assert_eq!(controller.refused(&Message::FlowMod(change)), ErrorCode::BUFFER_UNKNOWN);
    let entries = bench
        .running
        .handle
        .call(|switch| switch.pipeline.read().len(0))
        .unwrap();
    assert_eq!(entries, 1);
    bench.end();
}

#[test]
fn errors_come_in_order_and_before_the_barrier() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    let wrong = |table| brimful_openflow::FlowMod { table, ..flow(1, 1) };
    let mut sent = Vec::new();
    for number in 0..50 {
        sent.push(controller.send(&Message::FlowMod(wrong(254))));
        controller.send(&Message::FlowMod(flow(number, 2)));
    }
    let errors: Vec<u32> = controller
        .until_barrier()
        .into_iter()
        .map(|(transaction, _)| transaction)
        .collect();
    assert_eq!(errors, sent);
    bench.end();
}

#[test]
fn echoes_come_back_with_their_data() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    let transaction = controller.send(&Message::EchoRequest(Data(vec![1, 2])));
    let reply = (transaction, Message::EchoReply(Data(vec![1, 2])));
    assert_eq!(controller.message(), reply);
    bench.end();
}

#[test]
fn what_is_no_message_gets_an_error_with_its_bytes_and_the_connection_stays() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    let mut bytes = vec![4, 99, 0, 100, 0, 0, 0, 3];
    bytes.resize(100, 7);
    controller.stream.write_all(&bytes).unwrap();
    let data = Data(bytes[..64].to_vec());
    let error = (3, Message::Error(ErrorBody { kind: 1, code: 1, data }));
    assert_eq!(controller.message(), error);
    assert_eq!(controller.until_barrier(), []);
    bench.end();
}

#[test]
fn a_controller_that_takes_nothing_holds_nobody_up() {
    let bench = Bench::listening(1 << 16);
    let (mut slow, mut other) = (bench.controller(Version::V13), bench.controller(Version::V13));
    for number in 0..20_000 {
        other.send(&Message::FlowMod(flow(number, 1)));
    }
    assert_eq!(other.until_barrier(), []);
    let all = flows();
    // Replies of tens of megabytes: the switch stops to read long before the last request.
    for _ in 0..40 {
        let request = Message::MultipartRequest(Part {
            flags: 0,
            content: all.clone(),
        });
        slow.send(&request);
    }
    for number in 0..2000 {
        other.send(&to_controllers(0xffff, NO_BUFFER, vec![0; 100]));
        other.send(&Message::FlowMod(flow(number, 2)));
    }
    // Packets have a thread of their own: some may come after the barrier.
    let before = other.until_barrier().len();
    for _ in before..2000 {
        assert!(matches!(other.message().1, Message::PacketIn(_)));
    }
    bench.end();
}

#[test]
fn a_hundred_controllers_are_served_beside_garbage_and_silence() {
    let bench = Bench::listening(1000);
    let silent: Vec<_> = (0..20).map(|_| connected(bench.address())).collect();
    let mut wild = connected(bench.address());
    // It may have been closed before all of it has gone.
    let _ = wild.write_all(&[0xa5; 3000]);
    let mut greeted = connected(bench.address());
    greeted
        .write_all(&Message::Hello(Hello::offering(&[Version::V13])).encode(1, Version::V13))
        .unwrap();
    let _ = greeted.write_all(&[4, 14, 0, 2, 0, 0, 0, 0, 9, 9, 9]);
    let mut controllers: Vec<_> = (0..100)
        .map(|index| bench.controller(if index % 2 == 0 { Version::V13 } else { Version::V14 }))
        .collect();
    for (number, controller) in (0..).zip(&mut controllers) {
        controller.send(&Message::FlowMod(flow(number, 1)));
    }
    for controller in &mut controllers {
        assert_eq!(controller.until_barrier(), []);
    }
    let entries = bench
        .running
        .handle
        .call(|switch| switch.pipeline.read().len(0))
        .unwrap();
    assert_eq!(entries, 100);
    for mut closed in [wild, greeted] {
        let mut rest = Vec::new();
        // A reset ends it as well.
        let _ = closed.read_to_end(&mut rest);
        assert!(!rest.is_empty());
    }
    drop(silent);
    bench.end();
}

#[test]
fn connections_beside_the_main_one_share_its_role() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let bench = Bench::new(
        100,
        Peers {
            endpoints: vec![Endpoint::read(&endpoint).unwrap()],
            auxiliary: 1,
            ..Peers::default()
        },
    );
    let mut main = Client::greeting(listener.accept().unwrap().0, Version::V13);
    let mut beside = Client::greeting(listener.accept().unwrap().0, Version::V13);
    let number = |client: &mut Client<std::net::TcpStream>| match client.ask(&Message::FeaturesRequest) {
        Message::FeaturesReply(features) => features.auxiliary,
        other => panic!("{other}"),
    };
    assert_eq!((number(&mut main), number(&mut beside)), (0, 1));
    let slave = Role { role: 3, generation: 1 };
    assert_eq!(
        beside.ask(&Message::RoleRequest(slave.clone())),
        Message::RoleReply(slave)
    );
    assert_eq!(main.refused(&Message::FlowMod(flow(1, 1))), ErrorCode::IS_SLAVE);
    // It ends with the main one, and a new pair comes.
    drop(main);
    assert!(std::iter::from_fn(|| beside.try_message()).last().is_none());
    drop(beside);
    let mut again = Client::greeting(listener.accept().unwrap().0, Version::V13);
    assert_eq!(number(&mut again), 0);
    bench.end();
}

/// Whatever is taken can be described; whatever cannot be is refused, and nothing is harmed.
#[test]
fn descriptions_longer_than_a_message_are_refused() {
    let bench = Bench::listening(100);
    for version in Version::ALL {
        let mut controller = bench.controller(version);
        let output = Action::Output { port: 2, max_len: 0 };
        let with_actions = |count| {
            let apply = Instruction::ApplyActions(vec![output.clone(); count]);
            Message::FlowMod(FlowMod::add(0, 1, Match::default(), vec![apply]))
        };
        let with_buckets = |command, buckets, actions| {
            let bucket = Bucket {
                weight: 0,
                watch_port: port::ANY,
                watch_group: GROUP_ANY,
                actions: vec![Action::PopVlan; actions],
            };
            Message::GroupMod(GroupMod {
                command,
                group_type: GroupType::All,
                group: 1,
                buckets: vec![bucket; buckets],
            })
        };
        let band = Band {
            band_type: BandType::Drop,
            rate: 1,
            burst: 0,
        };
        let with_bands = |bands| {
            Message::MeterMod(MeterMod {
                command: ModCommand::Add,
                flags: 1,
                meter: 1,
                bands: vec![band; bands],
            })
        };
        assert_eq!(controller.refused(&with_actions(4090)), ErrorCode::ACTION_TOO_MANY);
        let buckets = ErrorCode::GROUP_TOO_MANY_BUCKETS;
        assert_eq!(controller.refused(&with_buckets(ModCommand::Add, 4094, 0)), buckets);
        assert_eq!(controller.refused(&with_buckets(ModCommand::Add, 1, 8187)), buckets);
        assert_eq!(controller.refused(&with_buckets(ModCommand::Delete, 4094, 0)), buckets);
        assert_eq!(controller.refused(&with_bands(4094)), ErrorCode::METER_TOO_MANY_BANDS);
        controller.does(&with_actions(3800));
        controller.does(&with_buckets(ModCommand::Add, 4092, 0));
        controller.does(&with_bands(4092));
        let all = Selector { number: u32::MAX };
        let groups = Selector { number: GROUP_ALL };
        for request in [
            flows(),
            Request::Group(groups),
            Request::GroupDescription,
            Request::Meter(all.clone()),
            Request::MeterConfiguration(all),
            Request::Table,
        ] {
            let transaction = controller.send(&Message::MultipartRequest(Part {
                flags: 0,
                content: request,
            }));
            let answers = controller.until_barrier();
            let is_part =
                |(its, answer): &(u32, Message)| *its == transaction && matches!(answer, Message::MultipartReply(_));
            assert!(!answers.is_empty() && answers.iter().all(is_part));
        }
        controller.does(&with_buckets(ModCommand::Delete, 0, 0));
        let deletion = MeterMod {
            command: ModCommand::Delete,
            flags: 0,
            meter: 1,
            bands: Vec::new(),
        };
        controller.does(&Message::MeterMod(deletion));
    }
    bench.end();
}

#[test]
fn a_packet_longer_than_a_message_is_cut() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V13);
    // The longest packet-out that there is.
    let frame = vec![7; 65_535 - 24 - 16];
    controller.send(&to_controllers(MAX_LEN_NO_BUFFER, NO_BUFFER, frame.clone()));
    let (_, Message::PacketIn(packet)) = controller.message() else {
        panic!("no packet-in");
    };
    assert_eq!(usize::from(packet.total_len), frame.len());
    assert!(packet.data.0.len() > 65_000 && packet.data.0.len() < frame.len());
    // Others come after it.
    controller.send(&to_controllers(MAX_LEN_NO_BUFFER, NO_BUFFER, vec![7; 100]));
    assert!(matches!(controller.message().1, Message::PacketIn(_)));
    bench.end();
}
