//! `brimful-disk`: offers IOs to a block device and speaks the measurer protocol on standard input and output.

#[path = "../../../../documents.rs"]
mod documents;
mod options;
#[path = "../../../../usage.rs"]
mod usage;

use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brimful_blockio::{
    Area, Device, Engine, Mark, MonotonicClock, Pause, Punctuality, Refusal, Ring, Service, Settings, Sizes,
    create_file, find_steady_state, side_reports, write_once,
};
use brimful_trial::program::{die_with_parent, raise_priority, serve, stop_on_signals};
use clap::{CommandFactory, Parser};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::json;

use options::{Asked, Options, Priority};
use usage::first_paragraph;

/// The arguments make no sense, or the device must not be touched.
const EXIT_USAGE: u8 = 2;
/// The arguments make sense, but nothing can be measured.
const EXIT_FAILED: u8 = 3;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if error.use_stderr() => return fail(EXIT_USAGE, &first_paragraph(&error)),
        Err(help) => help.exit(),
    };
    if let Some(document) = &options.document {
        return match document.write(Options::command()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => fail(EXIT_FAILED, &message),
        };
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => fail(EXIT_USAGE, &message),
        Err(Failure::Measuring(message)) => fail(EXIT_FAILED, &message),
    }
}

enum Failure {
    Usage(String),
    Measuring(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Usage(refusal.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Measuring(error.to_string())
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop)?;
    if let Some(path) = &options.create {
        let made = create_file(path, options.file_size.unwrap_or_default());
        made.map_err(|error| Failure::Usage(format!("--create {}: {error}", path.display())))?;
        return Ok(());
    }
    die_with_parent()?;
    let asked = options.asked().map_err(Failure::Usage)?;
    let max_load = options.max_load().map_err(Failure::Usage)?;
    let access = options.access(&asked.workload)?;
    let path = options.device.as_deref().unwrap_or(Path::new(""));
    let writes = matches!(access, brimful_blockio::Access::Destroy { .. });
    let mut device = Device::open(path, &access)?;
    let named = |error| Failure::Usage(format!("{}: {error}", path.display()));
    let area = device.area(options.working_set, writes).map_err(named)?;
    asked
        .workload
        .check(area, device.facts().logical_block)
        .map_err(named)?;
    let slots = options.slots(asked.workload.longest());
    let ring = Ring::new(
        device.file(),
        slots,
        asked.workload.longest(),
        options.seed,
        options.durable,
    )
    .map_err(|error| Failure::Measuring(format!("io_uring: {error}")))?;
    // Before it stays on one processor, which says nothing of how many there are.
    let pause = options.pause();
    settle(options)?;
    let mut engine = Engine::new(ring, MonotonicClock::start(), slots, options.deadline, pause);
    if options.cpu.is_some() && pause == Pause::Spin {
        engine.keep_to(Punctuality::own(options.deadline));
    }
    if options.prepare {
        return prepare(options, &mut device, &mut engine, area, &stop);
    }
    let settings = settings(options, asked, area, slots, max_load);
    let mut service = Service::new(engine, device, settings, Arc::clone(&stop));
    if let Some(depth) = options.depth {
        return closed_loop(options, &mut service, depth);
    }
    let input = BufReader::new(io::stdin());
    match serve(&mut service, input, &mut io::stdout().lock(), &stop) {
        // The reader is gone: the same as the end of the input.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

fn settings(
    options: &Options,
    asked: Asked,
    area: Area,
    slots: u32,
    max_load: Option<brimful_trial::Load>,
) -> Settings {
    Settings {
        workload: asked.workload,
        pattern_name: asked.name,
        arrivals: asked.arrivals,
        area,
        deadline: options.deadline,
        warm_up: options.warm_up,
        slots,
        durable: options.durable,
        seed: options.seed,
        max_load,
    }
}

fn settle(options: &Options) -> Result<(), Failure> {
    if options.priority == Priority::High {
        raise_priority();
    }
    if let Some(processor) = options.cpu {
        let mut set = CpuSet::new();
        if processor < CpuSet::MAX_CPU {
            set.set(processor);
        }
        sched_setaffinity(None, &set).map_err(|error| Failure::Usage(format!("--cpu {processor}: {error}")))?;
    }
    Ok(())
}

/// Writes what is to be read and overwritten, and brings the device to its steady state.
fn prepare(
    options: &Options,
    device: &mut Device,
    engine: &mut Engine<Ring, MonotonicClock>,
    area: Area,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    const STEP: u64 = 1 << 30;
    let tell = |written: u64| {
        if written.is_multiple_of(STEP) {
            say(&format!(
                "{} of {} GiB are written",
                written / STEP,
                area.len.div_ceil(STEP)
            ));
        }
    };
    if !write_once(device, area, options.seed, stop, tell)? {
        return Ok(());
    }
    let known = device.mark().cloned().unwrap_or_default();
    if options.steady_rounds > 0 && !known.is_steady {
        let sizes: Sizes = "4k".parse().map_err(Failure::Usage)?;
        let mut round = 0;
        let tell = |rate: f64| {
            round += 1;
            say(&format!("round {round} of random writes: {rate:.0} IO/s"));
        };
        let found = find_steady_state(engine, area, &sizes, options.steady_rounds, stop, tell);
        let Some((is_steady, rounds)) = found.map_err(|fault| Failure::Measuring(fault.to_string()))? else {
            return Ok(());
        };
        device.set_mark(Mark {
            rounds: Some(rounds),
            is_steady,
            ..known
        })?;
    }
    print(&json!(device.mark()))
}

fn closed_loop(options: &Options, service: &mut Service<MonotonicClock>, depth: u32) -> Result<(), Failure> {
    let found = service.closed_loop(depth, options.duration);
    match found.map_err(|fault| Failure::Measuring(fault.to_string()))? {
        Some((rate, finished)) => {
            print(&json!({"depth": depth, "rate": rate, "directions": side_reports(&finished, true)}))
        }
        None => Ok(()),
    }
}

fn print(value: &serde_json::Value) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{value}")?)
}

#[expect(clippy::print_stderr, reason = "where the protocol puts what is no reply")]
fn say(text: &str) {
    eprintln!("brimful-disk: {text}");
}

fn fail(code: u8, message: &str) -> ExitCode {
    say(message);
    ExitCode::from(code)
}
