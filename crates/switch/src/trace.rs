//! What becomes of one frame: which entries it meets, and what leaves the switch.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use brimful_frame::{Headers, Packet};
use brimful_netdev::MonotonicTime;
use brimful_openflow::{FieldMatch, Match, MatchField, Source};
use brimful_pipeline::{
    CounterId, Environment, Floods, GroupEntry, MeterEntry, Normal, Outputs, PacketIn, Passage, Shared,
};

use crate::control::Switch;
use crate::dump::flow_of;
use crate::ports::PortView;
use crate::shown;
use crate::tables::ovs;
use crate::worker::{HEADROOM, MOST_FRAME_LEN};

/// A frame of this length holds any headers that a match can name.
const PROBE_LEN: usize = 128;

/// Sends a frame through a switch's tables without counting it or sending it on, and says in words what happens; with
/// `hex` the bytes that leave, too.
///
/// # Errors
/// When the match or the frame cannot be read.
pub fn trace(switch: &Switch, matching: &str, frame: Option<&str>, hex: bool) -> Result<String, String> {
    let ports = switch.ports.names();
    let matching = ovs::read_match(matching, &ports).map_err(|error| error.to_string())?;
    let of = |field| value_of(&matching, field);
    let bytes = match frame {
        Some(digits) => from_hex(digits)?,
        None => build(&matching)?,
    };
    if bytes.len() > MOST_FRAME_LEN {
        return Err(format!("the frame has {} bytes: {MOST_FRAME_LEN} at most", bytes.len()));
    }
    let mut buffer = vec![0; HEADROOM + bytes.len()];
    buffer[HEADROOM..].copy_from_slice(&bytes);
    let in_port = of(MatchField::InPort).map_or(0, |port| port as u32);
    let mut passage = Passage::new(Packet::new(&mut buffer, HEADROOM, bytes.len()), in_port);
    passage.metadata = of(MatchField::Metadata).map_or(0, |value| value as u64);
    passage.tunnel_id = of(MatchField::TunnelId).map_or(0, |value| value as u64);
    let pipeline = switch.pipeline.read();
    let view = switch.ports.view();
    let environment = Dry::new(pipeline.shared(), &view);
    let mut seen = Seen {
        before: bytes,
        hex,
        text: String::new(),
        count: 0,
        is_cut_short: false,
    };
    let steps = pipeline.trace(&mut passage, &environment, &mut seen);
    let mut text = String::new();
    for step in steps {
        let met = step.entry.map_or_else(
            || "no entry: dropped".to_owned(),
            |entry| ovs::write_flow(&flow_of(&entry)),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "table {}: {met}", step.table);
    }
    text += if seen.count == 0 {
        "nothing leaves\n"
    } else {
        &seen.text
    };
    if seen.count > MOST_SEEN {
        let _ = writeln!(text, "and {} times more", seen.count - MOST_SEEN);
    }
    if seen.is_cut_short {
        text += "the rest of what groups make of it is dropped: there would be too many copies\n";
    }
    Ok(text)
}

/// Outputs that are listed one by one: groups may make thousands of copies.
const MOST_SEEN: usize = 256;

/// The switch without its counters.
struct Dry<'s> {
    shared: &'s Shared,
    ports: &'s PortView,
    /// Its meters, which let everything through: to ask one takes of what it lets through.
    meters: HashMap<u32, MeterEntry>,
    now: u64,
}

struct Seen {
    /// The frame as it came in.
    before: Vec<u8>,
    hex: bool,
    text: String,
    count: usize,
    is_cut_short: bool,
}

impl<'s> Dry<'s> {
    fn new(shared: &'s Shared, ports: &'s PortView) -> Self {
        let open = |meter: &Arc<MeterEntry>| {
            let counters = (meter.counter, Vec::new());
            (
                meter.meter,
                MeterEntry::new(meter.meter, meter.flags, Vec::new(), 0, counters),
            )
        };
        Self {
            shared,
            ports,
            meters: shared.meters.values().map(open).collect(),
            now: MonotonicTime::now().0,
        }
    }
}

impl Environment for Dry<'_> {
    fn group(&self, group: u32) -> Option<&GroupEntry> {
        self.shared.groups.get(&group).map(AsRef::as_ref)
    }

    fn meter(&self, meter: u32) -> Option<&MeterEntry> {
        self.meters.get(&meter)
    }

    fn is_live(&self, port: u32) -> bool {
        self.ports.live.contains(&port)
    }

    fn flood_ports(&self, in_port: u32, all: bool) -> &[u32] {
        self.ports.ports(in_port, all)
    }

    // What is only tried teaches nothing.
    fn normal(&self, frame: &[u8], in_port: u32) -> Normal {
        self.ports.find(frame, in_port, self.now)
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn count(&self, _: CounterId, _: u64) {}
}

impl Outputs for Seen {
    fn output(&mut self, frame: &[u8], port: u32, queue: u32) {
        self.show(&format!("out of port {port}, queue {queue}"), frame);
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        self.show(&format!("to the controller ({:?})", packet.reason), packet.frame);
    }

    fn cut_short(&mut self, _: u32) {
        self.is_cut_short = true;
    }
}

impl Seen {
    fn show(&mut self, way: &str, frame: &[u8]) {
        self.count += 1;
        if self.count > MOST_SEEN {
            return;
        }
        let _ = write!(self.text, "{way}: {} bytes", frame.len());
        if frame.len() != self.before.len() {
            let _ = write!(self.text, " (was {})", self.before.len());
        }
        self.text.push('\n');
        self.text += &shown::fields(&self.before, frame);
        if self.hex {
            let _ = writeln!(self.text, "  {}", to_hex(frame));
        }
    }
}

fn value_of(matching: &Match, field: MatchField) -> Option<u128> {
    matching
        .fields
        .iter()
        .find(|said| said.field == field)
        .map(|said| said.value)
}

/// A frame with these headers, all else of it zero.
fn build(matching: &Match) -> Result<Vec<u8>, String> {
    let of = |field| value_of(matching, field);
    let mut frame = vec![0; PROBE_LEN];
    let mut at = 12;
    let mut put = |bytes: &[u8]| {
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if of(MatchField::VlanVid).is_some_and(|vid| vid & 0x1000 != 0) {
        put(&[0x81, 0x00, 0, 0]);
    }
    let eth_type = of(MatchField::EthType).unwrap_or(0xffff) as u16;
    put(&eth_type.to_be_bytes());
    let protocol = of(MatchField::IpProto).unwrap_or(0xff) as u8;
    let rest = (PROBE_LEN - 12 - 2) as u16
        - if of(MatchField::VlanVid).unwrap_or(0) == 0 {
            0
        } else {
            4
        };
    match eth_type {
        0x0800 => {
            let [high, low] = rest.to_be_bytes();
            put(&[0x45, 0, high, low, 0, 0, 0, 0, 64, protocol]);
            put(&[0; 10]);
        }
        0x86dd => {
            let [high, low] = (rest - 40).to_be_bytes();
            put(&[0x60, 0, 0, 0, high, low, protocol, 64]);
            put(&[0; 32]);
        }
        0x0806 => put(&[0, 1, 8, 0, 6, 4, 0, 1]),
        _ => {}
    }
    for FieldMatch { field, value, .. } in &matching.fields {
        let is_laid = matches!(field, MatchField::EthType | MatchField::IpProto);
        if let (Source::Frame(place), false) = (field.info().source, is_laid) {
            let mut buffer = std::mem::take(&mut frame);
            let headers = Headers::parse(&buffer);
            place.write(&mut buffer, &headers, *value);
            let is_there = place.read(&buffer, &Headers::parse(&buffer)).is_some();
            frame = buffer;
            if !is_there && *value != 0 {
                return Err(format!("a frame for {field} cannot be made: give the frame itself"));
            }
        }
    }
    Ok(frame)
}

fn from_hex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.chunks(2).map(|pair| octet(pair).filter(|_| pair.len() == 2));
    pairs
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| "the frame must be hexadecimal digits, two a byte".to_owned())
}

fn to_hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for octet in bytes {
        let _ = write!(digits, "{octet:02x}");
    }
    digits
}
