//! The text of all counters.

use std::fmt::{Display, Write};

use super::process::Process;
use crate::control::{Handles, Switch};
use crate::status::{PortStatus, QueueStatus, Status, TableStatus};

/// A series' name, its help, and its value of something.
type Metric<T> = (&'static str, &'static str, fn(&T) -> u64);
type Label<'l> = (&'l str, &'l dyn Display);

/// What a switch is and has counted beyond its status.
struct Totals {
    groups: Vec<Counted>,
    meters: Vec<Counted>,
    bands: Vec<(usize, Counted)>,
    controllers: u64,
    packet_ins_dropped: u64,
    compilations: u64,
    compile_s: f64,
}

/// What a group, a meter or a band has counted.
struct Counted {
    number: u32,
    frames: u64,
    bytes: u64,
}

/// All counters of all switches, and what the process takes.
pub fn text(handles: &Handles) -> String {
    let of = |switch: &mut Switch| (Status::of(switch), Totals::of(switch));
    // A switch that has ended counts nothing.
    let switches: Vec<(Status, Totals)> = handles.values().filter_map(|handle| handle.call(of).ok()).collect();
    let mut text = Text::default();
    for (name, help, value) in PORT_METRICS {
        text.begin(name, help);
        for (status, port) in ports(&switches) {
            text.add(&of_port(status, port), value(port));
        }
    }
    for (name, help, value) in QUEUE_METRICS {
        text.begin(name, help);
        for (status, port) in ports(&switches) {
            for queue in &port.queues {
                let labels: &[Label<'_>] = &[("queue", &queue.queue)];
                text.add(&[&of_port(status, port), labels].concat(), value(queue));
            }
        }
    }
    for (name, help, value) in TABLE_METRICS {
        text.begin(name, help);
        for (status, _) in &switches {
            for table in &status.tables {
                text.add(&[("switch", &status.switch), ("table", &table.table)], value(table));
            }
        }
    }
    for (name, help, value) in COUNTED_METRICS {
        text.begin(&format!("brimful_switch_group_{name}"), &format!("{help} a group."));
        for (status, totals) in &switches {
            for one in &totals.groups {
                text.add(&[("switch", &status.switch), ("group", &one.number)], value(one));
            }
        }
    }
    for (name, help, value) in COUNTED_METRICS {
        text.begin(&format!("brimful_switch_meter_{name}"), &format!("{help} a meter."));
        for (status, totals) in &switches {
            for one in &totals.meters {
                text.add(&[("switch", &status.switch), ("meter", &one.number)], value(one));
            }
        }
    }
    for (name, help, value) in COUNTED_METRICS {
        text.begin(
            &format!("brimful_switch_meter_band_{name}"),
            &format!("{help} a band of a meter."),
        );
        for (status, totals) in &switches {
            for (band, one) in &totals.bands {
                let labels: &[Label<'_>] = &[("switch", &status.switch), ("meter", &one.number), ("band", band)];
                text.add(labels, value(one));
            }
        }
    }
    for (name, help, value) in SWITCH_METRICS {
        text.begin(name, help);
        for (status, totals) in &switches {
            text.add(&[("switch", &status.switch)], value(totals));
        }
    }
    text.begin(
        "brimful_switch_compile_seconds_total",
        "Time that tables took to be compiled.",
    );
    for (status, totals) in &switches {
        text.add(&[("switch", &status.switch)], totals.compile_s);
    }
    text.add_process(&Process::now());
    text.0
}

fn ports(switches: &[(Status, Totals)]) -> impl Iterator<Item = (&Status, &PortStatus)> {
    switches
        .iter()
        .flat_map(|(status, _)| status.ports.iter().map(move |port| (status, port)))
}

fn of_port<'l>(status: &'l Status, port: &'l PortStatus) -> [Label<'l>; 3] {
    [
        ("switch", &status.switch),
        ("port", &port.port),
        ("interface", &port.interface),
    ]
}

/// The text so far, and the name of the series that was begun last.
#[derive(Default)]
struct Text(String, String);

impl Text {
    /// Begins a series. Writing to a string cannot fail.
    fn begin(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        name.clone_into(&mut self.1);
    }

    /// Adds a value of the series that was begun last.
    fn add(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.0 += &self.1;
        for (index, (label, of)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(&of.to_string()));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn add_process(&mut self, process: &Process) {
        if let Some(bytes) = process.resident_bytes {
            self.begin("process_resident_memory_bytes", "Memory of the process.");
            self.add(&[], bytes);
        }
        if let Some(count) = process.descriptors {
            self.begin("process_open_fds", "Descriptors that the process has open.");
            self.add(&[], count);
        }
        self.begin(
            "brimful_switch_thread_cpu_seconds_total",
            "Time of a processor that threads took, by their names.",
        );
        for (thread, seconds) in &process.thread_cpu_s {
            self.add(&[("thread", thread)], seconds);
        }
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Totals {
    fn of(switch: &Switch) -> Self {
        let pipeline = switch.pipeline.read();
        let counted = |number, counter| {
            let count = pipeline.counters.read(counter);
            Counted {
                number,
                frames: count.packets,
                bytes: count.bytes,
            }
        };
        let shared = pipeline.shared();
        let mut groups: Vec<_> = shared.groups.values().collect();
        groups.sort_unstable_by_key(|group| group.group);
        let mut meters: Vec<_> = shared.meters.values().collect();
        meters.sort_unstable_by_key(|meter| meter.meter);
        let bands = meters.iter().flat_map(|meter| {
            let bands = meter.band_counters.iter().enumerate();
            bands.map(|(index, counter)| (index, counted(meter.meter, *counter)))
        });
        let (compilations, compile_time) = switch.plane.compilations();
        Self {
            groups: groups.iter().map(|group| counted(group.group, group.counter)).collect(),
            bands: bands.collect(),
            meters: meters.iter().map(|meter| counted(meter.meter, meter.counter)).collect(),
            controllers: switch.watcher.as_ref().map_or(0, |watcher| watcher.controllers()) as u64,
            packet_ins_dropped: switch.packets.dropped(),
            compilations,
            compile_s: compile_time.as_secs_f64(),
        }
    }
}

const PORT_METRICS: [Metric<PortStatus>; 9] = [
    (
        "brimful_switch_port_cut_short_total",
        "Frames that arrived and that groups would have made too many copies of.",
        |port| port.cut_short,
    ),
    ("brimful_switch_port_up", "Whether a port has a link.", |port| {
        u64::from(port.has_link)
    }),
    (
        "brimful_switch_port_send_errors_total",
        "Frames that the interface refused.",
        |port| port.send_errors,
    ),
    (
        "brimful_switch_port_received_frames_total",
        "Frames that arrived.",
        |port| port.received_frames,
    ),
    (
        "brimful_switch_port_received_bytes_total",
        "Bytes that arrived.",
        |port| port.received_bytes,
    ),
    (
        "brimful_switch_port_received_dropped_total",
        "Frames that arrived and found no room.",
        |port| port.received_dropped,
    ),
    ("brimful_switch_port_sent_frames_total", "Frames that left.", |port| {
        port.sent_frames
    }),
    ("brimful_switch_port_sent_bytes_total", "Bytes that left.", |port| {
        port.sent_bytes
    }),
    (
        "brimful_switch_port_sent_dropped_total",
        "Frames that were to leave and found no room.",
        |port| port.sent_dropped,
    ),
];

const TABLE_METRICS: [Metric<TableStatus>; 3] = [
    ("brimful_switch_table_entries", "Entries of a table.", |table| {
        table.entries as u64
    }),
    (
        "brimful_switch_table_lookups_total",
        "Frames that came to a table.",
        |table| table.lookups,
    ),
    (
        "brimful_switch_table_matches_total",
        "Frames that met an entry of a table.",
        |table| table.matches,
    ),
];

const QUEUE_METRICS: [Metric<QueueStatus>; 3] = [
    (
        "brimful_switch_queue_sent_frames_total",
        "Frames that left by an output queue.",
        |queue| queue.frames,
    ),
    (
        "brimful_switch_queue_sent_bytes_total",
        "Bytes that left by an output queue.",
        |queue| queue.bytes,
    ),
    (
        "brimful_switch_queue_dropped_total",
        "Frames that found no room in an output queue.",
        |queue| queue.dropped,
    ),
];

const COUNTED_METRICS: [Metric<Counted>; 2] = [
    ("frames_total", "Frames that met", |counted| counted.frames),
    ("bytes_total", "Bytes that met", |counted| counted.bytes),
];

const SWITCH_METRICS: [Metric<Totals>; 5] = [
    ("brimful_switch_groups", "Groups.", |totals| totals.groups.len() as u64),
    ("brimful_switch_meters", "Meters.", |totals| totals.meters.len() as u64),
    (
        "brimful_switch_controllers",
        "Controllers that are connected and have agreed on a version.",
        |totals| totals.controllers,
    ),
    (
        "brimful_switch_packet_ins_dropped_total",
        "Packets for controllers above the limit, or that no controller took.",
        |totals| totals.packet_ins_dropped,
    ),
    (
        "brimful_switch_compilations_total",
        "How often tables were compiled.",
        |totals| totals.compilations,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut text = Text::default();
        text.begin("frames_total", "Frames.");
        text.add(&[("switch", &"a\"b\\c\nd"), ("port", &1)], 7);
        text.add(&[], 8);
        let expected = "# HELP frames_total Frames.\n# TYPE frames_total counter\n\
            frames_total{switch=\"a\\\"b\\\\c\\nd\",port=\"1\"} 7\nframes_total 8\n";
        assert_eq!(text.0, expected);
    }
}
