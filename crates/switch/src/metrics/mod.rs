//! Counters in the text format of Prometheus, for whoever asks over HTTP.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::control::Handles;
use crate::status::Status;

/// Who does not ask within this is not answered.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_REQUEST_LEN: usize = 8 << 10;

/// Answers at an address from a thread of its own, which lives as long as the process.
///
/// # Errors
/// When the address cannot be used.
pub fn serve(address: &str, handles: Arc<Handles>) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Who hangs up gets no answer.
            let _ = answer(stream, &handles);
        }
    });
    Ok(())
}

fn answer(mut stream: TcpStream, handles: &Handles) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MOST_REQUEST_LEN {
        match stream.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    let is_known = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) = if is_known {
        ("200 OK", text(handles))
    } else {
        ("404 Not Found", String::new())
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// All counters of all switches.
pub fn text(handles: &Handles) -> String {
    let names: Vec<_> = handles.keys().collect();
    let statuses: Vec<Status> = names
        .iter()
        .filter_map(|name| handles[*name].call(|switch| Status::of(switch)).ok())
        .collect();
    let mut text = String::new();
    for (name, help, of) in PORT_METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for status in &statuses {
            for port in &status.ports {
                let (switch, number, interface) = (&status.switch, port.port, &port.interface);
                let value = of(port);
                let _ = writeln!(
                    text,
                    "{name}{{switch=\"{switch}\",port=\"{number}\",interface=\"{interface}\"}} {value}"
                );
            }
        }
    }
    for (name, help, of) in TABLE_METRICS {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for status in &statuses {
            for table in &status.tables {
                let _ = writeln!(
                    text,
                    "{name}{{switch=\"{}\",table=\"{}\"}} {}",
                    status.switch,
                    table.table,
                    of(table)
                );
            }
        }
    }
    text
}

type Metric<T> = (&'static str, &'static str, fn(&T) -> u64);

const PORT_METRICS: [Metric<crate::status::PortStatus>; 6] = [
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

const TABLE_METRICS: [Metric<crate::status::TableStatus>; 3] = [
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
