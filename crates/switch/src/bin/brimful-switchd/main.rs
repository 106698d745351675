//! `brimful-switchd`: OpenFlow switches on interfaces of this network namespace.

#[path = "../../../../documents.rs"]
mod documents;
mod options;
#[path = "../../../../usage.rs"]
mod usage;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use brimful_switch::control::Handles;
use brimful_switch::daemon::{self, Signals};
use brimful_switch::files::read_text;
use brimful_switch::ofctl::{self, Ofctl, OfctlError, Outcome};
use brimful_switch::settings::Settings;
use brimful_switch::supervisor::{self, Watchdog};
use brimful_switch::tables::genflow::Specification;
use brimful_switch::tables::{ovs, tab};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use documents::Document;
use options::{Run, read_settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use usage::first_paragraph;

/// Entries are many small pieces of memory, taken by one thread and given back by another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// For how long the memory of entries that are gone is kept: a controller that begins anew deletes all and adds them again.
const KEEPS_MEMORY: Duration = Duration::from_secs(10);

/// How long everything may take to end after a signal, and how often is looked whether one has come.
const LONGEST_END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// What was compared differs.
const EXIT_DIFFERS: u8 = 1;
/// The arguments make no sense.
const EXIT_USAGE: u8 = 2;
/// The arguments make sense, but the switch cannot run.
const EXIT_FAILED: u8 = 3;

/// Runs OpenFlow switches on interfaces of this network namespace until SIGTERM. SIGHUP reloads their tables.
#[derive(Parser)]
#[command(name = "brimful-switchd", version, args_conflicts_with_subcommands = true)]
struct Command {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum Other {
    /// Write a synthetic flow table; the same seed gives the same table.
    Genflow {
        /// A file of `{Name,[Option,...]}.`
        specification: PathBuf,
        /// The name of one of its tables; default: the first.
        #[arg(long)]
        name: Option<String>,
        /// The seed of the random numbers.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The syntax to write.
        #[arg(long, default_value = "tab")]
        syntax: Syntax,
    },
    /// Check a file of settings, with the tables, keys and certificates that it names, without starting anything.
    Check {
        /// The file that `--config` is to read.
        file: PathBuf,
    },
    #[command(flatten)]
    Document(Document),
    /// Query any switch of OpenFlow 1.3 or 1.4, and change its flows, groups, meters and ports.
    Ofctl(Ofctl),
}

#[derive(Clone, Copy, ValueEnum)]
enum Syntax {
    Tab,
    Ovs,
}

fn main() -> ExitCode {
    let command = match Command::try_parse_from(ofctl::in_order(env::args_os())) {
        Ok(command) => command,
        Err(error) if error.use_stderr() => {
            return fail(EXIT_USAGE, &format!("{}: see --help", first_paragraph(&error)));
        }
        Err(help) => help.exit(),
    };
    match command.other {
        Some(Other::Genflow {
            specification,
            name,
            seed,
            syntax,
        }) => {
            return match generate(&specification, name.as_deref(), seed, syntax) {
                Ok(()) => ExitCode::SUCCESS,
                Err(message) => fail(EXIT_USAGE, &message),
            };
        }
        Some(Other::Check { file }) => {
            return match check(&file) {
                Ok(summary) => {
                    // There may be no reader.
                    let _ = writeln!(io::stdout(), "{summary}");
                    ExitCode::SUCCESS
                }
                Err(message) => fail(EXIT_USAGE, &message),
            };
        }
        Some(Other::Document(document)) => {
            return match document.write(Command::command()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(message) => fail(EXIT_FAILED, &message),
            };
        }
        Some(Other::Ofctl(asked)) => {
            return match ofctl::run(&asked, &mut io::stdout()) {
                Ok(Outcome::Done) => ExitCode::SUCCESS,
                Ok(Outcome::Differs) => ExitCode::from(EXIT_DIFFERS),
                Err(OfctlError::Usage(message)) => fail(EXIT_USAGE, &message),
                Err(OfctlError::Failed(message)) => fail(EXIT_FAILED, &message),
            };
        }
        None => {}
    }
    let file = command.run.config.clone();
    let settings = match command.run.settings() {
        Ok(settings) => settings,
        Err(message) => return fail(EXIT_USAGE, &message),
    };
    brimful_jit::keep_freed_memory(KEEPS_MEMORY);
    match run(settings, file.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(EXIT_FAILED, &message),
    }
}

fn run(settings: Settings, file: Option<&Path>) -> Result<(), String> {
    let signals = Signals::default();
    take_all_descriptors();
    for (signal, flag) in [
        (SIGTERM, &signals.ends),
        (SIGINT, &signals.ends),
        (SIGHUP, &signals.reloads),
    ] {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(|error| error.to_string())?;
    }
    end_in_time(&signals.ends)?;
    let names: Vec<_> = settings.switches.iter().map(|switch| switch.name.clone()).collect();
    let ready = || {
        // There may be no reader.
        let _ = writeln!(io::stdout(), "ready: {}", names.join(", "));
        tell_supervisor(supervisor::READY);
    };
    let patience = env::var("WATCHDOG_USEC").unwrap_or_default();
    let mut watchdog = Watchdog::reading(&patience, Instant::now());
    let lives = |handles: &Handles| {
        let is_due = watchdog
            .as_mut()
            .is_some_and(|watchdog| watchdog.is_due(Instant::now()));
        // A switch that hangs does not answer, and the supervisor gets no sign of life.
        if is_due && handles.values().all(|handle| handle.call(|_| ()).is_ok()) {
            tell_supervisor(supervisor::ALIVE);
        }
    };
    daemon::run(settings, file, &signals, ready, lives)?;
    tell_supervisor(supervisor::STOPPING);
    Ok(())
}

/// Notifies the supervisor that has started the process, if there is one.
fn tell_supervisor(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = supervisor::tell(&socket, state) {
        let name = socket.display();
        // There may be no reader.
        let _ = writeln!(
            io::stderr(),
            "brimful-switchd: the supervisor at {name} is not told {state}: {error}"
        );
    }
}

/// A connection of a controller takes four descriptors, while sessions begin with 1,024 at most.
fn take_all_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // With fewer, fewer controllers can be there at once.
    let _ = setrlimit(Resource::Nofile, all);
}

/// Ends the process some time after a signal has asked for it: a thread that is stuck must not keep it.
fn end_in_time(ends: &Arc<AtomicBool>) -> Result<(), String> {
    let ends = Arc::clone(ends);
    let thread = thread::Builder::new().name("end".to_owned());
    let watched = thread.spawn(move || {
        while !ends.load(Relaxed) {
            thread::sleep(LOOK);
        }
        thread::sleep(LONGEST_END);
        fail(
            EXIT_FAILED,
            "a part of the switch did not end in time: the process was ended",
        );
        process::exit(EXIT_FAILED.into());
    });
    watched.map(|_| ()).map_err(|error| error.to_string())
}

/// What a file of settings would start, in a line.
fn check(path: &Path) -> Result<String, String> {
    let settings = read_settings(path)?;
    brimful_switch::check(&settings)?;
    let names: Vec<_> = settings.switches.iter().map(|switch| switch.name.as_str()).collect();
    Ok(format!("{}: no error: {}", path.display(), names.join(", ")))
}

fn generate(path: &Path, name: Option<&str>, seed: u64, syntax: Syntax) -> Result<(), String> {
    let file = path.display().to_string();
    let text = read_text(path).map_err(|error| format!("{file}: {error}"))?;
    let tables = Specification::read(&file, &text).map_err(|error| error.to_string())?;
    let table = tables.iter().find(|table| name.is_none_or(|name| table.name == name));
    let table = table.ok_or_else(|| format!("{file}: there is no table {}", name.unwrap_or("in it")))?;
    let text = table.generate(seed);
    let text = match syntax {
        Syntax::Tab => text,
        Syntax::Ovs => ovs::write_tables(&tab::read(&table.name, &text, 0).map_err(|error| error.to_string())?),
    };
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| error.to_string())
}

fn fail(code: u8, message: &str) -> ExitCode {
    // When this fails too, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "brimful-switchd: {message}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_ignored_beside_a_file_of_settings() {
        for option in Command::command().get_arguments() {
            let Some(name) = option
                .get_long()
                .filter(|name| !["config", "help", "version"].contains(name))
            else {
                continue;
            };
            let values = option.get_possible_values();
            let value = values.first().map_or("1", |value| value.get_name());
            let given =
                ["brimful-switchd", "--config=switch.toml", &format!("--{name}={value}")].map(ToOwned::to_owned);
            let error = Command::try_parse_from(given).err().expect(name);
            assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict, "{name}");
        }
    }
}
