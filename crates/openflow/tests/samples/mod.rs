//! A message of every kind, with every structure in it.

mod parts;

use brimful_openflow::wire::*;
use brimful_openflow::{GroupMod, GroupType, MeterMod, ModCommand, port};
use parts::*;

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
