use std::io;

use thiserror::Error;

/// Why a device is left alone, in one line.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The system does not give it.
    #[error("{name}: cannot be opened: {error}")]
    CannotOpen {
        /// As it was named.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// A directory, a terminal, ...
    #[error("{0}: neither a block device nor a file")]
    NoDevice(String),
    /// There is nothing to read.
    #[error("{0}: has no bytes: a file or device of some size is needed")]
    Empty(String),
    /// Somebody uses it.
    #[error("{name}: in use ({by}): {advice}")]
    InUse {
        /// As it was named.
        name: String,
        /// Who.
        by: String,
        /// What to do.
        advice: &'static str,
    },
    /// Another part of the same disk is used.
    #[error(
        "{name}: a partition of {disk}, which is in use ({neighbour}): take a disk that is in no use for what writes"
    )]
    NeighbourInUse {
        /// As it was named.
        name: String,
        /// The whole disk.
        disk: String,
        /// What is in use.
        neighbour: String,
    },
    /// It is divided.
    #[error("{name}: has partitions ({partitions}): name one of them, or remove them first")]
    HasPartitions {
        /// As it was named.
        name: String,
        /// Their names.
        partitions: String,
    },
    /// Writes are forbidden.
    #[error("{0}: is read-only")]
    ReadOnly(String),
    /// Something is on it.
    #[error("{name}: holds {signature}: if it may be lost, remove it with wipefs, or add --ignore-signature")]
    HasSignature {
        /// As it was named.
        name: String,
        /// What.
        signature: String,
    },
    /// A file that somebody else made.
    #[error("{0}: a file that brimful-disk did not make: make one with --create FILE --file-size SIZE")]
    ForeignFile(String),
    /// Writes were not allowed.
    #[error("{name}: the workload writes, and all data there would be lost: say so with --destroy-data {name}")]
    NotAllowed {
        /// As it was named.
        name: String,
    },
    /// Writes were allowed for something else.
    #[error("--destroy-data {given}: is not the device {name}: repeat its name, letter by letter")]
    OtherDevice {
        /// As it was named.
        name: String,
        /// What was given.
        given: String,
    },
}

impl Refusal {
    pub(crate) fn cannot_open(name: &str, error: io::Error) -> Self {
        Self::CannotOpen {
            name: name.to_owned(),
            error,
        }
    }
}
