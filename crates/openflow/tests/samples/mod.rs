//! A message of every kind, with every structure in it.

use brimful_openflow::wire::*;
use brimful_openflow::{
    Action, Band, BandType, Bucket, FieldMatch, FlowCommand, FlowMod, GroupMod, GroupType, Instruction, MATCH_FIELDS,
    Match, MatchField, MeterMod, ModCommand, port,
};

fn everything_matched(version: Version) -> Match {
    let rows = MATCH_FIELDS
        .iter()
        .filter(|row| version > Version::V13 || row.field != MatchField::PbbUca);
    let fields = rows.map(|row| FieldMatch {
        field: row.field,
        value: row.field.largest() / 3,
        mask: row.maskable.then(|| row.field.largest()),
    });
    Match {
        fields: fields.collect(),
    }
}

fn actions() -> Vec<Action> {
    let (field, value) = (MatchField::Ipv6Flabel, 0x000f_eeee);
    vec![
        Action::Output {
            port: port::CONTROLLER,
            max_len: 128,
        },
        Action::CopyTtlOut,
        Action::CopyTtlIn,
        Action::SetMplsTtl(3),
        Action::DecMplsTtl,
        Action::PushVlan(0x88a8),
        Action::PopVlan,
        Action::PushMpls(0x8847),
        Action::PopMpls(0x0800),
        Action::SetQueue(7),
        Action::Group(9),
        Action::SetNwTtl(64),
        Action::DecNwTtl,
        Action::SetField { field, value },
        Action::SetField {
            field: MatchField::EthDst,
            value: 0x0102_0304_0506,
        },
        Action::PushPbb(0x88e7),
        Action::PopPbb,
    ]
}

fn instructions() -> Vec<Instruction> {
    vec![
        Instruction::Meter(1),
        Instruction::ApplyActions(actions()),
        Instruction::ClearActions,
        Instruction::WriteActions(vec![Action::Output { port: 2, max_len: 0 }]),
        Instruction::WriteMetadata {
            value: 1,
            mask: u64::MAX,
        },
        Instruction::GotoTable(1),
    ]
}

fn flow_mod(version: Version) -> FlowMod {
    let mut change = FlowMod::add(1, 100, everything_matched(version), instructions());
    change.command = FlowCommand::ModifyStrict;
    change.cookie = 0x1234;
    change.importance = if version > Version::V13 { 5 } else { 0 };
    change
}

fn buckets() -> Vec<Bucket> {
    let one = |watch_port| Bucket {
        weight: 1,
        watch_port,
        watch_group: 4,
        actions: actions(),
    };
    vec![one(1), one(port::ANY)]
}

fn bands() -> Vec<Band> {
    let band = |band_type| Band {
        band_type,
        rate: 1000,
        burst: 10,
    };
    vec![band(BandType::Drop), band(BandType::DscpRemark(1))]
}

fn features() -> EthernetFeatures {
    EthernetFeatures {
        current: 1,
        advertised: 2,
        supported: 3,
        peer: 4,
        current_speed: 5,
        maximum_speed: 6,
    }
}

fn a_port(version: Version) -> Port {
    let mut properties = vec![PortProperty::Ethernet(0, EthernetDescription { features: features() })];
    if version > Version::V13 {
        let (transmitter, power_minimum, power_maximum) = ([1, 2, 3, 4], 7, 8);
        let (supported, receiver_maximum, receiver_grid) = (1, 5, 6);
        properties.push(PortProperty::Optical(
            1,
            OpticalDescription {
                supported,
                transmitter,
                receiver_maximum,
                receiver_grid,
                power_minimum,
                power_maximum,
            },
        ));
        properties.push(PortProperty::Other(0xffff, Data(vec![1; 12])));
    }
    let address = EthernetAddress([2, 0, 0, 0, 0, 1]);
    Port {
        number: 1,
        address,
        name: Name::new("veth1"),
        config: 0,
        state: port_state::LIVE,
        properties,
    }
}

const AGE: Age = Age {
    seconds: 10,
    nanoseconds: 20,
};

fn counts() -> Counts {
    Counts { packets: 1, bytes: 60 }
}

fn table_features() -> TableFeatures {
    let kind = |number| Kind { number, length: 4 };
    let properties = vec![
        TableProperty::Instructions(0, vec![kind(1), kind(4), kind(6)]),
        TableProperty::NextTables(2, vec![1, 2, 3]),
        TableProperty::Actions(5, ACTION_NUMBERS.iter().map(|number| kind(*number)).collect()),
        TableProperty::Fields(
            8,
            MATCH_FIELDS.iter().map(|row| row.field.header(row.maskable)).collect(),
        ),
        TableProperty::Other(0xfffe, Data(vec![0; 8])),
    ];
    let (metadata_match, metadata_write, maximum_entries) = (u64::MAX, u64::MAX, 1 << 20);
    TableFeatures {
        table: 0,
        name: Name::new("first"),
        metadata_match,
        metadata_write,
        config: 0,
        maximum_entries,
        properties,
    }
}

fn requests(version: Version) -> Vec<Request> {
    let filter = || FlowFilter {
        table: 0xff,
        out_port: port::ANY,
        out_group: 0xffff_ffff,
        cookie: 1,
        cookie_mask: 2,
        matching: everything_matched(version),
    };
    let selector = || Selector { number: 3 };
    let queue = || QueueSelector { port: 1, queue: 2 };
    let mut all = vec![
        Request::Description,
        Request::Flow(filter()),
        Request::Aggregate(filter()),
        Request::Table,
        Request::Port(selector()),
        Request::Queue(queue()),
        Request::Group(selector()),
        Request::GroupDescription,
        Request::GroupFeatures,
        Request::Meter(selector()),
        Request::MeterConfiguration(selector()),
        Request::MeterFeatures,
        Request::TableFeatures(vec![WithLength(table_features()), WithLength(table_features())]),
        Request::PortDescription,
        Request::Experimenter(Experimenter {
            experimenter: 1,
            kind: 2,
            data: Data(vec![3]),
        }),
    ];
    if version > Version::V13 {
        let (monitor, out_port, out_group, flags) = (1, port::ANY, 0xffff_ffff, 1);
        let matching = everything_matched(version);
        let monitor = FlowMonitor {
            monitor,
            out_port,
            out_group,
            flags,
            table: 0,
            command: 0,
            matching,
        };
        all.extend([
            Request::TableDescription,
            Request::QueueDescription(queue()),
            Request::FlowMonitor(vec![monitor.clone(), monitor]),
        ]);
    }
    all
}

fn flow_statistics(version: Version) -> FlowStatistics {
    FlowStatistics {
        table: 1,
        age: AGE,
        priority: 2,
        idle_timeout_s: 3,
        hard_timeout_s: 4,
        flags: 5,
        importance: Importance(if version > Version::V13 { 6 } else { 0 }),
        cookie: 7,
        packets: 8,
        bytes: 9,
        matching: everything_matched(version),
        instructions: instructions(),
    }
}

fn description() -> Description {
    Description {
        manufacturer: Name::new("brimful"),
        hardware: Name::new("\u{fc}"),
        software: Name::new("1"),
        serial_number: Name([0xff; 32]),
        data_path: Name::new("first"),
    }
}

fn port_statistics() -> PortStatistics {
    let counts = PortCounts {
        received_packets: 1,
        sent_packets: 2,
        received_bytes: 3,
        sent_bytes: 4,
        receive_drops: 5,
        send_drops: 6,
        receive_errors: 7,
        send_errors: 8,
    };
    let ethernet = Some(EthernetCounts {
        frame_errors: 1,
        overruns: 2,
        checksum_errors: 3,
        collisions: 4,
    });
    PortStatistics {
        port: 1,
        counts,
        ethernet,
        age: AGE,
    }
}

fn group_statistics() -> GroupStatistics {
    let buckets = vec![counts(), counts()];
    GroupStatistics {
        group: 1,
        references: 2,
        packets: 3,
        bytes: 4,
        age: AGE,
        buckets,
    }
}

fn meter_statistics() -> MeterStatistics {
    let counts = MeterCounts {
        flows: 1,
        packets: 2,
        bytes: 3,
        age: AGE,
        bands: vec![counts()],
    };
    MeterStatistics {
        meter: 1,
        counts: WithLength(counts),
    }
}

fn table_description() -> TableDescription {
    let vacancy = Vacancy {
        down: 10,
        up: 20,
        vacancy: 15,
    };
    let properties = vec![TableModProperty::Eviction(2, 4), TableModProperty::Vacancy(3, vacancy)];
    TableDescription {
        table: 1,
        config: 12,
        properties,
    }
}

fn replies(version: Version) -> Vec<Reply> {
    let group = GroupDescription {
        group_type: GroupType::Select,
        group: 1,
        buckets: buckets(),
    };
    let meter = MeterConfiguration {
        flags: 1,
        meter: 2,
        bands: bands(),
    };
    let queue = QueueCounts {
        port: 1,
        queue: 2,
        bytes: 3,
        packets: 4,
        errors: 5,
        age: AGE,
    };
    let flow = flow_statistics(version);
    let mut all = vec![
        Reply::Description(Box::new(description())),
        Reply::Flow(vec![WithLength(flow.clone()), WithLength(flow)]),
        Reply::Aggregate(Aggregate {
            packets: 1,
            bytes: 2,
            flows: 3,
        }),
        Reply::Table(vec![TableStatistics {
            table: 1,
            active: 2,
            lookups: 3,
            matches: 4,
        }]),
        Reply::Port(vec![port_statistics(), port_statistics()]),
        Reply::Queue(vec![QueueStatistics(queue)]),
        Reply::Group(vec![WithLength(group_statistics())]),
        Reply::GroupDescription(vec![WithLength(group.clone()), WithLength(group)]),
        Reply::GroupFeatures(GroupFeatures {
            types: 1,
            capabilities: 2,
            maximum: [3; 4],
            actions: [4; 4],
        }),
        Reply::Meter(vec![meter_statistics()]),
        Reply::MeterConfiguration(vec![WithLength(meter)]),
        Reply::MeterFeatures(MeterFeatures {
            maximum: 1,
            band_types: 2,
            capabilities: 3,
            maximum_bands: 4,
            maximum_colour: 5,
        }),
        Reply::TableFeatures(vec![WithLength(table_features())]),
        Reply::PortDescription(vec![a_port(version), a_port(version)]),
        Reply::Experimenter(Experimenter {
            experimenter: 1,
            kind: 2,
            data: Data(vec![3]),
        }),
    ];
    if version > Version::V13 {
        let rate = QueueDescriptionProperty::Rate(2, ShortRate { rate: 500 });
        let rest = WithLength(QueueDescriptionProperties { properties: vec![rate] });
        let update = FlowUpdate {
            table: 1,
            reason: 2,
            idle_timeout_s: 3,
            hard_timeout_s: 4,
            priority: 5,
            cookie: 6,
            matching: everything_matched(version),
            instructions: instructions(),
        };
        all.extend([
            Reply::TableDescription(vec![WithLength(table_description())]),
            Reply::QueueDescription(vec![QueueDescription {
                port: 1,
                queue: 2,
                rest,
            }]),
            Reply::FlowMonitor(vec![
                FlowEvent::Full(1, update),
                FlowEvent::Abbreviated(4),
                FlowEvent::Paused,
                FlowEvent::Resumed,
            ]),
        ]);
    }
    all
}

fn only_13() -> Vec<Message> {
    let rate = QueueProperty::Rate(1, LongRate { rate: 100 });
    let rest = WithLength(QueueProperties { properties: vec![rate] });
    let queues = vec![PacketQueue {
        queue: 1,
        port: 2,
        rest,
    }];
    vec![
        Message::QueueGetConfigRequest(QueueConfigurationRequest { port: 1 }),
        Message::QueueGetConfigReply(QueueConfiguration { port: 1, queues }),
    ]
}

fn only_14() -> Vec<Message> {
    let message = Data(Message::FlowMod(flow_mod(Version::V14)).encode(1, Version::V14));
    let request = Data(Message::BarrierRequest.encode(2, Version::V14));
    vec![
        Message::RoleStatus(RoleStatus {
            role: 3,
            reason: 0,
            generation: 1,
            properties: Data::default(),
        }),
        Message::TableStatus(TableStatus {
            reason: 3,
            table: WithLength(table_description()),
        }),
        Message::RequestForward(RequestForward { request }),
        Message::BundleControl(BundleControl {
            bundle: 1,
            kind: 4,
            flags: 3,
            properties: Data::default(),
        }),
        Message::BundleAdd(BundleAdd {
            bundle: 1,
            flags: 3,
            message,
        }),
    ]
}

fn role() -> Role {
    Role {
        role: 2,
        generation: u64::MAX,
    }
}

fn mods(version: Version) -> Vec<Message> {
    vec![
        Message::FlowMod(flow_mod(version)),
        Message::GroupMod(GroupMod {
            command: ModCommand::Modify,
            group_type: GroupType::FastFailover,
            group: 1,
            buckets: buckets(),
        }),
        Message::PortMod(PortMod {
            number: 1,
            address: EthernetAddress([2; 6]),
            config: 1,
            mask: 1,
            properties: vec![PortModProperty::Ethernet(0, 3)],
        }),
        Message::MeterMod(MeterMod {
            command: ModCommand::Add,
            flags: 13,
            meter: 1,
            bands: bands(),
        }),
    ]
}

/// All of them.
pub(crate) fn samples(version: Version) -> Vec<Message> {
    let data = || Data(vec![1, 2, 3]);
    let configuration = || Configuration {
        flags: 0,
        miss_send_len: 128,
    };
    let since_14 = version > Version::V13;
    let events = if since_14 {
        vec![0, 1, 11]
    } else {
        vec![1, 0, 3, 2, 5, 4]
    };
    let masks = events.into_iter().map(|event| EventMask { event, mask: 7 }).collect();
    let asynchronous = AsyncConfiguration { masks };
    let features = Features {
        datapath: 1,
        buffers: 0,
        tables: 254,
        auxiliary: 0,
        capabilities: 0x4f,
    };
    let matching = || everything_matched(version);
    let properties = if since_14 {
        table_description().properties
    } else {
        Vec::new()
    };
    let mut all = vec![
        Message::Hello(Hello::offering(&[Version::V13, Version::V14])),
        Message::Error(ErrorBody {
            kind: 1,
            code: 2,
            data: data(),
        }),
        Message::EchoRequest(data()),
        Message::EchoReply(data()),
        Message::Experimenter(Experimenter {
            experimenter: 1,
            kind: 2,
            data: data(),
        }),
        Message::FeaturesRequest,
        Message::FeaturesReply(features),
        Message::GetConfigRequest,
        Message::GetConfigReply(configuration()),
        Message::SetConfig(configuration()),
        Message::PacketIn(PacketIn {
            buffer: 1,
            total_len: 2,
            reason: 1,
            table: 3,
            cookie: 4,
            matching: matching(),
            data: data(),
        }),
        Message::FlowRemoved(FlowRemoved {
            cookie: 1,
            priority: 2,
            reason: 0,
            table: 3,
            age: AGE,
            idle_timeout_s: 4,
            hard_timeout_s: 5,
            packets: 6,
            bytes: 7,
            matching: matching(),
        }),
        Message::PortStatus(PortStatus {
            reason: 2,
            port: a_port(version),
        }),
        Message::PacketOut(PacketOut {
            buffer: 1,
            in_port: 2,
            actions: actions(),
            data: vec![1, 2],
        }),
        Message::TableMod(TableMod {
            table: 1,
            config: 0,
            properties,
        }),
        Message::BarrierRequest,
        Message::BarrierReply,
        Message::RoleRequest(role()),
        Message::RoleReply(role()),
        Message::GetAsyncRequest,
        Message::GetAsyncReply(asynchronous.clone()),
        Message::SetAsync(asynchronous),
    ];
    all.extend(mods(version));
    all.extend(if since_14 { only_14() } else { only_13() });
    let requests = requests(version).into_iter();
    all.extend(requests.map(|content| Message::MultipartRequest(Part { flags: 0, content })));
    let replies = replies(version).into_iter();
    all.extend(replies.map(|content| Message::MultipartReply(Part { flags: MORE, content })));
    all
}
