use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags, statx};
use serde_json::{Map, Value};

use super::usage::{read, sysfs_of};

/// What every device takes.
const SMALLEST_BLOCK: u32 = 512;

/// What is known of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// IOs are multiples of this.
    pub logical_block: u32,
    /// IOs below this make the device read and write back.
    pub physical_block: u32,
    /// The kernel splits what is longer.
    pub longest_io: Option<u64>,
    /// All that goes into the record.
    pub record: Map<String, Value>,
}

impl Facts {
    /// What is known of an open file: its file system says how direct IOs have to be aligned.
    pub(crate) fn of_file(path: &Path, file: &File) -> Self {
        let mut record = Map::new();
        record.insert("path".to_owned(), path.display().to_string().into());
        record.insert("kind".to_owned(), "file".into());
        let logical_block = direct_io_alignment(file).unwrap_or(SMALLEST_BLOCK);
        if logical_block > SMALLEST_BLOCK {
            record.insert("direct_io_alignment".to_owned(), logical_block.into());
        }
        Self {
            logical_block,
            physical_block: logical_block,
            longest_io: None,
            record,
        }
    }

    pub(crate) fn of_block_device(path: &Path, file: &File, device: u64) -> Self {
        let mut facts = Self::of_file(path, file);
        facts.record.insert("kind".to_owned(), "block device".into());
        let Some(place) = sysfs_of(device) else {
            return facts;
        };
        // A partition has the queue of its disk.
        let disk = if place.join("partition").exists() {
            place.parent().unwrap_or(&place)
        } else {
            &place
        };
        let mut insert = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let number = value.parse::<u64>().map(Value::from);
                facts
                    .record
                    .insert(name.to_owned(), number.unwrap_or_else(|_| value.into()));
            }
        };
        let name = place.file_name().map(|name| name.to_string_lossy().into_owned());
        insert("name", name);
        insert(
            "bytes",
            read(&place.join("size")).and_then(|sectors| Some((sectors.parse::<u64>().ok()? * 512).to_string())),
        );
        insert("model", read(&disk.join("device/model")));
        insert(
            "firmware",
            read(&disk.join("device/firmware_rev")).or_else(|| read(&disk.join("device/rev"))),
        );
        for name in [
            "scheduler",
            "nr_requests",
            "nomerges",
            "rotational",
            "write_cache",
            "wbt_lat_usec",
            "logical_block_size",
            "physical_block_size",
            "minimum_io_size",
            "max_sectors_kb",
        ] {
            insert(name, read(&disk.join("queue").join(name)).map(|value| chosen(&value)));
        }
        insert("loop_file", read(&disk.join("loop/backing_file")));
        insert("loop_direct_io", read(&disk.join("loop/dio")));
        let number = |name: &str| facts.record.get(name).and_then(Value::as_u64);
        facts.logical_block = number("logical_block_size").map_or(SMALLEST_BLOCK, |bytes| bytes as u32);
        facts.physical_block = number("physical_block_size").map_or(SMALLEST_BLOCK, |bytes| bytes as u32);
        facts.longest_io = number("max_sectors_kb").map(|kib| kib * 1024);
        facts
    }
}

/// What offsets and lengths of direct IOs are multiples of; nothing where the kernel does not say (before 6.1).
fn direct_io_alignment(file: &File) -> Option<u32> {
    let asked = StatxFlags::DIOALIGN;
    let found = statx(file, c"", AtFlags::EMPTY_PATH, asked).ok()?;
    let told = found.stx_mask & asked.bits() != 0;
    (told && found.stx_dio_offset_align > 0).then_some(found.stx_dio_offset_align.max(SMALLEST_BLOCK))
}

/// Of `[none] mq-deadline`, the one in brackets.
fn chosen(value: &str) -> String {
    let inner = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(value, |(inner, _)| inner).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_one_in_brackets() {
        assert_eq!(chosen("mq-deadline kyber [none]"), "none");
        assert_eq!(chosen("write back"), "write back");
    }
}
