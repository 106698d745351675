//! What tables can do (OF 1.3.5 section 7.3.5.5): the same for all but the tables to go to.

use brimful_openflow::wire::{ACTION_NUMBERS, Kind, Name, TableFeatures, TableProperty, Version, WithLength};
use brimful_openflow::{ErrorCode, ErrorMessage, MATCH_FIELDS, MatchField, MatchFieldInfo};
use brimful_pipeline::Pipeline;

use super::table_config::CAPABILITIES;

/// The class of the specification's own fields, in the upper half of a header.
const BASIC_CLASS: u32 = 0x8000;
/// Where the field stands in a header, and the bit that a mask goes with it.
const FIELD_SHIFT: u32 = 9;
const HAS_MASK: u32 = 1 << 8;
/// Bits of the configuration that have no meaning any more.
const DEPRECATED: u32 = 3;
/// The numbers of all instructions.
const INSTRUCTIONS: [u16; 6] = [1, 2, 3, 4, 5, 6];

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

/// Checks that tables can do what is wanted of them: they can do it already then, and nothing changes (OF 1.3.5 section
/// 7.3.5.5: what a table can do may be more than what is wanted).
pub(super) fn check(
    pipeline: &Pipeline,
    version: Version,
    wanted: &[WithLength<0, TableFeatures>],
) -> Result<(), ErrorMessage> {
    let all = all(pipeline, version);
    for (index, WithLength(one)) in wanted.iter().enumerate() {
        let Some(WithLength(own)) = all.get(usize::from(one.table)) else {
            return Err(ErrorCode::TABLE_FEATURES_TABLE.because(format!("there is no table {}", one.table)));
        };
        if wanted[..index].iter().any(|other| other.0.table == one.table) {
            return Err(ErrorCode::TABLE_FEATURES_TABLE.because(format!("table {} stands twice", one.table)));
        }
        if one.maximum_entries > own.maximum_entries || one.config & !(own.config | DEPRECATED) != 0 {
            let text = format!("{} entries, configuration {:#x}", one.maximum_entries, one.config);
            return Err(ErrorCode::TABLE_FEATURES_ARGUMENT.because(text));
        }
        one.properties.iter().try_for_each(|property| has(own, property))?;
    }
    if wanted.len() < all.len() {
        let text = format!("{} of {} tables: none can be taken out", wanted.len(), all.len());
        return Err(ErrorCode::TABLE_FEATURES_PERMISSIONS.because(text));
    }
    Ok(())
}

fn has(own: &TableFeatures, wanted: &TableProperty) -> Result<(), ErrorMessage> {
    use TableProperty as P;
    // What is said of the table-miss entry holds for it as for others.
    let of = |number: u16| number & !1;
    let has = own.properties.iter().any(|property| match (property, wanted) {
        (P::Instructions(_, own), P::Instructions(_, wanted)) => wanted.iter().all(|kind| own.contains(kind)),
        (P::NextTables(_, own), P::NextTables(_, wanted)) => wanted.iter().all(|table| own.contains(table)),
        (P::Actions(number, own), P::Actions(other, wanted)) => {
            of(*other) == *number && wanted.iter().all(|kind| own.contains(kind))
        }
        (P::Fields(number, own), P::Fields(other, wanted)) => {
            of(*other) == *number && wanted.iter().all(|field| own.iter().any(|one| includes(*one, *field)))
        }
        _ => false,
    });
    match wanted {
        _ if has => Ok(()),
        P::Other(number, _) => Err(ErrorCode::TABLE_FEATURES_TYPE.because(format!("there is no property {number}"))),
        _ => Err(ErrorCode::TABLE_FEATURES_ARGUMENT.because("the table cannot do all of that")),
    }
}

/// Whether what has one header can do what the other one says: a field that takes a mask does without one, too.
fn includes(own: u32, wanted: u32) -> bool {
    own == wanted || own >> FIELD_SHIFT == wanted >> FIELD_SHIFT && wanted & HAS_MASK == 0 && own & HAS_MASK != 0
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
            TableProperty::Actions(4, kinds(ACTION_NUMBERS)),
            TableProperty::Actions(6, kinds(ACTION_NUMBERS)),
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
