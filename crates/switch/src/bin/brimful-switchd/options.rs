//! The options of a switch, as settings.

use std::path::{Path, PathBuf};

use brimful_pipeline::Limits;
use brimful_switch::channel::TlsFiles;
use brimful_switch::events::DEFAULT_PACKET_IN_RATE;
use brimful_switch::files::read_text;
use brimful_switch::settings::port::PortSettings;
use brimful_switch::settings::{FailMode, Settings, SwitchSettings, default_addresses, default_versions};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Fail {
    Secure,
    Standalone,
}

#[derive(Args)]
pub(crate) struct Run {
    /// A TOML file with all settings: no other option goes with it.
    #[arg(long, exclusive = true)]
    pub(crate) config: Option<PathBuf>,
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

impl Run {
    pub(crate) fn settings(self) -> Result<Settings, String> {
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

pub(crate) fn read_settings(path: &Path) -> Result<Settings, String> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
    Settings::read(&name, &text)
}
