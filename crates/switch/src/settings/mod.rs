//! What a switch is to be, from one TOML file or from the command line.

pub mod port;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use brimful_openflow::wire::Version;
use brimful_pipeline::{Limits, MOST_COUNTERS};
use serde::Deserialize;

use crate::channel::{Credentials, Endpoint, Peers, Protocol, TlsFiles};
use crate::events::DEFAULT_PACKET_IN_RATE;
use crate::learned::LearningLimits;

use port::{MirrorSettings, PortSettings, check_mirror, in_range};

/// Data-plane threads at most; there are no interfaces with more receive queues.
const MOST_THREADS: usize = 256;

/// Everything.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the local control socket is made; none by default.
    pub control: Option<PathBuf>,
    /// Where Prometheus may ask, as `ADDRESS:PORT`; nowhere by default.
    pub metrics: Option<String>,
    /// A directory that counters are written to every 10 s; none by default.
    pub telemetry: Option<PathBuf>,
    /// The logical switches.
    #[serde(rename = "switch")]
    pub switches: Vec<SwitchSettings>,
}

/// A logical switch.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettings {
    /// Its name.
    pub name: String,
    /// Its datapath identifier, 16 hexadecimal digits at most; 1 by default.
    #[serde(default = "default_dpid")]
    pub dpid: String,
    /// Data-plane threads, at most one for each receive queue of a port; 1 by default.
    #[serde(default = "default_threads")]
    pub threads: usize,
    /// Files of tables, loaded in this order.
    #[serde(default)]
    pub tables: Vec<PathBuf>,
    /// Its controllers: `tcp:HOST:PORT` or `tls:HOST:PORT`, or `ptcp:PORT`, `ptls:PORT` or
    /// `punix:PATH` to listen; none by default.
    #[serde(default)]
    pub controllers: Vec<String>,
    /// Versions of OpenFlow that it speaks: `1.3`, `1.4`; both by default.
    #[serde(default = "default_versions")]
    pub versions: Vec<String>,
    /// A file that keeps its tables over its end; none by default.
    pub state: Option<PathBuf>,
    /// What TLS needs; none by default.
    pub tls: Option<TlsFiles>,
    /// What it does while no controller is there; `secure` by default.
    #[serde(default)]
    pub fail_mode: FailMode,
    /// Connections beside the main one of each controller that it connects to; none by default.
    #[serde(default)]
    pub auxiliary: u8,
    /// Packets for controllers a second for each kind of reason, 0 for no limit; 10,000 by default.
    #[serde(default = "default_packet_in_rate")]
    pub packet_in_rate: u64,
    /// Entries of a table at most; 1,048,576 by default.
    #[serde(default = "default_entries")]
    pub entries: usize,
    /// Addresses that outputs to `NORMAL` learn at most; 65,536 by default.
    #[serde(default = "default_addresses")]
    pub addresses: usize,
    /// New addresses a second that they learn, 0 for no limit; no limit by default.
    #[serde(default)]
    pub learning_rate: u64,
    /// Its ports.
    #[serde(rename = "port")]
    pub ports: Vec<PortSettings>,
    /// What is copied to which port.
    #[serde(default, rename = "mirror")]
    pub mirrors: Vec<MirrorSettings>,
}

/// What a switch does while no controller is there (OF 1.3.5 section 6.3.3).
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum FailMode {
    /// It keeps its tables as they are.
    #[default]
    Secure,
    /// It forwards frames as a bridge does.
    Standalone,
}

fn default_dpid() -> String {
    "1".to_owned()
}

fn default_threads() -> usize {
    1
}

/// The names of all versions of OpenFlow that there are here.
pub fn default_versions() -> Vec<String> {
    Version::ALL.iter().map(|version| version.name().to_owned()).collect()
}

fn default_packet_in_rate() -> u64 {
    DEFAULT_PACKET_IN_RATE
}

fn default_entries() -> usize {
    Limits::default().entries
}

/// How many addresses a switch learns.
pub fn default_addresses() -> usize {
    LearningLimits::default().addresses
}

impl Settings {
    /// Reads a file's text; `file` is its name, for messages.
    ///
    /// # Errors
    /// With what is wrong and where, in one line.
    pub fn read(file: &str, text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            format!("{file}:{line}: {}", error.message())
        })?;
        settings.check().map_err(|message| format!("{file}: {message}"))?;
        Ok(settings)
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// With what cannot.
    pub fn check(&self) -> Result<(), String> {
        if self.switches.is_empty() {
            return Err("there is no switch: add [[switch]]".to_owned());
        }
        let (mut names, mut interfaces) = (HashSet::new(), HashSet::new());
        for switch in &self.switches {
            if !names.insert(&switch.name) {
                return Err(format!("two switches are called {:?}", switch.name));
            }
            switch.check()?;
            if let Some(twice) = switch.ports.iter().find(|port| !interfaces.insert(&port.interface)) {
                return Err(format!("interface {} is a port twice", twice.interface));
            }
        }
        Ok(())
    }
}

impl SwitchSettings {
    fn check(&self) -> Result<(), String> {
        self.datapath()?;
        in_range(&format!("{}: threads", self.name), self.threads, 1, MOST_THREADS)?;
        in_range(&format!("{}: entries", self.name), self.entries, 1, MOST_COUNTERS)?;
        in_range(
            &format!("{}: addresses", self.name),
            self.addresses,
            1,
            default_addresses(),
        )?;
        if self.fail_mode == FailMode::Standalone && self.state.is_some() {
            return Err(format!(
                "{}: tables cannot be kept in a file and be put aside without a controller: leave out state or fail_mode",
                self.name
            ));
        }
        let mut numbers = HashSet::new();
        for port in &self.ports {
            if !numbers.insert(port.number) {
                return Err(format!("{}: port {} is there twice", self.name, port.number));
            }
            port.check()?;
        }
        let mut outputs = HashSet::new();
        for MirrorSettings { ports, output } in &self.mirrors {
            check_mirror(*output, ports, |port| numbers.contains(&port))?;
            if !outputs.insert(output) {
                return Err(format!("{}: port {output} has two mirrors: make them one", self.name));
            }
        }
        self.versions()?;
        self.endpoints().map(|_| ())
    }

    /// What it learns at most.
    pub fn learning(&self) -> LearningLimits {
        LearningLimits {
            addresses: self.addresses,
            rate: self.learning_rate,
        }
    }

    /// The numbers of its ports by the names of their interfaces.
    pub fn port_names(&self) -> BTreeMap<String, u32> {
        let named = self.ports.iter().map(|port| (port.interface.clone(), port.number));
        named.collect()
    }

    /// Where its controllers are.
    ///
    /// # Errors
    /// When one is no place of a controller.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, String> {
        self.controllers.iter().map(|text| Endpoint::read(text)).collect()
    }

    /// The versions of OpenFlow that it speaks.
    ///
    /// # Errors
    /// When there is none, or one that is not known.
    pub fn versions(&self) -> Result<Vec<Version>, String> {
        let known = default_versions().join(" and ");
        if self.versions.is_empty() {
            return Err(format!("{}: no versions of OpenFlow: there are {known}", self.name));
        }
        let versions = self.versions.iter().map(|name| {
            Version::from_name(name).ok_or_else(|| format!("there is no OpenFlow {name} here: there are {known}"))
        });
        versions.collect()
    }

    /// Whom it talks to; certificates are read.
    ///
    /// # Errors
    /// When one is no place of a controller, or TLS lacks something.
    pub fn peers(&self) -> Result<Peers, String> {
        let endpoints = self.endpoints()?;
        let secured = endpoints.iter().find(|endpoint| endpoint.protocol() == Protocol::Tls);
        if let (Some(endpoint), None) = (secured, &self.tls) {
            return Err(format!(
                "{endpoint}: TLS needs a private key, a certificate and the certificate of an authority"
            ));
        }
        Ok(Peers {
            endpoints,
            credentials: self.tls.as_ref().map(Credentials::read).transpose()?,
            versions: self.versions()?,
            auxiliary: self.auxiliary,
            stands_alone: self.fail_mode == FailMode::Standalone,
        })
    }

    /// The datapath identifier.
    ///
    /// # Errors
    /// When it is none.
    pub fn datapath(&self) -> Result<u64, String> {
        let digits = self.dpid.trim_start_matches("0x");
        let read = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= 16);
        read.ok_or_else(|| format!("dpid is {:?}: use at most 16 hexadecimal digits", self.dpid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::QueueSettings;

    const FILE: &str = "control = '/run/s.sock'\n[[switch]]\nname = 'edge'\ndpid = '00000000000000ff'\nthreads = 2\n\
        tables = ['a.flows']\n[[switch.port]]\nnumber = 1\ninterface = 'pa'\n[[switch.port]]\nnumber = 2\n\
        interface = 'pb'\nspeed_bps = 1000000\n[[switch.port.queue]]\nid = 1\nmax_rate = 250\n";

    #[test]
    fn a_file_is_read() {
        let settings = Settings::read("s.toml", FILE).unwrap();
        let switch = &settings.switches[0];
        assert_eq!((switch.datapath(), switch.ports.len()), (Ok(255), 2));
        let expected = QueueSettings {
            queue: 1,
            min_rate: 0xffff,
            max_rate: 250,
        };
        assert_eq!(switch.ports[1].queues(), Ok(vec![expected]));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (from, to, expected) in [
            ("number = 2", "number = 1", "port 1 is there twice"),
            ("'pb'", "'pa'", "interface pa is a port twice"),
            ("threads = 2", "threads = 0", "edge: threads is 0: use 1 to 256"),
            (
                "threads = 2",
                "threads = 100000",
                "edge: threads is 100000: use 1 to 256",
            ),
            ("threads = 2", "entries = 0", "edge: entries is 0: use 1 to "),
            (
                "threads = 2",
                "entries = 1000000000000",
                "edge: entries is 1000000000000: use 1 to ",
            ),
            (
                "number = 2",
                "number = 2\nmax_frame_len = 0",
                "port 2: max_frame_len is 0: use 60 to 16380",
            ),
            (
                "number = 2",
                "number = 2\nmax_frame_len = 100000",
                "port 2: max_frame_len is 100000: use 60 to 16380",
            ),
            (
                "speed_bps = 1000000",
                "speed_bps = 0",
                "port 2: speed_bps is 0: use 1 to ",
            ),
            (
                "speed_bps = 1000000",
                "speed_bps = 9000000000000000000",
                "port 2: speed_bps is 9000000000000000000: use 1 to ",
            ),
            (
                "max_rate = 250",
                "max_rate = 1001",
                "port 2: max_rate of queue 1 is 1001: use 0 to 1000",
            ),
            (
                "max_rate = 250",
                "min_rate = 2000",
                "the least rates of its queues are 2000 thousandths of its speed: use 1000 at most",
            ),
            (
                "max_rate = 250",
                "min_rate = 600\n[[switch.port.queue]]\nid = 2\nmin_rate = 600",
                "the least rates of its queues are 1200 thousandths",
            ),
            (
                "id = 1",
                "id = 4294967295",
                "port 2: a queue is 4294967295: use 0 to 4294967294",
            ),
            (
                "threads = 2",
                "threads = 2\nstate = 'x'\nfail_mode = 'standalone'",
                "leave out state or fail_mode",
            ),
            ("00000000000000ff", "xyz", "use at most 16 hexadecimal digits"),
            ("threads = 2", "versions = []", "there are 1.3 and 1.4"),
            ("threads = 2", "versions = ['1.5']", "there is no OpenFlow 1.5 here"),
            ("speed_bps", "sped_bps", "s.toml:13: unknown field `sped_bps`"),
            (
                "max_rate = 250",
                "max_rate = 250\nmin_rate = 300",
                "its least is above its most",
            ),
            (
                "interface = 'pa'",
                "interface = 'pa'\nback_end = 'x'",
                "there is no back end x",
            ),
        ] {
            let message = Settings::read("s.toml", &FILE.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{to}: {message}");
        }
    }
}
