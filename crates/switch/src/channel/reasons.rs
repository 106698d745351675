//! Reasons as each version numbers them.

use brimful_openflow::wire::Version;
use brimful_pipeline::{Reason, Removal};

/// Why a packet comes: from 1.4 on action sets, groups and packet-outs have reasons of their own.
pub(super) fn packet_in_reason(reason: Reason, version: Version) -> u8 {
    match (reason, version) {
        (Reason::NoMatch, _) => 0,
        (Reason::InvalidTtl, _) => 2,
        (Reason::ActionSet, Version::V14) => 3,
        (Reason::Group, Version::V14) => 4,
        (Reason::PacketOut, Version::V14) => 5,
        (Reason::Action | Reason::ActionSet | Reason::Group | Reason::PacketOut, _) => 1,
    }
}

/// Why an entry went, as a version says it: meters and eviction have reasons of their own from 1.4 on.
pub(super) fn removal_reason(reason: Removal, version: Version) -> u8 {
    match (reason, version) {
        (Removal::IdleTimeout, _) => 0,
        (Removal::HardTimeout, _) => 1,
        (Removal::MeterDelete, Version::V14) => 4,
        (Removal::Eviction, Version::V14) => 5,
        (Removal::Delete | Removal::MeterDelete | Removal::Eviction, _) => 2,
        (Removal::GroupDelete, _) => 3,
    }
}
