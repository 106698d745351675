//! Counters of ports as a table that `brimful discards ingest` reads: a row for each port and direction, every 10 s.
//!
//! A port's first rows have the moment at which it came, and counted nothing: so its first interval has a known length.
//! The last rows have the moment at which the process ends.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brimful_netdev::MonotonicTime;

use crate::control::Handles;
use crate::notice::say;
use crate::ports::SwitchPort;

/// Seconds between rows: the bins of switch telemetry.
const INTERVAL_S: u64 = 10;
/// Bytes of rows that wait for a disk with room, at most: hours of a few ports.
const MOST_WAITING: usize = 4 << 20;
const HEADER: &str = "timestamp,device,port,direction,octets,packets,discards";

/// A file that grows.
#[derive(Debug)]
pub struct Telemetry {
    file: File,
    path: PathBuf,
    /// Bytes of whole rows: what a failed attempt has left behind them is cut off.
    whole: u64,
    /// Rows that have not been written yet.
    waiting: String,
    /// Rows were given up since the file was last written.
    has_lost: bool,
    has_failed: bool,
    due_s: u64,
    /// By switch, port, the moment at which that was made, and direction.
    before: HashMap<(String, u32, u64, &'static str), Row>,
}

/// What a port has counted one way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Row {
    octets: u64,
    packets: u64,
    discards: u64,
}

/// A port of a switch, the moment at which it was made, its name, and its counts in both directions.
type Sample = (u32, u64, String, [(&'static str, Row); 2]);

impl Telemetry {
    /// Begins a file in a directory, which is made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let now_s = since_epoch().as_secs();
        let path = directory.join(format!("switchd-{now_s}-{}.csv", std::process::id()));
        let mut file = OpenOptions::new().create_new(true).append(true).open(&path)?;
        writeln!(file, "{HEADER}")?;
        Ok(Self {
            whole: file.metadata()?.len(),
            file,
            path,
            waiting: String::new(),
            has_lost: false,
            has_failed: false,
            due_s: now_s / INTERVAL_S * INTERVAL_S + INTERVAL_S,
            before: HashMap::new(),
        })
    }

    /// Writes rows, if it is time for them. Where they cannot be written, which is said once, they wait: a full disk is no
    /// reason to stop forwarding.
    pub fn write_when_due(&mut self, handles: &Handles) {
        let now_s = since_epoch().as_secs();
        if now_s < self.due_s {
            return;
        }
        self.due_s = now_s / INTERVAL_S * INTERVAL_S + INTERVAL_S;
        self.write_until(Duration::from_secs(self.due_s - INTERVAL_S), handles);
    }

    /// Writes what was counted since the last rows, as the process ends.
    pub fn finish(&mut self, handles: &Handles) {
        self.write_until(since_epoch(), handles);
    }

    fn write_until(&mut self, end: Duration, handles: &Handles) {
        let before = std::mem::take(&mut self.before);
        for name in handles.keys() {
            // A switch that has ended has nothing more to say.
            let Ok(samples) =
                handles[name].call(|switch| switch.ports.all().iter().map(|port| sample(port)).collect::<Vec<_>>())
            else {
                continue;
            };
            for (number, made_at, port, ways) in samples {
                for (direction, now) in ways {
                    let key = (name.clone(), number, made_at, direction);
                    // A port that has come anew has counted nothing before.
                    let before = before.get(&key).copied().unwrap_or_else(|| {
                        self.add_row(came_at(made_at), name, &port, direction, Row::default());
                        Row::default()
                    });
                    self.before.insert(key, now);
                    self.add_row(end, name, &port, direction, now.since(before));
                }
            }
        }
        let done = self.write();
        match (&done, self.has_failed) {
            (Err(error), false) => say(format_args!("telemetry: {}: {error}: tried again", self.path.display())),
            (Ok(()), true) => say(format_args!("telemetry: {}: written again", self.path.display())),
            _ => {}
        }
        self.has_failed = done.is_err();
    }

    fn add_row(&mut self, end: Duration, switch: &str, port: &str, direction: &str, row: Row) {
        let Row {
            octets,
            packets,
            discards,
        } = row;
        let end = Seconds(end);
        let _ = writeln!(
            self.waiting,
            "{end},{switch},{port},{direction},{octets},{packets},{discards}"
        );
    }

    /// Writes what waits: all of it or, where that fails, nothing.
    fn write(&mut self) -> io::Result<()> {
        let done = self.file.write_all(self.waiting.as_bytes());
        if done.is_err() {
            if self.waiting.len() > MOST_WAITING {
                self.waiting.clear();
                self.has_lost = true;
            }
            // The next attempt begins with a whole line.
            self.file.set_len(self.whole)?;
            return done;
        }
        self.whole += self.waiting.len() as u64;
        self.waiting.clear();
        if std::mem::take(&mut self.has_lost) {
            say(format_args!("telemetry: {}: rows are missing", self.path.display()));
        }
        Ok(())
    }
}

impl Row {
    fn since(self, before: Self) -> Self {
        Self {
            octets: self.octets.saturating_sub(before.octets),
            packets: self.packets.saturating_sub(before.packets),
            discards: self.discards.saturating_sub(before.discards),
        }
    }
}

fn sample(port: &SwitchPort) -> Sample {
    let counts = &port.counts;
    let received = Row {
        octets: counts.received_bytes.load(Relaxed),
        packets: counts.received_frames.load(Relaxed),
        discards: counts.received_dropped.load(Relaxed),
    };
    let sent = Row {
        octets: counts.sent_bytes.load(Relaxed),
        packets: counts.sent_frames.load(Relaxed),
        discards: counts.sent_dropped.load(Relaxed),
    };
    let ways = [("rx", received), ("tx", sent)];
    (port.number, port.made_at, port.name.clone(), ways)
}

/// Whole seconds as such, others with milliseconds.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.as_secs())?;
        match self.0.subsec_millis() {
            0 => Ok(()),
            milliseconds => write!(formatter, ".{milliseconds:03}"),
        }
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// When a port was made, by the clock of the wall.
fn came_at(made_at: u64) -> Duration {
    since_epoch().saturating_sub(Duration::from_nanos(MonotonicTime::now().0.saturating_sub(made_at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_for_a_disk_with_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut telemetry = Telemetry::open(folder.path()).unwrap();
        let path = telemetry.path.clone();
        let good = std::mem::replace(&mut telemetry.file, File::open("/dev/null").unwrap());
        telemetry.waiting = "first\n".to_owned();
        // It is open for reading only: to write fails as on a full disk.
        assert!(telemetry.write().is_err());
        telemetry.waiting += "second\n";
        telemetry.file = good;
        // Part of a row that an attempt has left.
        telemetry.file.write_all(b"fir").unwrap();
        telemetry.file.set_len(telemetry.whole).unwrap();
        telemetry.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEADER}\nfirst\nsecond\n"));
        assert!(telemetry.waiting.is_empty());
    }

    #[test]
    fn rows_that_wait_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut telemetry = Telemetry::open(folder.path()).unwrap();
        telemetry.file = File::open("/dev/null").unwrap();
        telemetry.waiting = "x".repeat(MOST_WAITING + 1);
        assert!(telemetry.write().is_err());
        assert_eq!((telemetry.waiting.len(), telemetry.has_lost), (0, true));
    }
}
