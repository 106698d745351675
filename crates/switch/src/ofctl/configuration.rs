//! What of a switch's configuration concerns packets: fragments, and how much of a packet controllers get.

use std::io::Write;

use brimful_openflow::wire::{Configuration, Message};
use clap::ValueEnum;

use super::commands::Fragments;
use super::connection::Connection;
use super::lines::Planned;
use super::{Done, OfctlError, print, unexpected};

/// The flags that say what becomes of fragments (`OFPC_FRAG_MASK`).
const FRAGMENTS: u16 = 3;

pub(super) fn read(switch: &mut Connection) -> Result<Configuration, OfctlError> {
    match switch.ask(&Message::GetConfigRequest)? {
        Message::GetConfigReply(configuration) => Ok(configuration),
        other => Err(unexpected(&other.to_string())),
    }
}

/// Prints what becomes of fragments, in the word that changes it.
pub(super) fn print_fragments(switch: &mut Connection, out: &mut dyn Write) -> Done {
    let flags = read(switch)?.flags & FRAGMENTS;
    let mode = Fragments::value_variants().iter().find(|mode| **mode as u16 == flags);
    let name = mode.and_then(ValueEnum::to_possible_value);
    print(
        out,
        name.as_ref().map_or("of no mode that 1.3 has", |name| name.get_name()),
    )
}

/// The message that changes it.
pub(super) fn of_fragments(switch: &mut Connection, mode: Fragments) -> Result<Planned, OfctlError> {
    let before = read(switch)?;
    Ok(Planned {
        origin: String::new(),
        message: Message::SetConfig(Configuration {
            flags: before.flags & !FRAGMENTS | mode as u16,
            ..before
        }),
    })
}

/// Has packets that flows do not cut come with this number of bytes at most.
pub(super) fn set_miss_len(switch: &mut Connection, miss_send_len: u16) -> Done {
    let flags = read(switch)?.flags;
    switch.send(&Message::SetConfig(Configuration { flags, miss_send_len }))?;
    Ok(())
}
