//! Ports as the data plane sees them at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use brimful_openflow::port;
use brimful_pipeline::{Floods, Normal};

use super::{SwitchPort, port_config};
use crate::learned::{Learned, is_for_bridges};

/// Ports by number.
pub(super) type Members = BTreeMap<u32, Arc<SwitchPort>>;

/// Which ports are alive and where floods go, at one moment.
#[derive(Debug, Default)]
pub struct PortView {
    /// Ports that are up and linked.
    pub live: Vec<u32>,
    /// Whether fragments of IP that arrive are dropped (`OFPC_FRAG_DROP`).
    pub drops_fragments: bool,
    /// Ports that get copies of what a port takes and sends, by its number.
    mirrors: BTreeMap<u32, Vec<u32>>,
    floods: BTreeMap<u32, Vec<u32>>,
    learned: Arc<Learned>,
}

impl PortView {
    pub(super) fn of(
        ports: &Members,
        learned: Arc<Learned>,
        drops_fragments: bool,
        mirrors: BTreeMap<u32, Vec<u32>>,
    ) -> Self {
        let live = ports.values().filter(|port| port.is_live()).map(|port| port.number);
        let open = |port: &SwitchPort| port.is_live() && port.config() & port_config::NO_FORWARD == 0;
        let open: Vec<u32> = ports
            .values()
            .filter(|port| open(port))
            .map(|port| port.number)
            .collect();
        let but = |number: u32| open.iter().copied().filter(|&other| other != number).collect();
        // One entry for frames of no port of ours: those of a controller.
        let floods = ports
            .keys()
            .map(|&number| (number, but(number)))
            .chain([(u32::MAX, open.clone())]);
        let floods = floods.collect();
        Self {
            live: live.collect(),
            drops_fragments,
            mirrors,
            floods,
            learned,
        }
    }
}

impl Floods for PortView {
    fn ports(&self, in_port: u32, _all: bool) -> &[u32] {
        let found = self.floods.get(&in_port).or_else(|| self.floods.get(&u32::MAX));
        found.map_or(&[], Vec::as_slice)
    }

    fn normal(&self, frame: &[u8], in_port: u32, now: u64) -> Normal {
        if in_port <= port::MAX && !is_for_bridges(frame) {
            self.learned.learn(frame, in_port, now);
        }
        self.find(frame, in_port, now)
    }
}

impl PortView {
    /// Whether any port's frames are copied to another.
    pub(crate) fn has_mirrors(&self) -> bool {
        !self.mirrors.is_empty()
    }

    /// Ports that get copies of what this one takes and sends.
    pub(crate) fn mirrors_of(&self, port: u32) -> &[u32] {
        self.mirrors.get(&port).map_or(&[], Vec::as_slice)
    }

    /// Where a frame goes by what has been learnt, without learning of it.
    pub(crate) fn find(&self, frame: &[u8], in_port: u32, now: u64) -> Normal {
        if is_for_bridges(frame) {
            return Normal::Nowhere;
        }
        match self.learned.find(frame, now) {
            Some(port) if port == in_port => Normal::Nowhere,
            Some(port) if self.live.contains(&port) => Normal::Port(port),
            _ => Normal::Flood,
        }
    }
}
