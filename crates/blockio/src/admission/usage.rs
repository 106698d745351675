use std::fs;
use std::path::{Path, PathBuf};

use super::Refusal;

/// Who uses a block device, as far as the kernel reports it.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// `mounted at /`, `swap`, `held by dm-0`.
    pub(crate) users: Vec<String>,
    /// Names of its partitions.
    pub(crate) partitions: Vec<String>,
    /// The disk that it is a partition of, and who uses another part of that.
    pub(crate) neighbour: Option<(String, String)>,
    pub(crate) is_read_only: bool,
}

impl Usage {
    /// Of the device with this number.
    pub(crate) fn of(device: u64) -> Self {
        let Some(place) = sysfs_of(device) else {
            return Self::default();
        };
        let mut usage = Self {
            users: users_of(&place),
            partitions: partitions_of(&place).iter().map(|path| name_of(path)).collect(),
            neighbour: None,
            is_read_only: read(&place.join("ro")).is_some_and(|text| text == "1"),
        };
        usage.partitions.sort();
        if place.join("partition").exists()
            && let Some(disk) = place.parent()
        {
            let others = partitions_of(disk).into_iter().filter(|path| *path != place);
            let found = others.chain([disk.to_path_buf()]).find_map(|path| {
                let users = users_of(&path);
                (!users.is_empty()).then(|| format!("{} is {}", name_of(&path), users.join(", ")))
            });
            usage.neighbour = found.map(|user| (name_of(disk), user));
        }
        usage
    }

    /// What the kernel means by EBUSY.
    pub(crate) fn refusal(&self, name: &str, writes: bool) -> Refusal {
        let by = if self.users.is_empty() {
            "somebody holds it exclusively, or uses a part of it".to_owned()
        } else {
            self.users.join(", ")
        };
        Refusal::InUse {
            name: name.to_owned(),
            by,
            advice: if writes {
                "nothing is written to a device in use"
            } else {
                "reads slow its users down; add --in-use if that may be"
            },
        }
    }
}

/// Where the kernel describes a device.
pub(crate) fn sysfs_of(device: u64) -> Option<PathBuf> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
}

pub(crate) fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn users_of(place: &Path) -> Vec<String> {
    let mut users = Vec::new();
    if let Some(number) = read(&place.join("dev")) {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        // A mount may be seen in several places: the first says enough.
        users.extend(mount_of(&mounts, &number).map(|point| format!("mounted at {point}")));
    }
    let name = name_of(place);
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps
        .lines()
        .any(|line| line.split_whitespace().next() == Some(&format!("/dev/{name}")))
    {
        users.push("swap".to_owned());
    }
    let holders = fs::read_dir(place.join("holders")).into_iter().flatten().flatten();
    let mut holders: Vec<String> = holders
        .map(|entry| format!("held by {}", name_of(&entry.path())))
        .collect();
    holders.sort();
    users.extend(holders);
    users
}

/// Where a device is mounted first.
fn mount_of(mounts: &str, number: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        (words.nth(2) == Some(number)).then(|| words.nth(1).unwrap_or_default().to_owned())
    })
}

fn partitions_of(disk: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(disk).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.join("partition").exists())
        .collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_the_number_of_its_device() {
        let mounts =
            "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n37 35 7:1 / /data rw - ext4 x rw\n";
        assert_eq!(mount_of(mounts, "7:1").as_deref(), Some("/data"));
        assert_eq!(mount_of(mounts, "98:0").as_deref(), Some("/mnt2"));
        assert_eq!(mount_of(mounts, "7:2"), None);
    }
}
