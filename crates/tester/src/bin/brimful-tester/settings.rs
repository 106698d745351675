use std::num::NonZeroU64;

use brimful_frame::{FRAME_CHECK_SEQUENCE_LEN, MacAddress};
use brimful_netdev::{BackEnd, Care, PacketRing, Sender, link_speed};
use brimful_tester::{Cabling, Direction, MAX_SIZE_PATTERN, Profile, Share, TemplateError, Timing};
use brimful_trial::program::Description;
use brimful_trial::{Load, Nanoseconds};
use serde_json::{Map, Value, json};

use crate::faults::FaultRequest;
use crate::threads::ThreadOptions;

/// Bytes of preamble, start delimiter and inter-frame gap, beside the frame check sequence.
const WIRE_OVERHEAD: usize = 20;

/// What the options mean, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) port_names: Vec<String>,
    pub(crate) profile: Profile,
    pub(crate) timing: Timing,
    pub(crate) ramp_up: Nanoseconds,
    pub(crate) broadcast_every: Option<NonZeroU64>,
    pub(crate) back_end: Option<BackEnd>,
    pub(crate) care: Care,
    pub(crate) faults: Vec<FaultRequest>,
    pub(crate) threads: ThreadOptions,
    /// Of the threads that send, those that share each port.
    pub(crate) senders_of_a_port: usize,
    pub(crate) raise_priority: bool,
    pub(crate) cabling: Cabling,
    pub(crate) max_load: Option<Load>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) next_hops: Option<Vec<MacAddress>>,
    pub(crate) shares: Vec<Share>,
    /// What a profile without a name is called.
    pub(crate) profile_stem: Option<String>,
}

/// What is known of the link of a port once it is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Bits a second, where it has a speed.
    pub(crate) speed: Option<u64>,
    /// Whether the card itself reads and writes the frames.
    pub(crate) is_zero_copy: bool,
}

impl Link {
    pub(crate) fn of(sender: &dyn Sender) -> Self {
        Self {
            speed: link_speed(sender.name()),
            is_zero_copy: sender.is_zero_copy(),
        }
    }
}

impl Settings {
    /// What a lab has to know before it makes the interfaces.
    ///
    /// # Errors
    /// When a frame size has no room for headers and stamp, or is too large.
    pub(crate) fn frames(&self) -> Result<Value, TemplateError> {
        let routes = self.profile.routes();
        let first_of = |from| routes.directions().iter().find(|direction| direction.from == from);
        let ways = routes.orders().iter().filter_map(|order| first_of(order.from));
        Ok(json!({
            "ways": ways.map(|way| [way.from, way.to]).collect::<Vec<_>>(),
            "largest_frame_size": self.profile.max_frame_len()? + FRAME_CHECK_SEQUENCE_LEN,
            "has_vlan_tags": self.profile.has_vlan_tags(),
        }))
    }

    pub(crate) fn description(&self, back_end: BackEnd, links: &[Link]) -> Description {
        let wait = self.timing.straggler_wait;
        let line_rates: Vec<_> = links
            .iter()
            .map(|link| link.speed.map(|speed| line_rate(speed, &self.sizes)))
            .collect();
        let promised = self.max_load.map(Load::per_second);
        Description {
            name: "brimful-tester",
            load_unit: "frames/s",
            load_scope: match (&self.shares[..], links.len()) {
                ([], 2) => "per interface and direction",
                ([], _) => "per port that sends",
                _ => "per port that sends 100 % of it",
            },
            conversion_factor: self.profile.routes().factor(),
            contract: format!("a frame is lost when it has not arrived intact within {wait} after the end of sending"),
            max_load: self.most_of_links(&line_rates).chain(promised).reduce(f64::min),
            // Shorter ones are mostly start and end.
            min_duration_s: 0.05,
            can_stop_early: true,
            can_calibrate: true,
            // A block is handed over when it is full, or some milliseconds after its first frame.
            tells_delay: back_end != BackEnd::Packet(PacketRing::Blocks),
            on_this_machine: true,
            traffic: self.traffic(back_end, links, &line_rates),
            ..Description::default()
        }
    }

    fn traffic(&self, back_end: BackEnd, links: &[Link], line_rates: &[Option<f64>]) -> Map<String, Value> {
        let profile = &self.profile;
        let ports = links.iter().enumerate().map(|(index, link)| {
            let mut port = self.port(index, line_rates[index]);
            if link.is_zero_copy {
                port["zero_copy"] = json!(true);
            }
            port
        });
        let mut fields = profile.description();
        if let Some(stem) = &self.profile_stem {
            fields.insert("profile_name".to_owned(), json!(profile.name().unwrap_or(stem)));
        }
        // A long capture is identified by its name.
        let sizes = (self.sizes.len() <= MAX_SIZE_PATTERN).then_some(&self.sizes);
        let own = json!({
            "frame_sizes": sizes,
            "back_end": back_end.name(),
            "ports": ports.collect::<Vec<_>>(),
            "straggler_wait_s": self.timing.straggler_wait.as_seconds(),
            "stop_grace_s": self.timing.stop_grace.as_seconds(),
            "rest_after_stop_s": self.timing.rest_after_stop.as_seconds(),
            "ramp_up_s": self.ramp_up.as_seconds(),
            "max_stall_s": self.timing.bounds.stall.as_seconds(),
        });
        fields.extend(own.as_object().cloned().unwrap_or_default());
        if !self.shares.is_empty() {
            let texts = self.shares.iter().map(Share::to_string);
            fields.insert("port_shares".to_owned(), texts.collect());
        }
        if let Some(every) = self.broadcast_every {
            fields.insert("broadcast_every".to_owned(), json!(every));
        }
        if self.threads.senders > 1 {
            fields.insert("senders".to_owned(), json!(self.threads.senders));
        }
        if self.threads.receivers > 1 {
            fields.insert("receivers".to_owned(), json!(self.threads.receivers));
        }
        // Only then, so that no result with faults on purpose is taken for another.
        if !self.faults.is_empty() {
            let texts = self.faults.iter().map(FaultRequest::to_string);
            fields.insert("faults".to_owned(), texts.collect());
        }
        fields
    }
}

impl Settings {
    /// What there is to know of a port. Of two, each sends to the other's address or to one that was asked for; of more,
    /// each sends to some of the others.
    fn port(&self, index: usize, line_rate: Option<f64>) -> Value {
        let (profile, count) = (&self.profile, self.port_names.len());
        let mut port = json!({
            "interface": self.port_names[index],
            "mac": profile.mac(index).to_string(),
            "next_hop_mac": self.next_hops.as_ref().map(|macs| macs[index].to_string()),
            "source_ip": profile.source_ip(index),
            "line_rate_fps": line_rate,
        });
        if count == 2 {
            port["destination_ip"] = json!(profile.destination_ip(index, 1 - index));
        } else {
            let own = profile.routes().directions().iter().filter(|way| way.from == index);
            port["sends_to"] = own.map(|&Direction { to, .. }| &self.port_names[to]).cloned().collect();
        }
        port
    }
}

impl Settings {
    /// The load at which each link is full that has a speed, as its port sends its share of it.
    fn most_of_links(&self, line_rates: &[Option<f64>]) -> impl Iterator<Item = f64> {
        let orders = self.profile.routes().orders();
        let share = |port| {
            orders
                .iter()
                .find(|order| order.from == port)
                .map_or(1.0, |order| order.share)
        };
        let rates = line_rates.iter().enumerate();
        rates.filter_map(move |(port, rate)| rate.map(|rate| rate / share(port)))
    }
}

/// Frames a second of these sizes in turn at most, by the bits a second of the link.
fn line_rate(speed: u64, sizes: &[usize]) -> f64 {
    let bits: usize = sizes.iter().map(|size| (size + WIRE_OVERHEAD) * 8).sum();
    speed as f64 * sizes.len() as f64 / bits as f64
}
