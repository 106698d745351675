use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::memory::Buffers;

/// Bytes at the beginning of a device that hold the mark.
pub const MARK_LEN: u32 = 4096;
const MAGIC: &[u8] = b"brimful-disk 1\n";

/// What this program wrote to a device, kept on the device itself.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Mark {
    /// Bytes of the working set that have been written once.
    pub written: u64,
    /// Of their data.
    pub seed: u64,
    /// Rounds of random writes until their rate was steady; nothing where it was not looked for.
    pub rounds: Option<u64>,
    /// Whether it was steady after those.
    pub is_steady: bool,
}

impl Mark {
    /// Looks for a mark.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut buffers = Buffers::new(1, MARK_LEN)?;
        let bytes = buffers.bytes(0);
        let read = file.read_at(bytes, 0)?;
        let Some(text) = bytes[..read].strip_prefix(MAGIC) else {
            return Ok(None);
        };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Ok(Some(serde_json::from_slice(&text[..end]).unwrap_or_default()))
    }

    pub(crate) fn write(&self, file: &File) -> io::Result<()> {
        let mut buffers = Buffers::new(1, MARK_LEN)?;
        let bytes = buffers.bytes(0);
        let text = serde_json::to_vec(self)?;
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[MAGIC.len()..MAGIC.len() + text.len()].copy_from_slice(&text);
        file.write_all_at(buffers.bytes(0), 0)?;
        file.sync_data()
    }
}
