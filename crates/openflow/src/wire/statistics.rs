//! What multipart requests ask for and their replies give.

use super::describe::{properties, structure};
use super::{Age, Importance, Name, Version, Wire, WithLength};
use crate::{Band, Bucket, GroupType, Instruction, Match};

structure! {
    /// What the switch is.
    Description {
        manufacturer: Name<256>;
        hardware: Name<256>;
        software: Name<256>;
        serial_number: Name<32>;
        data_path: Name<256>;
    }
}

structure! {
    /// Which entries are meant.
    FlowFilter {
        /// Or all tables.
        table: u8, pad 3;
        /// Or any.
        out_port: u32;
        /// Or any.
        out_group: u32, pad 4;
        cookie: u64;
        /// Bits of the cookie that count.
        cookie_mask: u64;
        matching: Match;
    }
}

structure! {
    /// An entry with its counts.
    FlowStatistics {
        table: u8, pad 1;
        age: Age;
        priority: u16;
        idle_timeout_s: u16;
        hard_timeout_s: u16;
        flags: u16;
        importance: Importance, pad 2;
        cookie: u64;
        packets: u64;
        bytes: u64;
        matching: Match;
        instructions: Vec<Instruction>;
    }
}

structure! {
    /// Counts of several entries together.
    Aggregate {
        packets: u64;
        bytes: u64;
        flows: u32, pad 4;
    }
}

structure! {
    /// Counts of a table.
    TableStatistics {
        table: u8, pad 3;
        active: u32;
        lookups: u64;
        matches: u64;
    }
}

structure! {
    /// One number that says which, or all.
    Selector {
        number: u32, pad 4;
    }
}

structure! {
    /// Which queues, or all.
    QueueSelector {
        port: u32;
        queue: u32;
    }
}

structure! {
    /// Frames and bytes.
    Counts {
        packets: u64;
        bytes: u64;
    }
}

structure! {
    /// Counts of a group and its buckets.
    GroupStatistics {
        [pad 2]
        group: u32;
        /// How many entries and groups use it.
        references: u32, pad 4;
        packets: u64;
        bytes: u64;
        age: Age;
        buckets: Vec<Counts>;
    }
}

structure! {
    /// A group as it was made.
    GroupDescription {
        group_type: GroupType, pad 1;
        group: u32;
        buckets: Vec<Bucket>;
    }
}

structure! {
    /// What groups can do: for each type how many, and which actions.
    GroupFeatures {
        types: u32;
        capabilities: u32;
        maximum: [u32; 4];
        actions: [u32; 4];
    }
}

structure! {
    /// Counts of a meter, without its number.
    MeterCounts {
        [pad 6]
        flows: u32;
        packets: u64;
        bytes: u64;
        age: Age;
        bands: Vec<Counts>;
    }
}

structure! {
    /// Counts of a meter.
    MeterStatistics {
        meter: u32;
        counts: WithLength<4, MeterCounts>;
    }
}

structure! {
    /// A meter as it was made.
    MeterConfiguration {
        flags: u16;
        meter: u32;
        bands: Vec<Band>;
    }
}

structure! {
    /// What meters can do.
    MeterFeatures {
        maximum: u32;
        band_types: u32;
        capabilities: u32;
        maximum_bands: u8;
        maximum_colour: u8, pad 2;
    }
}

structure! {
    /// The number of an instruction or an action, with its length.
    Kind {
        number: u16;
        length: u16;
    }
}

properties! {
    /// What a table can do; odd numbers are for its table-miss entry.
    TableProperty {
        /// Instructions.
        Instructions(Vec<Kind>) = 0 | 1,
        /// Tables to go to.
        NextTables(Vec<u8>) = 2 | 3,
        /// Actions: write, write at a miss, apply, apply at a miss.
        Actions(Vec<Kind>) = 4..=7,
        /// Headers of fields: match, wildcards, then those that actions set.
        Fields(Vec<u32>) = 8 | 10 | 12 | 13 | 14 | 15,
    }
}

structure! {
    /// What a table can do.
    TableFeatures {
        table: u8, pad 5;
        name: Name<32>;
        metadata_match: u64;
        metadata_write: u64;
        /// Configuration in 1.3, capabilities in 1.4.
        config: u32;
        maximum_entries: u32;
        properties: Vec<TableProperty>;
    }
}

structure! {
    /// Counts of a queue of 1.3.
    QueueCounts {
        port: u32;
        queue: u32;
        bytes: u64;
        packets: u64;
        errors: u64;
        age: Age;
    }
}

structure! {
    /// The same of 1.4: there are no standard properties.
    QueueCountsOf14 {
        [pad 6]
        counts: QueueCounts;
        properties: super::Data;
    }
}

/// Counts of a queue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueueStatistics(pub QueueCounts);

impl Wire for QueueStatistics {
    fn decode(reader: &mut super::Reader<'_>) -> Result<Self, crate::ErrorMessage> {
        if reader.version == Version::V13 {
            return QueueCounts::decode(reader).map(Self);
        }
        WithLength::<0, QueueCountsOf14>::decode(reader).map(|all| Self(all.0.counts))
    }

    fn encode(&self, writer: &mut super::Writer) {
        if writer.version == Version::V13 {
            return self.0.encode(writer);
        }
        let (counts, properties) = (self.0.clone(), super::Data::default());
        WithLength::<0, _>(QueueCountsOf14 { counts, properties }).encode(writer);
    }

    fn text(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.text(formatter)
    }
}

structure! {
    /// A rate in a thousandth of the port's speed, as queues of 1.3 have it.
    LongRate {
        [pad 4]
        rate: u16, pad 6;
    }
}

structure! {
    /// A rate in a thousandth of the port's speed, as queues of 1.4 have it.
    ShortRate {
        rate: u16, pad 2;
    }
}

properties! {
    /// Rates of a queue of 1.3: 1 smallest, 2 largest.
    QueueProperty {
        /// A rate.
        Rate(LongRate) = 1 | 2,
    }
}

properties! {
    /// Rates of a queue of 1.4: 1 smallest, 2 largest.
    QueueDescriptionProperty {
        /// A rate.
        Rate(ShortRate) = 1 | 2,
    }
}

structure! {
    /// The properties of a queue of 1.3.
    QueueProperties {
        [pad 6]
        properties: Vec<QueueProperty>;
    }
}

structure! {
    /// A queue of 1.3.
    PacketQueue {
        queue: u32;
        port: u32;
        rest: WithLength<8, QueueProperties>;
    }
}

structure! {
    /// The properties of a queue of 1.4.
    QueueDescriptionProperties {
        [pad 6]
        properties: Vec<QueueDescriptionProperty>;
    }
}

structure! {
    /// A queue of 1.4.
    QueueDescription {
        port: u32;
        queue: u32;
        rest: WithLength<8, QueueDescriptionProperties>;
    }
}

structure! {
    /// When a table speaks up: at which percentages left free, and how much is.
    Vacancy {
        down: u8;
        up: u8;
        vacancy: u8, pad 1;
    }
}

properties! {
    /// How a table makes room.
    TableModProperty {
        /// What it goes by: bits 1 other, 2 importance, 4 lifetime.
        Eviction(u32) = 2,
        /// When it speaks up.
        Vacancy(Vacancy) = 3,
    }
}

structure! {
    /// A table as configured (1.4).
    TableDescription {
        table: u8, pad 1;
        config: u32;
        properties: Vec<TableModProperty>;
    }
}

structure! {
    /// A wish to be notified of changes of entries (1.4).
    FlowMonitor {
        monitor: u32;
        out_port: u32;
        out_group: u32;
        flags: u16;
        table: u8;
        /// 0 add, 1 modify, 2 delete.
        command: u8;
        matching: Match;
    }
}

structure! {
    /// An entry that came, changed or went, in full.
    FlowUpdate {
        table: u8;
        reason: u8;
        idle_timeout_s: u16;
        hard_timeout_s: u16;
        priority: u16, pad 4;
        cookie: u64;
        matching: Match;
        instructions: Vec<Instruction>;
    }
}
