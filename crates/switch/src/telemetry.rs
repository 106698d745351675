//! Counters of ports as a table that `brimful discards ingest` reads: a row for each port and direction, every 10 s.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::control::Handles;
use crate::ports::SwitchPort;

/// Seconds between rows: the bins of switch telemetry.
const INTERVAL_S: u64 = 10;
const HEADER: &str = "timestamp,device,port,direction,octets,packets,discards";

/// A file that grows.
#[derive(Debug)]
pub struct Telemetry {
    file: File,
    due_s: u64,
    before: HashMap<(String, u32, &'static str), Row>,
}

/// What a port has counted one way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Row {
    octets: u64,
    packets: u64,
    discards: u64,
}

/// A port of a switch, and its counts in both directions.
type Sample = (u32, String, [(&'static str, Row); 2]);

impl Telemetry {
    /// Begins a file in a directory, which is made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let now_s = unix_time_s();
        let path = directory.join(format!("switchd-{now_s}-{}.csv", std::process::id()));
        let mut file = OpenOptions::new().create_new(true).append(true).open(path)?;
        writeln!(file, "{HEADER}")?;
        Ok(Self {
            file,
            due_s: now_s / INTERVAL_S * INTERVAL_S + INTERVAL_S,
            before: HashMap::new(),
        })
    }

    /// Writes rows, if it is time for them.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_when_due(&mut self, handles: &Handles) -> io::Result<()> {
        let now_s = unix_time_s();
        if now_s < self.due_s {
            return Ok(());
        }
        self.due_s = now_s / INTERVAL_S * INTERVAL_S + INTERVAL_S;
        let end_s = self.due_s - INTERVAL_S;
        for name in handles.keys() {
            // A switch that has ended has nothing more to say.
            let Ok(samples) =
                handles[name].call(|switch| switch.ports.all().map(|port| sample(port)).collect::<Vec<_>>())
            else {
                continue;
            };
            for (number, port, ways) in samples {
                for (direction, now) in ways {
                    let before = self
                        .before
                        .insert((name.clone(), number, direction), now)
                        .unwrap_or_default();
                    let Row {
                        octets,
                        packets,
                        discards,
                    } = now.since(before);
                    writeln!(
                        self.file,
                        "{end_s},{name},{port},{direction},{octets},{packets},{discards}"
                    )?;
                }
            }
        }
        self.file.flush()
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
    (port.number, port.name.clone(), [("rx", received), ("tx", sent)])
}

fn unix_time_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
