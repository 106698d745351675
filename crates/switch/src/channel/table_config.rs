//! How tables are configured: eviction and vacancy events (OF 1.4.1 sections 6.5, 6.7 and 7.3.4).

use brimful_openflow::wire::{TableDescription, TableMod, TableModProperty, Vacancy, Version};
use brimful_openflow::{ErrorCode, ErrorMessage, TABLE_ALL};
use brimful_pipeline::Pipeline;

use crate::control::Switch;
use crate::vacancy::{Thresholds, Vacancies, vacancy};

/// Entries make room for more important ones.
const EVICTION: u32 = 1 << 2;
/// The table says when it becomes full or empty.
const VACANCY_EVENTS: u32 = 1 << 3;
/// What a table can be configured to (1.4).
pub(super) const CAPABILITIES: u32 = EVICTION | VACANCY_EVENTS;
/// Bits of earlier versions, which mean nothing.
const DEPRECATED: u32 = 3;
/// Entries go by their importance.
const BY_IMPORTANCE: u32 = 1 << 1;
/// Numbers of properties.
const EVICTION_PROPERTY: u16 = 2;
const VACANCY_PROPERTY: u16 = 3;

/// Configures one table or all of them.
pub(super) fn change_table(switch: &mut Switch, change: &TableMod, version: Version) -> Result<(), ErrorMessage> {
    let tables = switch.pipeline.read().limits().tables;
    if change.table != TABLE_ALL && change.table >= tables {
        return Err(ErrorCode::TABLE_UNKNOWN.because(format!("there is no table {}", change.table)));
    }
    let known = match version {
        Version::V13 => DEPRECATED,
        Version::V14 => CAPABILITIES,
    };
    if change.config & !known != 0 {
        return Err(ErrorCode::TABLE_CONFIG.because(format!("configuration {:#x} is not known", change.config)));
    }
    if version == Version::V13 {
        return Ok(());
    }
    let thresholds = thresholds(change)?;
    let chosen = if change.table == TABLE_ALL {
        0..tables
    } else {
        change.table..change.table + 1
    };
    for table in chosen {
        switch.configure_table(table, change.config & EVICTION != 0, thresholds);
    }
    Ok(())
}

fn thresholds(change: &TableMod) -> Result<Option<Thresholds>, ErrorMessage> {
    let mut given = None;
    for property in &change.properties {
        match property {
            TableModProperty::Vacancy(_, Vacancy { down, up, .. }) => {
                if down > up || *up > 100 {
                    return Err(ErrorCode::PROPERTY_VALUE.because(format!("vacancy from {down} to {up} percent")));
                }
                given = Some(Thresholds { down: *down, up: *up });
            }
            TableModProperty::Eviction(_, flags) if flags & !BY_IMPORTANCE != 0 => {
                return Err(ErrorCode::PROPERTY_VALUE.because(format!("eviction by {flags:#x}: by importance only")));
            }
            TableModProperty::Eviction(..) => {}
            TableModProperty::Other(number, _) => {
                return Err(ErrorCode::PROPERTY_TYPE.because(format!("there is no property {number} of a table")));
            }
        }
    }
    if change.config & VACANCY_EVENTS == 0 {
        return Ok(None);
    }
    // Without thresholds it never speaks up, but says that it would.
    Ok(Some(given.unwrap_or(Thresholds { down: 0, up: 100 })))
}

/// A table as it is configured.
pub(super) fn table_description(pipeline: &Pipeline, vacancies: &Vacancies, table: u8) -> TableDescription {
    let mut properties = vec![TableModProperty::Eviction(EVICTION_PROPERTY, BY_IMPORTANCE)];
    let mut config = if pipeline.evicts(table) { EVICTION } else { 0 };
    if let Some(Thresholds { down, up }) = vacancies.of(table) {
        config |= VACANCY_EVENTS;
        properties.push(TableModProperty::Vacancy(
            VACANCY_PROPERTY,
            Vacancy {
                down,
                up,
                vacancy: vacancy(pipeline, table),
            },
        ));
    }
    TableDescription {
        table,
        config,
        properties,
    }
}
