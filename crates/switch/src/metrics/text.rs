//! The text of all counters.

use std::fmt::{Display, Write};

use super::process::Process;
use crate::control::{Handles, Switch};
use crate::status::{PortStatus, QueueStatus, Status, TableStatus};

/// A series' name, its help, and its value of something.
type Metric<'m, T> = (&'m str, &'m str, fn(&T) -> u64);
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
    text_of(&switches, &Process::now())
}

fn text_of(switches: &[(Status, Totals)], process: &Process) -> String {
    let (mut ports, mut queues, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let (mut groups, mut meters, mut bands, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (status, totals) in switches {
        let switch: Label<'_> = ("switch", &status.switch);
        for port in &status.ports {
            let labels: Vec<Label<'_>> = vec![switch, ("port", &port.port), ("interface", &port.interface)];
            let labels_of = |queue| [&labels[..], &[("queue", queue)]].concat();
            queues.extend(port.queues.iter().map(|queue| (labels_of(&queue.queue), queue)));
            ports.push((labels, port));
        }
        tables.extend(
            status
                .tables
                .iter()
                .map(|table| (vec![switch, ("table", &table.table)], table)),
        );
        groups.extend(
            totals
                .groups
                .iter()
                .map(|one| (vec![switch, ("group", &one.number)], one)),
        );
        meters.extend(
            totals
                .meters
                .iter()
                .map(|one| (vec![switch, ("meter", &one.number)], one)),
        );
        for (band, one) in &totals.bands {
            bands.push((vec![switch, ("meter", &one.number), ("band", band)], one));
        }
        all.push((vec![switch], totals));
    }
    let mut text = Text::default();
    text.add_series(&PORT_METRICS, &ports);
    text.add_series(&QUEUE_METRICS, &queues);
    text.add_series(&TABLE_METRICS, &tables);
    for (kind, what, rows) in [
        ("group", "a group", &groups),
        ("meter", "a meter", &meters),
        ("meter_band", "a band of a meter", &bands),
    ] {
        for (name, help, value) in COUNTED_METRICS {
            let (name, help) = (format!("brimful_switch_{kind}_{name}"), format!("{help} {what}."));
            text.add_series(&[(&name, &help, value)], rows);
        }
    }
    text.add_series(&SWITCH_METRICS, &all);
    text.begin(
        "brimful_switch_compile_seconds_total",
        "Time that tables took to be compiled.",
    );
    for (labels, totals) in &all {
        text.add(labels, totals.compile_s);
    }
    text.add_process(process);
    text.0
}

/// The text so far, and the name of the series that was begun last.
#[derive(Default)]
struct Text(String, String);

impl Text {
    /// Adds series, each with a value of everything that the labels name.
    fn add_series<T>(&mut self, metrics: &[Metric<'_, T>], rows: &[(Vec<Label<'_>>, &T)]) {
        for (name, help, value) in metrics {
            self.begin(name, help);
            for (labels, of) in rows {
                self.add(labels, value(of));
            }
        }
    }

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

const PORT_METRICS: [Metric<'_, PortStatus>; 9] = [
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

const TABLE_METRICS: [Metric<'_, TableStatus>; 3] = [
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

const QUEUE_METRICS: [Metric<'_, QueueStatus>; 3] = [
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

const COUNTED_METRICS: [Metric<'_, Counted>; 2] = [
    ("frames_total", "Frames that met", |counted| counted.frames),
    ("bytes_total", "Bytes that met", |counted| counted.bytes),
];

const SWITCH_METRICS: [Metric<'_, Totals>; 5] = [
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
    use std::collections::BTreeMap;

    use super::*;

    fn counted(number: u32) -> Counted {
        let frames = u64::from(number);
        Counted {
            number,
            frames,
            bytes: 64 * frames,
        }
    }

    fn switch(name: &str) -> (Status, Totals) {
        let queue = |queue| QueueStatus {
            queue,
            frames: 21,
            bytes: 22,
            dropped: 23,
        };
        let port = |port, queues| PortStatus {
            port,
            interface: format!("eth{port}"),
            has_link: port == 1,
            config: 0,
            received_frames: 11,
            received_bytes: 12,
            received_dropped: 13,
            sent_frames: 14,
            sent_bytes: 15,
            sent_dropped: 16,
            send_errors: 17,
            received_dropped_because: BTreeMap::new(),
            sent_dropped_because: BTreeMap::new(),
            cut_short: 18,
            mirror_of: Vec::new(),
            captures: 0,
            queues,
        };
        let table = TableStatus {
            table: 3,
            entries: 31,
            lookups: 32,
            matches: 33,
        };
        let status = Status {
            switch: name.to_owned(),
            dpid: "01".to_owned(),
            threads: 1,
            ports: vec![port(1, vec![queue(5), queue(6)]), port(2, Vec::new())],
            tables: vec![table],
            groups: 1,
            meters: 1,
        };
        let totals = Totals {
            groups: vec![counted(41)],
            meters: vec![counted(42)],
            bands: vec![(0, counted(42)), (1, counted(42))],
            controllers: 51,
            packet_ins_dropped: 52,
            compilations: 53,
            compile_s: 0.5,
        };
        (status, totals)
    }

    #[test]
    fn the_text_stays_as_dashboards_know_it() {
        let process = Process {
            resident_bytes: Some(61),
            descriptors: Some(62),
            thread_cpu_s: BTreeMap::from([("data".to_owned(), 0.0), ("control".to_owned(), 1.5)]),
        };
        let text = text_of(&[switch("one"), switch("two")], &process);
        assert_eq!(text, include_str!("text.prom"));
    }

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
