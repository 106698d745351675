//! What ports, their queues and their mirrors are to be.

use std::collections::HashSet;
use std::fmt::Display;

use brimful_netdev::{Attachment, BackEnd, PacketRing};
use brimful_openflow::port;
use serde::{Deserialize, Serialize};

use crate::batch::SMALLEST_FRAME_LEN;
use crate::ports::TAG_LEN;
use crate::queues::{NO_RATE, QueueSettings};
use crate::worker;

/// The longest frame without a tag that threads take.
const MOST_FRAME_LEN: usize = worker::MOST_FRAME_LEN - TAG_LEN;
/// The fastest port: rates of queues are calculated in 64 bits.
const MOST_SPEED_BPS: u64 = 10_000_000_000_000;
/// All of a port's speed, in thousandths.
const WHOLE: u16 = 1000;
/// The largest number of a queue: the next one stands for all (`OFPQ_ALL`).
const MOST_QUEUE: u32 = 0xffff_fffe;

/// A port.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortSettings {
    /// Its number, from 1.
    pub number: u32,
    /// The interface.
    pub interface: String,
    /// How frames get into and out of the kernel; `packet` by default. `fastest` is `xdp-native` where the interface takes
    /// that, else `packet`.
    #[serde(default = "default_back_end")]
    pub back_end: String,
    /// The longest frame without its check sequence; 1514 bytes by default.
    #[serde(default = "default_frame_len")]
    pub max_frame_len: usize,
    /// Its speed in bits a second, of which rates of queues are parts; 10 Gbit/s by default.
    #[serde(default = "default_speed")]
    pub speed_bps: u64,
    /// Its output queues.
    #[serde(default, rename = "queue")]
    pub queues: Vec<QueueTable>,
}

/// An output queue.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueueTable {
    /// Its number.
    pub id: u32,
    /// Thousandths of the speed that it gets at least; nothing by default.
    pub min_rate: Option<u16>,
    /// Thousandths of the speed that it gets at most; no limit by default.
    pub max_rate: Option<u16>,
}

/// Copies of what some ports take and send.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MirrorSettings {
    /// The numbers of the ports.
    pub ports: Vec<u32>,
    /// The number of the port that gets the copies.
    pub output: u32,
}

fn default_back_end() -> String {
    "packet".to_owned()
}

fn default_frame_len() -> usize {
    1514
}

fn default_speed() -> u64 {
    10_000_000_000
}

/// Whether a setting can be.
pub(super) fn in_range<T: Copy + Display + PartialOrd>(what: &str, value: T, least: T, most: T) -> Result<(), String> {
    if least <= value && value <= most {
        return Ok(());
    }
    Err(format!("{what} is {value}: use {least} to {most}"))
}

/// Whether copies of what ports take and send can go to another.
///
/// # Errors
/// When one of them is not there, or a port would get copies of its own copies.
pub(crate) fn check_mirror(output: u32, ports: &[u32], is_there: impl Fn(u32) -> bool) -> Result<(), String> {
    match ports.iter().chain([&output]).find(|&&port| !is_there(port)) {
        Some(absent) => Err(format!("a mirror to port {output}: there is no port {absent}")),
        None if ports.contains(&output) => Err(format!("port {output} cannot get copies of its own frames")),
        None => Ok(()),
    }
}

impl PortSettings {
    /// Whether it is the same but for its queues.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let queues = other.queues.clone();
        *other
            == (Self {
                queues,
                speed_bps: other.speed_bps,
                ..self.clone()
            })
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let what = |name: &str| format!("port {}: {name}", self.number);
        in_range("the number of a port", self.number, 1, port::MAX)?;
        in_range(
            &what("max_frame_len"),
            self.max_frame_len,
            SMALLEST_FRAME_LEN,
            MOST_FRAME_LEN,
        )?;
        in_range(&what("speed_bps"), self.speed_bps, 1, MOST_SPEED_BPS)?;
        self.back_ends()?;
        self.queues().map(|_| ())
    }

    /// A port with all else by default.
    pub fn plain(number: u32, interface: String, back_end: String, max_frame_len: usize) -> Self {
        Self {
            number,
            interface,
            back_end,
            max_frame_len,
            speed_bps: default_speed(),
            queues: Vec::new(),
        }
    }

    /// How frames get into and out of the kernel: the first of these that the interface takes.
    ///
    /// # Errors
    /// When there is no such way.
    pub fn back_ends(&self) -> Result<Vec<BackEnd>, String> {
        const FASTEST: &str = "fastest";
        if self.back_end == FASTEST {
            return Ok(vec![
                BackEnd::Xdp(Attachment::Native),
                BackEnd::Packet(PacketRing::Slots),
            ]);
        }
        let one = self.back_end.parse();
        one.map(|back_end| vec![back_end])
            .map_err(|known| format!("there is no back end {}: {known}, {FASTEST}", self.back_end))
    }

    /// Its output queues.
    ///
    /// # Errors
    /// When their rates cannot be.
    pub fn queues(&self) -> Result<Vec<QueueSettings>, String> {
        let mut seen = HashSet::new();
        let least: u32 = self
            .queues
            .iter()
            .filter_map(|table| table.min_rate)
            .map(u32::from)
            .sum();
        if least > u32::from(WHOLE) {
            return Err(format!(
                "port {}: the least rates of its queues are {least} thousandths of its speed: use {WHOLE} at most",
                self.number
            ));
        }
        let of = |table: &QueueTable| {
            for (name, rate) in [("min_rate", table.min_rate), ("max_rate", table.max_rate)] {
                let what = format!("port {}: {name} of queue {}", self.number, table.id);
                in_range(&what, rate.unwrap_or(WHOLE), 0, WHOLE)?;
            }
            in_range(&format!("port {}: a queue", self.number), table.id, 0, MOST_QUEUE)?;
            let settings = QueueSettings {
                queue: table.id,
                min_rate: table.min_rate.unwrap_or(NO_RATE),
                max_rate: table.max_rate.unwrap_or(NO_RATE),
            };
            let is_inverted = table.min_rate.is_some() && table.min_rate > table.max_rate && table.max_rate.is_some();
            if is_inverted || !seen.insert(table.id) {
                return Err(format!(
                    "port {}: queue {} is there twice, or its least is above its most",
                    self.number, table.id
                ));
            }
            Ok(settings)
        };
        self.queues.iter().map(of).collect()
    }
}
