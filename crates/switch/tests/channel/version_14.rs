//! What OpenFlow 1.4 adds.

use brimful_openflow::wire::{
    AsyncConfiguration, BundleAdd, BundleControl, Data, ErrorBody, EventMask, FlowEvent, FlowMonitor, Message, Part,
    QueueSelector, Reply, Request, RequestForward, Role, TableMod, TableModProperty, Vacancy, Version,
};
use brimful_openflow::{
    Action, ErrorCode, FlowCommand, FlowMod, GROUP_ANY, GroupMod, GroupType, Instruction, Match, ModCommand, TABLE_ALL,
    flow_flag, port,
};

use crate::client::{Bench, Client, flow, no_data};

const OPEN: u16 = 0;
const CLOSE: u16 = 2;
const COMMIT: u16 = 4;
const DISCARD: u16 = 6;
const EVICTION: u32 = 4;
const VACANCY_EVENTS: u32 = 8;

fn control(kind: u16) -> Message {
    Message::BundleControl(BundleControl {
        bundle: 7,
        kind,
        flags: 3,
        properties: no_data(),
    })
}

type Controller = Client<std::net::TcpStream>;

fn add(controller: &mut Controller, message: &Message) -> u32 {
    // The next transaction of the client, which is the message's own, too.
    let transaction = controller.next_transaction();
    controller.send(&Message::BundleAdd(BundleAdd {
        bundle: 7,
        flags: 3,
        message: Data(message.encode(transaction, Version::V14)),
    }))
}

fn entries(bench: &Bench) -> usize {
    bench
        .running
        .handle
        .call(|switch| switch.pipeline.read().len(0))
        .unwrap()
}

#[test]
fn a_bundle_is_done_whole_or_not_at_all() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V14);
    controller.does(&Message::FlowMod(flow(1, 1)));
    let reply = |kind: u16| match control(kind) {
        Message::BundleControl(mut reply) => {
            reply.kind += 1;
            Message::BundleControl(reply)
        }
        other => other,
    };
    assert_eq!(controller.ask(&control(OPEN)), reply(OPEN));
    let delete = FlowMod {
        command: FlowCommand::Delete,
        ..flow(1, 1)
    };
    add(&mut controller, &Message::FlowMod(delete));
    for number in 10..20 {
        add(&mut controller, &Message::FlowMod(flow(number, 1)));
    }
    let errors = |controller: &mut Controller| -> Vec<(u32, ErrorCode)> {
        let messages = controller.until_barrier().into_iter();
        let errors = messages.map(|(transaction, message)| match message {
            Message::Error(ErrorBody { kind, code, .. }) => (transaction, ErrorCode(kind, code)),
            other => panic!("{other}"),
        });
        errors.collect()
    };
    // What no tables are needed for is refused at once, and is not in the bundle.
    let elsewhere = FlowMod {
        table: 254,
        ..flow(3, 1)
    };
    let refused = add(&mut controller, &Message::FlowMod(elsewhere));
    assert_eq!(errors(&mut controller), [(refused, ErrorCode::FLOW_TABLE)]);
    let wrong = FlowMod {
        instructions: vec![Instruction::ApplyActions(vec![Action::Group(99)])],
        ..flow(3, 1)
    };
    let failing = add(&mut controller, &Message::FlowMod(wrong));
    assert_eq!(controller.ask(&control(CLOSE)), reply(CLOSE));
    assert_eq!(entries(&bench), 1);
    let commit = controller.send(&control(COMMIT));
    let told = errors(&mut controller);
    assert_eq!(
        told,
        [
            (failing, ErrorCode::ACTION_OUT_GROUP),
            (commit, ErrorCode::BUNDLE_MESSAGE_FAILED)
        ]
    );
    assert_eq!(entries(&bench), 1);
    assert_eq!(controller.refused(&control(COMMIT)), ErrorCode::BUNDLE_BAD_ID);

    // A message begins a bundle, too.
    for number in 10..20 {
        add(&mut controller, &Message::FlowMod(flow(number, 1)));
    }
    assert_eq!(controller.ask(&control(COMMIT)), reply(COMMIT));
    assert_eq!(entries(&bench), 11);
    controller.ask(&control(OPEN));
    add(&mut controller, &Message::FlowMod(flow(50, 1)));
    assert_eq!(controller.ask(&control(DISCARD)), reply(DISCARD));
    assert_eq!(
        (entries(&bench), controller.refused(&control(9))),
        (11, ErrorCode::BUNDLE_TYPE)
    );
    bench.end();
}

#[test]
fn a_full_table_makes_room_and_says_how_full_it_is() {
    let bench = Bench::listening(10);
    let mut controller = bench.controller(Version::V14);
    let masks = vec![EventMask { event: 9, mask: 0x18 }];
    controller.does(&Message::SetAsync(AsyncConfiguration { masks }));
    for number in 0..10 {
        let flags = flow_flag::SEND_FLOW_REMOVED;
        controller.does(&Message::FlowMod(FlowMod {
            flags,
            importance: 2,
            ..flow(number, 1)
        }));
    }
    let more = Message::FlowMod(FlowMod {
        importance: 3,
        ..flow(100, 1)
    });
    assert_eq!(controller.refused(&more), ErrorCode::FLOW_TABLE_FULL);
    let thresholds = |down, up| TableModProperty::Vacancy(3, Vacancy { down, up, vacancy: 0 });
    let table_mod = |property| {
        Message::TableMod(TableMod {
            table: 0,
            config: EVICTION | VACANCY_EVENTS,
            properties: vec![property],
        })
    };
    assert_eq!(
        controller.refused(&table_mod(thresholds(50, 40))),
        ErrorCode::PROPERTY_VALUE
    );
    controller.does(&table_mod(thresholds(20, 40)));
    let Reply::TableDescription(tables) = controller.multipart(Request::TableDescription) else {
        panic!("no description");
    };
    assert_eq!(tables.len(), 254);
    assert_eq!((tables[0].0.config, tables[1].0.config), (EVICTION | VACANCY_EVENTS, 0));
    let vacancy = TableModProperty::Vacancy(
        3,
        Vacancy {
            down: 20,
            up: 40,
            vacancy: 0,
        },
    );
    assert!(tables[0].0.properties.contains(&vacancy));
    controller.send(&more);
    let told = controller.until_barrier();
    assert!(
        matches!(&told[..], [(_, Message::FlowRemoved(removed))] if removed.reason == 5),
        "{told:?}"
    );
    let delete = FlowMod {
        command: FlowCommand::Delete,
        ..FlowMod::add(0, 0, Match::default(), Vec::new())
    };
    controller.send(&Message::FlowMod(delete));
    let told = controller.until_barrier();
    assert!(
        told.iter()
            .any(|(_, message)| matches!(message, Message::TableStatus(status) if status.reason == 4))
    );
    bench.end();
}

#[test]
fn controllers_hear_of_roles_and_of_each_other() {
    let bench = Bench::listening(100);
    let (mut first, mut second) = (bench.controller(Version::V14), bench.controller(Version::V14));
    // OF 1.4.1 section 7.3.10: nothing of these is sent unless asked for.
    let Message::GetAsyncReply(configuration) = first.ask(&Message::GetAsyncRequest) else {
        panic!("no configuration");
    };
    let masks: Vec<u32> = configuration.masks.iter().map(|one| one.mask).collect();
    assert_eq!(masks, [0, 0x3b, 0x7, 0x7, 0, 0x3f, 0, 0, 0, 0, 0, 0]);
    // What it says may be said to it.
    first.does(&Message::SetAsync(configuration));
    let masks = [(6, 1), (10, 1), (11, 3)].map(|(event, mask)| EventMask { event, mask });
    let masks = masks.to_vec();
    first.does(&Message::SetAsync(AsyncConfiguration { masks }));
    let wrong = vec![EventMask { event: 1, mask: 0x100 }];
    assert_eq!(
        first.refused(&Message::SetAsync(AsyncConfiguration { masks: wrong })),
        ErrorCode::ASYNC_INVALID
    );
    let Message::GetAsyncReply(configuration) = first.ask(&Message::GetAsyncRequest) else {
        panic!("no configuration");
    };
    assert_eq!((configuration.masks.len(), configuration.masks[11].mask), (12, 3));
    first.ask(&Message::RoleRequest(Role { role: 2, generation: 1 }));
    second.ask(&Message::RoleRequest(Role { role: 2, generation: 2 }));
    let (_, Message::RoleStatus(status)) = first.message() else {
        panic!("no role status");
    };
    assert_eq!((status.role, status.reason, status.generation), (3, 0, 2));
    let group = Message::GroupMod(GroupMod {
        command: ModCommand::Add,
        group_type: GroupType::All,
        group: 9,
        buckets: Vec::new(),
    });
    let transaction = second.send(&group);
    assert_eq!(second.until_barrier(), []);
    let request = Data(group.encode(transaction, Version::V14));
    assert_eq!(first.message().1, Message::RequestForward(RequestForward { request }));
    assert_eq!(second.refused(&group), ErrorCode::GROUP_EXISTS);
    assert_eq!(first.until_barrier(), []);
    bench.end();
}

#[test]
fn a_monitor_tells_of_changes_before_the_barrier() {
    let bench = Bench::listening(100);
    let (mut watching, mut other) = (bench.controller(Version::V14), bench.controller(Version::V14));
    other.does(&Message::FlowMod(flow(1, 1)));
    let monitor = |command, flags| {
        Message::MultipartRequest(Part {
            flags: 0,
            content: Request::FlowMonitor(vec![FlowMonitor {
                monitor: 3,
                out_port: port::ANY,
                out_group: GROUP_ANY,
                flags,
                table: TABLE_ALL,
                command,
                matching: Match::default(),
            }]),
        })
    };
    let events = |message: Message| match message {
        Message::MultipartReply(Part {
            content: Reply::FlowMonitor(events),
            ..
        }) => events,
        other => panic!("{other}"),
    };
    let there = events(watching.ask(&monitor(0, 0x1f)));
    assert!(
        matches!(&there[..], [FlowEvent::Full(0, update)] if update.priority == 1),
        "{there:?}"
    );
    assert_eq!(watching.refused(&monitor(0, 0x1f)), ErrorCode::MONITOR_EXISTS);
    other.does(&Message::FlowMod(flow(2, 9)));
    let (transaction, message) = watching.message();
    assert_eq!(transaction, 0);
    let told = events(message);
    assert!(
        matches!(&told[..], [FlowEvent::Full(1, update)] if update.priority == 9),
        "{told:?}"
    );
    let own = watching.send(&Message::FlowMod(flow(3, 1)));
    let mut told = watching.until_barrier();
    assert_eq!(told.len(), 1);
    assert_eq!(events(told.remove(0).1), [FlowEvent::Abbreviated(own)]);
    watching.ask(&monitor(2, 0));
    other.does(&Message::FlowMod(flow(4, 1)));
    assert_eq!(watching.until_barrier(), []);
    bench.end();
}

#[test]
fn what_a_switch_without_ports_has_not_is_refused() {
    let bench = Bench::listening(100);
    let mut controller = bench.controller(Version::V14);
    let request = |port, queue| {
        Message::MultipartRequest(Part {
            flags: 0,
            content: Request::QueueDescription(QueueSelector { port, queue }),
        })
    };
    assert_eq!(controller.refused(&request(1, 0xffff_ffff)), ErrorCode::QUEUE_PORT);
    assert_eq!(controller.refused(&request(port::ANY, 5)), ErrorCode::QUEUE_UNKNOWN);
    let old = TableMod {
        table: 0,
        config: 1,
        properties: Vec::new(),
    };
    assert_eq!(controller.refused(&Message::TableMod(old)), ErrorCode::TABLE_CONFIG);
    bench.end();
}
