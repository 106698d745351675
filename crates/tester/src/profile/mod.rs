mod field_values;
mod file;
mod frames;
mod keys;
mod options;
mod replay;
mod sizes;
mod stream;
mod values;
mod written;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use brimful_frame::{FRAME_CHECK_SEQUENCE_LEN, MacAddress};
use serde_json::{Map, Value, json};

use crate::question::LONGEST_ANSWER;
use crate::test_frames::{HeaderField, TemplateError};
use crate::{LoadShape, Routes, TrafficPattern};
use frames::{Draft, Frames};
use keys::{DirectionKey, Keys};
use replay::{Replay, WayBack};
use values::{FrameNumber, Values};

pub use file::ProfileFile;
pub use options::ProfileOptions;
pub use sizes::{FrameSizes, FrameSizesError, Genome, MAX_SIZE_PATTERN, WeightedSize};
pub use stream::Stream;

/// Flows at most: all dynamic source ports for 64 destination ports.
pub const MAX_FLOWS: u32 = 16_384 * 64;
/// Frames of a burst at most: what a device of this world may be asked to hold.
const MAX_BURST_FRAMES: u32 = 1 << 16;

/// Which ways frames go between two ports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Directions {
    /// From the first port to the second.
    Uni,
    /// Both ways at once, each at the load.
    Bi,
}

/// Version of the Internet protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Everything about the frames of a trial but their number and rate.
#[derive(Clone, Debug)]
pub struct Profile {
    directions: Directions,
    pattern: TrafficPattern,
    routes: Routes,
    traffic: Traffic,
    /// Of the ports.
    macs: Vec<MacAddress>,
    shape: LoadShape,
    file: Option<Value>,
}

#[derive(Clone, Debug)]
enum Traffic {
    /// From one port to another.
    Generated(BTreeMap<(usize, usize), Frames>),
    Replayed(Replay),
}

impl Profile {
    /// What a file says, where options do not say otherwise. `folder` is where a capture that the file names is.
    ///
    /// # Errors
    /// One line that begins with the key or the option that does not fit.
    pub fn new(file: &ProfileFile, folder: &Path, options: &ProfileOptions) -> Result<Self, String> {
        let keys = &file.keys;
        let written = keys.direction.map(|direction| match direction {
            DirectionKey::Uni => Directions::Uni,
            DirectionKey::Bi => Directions::Bi,
        });
        let asked = options.directions.or(written);
        let directions = asked.unwrap_or(Directions::Bi);
        let pattern = options.pattern.clone().unwrap_or(TrafficPattern::Pairs);
        if asked.is_some() && pattern != TrafficPattern::Pairs {
            return Err(format!(
                "direction: --pattern {pattern} says which port sends to which; leave the direction out"
            ));
        }
        let routes = Routes::new(&pattern, options.ports(), directions == Directions::Bi, &options.shares)?;
        if options.ports() > 2 {
            refuse_of_two_ports(keys)?;
        }
        let content = file.content();
        let (traffic, macs) = match &keys.replay {
            Some(replay) => {
                refuse_beside_replay(keys, options)?;
                let way_back = match keys.symmetric {
                    Some(false) => WayBack::Same,
                    _ => WayBack::Mirrored,
                };
                let replay = Replay::load(replay, folder, options, way_back)?;
                (Traffic::Replayed(replay), options.macs())
            }
            None => Self::generated(keys, directions, options)?,
        };
        Ok(Self {
            directions,
            pattern,
            routes,
            shape: load_shape(keys, &traffic)?,
            traffic,
            macs,
            file: content
                .as_object()
                .is_some_and(|keys| !keys.is_empty())
                .then(|| content.clone()),
        })
    }

    fn generated(
        keys: &Keys,
        directions: Directions,
        options: &ProfileOptions,
    ) -> Result<(Traffic, Vec<MacAddress>), String> {
        let forward = Draft::new(&keys.frames())?;
        let reverse = match (&keys.reverse, keys.symmetric) {
            (Some(_), Some(true)) => return Err("reverse: a symmetric profile has none; leave one out".to_owned()),
            (Some(_), _) if directions == Directions::Uni => {
                return Err("reverse: there is no second direction: direction is uni".to_owned());
            }
            (Some(keys), _) => Draft::new(keys).map_err(|error| format!("reverse.{error}"))?,
            (None, Some(false)) => forward.clone(),
            (None, _) => forward.mirrored(),
        };
        let mut macs = options.macs();
        for (mac, draft) in macs.iter_mut().zip([&forward, &reverse]) {
            if let (Some(values), None) = (draft.fields.get(&HeaderField::SourceMac), &options.source_macs) {
                *mac = mac_of(values);
            }
        }
        let mut frames = BTreeMap::new();
        for from in 0..macs.len() {
            for to in (0..macs.len()).filter(|&to| to != from) {
                let draft = if from < to { &forward } else { &reverse };
                frames.insert((from, to), options.complete(draft.clone(), (from, to), &macs)?);
            }
        }
        Ok((Traffic::Generated(frames), macs))
    }

    /// The name that its file gives it.
    pub fn name(&self) -> Option<&str> {
        self.file.as_ref()?.get("name")?.as_str()
    }

    /// Which port sends to which, and in which order.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// How many ports it is for.
    pub fn ports(&self) -> usize {
        self.macs.len()
    }

    /// How the frames of a load are spread over time.
    pub fn shape(&self) -> &LoadShape {
        &self.shape
    }

    /// The frames that a port sends to another one.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub fn stream(&self, from: usize, to: usize) -> Result<Stream, TemplateError> {
        match &self.traffic {
            Traffic::Generated(frames) => Stream::generated(&frames[&(from, to)]),
            Traffic::Replayed(replay) => Ok(replay.stream(from)),
        }
    }

    /// Bytes of the longest frame, frame check sequence not included.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub fn max_frame_len(&self) -> Result<usize, TemplateError> {
        let [forward, reverse] = [self.stream(0, 1)?, self.stream(1, 0)?];
        Ok(forward.lens().chain(reverse.lens()).max().unwrap_or_default())
    }

    /// Bytes of the longest frame that a port sends, answers to its neighbours included; frame check sequence not.
    ///
    /// # Errors
    /// As [`Self::max_frame_len`].
    pub fn longest_of_a_port(&self) -> Result<usize, TemplateError> {
        let is_v6 = |port| matches!(self.source_ip(port), Some(IpAddr::V6(_)));
        let answer = if (0..self.ports()).any(is_v6) {
            LONGEST_ANSWER
        } else {
            0
        };
        Ok(self.max_frame_len()?.max(answer))
    }

    /// The sizes in the order in which they are sent from the first port, again and again; frame check sequence
    /// included.
    ///
    /// # Errors
    /// When a frame size of either direction has no room for headers and stamp, or is too large.
    pub fn size_pattern(&self) -> Result<Vec<usize>, TemplateError> {
        self.stream(1, 0)?;
        Ok(self
            .stream(0, 1)?
            .lens()
            .map(|len| len + FRAME_CHECK_SEQUENCE_LEN)
            .collect())
    }

    /// Whether some frames have a VLAN tag.
    pub fn has_vlan_tags(&self) -> bool {
        match &self.traffic {
            Traffic::Generated(frames) => frames.values().any(|frames| !frames.layout.tags.is_empty()),
            Traffic::Replayed(replay) => replay.has_vlan_tags(),
        }
    }

    /// The Ethernet address of a port.
    pub fn mac(&self, port: usize) -> MacAddress {
        self.macs[port]
    }

    /// An IP address that a port sends from: that of the first flow. Nothing where frames have none.
    pub fn source_ip(&self, port: usize) -> Option<IpAddr> {
        self.address((port, self.next_port(port)), HeaderField::SourceIp)
    }

    /// An IP address that a port sends to another one: that of the first flow. Nothing where frames have none.
    pub fn destination_ip(&self, from: usize, to: usize) -> Option<IpAddr> {
        self.address((from, to), HeaderField::DestinationIp)
    }

    /// The port after another one, the first after the last.
    pub(crate) fn next_port(&self, port: usize) -> usize {
        (port + 1) % self.ports()
    }

    /// Whether an address belongs to a port: some frame comes from it there, or goes there.
    pub(crate) fn owns(&self, port: usize, address: IpAddr) -> bool {
        let Traffic::Generated(frames) = &self.traffic else {
            return false;
        };
        let (version, value) = (IpVersion::of(address), options::ip_value(address));
        let include = |frames: &Frames, field| frames.fields.get(&field).is_some_and(|values| values.include(value));
        let owns = |(&(from, to), frames): (&(usize, usize), &Frames)| {
            frames.version() == Some(version)
                && (from == port && include(frames, HeaderField::SourceIp)
                    || to == port && include(frames, HeaderField::DestinationIp))
        };
        frames.iter().any(owns)
    }

    /// What it is, for the record.
    pub fn description(&self) -> Map<String, Value> {
        let traffic = match &self.traffic {
            Traffic::Generated(frames) => frames[&(0, 1)].description(),
            Traffic::Replayed(replay) => replay.description(),
        };
        let direction = match self.directions {
            Directions::Uni => "uni",
            Directions::Bi => "bi",
        };
        let mut description = Map::new();
        if let Some(file) = &self.file {
            description.insert("profile".to_owned(), file.clone());
        }
        if let Some(bursts) = self.shape.description() {
            description.insert("bursts".to_owned(), json!(bursts));
        }
        if self.pattern == TrafficPattern::Pairs {
            description.insert("direction".to_owned(), json!(direction));
        }
        if self.pattern != TrafficPattern::Pairs || self.ports() > 2 {
            description.insert("pattern".to_owned(), json!(self.pattern.to_string()));
        }
        description.extend(traffic);
        description
    }

    fn address(&self, way: (usize, usize), field: HeaderField) -> Option<IpAddr> {
        let Traffic::Generated(frames) = &self.traffic else {
            return None;
        };
        let value = frames[&way].fields.get(&field)?.at(FrameNumber::FIRST);
        Some(match frames[&way].version()? {
            IpVersion::V4 => Ipv4Addr::from(value as u32).into(),
            IpVersion::V6 => Ipv6Addr::from(value).into(),
        })
    }
}

fn load_shape(keys: &Keys, traffic: &Traffic) -> Result<LoadShape, String> {
    let shape = match traffic {
        Traffic::Generated(_) => LoadShape::Even,
        Traffic::Replayed(replay) => replay.shape(),
    };
    let Some(bursts) = &keys.bursts else {
        return Ok(shape);
    };
    if shape != LoadShape::Even {
        return Err("bursts: a replay has its own; leave [bursts] out or write replay.timing = \"even\"".to_owned());
    }
    if !(1..=MAX_BURST_FRAMES).contains(&bursts.frames) {
        return Err(format!("bursts.frames: not between 1 and {MAX_BURST_FRAMES}"));
    }
    let spacing = bursts.spacing.as_deref().unwrap_or("0s");
    Ok(LoadShape::Bursts {
        frames: u64::from(bursts.frames),
        spacing: brimful_trial::program::parse_time(spacing).map_err(|error| format!("bursts.spacing: {error}"))?,
    })
}

fn mac_of(values: &Values) -> MacAddress {
    let mut address = [0; 6];
    address.copy_from_slice(&values.at(FrameNumber::FIRST).to_be_bytes()[10..]);
    MacAddress(address)
}

/// What names addresses or captures of two ports fits no others.
fn refuse_of_two_ports(keys: &Keys) -> Result<(), String> {
    let ipv4 = keys.ipv4.as_ref().map(|keys| (&keys.source, &keys.destination));
    let ipv6 = keys.ipv6.as_ref().map(|keys| (&keys.source, &keys.destination));
    let has_ips =
        |ips: Option<(&Option<_>, &Option<_>)>| ips.is_some_and(|(source, to)| source.is_some() || to.is_some());
    let written = [
        ("replay", keys.replay.is_some()),
        ("reverse", keys.reverse.is_some()),
        ("ethernet.source", keys.ethernet.source.is_some()),
        ("ethernet.destination", keys.ethernet.destination.is_some()),
        ("ipv4", has_ips(ipv4)),
        ("ipv6", has_ips(ipv6)),
    ];
    match written.iter().find(|(_, is_there)| *is_there) {
        Some((name, _)) => Err(format!(
            "{name}: it says what two ports send, and there are more; leave it out, addresses included"
        )),
        None => Ok(()),
    }
}

/// The frames of a capture are what they are.
fn refuse_beside_replay(keys: &Keys, options: &ProfileOptions) -> Result<(), String> {
    let written = [
        ("sizes", keys.sizes.is_some()),
        ("flows", keys.flows.is_some()),
        (
            "ethernet",
            keys.ethernet.source.is_some() || keys.ethernet.destination.is_some(),
        ),
        ("vlan", !keys.vlan.is_empty()),
        ("mpls", !keys.mpls.is_empty()),
        ("raw", keys.raw.is_some()),
        ("ipv4", keys.ipv4.is_some()),
        ("ipv6", keys.ipv6.is_some()),
        ("udp", keys.udp.is_some()),
        ("tcp", keys.tcp.is_some()),
        ("icmp", keys.icmp.is_some()),
        ("reverse", keys.reverse.is_some()),
        ("--frame-size", options.sizes.is_some()),
        ("--flows", options.flows.is_some()),
        ("--vlan", options.vlan.is_some()),
        ("--ip", options.ip.is_some()),
        ("--source-ip", options.source_ips.is_some()),
        ("--destination-ip", options.destination_ips.is_some()),
    ];
    match written.iter().find(|(_, is_there)| *is_there) {
        Some((name, _)) => Err(format!(
            "{name}: a replay sends frames as they were captured; leave it out"
        )),
        None => Ok(()),
    }
}
