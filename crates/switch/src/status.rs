//! What a switch is and has counted, as data.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use serde::Serialize;

use crate::control::Switch;
use crate::counts::{Reason, Way};

/// A switch.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Status {
    pub switch: String,
    pub dpid: String,
    pub threads: usize,
    pub ports: Vec<PortStatus>,
    pub tables: Vec<TableStatus>,
    pub groups: usize,
    pub meters: usize,
}

/// A port.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PortStatus {
    pub port: u32,
    pub interface: String,
    pub has_link: bool,
    pub config: u32,
    pub received_frames: u64,
    pub received_bytes: u64,
    pub received_dropped: u64,
    pub sent_frames: u64,
    pub sent_bytes: u64,
    pub sent_dropped: u64,
    pub send_errors: u64,
    pub received_dropped_because: BTreeMap<&'static str, u64>,
    pub sent_dropped_because: BTreeMap<&'static str, u64>,
    /// Frames that came in by it and that groups would have made too many copies of.
    pub cut_short: u64,
    /// Ports whose frames are copied to it.
    pub mirror_of: Vec<u32>,
    /// Captures of its frames.
    pub captures: usize,
    pub queues: Vec<QueueStatus>,
}

/// An output queue.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct QueueStatus {
    pub queue: u32,
    pub frames: u64,
    pub bytes: u64,
    pub dropped: u64,
}

/// A table that has entries or has met frames.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TableStatus {
    pub table: u8,
    pub entries: usize,
    pub lookups: u64,
    pub matches: u64,
}

impl Status {
    /// Of a switch, now.
    pub fn of(switch: &Switch) -> Self {
        let pipeline = switch.pipeline.read();
        let tables = (0..pipeline.limits().tables).map(|table| {
            let (lookups, matches) = pipeline.table_counters(table);
            TableStatus {
                table,
                entries: pipeline.len(table),
                lookups: pipeline.counters.read(lookups).packets,
                matches: pipeline.counters.read(matches).packets,
            }
        });
        let mirrors = switch.ports.mirrors();
        let tables = tables.filter(|table| table.entries > 0 || table.lookups > 0).collect();
        Self {
            switch: switch.name.clone(),
            dpid: format!("{:016x}", switch.dpid),
            threads: switch.threads,
            ports: switch
                .ports
                .all()
                .iter()
                .map(|port| PortStatus::of(port, &mirrors))
                .collect(),
            tables,
            groups: pipeline.shared().groups.len(),
            meters: pipeline.shared().meters.len(),
        }
    }
}

impl PortStatus {
    fn of(port: &crate::ports::SwitchPort, mirrors: &BTreeMap<u32, Vec<u32>>) -> Self {
        let counts = &port.counts;
        let queues = port.queue_counts().into_iter().map(|counts| QueueStatus {
            queue: counts.queue,
            frames: counts.frames,
            bytes: counts.bytes,
            dropped: counts.dropped,
        });
        Self {
            port: port.number,
            interface: port.name.clone(),
            has_link: port.has_link(),
            config: port.config(),
            received_frames: counts.received_frames.load(Relaxed),
            received_bytes: counts.received_bytes.load(Relaxed),
            received_dropped: counts.received_dropped.load(Relaxed),
            sent_frames: counts.sent_frames.load(Relaxed),
            sent_bytes: counts.sent_bytes.load(Relaxed),
            sent_dropped: counts.sent_dropped.load(Relaxed),
            send_errors: counts.send_errors.load(Relaxed),
            received_dropped_because: named(counts.reasons(Way::In)),
            sent_dropped_because: named(counts.reasons(Way::Out)),
            cut_short: counts.cut_short.load(Relaxed),
            mirror_of: mirrors.get(&port.number).cloned().unwrap_or_default(),
            captures: port.taps().len(),
            queues: queues.collect(),
        }
    }
}

fn named(reasons: impl Iterator<Item = (Reason, u64)>) -> BTreeMap<&'static str, u64> {
    reasons.map(|(reason, count)| (reason.name(), count)).collect()
}
