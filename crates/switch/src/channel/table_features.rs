//! What tables can do (OF 1.3.5 section 7.3.5.5): the same for all but the tables to go to.

use brimful_openflow::wire::{Kind, Name, TableFeatures, TableProperty, Version, WithLength};
use brimful_openflow::{MATCH_FIELDS, MatchField, MatchFieldInfo};
use brimful_pipeline::Pipeline;

use super::table_config::CAPABILITIES;

/// The class of the specification's own fields, in the upper half of a header.
const BASIC_CLASS: u32 = 0x8000;
/// The numbers of all instructions.
const INSTRUCTIONS: [u16; 6] = [1, 2, 3, 4, 5, 6];
/// The numbers of all actions.
const ACTIONS: [u16; 16] = [0, 11, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];

/// Features of every table.
pub(super) fn all(pipeline: &Pipeline, version: Version) -> Vec<WithLength<0, TableFeatures>> {
    let tables = pipeline.limits().tables;
    (0..tables)
        .map(|table| {
            WithLength(TableFeatures {
                config: if version == Version::V14 { CAPABILITIES } else { 0 },
                ..of(table, tables, pipeline.limits().entries)
            })
        })
        .collect()
}

fn of(table: u8, tables: u8, entries: usize) -> TableFeatures {
    let kinds = |numbers: &[u16]| {
        numbers
            .iter()
            .map(|&number| Kind { number, length: 4 })
            .collect::<Vec<_>>()
    };
    let instructions: Vec<u16> = INSTRUCTIONS
        .into_iter()
        .filter(|&number| number != 1 || table + 1 < tables)
        .collect();
    let matched: Vec<u32> = MATCH_FIELDS.iter().map(|field| header(field, field.maskable)).collect();
    let wildcards: Vec<u32> = MATCH_FIELDS.iter().map(|field| header(field, false)).collect();
    let is_set = |field: &&MatchFieldInfo| {
        use MatchField as F;
        !matches!(field.field, F::InPort | F::InPhyPort | F::Metadata | F::Ipv6Exthdr)
    };
    let set: Vec<u32> = MATCH_FIELDS
        .iter()
        .filter(is_set)
        .map(|field| header(field, false))
        .collect();
    TableFeatures {
        table,
        name: Name::new(&format!("table {table}")),
        metadata_match: u64::MAX,
        metadata_write: u64::MAX,
        config: 0,
        maximum_entries: entries as u32,
        properties: vec![
            TableProperty::Instructions(0, kinds(&instructions)),
            TableProperty::NextTables(2, (table + 1..tables).collect()),
            TableProperty::Actions(4, kinds(&ACTIONS)),
            TableProperty::Actions(6, kinds(&ACTIONS)),
            TableProperty::Fields(8, matched),
            TableProperty::Fields(10, wildcards),
            TableProperty::Fields(12, set.clone()),
            TableProperty::Fields(14, set),
        ],
    }
}

/// The header of a field: class, number, whether with a mask, and bytes.
fn header(field: &MatchFieldInfo, with_mask: bool) -> u32 {
    let bytes = field.bits.div_ceil(8) * if with_mask { 2 } else { 1 };
    BASIC_CLASS << 16 | u32::from(field.field as u8) << 9 | u32::from(with_mask) << 8 | bytes
}
