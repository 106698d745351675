//! `brimful-tester`: offers frames on two interfaces and speaks the measurer protocol on standard input and output.

mod options;
mod process;

use std::io::{self, BufReader};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brimful_netdev::{PacketPort, PacketPortOptions};
use brimful_tester::{MonotonicClock, Tester, serve};
use clap::Parser;

use options::{Options, Settings};

/// The arguments make no sense.
const EXIT_USAGE: u8 = 2;
/// The arguments make sense, but nothing can be measured.
const EXIT_FAILED: u8 = 3;

fn main() -> ExitCode {
    let settings = match Options::parse().settings() {
        Ok(settings) => settings,
        Err(message) => return fail(EXIT_USAGE, &message),
    };
    match run(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(EXIT_FAILED, &error.to_string()),
    }
}

fn run(settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    process::die_with_parent()?;
    process::stop_on_signals(&stop)?;
    let ports = open_ports(settings)?;
    if settings.raise_priority {
        process::raise_priority();
    }
    if let Some(processor) = settings.processor {
        process::pin_to(processor)?;
    }
    let mut tester = Tester::new(
        ports,
        MonotonicClock::start(),
        settings.profile,
        settings.timing,
        &stop,
        process::arbitrary_trial_number(),
    )?;
    let input = BufReader::new(io::stdin());
    let mut output = io::stdout().lock();
    match serve(&mut tester, &settings.description(), input, &mut output, &stop) {
        // Whoever listened is gone: the same as the end of the input.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

fn open_ports(settings: &Settings) -> Result<[PacketPort; 2], Box<dyn std::error::Error>> {
    let options = PacketPortOptions {
        has_vlan_tag: settings.profile.vlan.is_some(),
        ..PacketPortOptions::new(settings.profile.max_frame_len()?)
    };
    let [first, second] = &settings.port_names;
    Ok([PacketPort::open(first, options)?, PacketPort::open(second, options)?])
}

#[expect(clippy::print_stderr, reason = "where the protocol puts what is no reply")]
fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("brimful-tester: {message}");
    ExitCode::from(code)
}
