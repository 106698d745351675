//! `brimful-tester`: offers frames on several interfaces and speaks the measurer protocol on standard input and output;
//! or, as `brimful-tester stations`, sends sequences of frames between any number of them.

mod back_ends;
#[path = "../../../../documents.rs"]
mod documents;
mod faults;
mod options;
mod settings;
mod stations;
mod threads;
#[path = "../../../../usage.rs"]
mod usage;

use std::io::{self, BufReader, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brimful_netdev::{
    AnyPort, Attachment, BackEnd, Care, Claim, FaultyPort, OpenError, PacketPortOptions, PacketRing, Sender,
};
use brimful_tester::{Clock, MonotonicClock, Service, Tester, stay_on};
use brimful_trial::program::{die_with_parent, raise_priority, serve, stop_on_signals};
use clap::{CommandFactory, Parser, Subcommand};

use documents::Document;
use faults::FaultRequest;
use options::Options;
use settings::{Link, Settings};
use usage::first_paragraph;

/// The arguments make no sense.
const EXIT_USAGE: u8 = 2;
/// The arguments make sense, but nothing can be measured.
const EXIT_FAILED: u8 = 3;
/// 1.4 times `AF_PACKET` on veth. Generic attachment is a little faster there, but sees no frame that the kernel has
/// assigned to another queue, as it does on the way through a bridge.
const FASTEST: BackEnd = BackEnd::Xdp(Attachment::Native);
/// What works everywhere and hands over frames at once.
const PACKET: BackEnd = BackEnd::Packet(PacketRing::Slots);

/// What it does besides trials.
#[derive(Debug, Subcommand)]
enum Other {
    Stations(stations::Options),
    #[command(flatten)]
    Document(Document),
}

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if error.use_stderr() => return fail(EXIT_USAGE, &first_paragraph(&error)),
        Err(help) => help.exit(),
    };
    match &options.other {
        Some(Other::Stations(options)) => return stations::main(options),
        Some(Other::Document(document)) => {
            return match document.write(Options::command()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(message) => fail(EXIT_FAILED, &message),
            };
        }
        None => {}
    }
    if options.list_back_ends {
        return match back_ends::list(&options.ports, options.care(), &mut io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(EXIT_FAILED, &error.to_string()),
        };
    }
    let describe_frames = options.describe_frames;
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(message) => return fail(EXIT_USAGE, &message),
    };
    if describe_frames {
        return match settings.frames().map(|frames| writeln!(io::stdout(), "{frames}")) {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Ok(Err(error)) => fail(EXIT_FAILED, &error.to_string()),
            Err(error) => fail(EXIT_USAGE, &error.to_string()),
        };
    }
    match run(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(exit_code_of(&*error), &error.to_string()),
    }
}

/// A name without an interface is a mistake in the arguments, whatever is found out at opening only.
fn exit_code_of(error: &(dyn std::error::Error + 'static)) -> u8 {
    match error.downcast_ref() {
        Some(OpenError::NoSuchInterface(_)) => EXIT_USAGE,
        _ => EXIT_FAILED,
    }
}

fn run(settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    die_with_parent()?;
    stop_on_signals(&stop)?;
    let claims = claim_interfaces(settings)?;
    let (ports, more_senders, back_end) = open_ports(settings)?;
    // Some drivers restart the link for a program.
    claims.iter().try_for_each(Claim::await_carrier)?;
    let links: Vec<_> = ports.iter().map(|port| Link::of(&*port.sender)).collect();
    if settings.raise_priority {
        raise_priority();
    }
    // Other threads go there later: whether they can is better known now. This one stays on the last.
    for &processor in &settings.threads.processors {
        stay_on(processor)?;
    }
    let clock = MonotonicClock::start();
    let mut tester = Tester::new(
        ports.into_iter().map(|port| with_faults(port, &settings.faults, clock)),
        clock,
        settings.profile.clone(),
        settings.timing,
        &stop,
        arbitrary_trial_number(),
    )?
    .with_threads(settings.threads.threads())
    .with_more_senders(more_senders)
    .with_processors(settings.threads.processors.clone())
    .with_ramp_up(settings.ramp_up)
    .with_broadcasts(settings.broadcast_every);
    let input = BufReader::new(io::stdin());
    let mut output = io::stdout().lock();
    let description = settings.description(back_end, &links);
    let mut service = Service::new(&mut tester, &description, settings.cabling);
    match serve(&mut service, input, &mut output, &stop) {
        // The reader is gone: the same as the end of the input.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Differs from run to run.
fn arbitrary_trial_number() -> u16 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    // 64 ms steps: consecutive runs differ by more trials than fit between them.
    since_epoch.map_or(0, |time| (time.as_millis() >> 6) as u16)
}

/// Makes sure that no other user is disturbed. A TAP has its own end for the tester, and one tester at most.
fn claim_interfaces(settings: &Settings) -> Result<Vec<Claim>, OpenError> {
    if settings.back_end == Some(BackEnd::Tap) {
        return Ok(Vec::new());
    }
    let claims = settings.port_names.iter().map(|name| Claim::new(name, settings.care));
    let claims: Vec<_> = claims.collect::<Result<_, _>>()?;
    claims.iter().try_for_each(Claim::await_carrier)?;
    Ok(claims)
}

/// All ports, what else sends on each, and the way into the kernel that they take.
type Opened = (Vec<AnyPort>, Vec<Vec<Box<dyn Sender>>>, BackEnd);

fn open_ports(settings: &Settings) -> Result<Opened, Box<dyn std::error::Error>> {
    let options = PacketPortOptions {
        has_vlan_tag: settings.profile.has_vlan_tags(),
        ..PacketPortOptions::new(settings.profile.longest_of_a_port()?)
    };
    let open = |back_end: BackEnd| -> Result<Opened, OpenError> {
        let names = settings.port_names.iter();
        let ports = names.map(|name| back_end.open_for_senders(name, options, settings.senders_of_a_port));
        let (ports, more_senders) = ports.collect::<Result<_, _>>()?;
        Ok((ports, more_senders, back_end))
    };
    match settings.back_end {
        Some(back_end) => Ok(open(back_end)?),
        // The faster one, unless these interfaces or this user cannot; what AF_PACKET says then is the better advice.
        None if !settings.profile.has_vlan_tags() => Ok(open(FASTEST).or_else(|error| {
            // Somebody else's program takes frames away before AF_PACKET sees them.
            if error.is_of_another_program() && settings.care == Care::SpareUsed {
                return Err(error);
            }
            open(PACKET)
        })?),
        None => Ok(open(PACKET)?),
    }
}

fn with_faults(port: AnyPort, faults: &[FaultRequest], clock: MonotonicClock) -> AnyPort {
    match FaultRequest::plan(faults, port.sender.name()) {
        Some(plan) => FaultyPort::new(port, plan, move || Duration::from_nanos(clock.now().0)).into_any(),
        None => port,
    }
}

#[expect(clippy::print_stderr, reason = "where the protocol puts what is no reply")]
fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("brimful-tester: {message}");
    ExitCode::from(code)
}
