//! What messages are made of.

use brimful_openflow::wire::*;
use brimful_openflow::{
    Action, Band, BandType, Bucket, FieldMatch, FlowCommand, FlowMod, Instruction, MATCH_FIELDS, Match, MatchField,
    port,
};

pub(crate) fn everything_matched(version: Version) -> Match {
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

pub(crate) fn actions() -> Vec<Action> {
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

pub(crate) fn instructions() -> Vec<Instruction> {
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

pub(crate) fn flow_mod(version: Version) -> FlowMod {
    let mut change = FlowMod::add(1, 100, everything_matched(version), instructions());
    change.command = FlowCommand::ModifyStrict;
    change.cookie = 0x1234;
    change.importance = if version > Version::V13 { 5 } else { 0 };
    change
}

pub(crate) fn buckets() -> Vec<Bucket> {
    let one = |watch_port| Bucket {
        weight: 1,
        watch_port,
        watch_group: 4,
        actions: actions(),
    };
    vec![one(1), one(port::ANY)]
}

pub(crate) fn bands() -> Vec<Band> {
    let band = |band_type| Band {
        band_type,
        rate: 1000,
        burst: 10,
    };
    vec![band(BandType::Drop), band(BandType::DscpRemark(1))]
}

pub(crate) fn features() -> EthernetFeatures {
    EthernetFeatures {
        current: 1,
        advertised: 2,
        supported: 3,
        peer: 4,
        current_speed: 5,
        maximum_speed: 6,
    }
}

pub(crate) fn a_port(version: Version) -> Port {
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

pub(crate) const AGE: Age = Age {
    seconds: 10,
    nanoseconds: 20,
};

pub(crate) fn counts() -> Counts {
    Counts { packets: 1, bytes: 60 }
}

pub(crate) fn table_features() -> TableFeatures {
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

pub(crate) fn flow_statistics(version: Version) -> FlowStatistics {
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

pub(crate) fn description() -> Description {
    Description {
        manufacturer: Name::new("brimful"),
        hardware: Name::new("\u{fc}"),
        software: Name::new("1"),
        serial_number: Name([0xff; 32]),
        data_path: Name::new("first"),
    }
}

pub(crate) fn port_statistics() -> PortStatistics {
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

pub(crate) fn group_statistics() -> GroupStatistics {
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

pub(crate) fn meter_statistics() -> MeterStatistics {
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

pub(crate) fn table_description() -> TableDescription {
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
