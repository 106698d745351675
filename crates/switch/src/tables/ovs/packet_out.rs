//! Packet-outs: `in_port=1,packet=020000000001...,actions=output:2`.

use brimful_openflow::wire::PacketOut;
use brimful_openflow::{ErrorCode, NO_BUFFER, port};

use super::actions::actions;
use super::known::Known;
use super::lines::split_at_actions;
use super::matching::Reading;
use super::words::Words;
use crate::tables::place::{Flaw, TableError, Text};

/// Reads one.
///
/// # Errors
/// When a part cannot be read or is missing.
pub fn read_packet_out(text: &str, known: &Known<'_>) -> Result<PacketOut, TableError> {
    let source = Text {
        file: "packet-out",
        text,
    };
    packet_out(text, known).map_err(|flaw| source.error(flaw))
}

fn packet_out<'t>(text: &'t str, known: &Known<'t>) -> Result<PacketOut, Flaw<'t>> {
    let (before, after) = split_at_actions(text);
    let (mut in_port, mut data) = (port::CONTROLLER, None);
    let mut words = Words::of(before);
    while let Some(word) = words.next()? {
        let value = word.need_value()?;
        match word.key {
            "in_port" => {
                let found = known.port(value);
                in_port = found.ok_or_else(|| {
                    Flaw::coded(value, ErrorCode::BAD_PORT, format!("the switch has no port {value}"))
                })?;
            }
            "packet" => data = Some(octets(value)?),
            key => {
                let detail = format!("a packet-out has no {key}: use in_port, packet and actions");
                return Err(Flaw::syntax(word.whole, detail));
            }
        }
    }
    let data = data.ok_or_else(|| Flaw::syntax(text, "the packet-out has no packet=HEXADECIMAL_DIGITS"))?;
    let after = after.ok_or_else(|| Flaw::syntax(text, "the packet-out has no actions=..."))?;
    Ok(PacketOut {
        buffer: NO_BUFFER,
        in_port,
        actions: actions(after, &Reading::of(*known))?,
        data,
    })
}

/// What digits say, two a byte.
fn octets(digits: &str) -> Result<Vec<u8>, Flaw<'_>> {
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.as_bytes().chunks(2);
    let read = pairs.map(|pair| octet(pair).filter(|_| pair.len() == 2 && pair[0] != b'+'));
    let read: Option<Vec<u8>> = read.collect();
    read.ok_or_else(|| Flaw::syntax(digits, "a packet is hexadecimal digits, two for each byte"))
}
