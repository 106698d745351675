use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::memory::Buffers;

/// Ends of a device that are looked at where no program knows signatures.
const END: u32 = 1 << 20;
/// What `blkid` says when it found nothing.
const NOTHING_FOUND: i32 = 2;

/// What is known to be on a device, in words; `blkid` says so, and without it any byte that is not 0 counts, unless the
/// bytes are `ours`.
pub(crate) fn find(path: &Path, file: &File, ours: bool) -> io::Result<Option<String>> {
    let known = ["blkid", "/sbin/blkid", "/usr/sbin/blkid"]
        .into_iter()
        .find_map(|program| {
            let output = Command::new(program)
                .args(["--probe", "--output", "export"])
                .arg(path)
                .output();
            output.ok()
        });
    match known {
        Some(output) if output.status.code() == Some(NOTHING_FOUND) => Ok(None),
        Some(output) if output.status.success() => Ok(in_words(&String::from_utf8_lossy(&output.stdout))),
        Some(output) => Err(io::Error::other(format!(
            "blkid does not say what is on it: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
        None if ours => Ok(None),
        None => Ok(has_data(file)?.then(|| "data (blkid, which would know which, is not installed)".to_owned())),
    }
}

/// Of a partition, `blkid` also reports where it lies; that is no signature.
fn in_words(output: &str) -> Option<String> {
    let value = |key: &str| {
        output
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let table = || value("PTTYPE").map(|table| format!("a partition table ({table})"));
    value("TYPE").map(str::to_owned).or_else(table)
}

fn has_data(file: &File) -> io::Result<bool> {
    let len = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
    let mut buffers = Buffers::new(1, END)?;
    let starts = [0, len.saturating_sub(u64::from(END)) / 4096 * 4096];
    for start in starts {
        let read = file.read_at(buffers.bytes(0), start)?;
        if buffers.bytes(0)[..read].iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_have_names() {
        let found = |output| in_words(output).unwrap_or_default();
        assert_eq!(
            found("DEVNAME=/dev/loop0\nUUID=1\nTYPE=ext4\nUSAGE=filesystem\n"),
            "ext4"
        );
        assert_eq!(found("DEVNAME=/dev/sda\nPTTYPE=gpt\n"), "a partition table (gpt)");
        assert_eq!(
            in_words("DEVNAME=/dev/sda2\nPART_ENTRY_SCHEME=dos\nPART_ENTRY_NUMBER=2\n"),
            None
        );
    }
}
