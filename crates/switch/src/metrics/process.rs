//! What the process takes, as the kernel says it.

use std::collections::BTreeMap;
use std::fs;

/// Clock ticks a second in `/proc`: `USER_HZ` of the kernel, the same on every architecture that this runs on.
const TICKS_PER_S: f64 = 100.0;
const KIB: u64 = 1024;

/// What the process takes; what the kernel does not say is missing.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Memory that it has.
    pub(super) resident_bytes: Option<u64>,
    /// Files, sockets and the like that it has open.
    pub(super) descriptors: Option<usize>,
    /// Seconds of a processor, by names of threads; those of the same name together.
    pub(super) thread_cpu_s: BTreeMap<String, f64>,
}

impl Process {
    /// Of this one, now.
    pub(super) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            resident_bytes: resident.map(|kibibytes| kibibytes * KIB),
            descriptors: fs::read_dir("/proc/self/fd").ok().map(Iterator::count),
            thread_cpu_s: thread_cpu_s(),
        }
    }
}

fn thread_cpu_s() -> BTreeMap<String, f64> {
    let mut by_name = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        // It may have ended meanwhile.
        let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        if let Some((name, seconds)) = name_and_cpu_s(&text) {
            *by_name.entry(name.to_owned()).or_default() += seconds;
        }
    }
    by_name
}

/// Of the text of `/proc/PID/task/TID/stat`: the name stands in brackets and may have some itself.
fn name_and_cpu_s(text: &str) -> Option<(&str, f64)> {
    let (before, after) = text.rsplit_once(") ")?;
    let name = before.split_once('(')?.1;
    // proc_pid_stat(5): fields 14 and 15; the one behind the name is field 3.
    let ticks = after.split(' ').skip(11).take(2).map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>().ok()?;
    Some((name, ticks as f64 / TICKS_PER_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let text = "12 (a) b (c) S 1 1 1 0 -1 4194368 100 0 0 0 250 150 0 0 20 0 5 0 100 0";
        assert_eq!(name_and_cpu_s(text), Some(("a) b (c", 4.0)));
        assert_eq!(name_and_cpu_s(""), None);
    }

    #[test]
    fn this_process_takes_something() {
        let now = Process::now();
        assert!(now.resident_bytes.is_some_and(|bytes| bytes > 0));
        assert!(now.descriptors.is_some_and(|count| count > 0));
        assert!(!now.thread_cpu_s.is_empty());
    }
}
