use std::fs;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use brimful_frame::{MacAddress, VlanTag};
use brimful_netdev::{BackEnd, Care};
use brimful_tester::{
    Cabling, Directions, FrameSizes, IpVersion, MAX_FLOWS, MOST_PORTS, PacingBounds, Profile, ProfileFile,
    ProfileOptions, Share, TemplateError, Timing, TrafficPattern,
};
use brimful_trial::program::parse_time;
use brimful_trial::{Load, Nanoseconds};
use clap::{Parser, ValueEnum};

use crate::Other;
use crate::faults::FaultRequest;
use crate::settings::Settings;
use crate::threads::ThreadOptions;

/// Offers test frames on two interfaces, or up to 16, and counts the frames that arrive.
///
/// Speaks brimful's measurer protocol: JSON objects, one a line, as requests on standard input and as replies on
/// standard output. Exits with 2 if the arguments are wrong, and with 3 if nothing can be measured.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) other: Option<Other>,
    /// An interface cabled to the device; give two, or up to 16.
    #[arg(long = "port", value_name = "INTERFACE", required_unless_present = "list_back_ends")]
    pub(crate) ports: Vec<String>,
    /// List the back ends that work on each --port, or on every interface, and why the others do not; then exit. This
    /// opens and closes them. XDP is not tried on interfaces in use without --force.
    #[arg(long)]
    pub(crate) list_back_ends: bool,
    /// Check the options, print the length of the longest frame and whether frames have VLAN tags as one JSON object,
    /// and exit. Opens no interface.
    #[arg(long)]
    pub(crate) describe_frames: bool,
    /// Accept interfaces in use: with an address or a default route, in a bridge or similar, or with another XDP
    /// program. Their traffic will suffer.
    #[arg(long)]
    force: bool,
    /// Traffic profile: a TOML file that describes the frames. Other options override it.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Size of a frame in bytes with its check sequence, or `imix`: 7 x 64, 4 x 594, 1 x 1518. Default: the smallest
    /// size with room for headers and test stamp, 64 for IPv4 without a tag.
    #[arg(long, value_name = "BYTES|imix")]
    frame_size: Option<FrameSizes>,
    /// Number of flows of each direction, with different UDP ports [default: 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_FLOWS)))]
    flows: Option<u32>,
    /// Both directions at once, or only from the first port to the second, the third to the fourth and so on [default:
    /// bi].
    #[arg(long, value_enum)]
    direction: Option<Direction>,
    /// Which port sends to which: `pairs` (1 and 2, 3 and 4), `mesh` (each to all others in turn, RFC 2889 5.1.3),
    /// `one-to-many` and `many-to-one` (the one is the first), `halves` (the first half to the second, RFC 2889 5.4), or
    /// a list with shares of the sender's load; ports count from 1. The last one given is used [default: pairs].
    #[arg(long, value_name = "NAME|flows:1>2,3>2=50%", overrides_with = "pattern")]
    pattern: Option<TrafficPattern>,
    /// What each port sends of the load, in the order of the ports: the load is then that of a port with 100%. Default:
    /// all of it.
    #[arg(long, value_name = "100%/20%", value_parser = Shares::parse, overrides_with = "port_shares")]
    port_shares: Option<Shares>,
    /// Tag all frames with this 802.1Q VLAN; the frame size includes the tag.
    #[arg(long, value_name = "ID")]
    vlan: Option<u16>,
    /// IP version; the last one given is used [default: 4].
    #[arg(long, value_enum, overrides_with = "ip")]
    ip: Option<IpChoice>,
    /// IP address that a port sends from; give one for each, in the order of the ports. Default: from the ranges reserved for
    /// tests, 198.18.0.0/15 and `2001:2::/48`.
    #[arg(long = "source-ip", value_name = "IP")]
    sources: Vec<IpAddr>,
    /// IP address that a port sends to; give two, in the order of the ports. Default: the other port's. Not with more
    /// than two ports.
    #[arg(long = "destination-ip", value_name = "IP")]
    destinations: Vec<IpAddr>,
    /// Ethernet address that a port sends from; give one for each, in the order of the ports.
    #[arg(long = "source-mac", value_name = "MAC")]
    macs: Vec<MacAddress>,
    /// Ethernet address that a port sends to, for a device that routes; give one for each, in the order of the ports.
    /// Default: the other port's.
    #[arg(long = "next-hop-mac", value_name = "MAC")]
    next_hops: Vec<MacAddress>,
    /// How long to wait for frames after the end of sending; the wait ends when all have arrived.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_time)]
    straggler_wait: Nanoseconds,
    /// How long after a later frame a missing one may still arrive before a trial that stops early counts it as lost.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_time)]
    stop_grace: Nanoseconds,
    /// How long to rest after a trial that stopped early.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    rest_after_stop: Nanoseconds,
    /// How long the load rises before a trial, geometrically from 0.1 % of its load, with frames that are not counted.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    ramp_up: Nanoseconds,
    /// One of N frames that a port sends is a broadcast, evenly among the test frames, beside the load, and counted
    /// nowhere: 100 for RFC 2544 section 11.1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    broadcast_every: Option<u64>,
    /// What is between the ports: a device, or nothing, where they are joined. Calibration asks joined ports for a load
    /// without loss, and others for one that is offered on schedule.
    #[arg(long, value_enum, default_value_t = CablingChoice::Device)]
    cabling: CablingChoice,
    /// The longest stall of the sender that does not make a trial invalid.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_time)]
    max_stall: Nanoseconds,
    /// The largest load to accept, in frames/s of each port that sends.
    #[arg(long, value_name = "LOAD")]
    max_load: Option<f64>,
    /// How frames get into the kernel: packet, packet-blocks, xdp-native, xdp-generic or tap. Default: the faster of
    /// packet and xdp-native that these interfaces support.
    #[arg(long, value_name = "NAME")]
    back_end: Option<BackEnd>,
    /// Damage frames to test the tester itself, `[INTERFACE/]send|receive:key=value,...`: `drop`, `burst`, `duplicate`,
    /// `reorder`, `corrupt` (shares), `burst-length`, `reorder-distance`, `delay`, `jitter`, `seed`. May be repeated; the
    /// record says so.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<FaultRequest>,
    #[command(flatten)]
    threads: ThreadOptions,
    /// Whether to request precedence over other programs.
    #[arg(long, value_enum, default_value_t = Priority::High)]
    priority: Priority,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Direction {
    Uni,
    Bi,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum IpChoice {
    #[value(name = "4")]
    V4,
    #[value(name = "6")]
    V6,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CablingChoice {
    Device,
    Joined,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Priority {
    Normal,
    High,
}

/// Of each port.
#[derive(Clone, Debug)]
struct Shares(Vec<Share>);

impl Shares {
    fn parse(text: &str) -> Result<Self, String> {
        Share::parse_list(text).map(Self)
    }
}

impl Options {
    pub(crate) fn care(&self) -> Care {
        if self.force { Care::TakeAll } else { Care::SpareUsed }
    }

    /// Checks what the parser cannot: options against each other.
    pub(crate) fn settings(self) -> Result<Settings, String> {
        let port_names = self.ports.clone();
        let count = port_names.len();
        if !(2..=MOST_PORTS).contains(&count) {
            return Err(format!(
                "--port is given {count} times: give it twice, one interface on each side of the device, or up to \
                 {MOST_PORTS} times"
            ));
        }
        if let Some(twice) = (1..count).find(|&port| port_names[..port].contains(&port_names[port])) {
            let name = &port_names[twice];
            return Err(format!(
                "--port {name} is given twice: the device is between different interfaces"
            ));
        }
        for fault in &self.faults {
            fault.check(&port_names)?;
        }
        let max_load = self.max_load.map(Load::new).transpose();
        let profile = self.profile()?;
        let sizes = profile.size_pattern().map_err(|error| self.refusal_of_sizes(error))?;
        let senders_of_a_port = self.threads.check(&profile)?;
        if senders_of_a_port > 1 && !self.faults.is_empty() {
            return Err("--fault: threads that share a port do not share its faults; give fewer --senders".to_owned());
        }
        Ok(Settings {
            port_names,
            profile,
            sizes,
            next_hops: of_ports("--next-hop-mac", &self.next_hops, count)?,
            shares: self
                .port_shares
                .as_ref()
                .map(|shares| shares.0.clone())
                .unwrap_or_default(),
            profile_stem: self.profile.as_deref().map(stem_of),
            timing: Timing {
                straggler_wait: self.straggler_wait,
                stop_grace: self.stop_grace,
                rest_after_stop: self.rest_after_stop,
                bounds: PacingBounds {
                    stall: self.max_stall,
                    ..PacingBounds::default()
                },
            },
            ramp_up: self.ramp_up,
            broadcast_every: self.broadcast_every.and_then(NonZeroU64::new),
            back_end: self.back_end,
            care: self.care(),
            faults: self.faults,
            threads: self.threads,
            senders_of_a_port,
            raise_priority: self.priority == Priority::High,
            cabling: match self.cabling {
                CablingChoice::Device => Cabling::Device,
                CablingChoice::Joined => Cabling::Joined,
            },
            max_load: max_load.map_err(|error| format!("--max-load: {error}"))?,
        })
    }

    fn profile(&self) -> Result<Profile, String> {
        let options = self.profile_options()?;
        let Some(path) = &self.profile else {
            return Profile::new(&ProfileFile::default(), Path::new(""), &options);
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        read_profile(path)
            .and_then(|file| Profile::new(&file, folder, &options))
            .map_err(|error| format!("--profile {}: {error}", path.display()))
    }

    fn profile_options(&self) -> Result<ProfileOptions, String> {
        let ports = self.ports.len();
        let source_macs = of_ports("--source-mac", &self.macs, ports)?;
        if let Some(mac) = source_macs.iter().flatten().find(|mac| mac.is_group()) {
            return Err(format!(
                "--source-mac {mac} is a group address: a port needs one of its own"
            ));
        }
        if ports > 2 && !self.destinations.is_empty() {
            return Err(format!(
                "--destination-ip: each of {ports} ports sends to the addresses of others; leave it out, or give --source-ip"
            ));
        }
        let vlan = self.vlan.map(VlanTag::new).transpose();
        Ok(ProfileOptions {
            ports: Some(ports),
            pattern: self.pattern.clone(),
            shares: self.port_shares.clone().map(|shares| shares.0).unwrap_or_default(),
            sizes: self.frame_size.clone(),
            flows: self.flows,
            directions: self.direction.map(|direction| match direction {
                Direction::Uni => Directions::Uni,
                Direction::Bi => Directions::Bi,
            }),
            vlan: vlan.map_err(|error| format!("--vlan: {error}"))?,
            ip: self.ip.map(|ip| match ip {
                IpChoice::V4 => IpVersion::V4,
                IpChoice::V6 => IpVersion::V6,
            }),
            source_ips: of_ports("--source-ip", &self.sources, ports)?,
            destination_ips: of_ports("--destination-ip", &self.destinations, ports)?,
            source_macs,
            next_hop_macs: of_ports("--next-hop-mac", &self.next_hops, ports)?,
        })
    }

    fn refusal_of_sizes(&self, error: TemplateError) -> String {
        let reason = format!("{error} (headers and test stamp need their room)");
        match &self.profile {
            Some(path) if self.frame_size.is_none() => format!("--profile {}: sizes: {reason}", path.display()),
            _ => {
                let nearest = error.size.clamp(error.smallest, error.largest);
                format!("--frame-size: {reason}: give --frame-size {nearest}")
            }
        }
    }
}

fn stem_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_profile(path: &Path) -> Result<ProfileFile, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    ProfileFile::parse(&text)
}

fn of_ports<T: Copy>(option: &str, values: &[T], ports: usize) -> Result<Option<Vec<T>>, String> {
    match values.len() {
        0 => Ok(None),
        count if count == ports => Ok(Some(values.to_vec())),
        count => {
            let times = if ports == 2 {
                "twice".to_owned()
            } else {
                format!("{ports} times")
            };
            Err(format!(
                "{option} is given {count} times: give it {times}, in the order of the ports, or not at all"
            ))
        }
    }
}

#[cfg(test)]
mod tests;
