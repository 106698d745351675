//! `brimful-switchd`: OpenFlow switches on interfaces of this network namespace.

#[path = "../../documents.rs"]
mod documents;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use brimful_pipeline::Limits;
use brimful_switch::channel::TlsFiles;
use brimful_switch::control::Handles;
use brimful_switch::daemon::{self, Signals};
use brimful_switch::events::DEFAULT_PACKET_IN_RATE;
use brimful_switch::files::read_text;
use brimful_switch::ofctl::{self, Ofctl, OfctlError, Outcome};
use brimful_switch::settings::port::PortSettings;
use brimful_switch::settings::{FailMode, Settings, SwitchSettings, default_addresses, default_versions};
use brimful_switch::supervisor::{self, Watchdog};
use brimful_switch::tables::genflow::Specification;
use brimful_switch::tables::{ovs, tab};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use documents::Document;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

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

#[derive(Clone, Copy, ValueEnum)]
enum Fail {
    Secure,
    Standalone,
}

#[derive(Args)]
struct Run {
    /// A TOML file with all settings: no other option goes with it.
    #[arg(long, exclusive = true)]
    config: Option<PathBuf>,
    /// A port, as NUMBER=INTERFACE; may be repeated.
    #[arg(long)]
    port: Vec<String>,
    /// The switch's name.
    #[arg(long, default_value = "switch")]
    name: String,
    /// The datapath identifier, in hexadecimal.
    #[arg(long, default_value = "1")]
    dpid: String,
    /// A file of tables: in linc's syntax if its name ends in .tab, else in that of ovs-ofctl; may be repeated.
    #[arg(long)]
    tables: Vec<PathBuf>,
    /// A controller, as tcp:HOST:PORT or tls:HOST:PORT; ptcp:PORT, ptls:PORT or punix:PATH to listen; may be repeated.
    #[arg(long)]
    controller: Vec<String>,
    /// Versions of OpenFlow to speak, separated by commas; the first hello is of the highest.
    #[arg(long, value_delimiter = ',', default_values_t = default_versions())]
    versions: Vec<String>,
    /// A file that keeps the switch's tables from one run to the next.
    #[arg(long)]
    state: Option<PathBuf>,
    /// The switch's private key for TLS, in PEM.
    #[arg(long, requires = "certificate", requires = "ca_certificate")]
    private_key: Option<PathBuf>,
    /// The switch's certificate for TLS, in PEM.
    #[arg(long, requires = "private_key")]
    certificate: Option<PathBuf>,
    /// The certificate of the authority that signed the controllers' certificates, in PEM.
    #[arg(long, requires = "private_key")]
    ca_certificate: Option<PathBuf>,
    /// What to do without a controller: keep the tables, or forward frames as a bridge does.
    #[arg(long, default_value = "secure")]
    fail_mode: Fail,
    /// Number of auxiliary connections to each controller.
    #[arg(long, default_value_t = 0)]
    auxiliary: u8,
    /// Packet-ins a second for each reason, at most; 0 for no limit.
    #[arg(long, default_value_t = DEFAULT_PACKET_IN_RATE)]
    packet_in_rate: u64,
    /// Entries of a table, at most.
    #[arg(long, default_value_t = Limits::default().entries)]
    entries: usize,
    /// Addresses that outputs to NORMAL learn, at most.
    #[arg(long, default_value_t = default_addresses())]
    addresses: usize,
    /// New addresses a second that they learn, at most; 0 for no limit.
    #[arg(long, default_value_t = 0)]
    learning_rate: u64,
    /// Number of data-plane threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How frames get into and out of the kernel: packet, packet-blocks, xdp-native, xdp-generic, tap or fastest.
    #[arg(long, default_value = "packet")]
    back_end: String,
    /// The longest frame in bytes, without check sequence and tag.
    #[arg(long, default_value_t = 1514)]
    max_frame_len: usize,
    /// Path of the local control socket to create.
    #[arg(long)]
    control: Option<PathBuf>,
    /// Serve metrics for Prometheus here, as ADDRESS:PORT.
    #[arg(long)]
    metrics: Option<String>,
    /// Write counters to this directory every 10 s.
    #[arg(long)]
    telemetry: Option<PathBuf>,
}

fn main() -> ExitCode {
    let command = Command::parse();
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

impl Run {
    fn settings(self) -> Result<Settings, String> {
        if let Some(path) = self.config {
            return read_settings(&path);
        }
        let port = |text: &String| {
            let parts = text
                .split_once('=')
                .and_then(|(number, name)| Some((number.parse().ok()?, name)));
            let (number, name) = parts.ok_or_else(|| format!("--port {text}: use NUMBER=INTERFACE"))?;
            Ok(PortSettings::plain(
                number,
                name.to_owned(),
                self.back_end.clone(),
                self.max_frame_len,
            ))
        };
        let ports = self.port.iter().map(port).collect::<Result<Vec<_>, String>>()?;
        if ports.is_empty() {
            return Err("no ports: give --port NUMBER=INTERFACE for each, or --config FILE".to_owned());
        }
        let tls = match (self.private_key, self.certificate, self.ca_certificate) {
            (Some(private_key), Some(certificate), Some(ca_certificate)) => Some(TlsFiles {
                private_key,
                certificate,
                ca_certificate,
            }),
            _ => None,
        };
        let switch = SwitchSettings {
            name: self.name,
            dpid: self.dpid,
            threads: self.threads,
            tables: self.tables,
            controllers: self.controller,
            versions: self.versions,
            state: self.state,
            tls,
            auxiliary: self.auxiliary,
            fail_mode: match self.fail_mode {
                Fail::Secure => FailMode::Secure,
                Fail::Standalone => FailMode::Standalone,
            },
            packet_in_rate: self.packet_in_rate,
            entries: self.entries,
            addresses: self.addresses,
            learning_rate: self.learning_rate,
            ports,
            mirrors: Vec::new(),
        };
        let settings = Settings {
            control: self.control,
            metrics: self.metrics,
            telemetry: self.telemetry,
            switches: vec![switch],
        };
        settings.check()?;
        Ok(settings)
    }
}

fn read_settings(path: &Path) -> Result<Settings, String> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
    Settings::read(&name, &text)
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
