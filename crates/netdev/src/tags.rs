//! VLAN tags stay in frames while `AF_XDP` reads them: drivers take tags off, and it never sees what is beside a frame.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::OpenError;
use crate::interface::Interface;

/// `ETH_FLAG_RXVLAN`: the feature `rx-vlan-offload`.
const TAKES_TAGS_OFF: u32 = 1 << 8;
/// Where notes lie of what is to be put back after a process that was killed; `changes.py` reads them.
const NOTES: &str = "/run/brimful/changes/interfaces";
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Has a driver leave tags in frames, until it is dropped.
#[derive(Debug)]
pub(crate) struct TagsInFrames {
    /// What is to be put back, and where that is noted; nothing where the driver left them in by itself.
    changed: Option<(Interface, Note)>,
}

impl TagsInFrames {
    /// Of an interface of this network namespace.
    pub(crate) fn of(interface: &Interface) -> Result<Self, OpenError> {
        let refused = |source| OpenError::TagsTakenOff {
            name: interface.name().to_owned(),
            source,
        };
        let changed = Self::leave_in(interface).map_err(refused)?;
        Ok(Self { changed })
    }

    fn leave_in(interface: &Interface) -> io::Result<Option<(Interface, Note)>> {
        // A driver without such features takes nothing off.
        let Ok(flags) = interface.offload_flags() else {
            return Ok(None);
        };
        if flags & TAKES_TAGS_OFF == 0 {
            return Ok(None);
        }
        let Some(own) = Interface::find(interface.name()) else {
            return Ok(None);
        };
        let note = Note::new(interface.index())?;
        own.set_offload_flags(flags & !TAKES_TAGS_OFF)?;
        // A driver may hold on to a feature without an error.
        if own.offload_flags()? & TAKES_TAGS_OFF != 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Some((own, note)))
    }
}

impl Drop for TagsInFrames {
    fn drop(&mut self) {
        let Some((interface, _note)) = &self.changed else {
            return;
        };
        // One that is gone, or that another has replaced, has nothing to be put back.
        if let (false, Ok(flags)) = (interface.is_replaced(|| false), interface.offload_flags()) {
            let _ = interface.set_offload_flags(flags | TAKES_TAGS_OFF);
        }
    }
}

/// A note of what to put back, there from before the change until it is dropped. It is locked meanwhile: one without a
/// lock is of a process that was killed.
#[derive(Debug)]
struct Note {
    path: PathBuf,
    _locked: File,
}

impl Note {
    fn new(interface: i32) -> io::Result<Self> {
        let namespace = fs::read_link("/proc/thread-self/ns/net")?;
        let boot = fs::read_to_string(BOOT)?;
        let text = format!(
            "{{\"boot\": \"{}\", \"put_back\": [[\"{}/{interface}\", \"rx-vlan-offload on\"]]}}",
            boot.trim(),
            namespace.display(),
        );
        fs::create_dir_all(NOTES)?;
        let number: String = namespace
            .to_string_lossy()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let path = Path::new(NOTES).join(format!("{}-{number}-{interface}.json", std::process::id()));
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        file.lock()?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        Ok(Self { path, _locked: file })
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
