use std::path::PathBuf;
use std::thread;

use brimful_blockio::{Access, Arrivals, Pause, Refusal, Sizes, Workload, WorkloadFile, parse_bytes};
use brimful_trial::program::parse_time;
use brimful_trial::{Load, Nanoseconds};
use clap::{Parser, ValueEnum};

use crate::documents::Document;

/// Memory for buffers where nothing is said of slots; of 4 KiB each, these are 32768 slots.
const BUFFER_BYTES: u64 = 128 << 20;
/// More completions do not fit into a ring of the kernel.
const MOST_SLOTS: u32 = 32_768;
/// A working set that fits no cache of a device.
const WORKING_SET: u64 = 16 << 30;

/// Offers IOs to a block device on schedule and counts those that miss their deadline.
///
/// Speaks brimful's measurer protocol: JSON objects, one a line, as requests on standard input and as replies on
/// standard output. Exits with 2 if the arguments are wrong or the device must not be used, and with 3 if nothing can be
/// measured.
#[derive(Debug, Parser)]
#[command(
    name = "brimful-disk",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) document: Option<Document>,
    /// The block device, or a file.
    #[arg(long, value_name = "PATH", required_unless_present = "create")]
    pub(crate) device: Option<PathBuf>,
    /// A TOML file that describes the workload. Other options override it.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    workload: Option<PathBuf>,
    /// `randread`, `randwrite`, `randrw`, `read`, `write` or `rw` [default: randread].
    #[arg(long)]
    pattern: Option<String>,
    /// Share of reads in a mix, as 0.7 or 70% [default: 50%].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    read_share: Option<f64>,
    /// Size of an IO in bytes (k = 1024), or several sizes with weights: `4k:70+64k:30` [default: 4k].
    #[arg(long)]
    size: Option<String>,
    /// Number of sequential streams, each in its own part of the working set [default: 1].
    #[arg(long, value_name = "NUMBER")]
    streams: Option<u64>,
    /// When IOs start [default: even].
    #[arg(long, value_enum)]
    arrivals: Option<ArrivalsChoice>,
    /// Replay the output of `blkparse`, scaled to the load.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Of a trace of several devices: replay the IOs of this one, as 8:0.
    #[arg(long, value_name = "MAJOR:MINOR")]
    replay_device: Option<String>,
    /// How long an IO may take, from its intended start.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = time_with_unit)]
    pub(crate) deadline: Nanoseconds,
    /// Offer the load for this time before each trial, uncounted, to wake a sleeping device.
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = time_with_unit)]
    pub(crate) warm_up: Nanoseconds,
    /// Bytes of the device to use [default: 16GiB, or all of a smaller one].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value_t = WORKING_SET, hide_default_value = true)]
    pub(crate) working_set: u64,
    /// IOs in flight, at most [default: as many as fit into 128 MiB of buffers, up to 32768].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SLOTS)))]
    slots: Option<u32>,
    /// A write completes only when it is stored (FUA, or a flush after each).
    #[arg(long)]
    pub(crate) durable: bool,
    /// Seed of places, Poisson times and data.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The largest load to accept, in IO/s.
    #[arg(long, value_name = "LOAD")]
    max_load: Option<f64>,
    /// What to do between IOs [default: spin if there are two processors or more].
    #[arg(long, value_enum)]
    pause: Option<PauseChoice>,
    /// Run on this processor only.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) cpu: Option<usize>,
    /// Whether to request precedence over other programs.
    #[arg(long, value_enum, default_value_t = Priority::High)]
    pub(crate) priority: Priority,
    /// Allow writes, which destroy all data on the device. Repeat its exact name here.
    #[arg(long, value_name = "DEVICE")]
    destroy_data: Option<String>,
    /// Write even if the device has a file system or another known signature.
    #[arg(long, requires = "destroy_data")]
    ignore_signature: bool,
    /// Read a device that is in use.
    #[arg(long, conflicts_with = "destroy_data")]
    in_use: bool,
    /// Write the working set once, unless this was done before, and exit.
    #[arg(long, requires = "destroy_data")]
    pub(crate) prepare: bool,
    /// With --prepare: then make random writes in rounds of 10 s until the rate is steady, at most this many rounds.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "prepare")]
    pub(crate) steady_rounds: u64,
    /// Keep this number of IOs in flight, print the result as one JSON object, and exit; without the protocol.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SLOTS)))]
    pub(crate) depth: Option<u32>,
    /// How long to run --depth.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) duration: Nanoseconds,
    /// Create a file whose data may be overwritten, and exit.
    #[arg(long, value_name = "FILE", requires = "file_size", conflicts_with = "device")]
    pub(crate) create: Option<PathBuf>,
    /// Size of this file in bytes.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) file_size: Option<u64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ArrivalsChoice {
    Even,
    Poisson,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum PauseChoice {
    Spin,
    Sleep,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Priority {
    Normal,
    High,
}

/// What is asked of a device, and when.
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) workload: Workload,
    pub(crate) arrivals: Arrivals,
}

impl Options {
    /// What the workload file and the options beside it say.
    pub(crate) fn asked(&self) -> Result<Asked, String> {
        let named = |error| match &self.workload {
            Some(path) => format!("--workload {}: {error}", path.display()),
            None => format!("--{error}"),
        };
        let file = self.file().map_err(named)?;
        let workload = file.workload().map_err(named)?;
        let arrivals = match (&workload, file.arrivals.as_deref()) {
            (Workload::Replay(trace), _) => trace.arrivals(),
            (_, None | Some("even")) => Arrivals::Even,
            (_, Some("poisson")) => Arrivals::Poisson,
            (_, Some(other)) => return Err(named(format!("arrivals: `{other}` is neither even nor poisson"))),
        };
        let name = match &workload {
            Workload::Replay(trace) => format!("replay of {} IOs", trace.len()),
            Workload::Synthetic { .. } => file.pattern.unwrap_or_else(|| "randread".to_owned()),
        };
        Ok(Asked {
            name: file.name.unwrap_or(name),
            workload,
            arrivals,
        })
    }

    fn file(&self) -> Result<WorkloadFile, String> {
        let mut file = match &self.workload {
            Some(path) => WorkloadFile::read(path)?,
            None => WorkloadFile::default(),
        };
        if let Some(size) = &self.size {
            let sizes: Sizes = size.parse().map_err(|error| format!("size: {error}"))?;
            file.set_sizes(&sizes);
        }
        file.pattern = self.pattern.clone().or(file.pattern);
        file.read_share = self.read_share.or(file.read_share);
        file.streams = self.streams.or(file.streams);
        file.replay = self.replay.clone().or(file.replay);
        file.replay_device = self.replay_device.clone().or(file.replay_device);
        if let Some(arrivals) = self.arrivals {
            let name = if arrivals == ArrivalsChoice::Poisson {
                "poisson"
            } else {
                "even"
            };
            file.arrivals = Some(name.to_owned());
        }
        Ok(file)
    }

    /// What may be done to the device.
    pub(crate) fn access(&self, workload: &Workload) -> Result<Access, Refusal> {
        let name = self
            .device
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        match &self.destroy_data {
            Some(given) if *given != name => Err(Refusal::OtherDevice {
                name,
                given: given.clone(),
            }),
            None if workload.writes() => Err(Refusal::NotAllowed { name }),
            Some(_) => Ok(Access::Destroy {
                known_signature: self.ignore_signature,
            }),
            None if self.in_use => Ok(Access::ReadInUse),
            None => Ok(Access::Read),
        }
    }

    pub(crate) fn slots(&self, longest: u32) -> u32 {
        let fitting = (BUFFER_BYTES / u64::from(longest.max(1))) as u32;
        self.slots.unwrap_or(fitting.clamp(16, MOST_SLOTS))
    }

    pub(crate) fn pause(&self) -> Pause {
        let spins = match self.pause {
            Some(choice) => choice == PauseChoice::Spin,
            None => thread::available_parallelism().is_ok_and(|processors| processors.get() > 1),
        };
        if spins { Pause::Spin } else { Pause::Sleep }
    }

    pub(crate) fn max_load(&self) -> Result<Option<Load>, String> {
        let load = self.max_load.map(Load::new).transpose();
        load.map_err(|error| format!("--max-load: {error}"))
    }
}

/// A time that says what it counts: a deadline of 5 is meant in milliseconds as often as in seconds.
fn time_with_unit(text: &str) -> Result<Nanoseconds, String> {
    let time = parse_time(text)?;
    match text.trim().parse::<f64>() {
        Ok(number) if number != 0.0 => Err(format!("`{text}` has no unit; write {text}ms, {text}us or {text}s")),
        _ => Ok(time),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let value = number.trim().parse::<f64>().map(|value| value / scale).ok();
    let found = value.filter(|share| (0.0..=1.0).contains(share));
    found.ok_or_else(|| format!("`{text}` is no share from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> Options {
        Options::try_parse_from([&["brimful-disk", "--device", "/dev/x"], words].concat()).unwrap()
    }

    #[test]
    fn options_override_the_file() {
        let path = std::env::temp_dir().join(format!("brimful-disk-{}.toml", std::process::id()));
        std::fs::write(
            &path,
            "name = 'mail'\npattern = 'randrw'\nread-share = 0.7\nsize = '8k'",
        )
        .unwrap();
        let file = path.to_str().unwrap();
        let asked = options(&["--workload", file, "--size", "4k:1+64k:3", "--arrivals", "poisson"])
            .asked()
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((asked.name.as_str(), asked.arrivals), ("mail", Arrivals::Poisson));
        let Workload::Synthetic { pattern, sizes, .. } = asked.workload else {
            panic!("no replay");
        };
        assert!((pattern.read_share - 0.7).abs() < 1e-9);
        assert_eq!(sizes.to_string(), "4096:1,65536:3");
    }

    #[test]
    fn a_time_without_a_unit_is_refused() {
        for option in ["--deadline", "--warm-up"] {
            let words = ["brimful-disk", "--device", "/dev/x", option, "5"];
            let error = Options::try_parse_from(words).unwrap_err().to_string();
            assert!(error.contains("`5` has no unit; write 5ms, 5us or 5s"), "{error}");
        }
        assert_eq!(
            options(&["--deadline", "5ms", "--warm-up", "0"]).warm_up,
            Nanoseconds::ZERO
        );
    }

    #[test]
    fn writes_have_to_be_allowed_for_this_very_device() {
        let refusal = |words: &[&str]| {
            let options = options(words);
            options
                .access(&options.asked().unwrap().workload)
                .unwrap_err()
                .to_string()
        };
        assert!(refusal(&["--pattern", "randwrite"]).contains("--destroy-data /dev/x"));
        let other = refusal(&["--pattern", "rw", "--destroy-data", "/dev/y"]);
        assert!(other.contains("is not the device /dev/x"), "{other}");
        let destroy = options(&["--pattern", "rw", "--destroy-data", "/dev/x"]);
        let access = destroy.access(&destroy.asked().unwrap().workload).unwrap();
        assert_eq!(access, Access::Destroy { known_signature: false });
    }

    #[test]
    fn shares_are_read() {
        assert_eq!((share("70%"), share("0.7")), (Ok(0.7), Ok(0.7)));
        for wrong in ["", "%", "-1", "1.1", "NaN"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
