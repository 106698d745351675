//! The device: opening it without harm, what it is, and what of it has been written.

mod facts;
mod mark;
mod refusal;
mod signature;
mod usage;

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use facts::Facts;
pub use mark::{MARK_LEN, Mark};
pub use refusal::Refusal;

use crate::workload::Area;
use usage::Usage;

/// Before a working set that is written lies the mark, and room for what a later version may put there.
const HEAD: u64 = 1 << 20;
/// How long the kernel may take to let go of what a program held that has ended.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// What the tester may do to a device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Access {
    /// Read what is not in use.
    Read,
    /// Read it although others use it.
    ReadInUse,
    /// Overwrite everything.
    Destroy {
        /// Also where something that a program knows is on it.
        known_signature: bool,
    },
}

/// An open device, or a file in its place.
#[derive(Debug)]
pub struct Device {
    file: File,
    len: u64,
    is_file: bool,
    facts: Facts,
    mark: Option<Mark>,
}

impl Device {
    /// Opens a device, and holds it so that it cannot be mounted meanwhile.
    ///
    /// # Errors
    /// Says in one line what was found that forbids it.
    pub fn open(path: &Path, access: &Access) -> Result<Self, Refusal> {
        let name = path.display().to_string();
        let real = path
            .canonicalize()
            .map_err(|error| Refusal::cannot_open(&name, error))?;
        let kind = real.metadata().map_err(|error| Refusal::cannot_open(&name, error))?;
        let is_block = kind.file_type().is_block_device();
        if !is_block && !kind.is_file() {
            return Err(Refusal::NoDevice(name));
        }
        let usage = if is_block {
            Usage::of(kind.rdev())
        } else {
            Usage::default()
        };
        let writes = matches!(access, Access::Destroy { .. });
        if writes {
            check_before_open(&name, &usage)?;
        }
        let exclusive = if *access == Access::ReadInUse || !is_block {
            0
        } else {
            libc::O_EXCL
        };
        let flags = libc::O_DIRECT | exclusive;
        let mut file = open(&real, writes, flags, &usage).map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => usage.refusal(&name, writes),
            _ => Refusal::cannot_open(&name, error),
        })?;
        let failed = |error| Refusal::cannot_open(&name, error);
        let len = file.seek(SeekFrom::End(0)).map_err(failed)?;
        if len == 0 {
            return Err(Refusal::Empty(name));
        }
        let mark = Mark::read(&file).map_err(failed)?;
        if let Access::Destroy { known_signature } = access {
            check_content(&name, &real, &file, is_block, mark.as_ref(), *known_signature)?;
        }
        let facts = if is_block {
            Facts::of_block_device(path, &file, kind.rdev())
        } else {
            Facts::of_file(path, &file)
        };
        let is_file = !is_block;
        Ok(Self {
            file,
            len,
            is_file,
            facts,
            mark,
        })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What this program wrote to it before.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Keeps in mind, on the device itself, what was written.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn set_mark(&mut self, mark: Mark) -> io::Result<()> {
        mark.write(&self.file)?;
        self.mark = Some(mark);
        Ok(())
    }

    /// Where IOs go: in what was written, in the part behind the mark, or all over a device that is only read.
    ///
    /// # Errors
    /// When there is no room.
    pub fn area(&self, wanted: u64, writes: bool) -> Result<Area, String> {
        let start = if writes || self.mark.is_some() { HEAD } else { 0 };
        let block = u64::from(self.facts.logical_block);
        let len = wanted.min(self.len.saturating_sub(start)) / block * block;
        if len == 0 {
            return Err(format!("{} bytes have no room for a working set", self.len));
        }
        Ok(Area { start, len })
    }

    /// How many bytes of an area are known never to have been written: holes of a file, and what was only reserved for
    /// it. Nothing where that is not known: of a device that has no mark, or one that says less.
    pub fn never_written(&self, area: Area) -> Option<u64> {
        if self.mark.as_ref().is_some_and(|mark| mark.written >= area.len) {
            return Some(0);
        }
        if !self.is_file {
            return None;
        }
        let end = area.start + area.len;
        let next = |from| match rustix::fs::seek(&self.file, from) {
            Ok(place) => Some(place.min(end)),
            // There is no data any more.
            Err(rustix::io::Errno::NXIO) => Some(end),
            Err(_) => None,
        };
        let (mut place, mut holes) = (area.start, 0);
        while place < end {
            let data = next(rustix::fs::SeekFrom::Data(place))?;
            holes += data - place;
            place = if data < end {
                next(rustix::fs::SeekFrom::Hole(data))?
            } else {
                end
            };
        }
        Some(holes)
    }

    /// Whether it has become smaller, or has gone.
    pub fn has_shrunk(&self) -> bool {
        let mut file = &self.file;
        file.seek(SeekFrom::End(0)).map_or(true, |len| len < self.len)
    }
}

/// A device without a known user may still be held by a program that has just ended: opening it is tried again.
fn open(path: &Path, writes: bool, flags: i32, usage: &Usage) -> io::Result<File> {
    let end = Instant::now() + LEFT_BEHIND;
    loop {
        match OpenOptions::new()
            .read(true)
            .write(writes)
            .custom_flags(flags)
            .open(path)
        {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY) && usage.users.is_empty() && Instant::now() < end =>
            {
                thread::sleep(LEFT_BEHIND / 50);
            }
            result => return result,
        }
    }
}

/// Makes a file of this program's own, whose data it may overwrite.
///
/// # Errors
/// When there is such a file, or no room for it.
pub fn create_file(path: &Path, len: u64) -> io::Result<PathBuf> {
    let len = len.max(2 * HEAD);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)?;
    let made = Mark::default().write(&file).and_then(|()| {
        Ok(rustix::fs::fallocate(
            &file,
            rustix::fs::FallocateFlags::empty(),
            0,
            len,
        )?)
    });
    if let Err(error) = made {
        // Half of a file is of no use, and it is ours.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    path.canonicalize()
}

fn check_before_open(name: &str, usage: &Usage) -> Result<(), Refusal> {
    if usage.is_read_only {
        return Err(Refusal::ReadOnly(name.to_owned()));
    }
    if !usage.partitions.is_empty() {
        return Err(Refusal::HasPartitions {
            name: name.to_owned(),
            partitions: usage.partitions.join(", "),
        });
    }
    if let Some((disk, neighbour)) = &usage.neighbour {
        return Err(Refusal::NeighbourInUse {
            name: name.to_owned(),
            disk: disk.clone(),
            neighbour: neighbour.clone(),
        });
    }
    if !usage.users.is_empty() {
        return Err(usage.refusal(name, true));
    }
    Ok(())
}

fn check_content(
    name: &str,
    real: &Path,
    file: &File,
    is_block: bool,
    mark: Option<&Mark>,
    known_signature: bool,
) -> Result<(), Refusal> {
    if !is_block {
        return if mark.is_some() {
            Ok(())
        } else {
            Err(Refusal::ForeignFile(name.to_owned()))
        };
    }
    if known_signature {
        return Ok(());
    }
    match signature::find(real, file, mark.is_some()) {
        Ok(None) => Ok(()),
        Ok(Some(signature)) => Err(Refusal::HasSignature {
            name: name.to_owned(),
            signature,
        }),
        Err(error) => Err(Refusal::cannot_open(name, error)),
    }
}
