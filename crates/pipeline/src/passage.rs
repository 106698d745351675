use brimful_frame::{Headers, Packet};
use brimful_openflow::{Action, MatchField, Source};

use crate::{CounterId, GroupEntry, MeterEntry};

/// A frame on its way through the tables, and what accompanies it.
#[derive(Debug)]
pub struct Passage<'b> {
    /// The frame.
    pub packet: Packet<'b>,
    /// The port that it came in by.
    pub in_port: u32,
    /// The physical port behind that.
    pub in_phy_port: u32,
    /// Metadata.
    pub metadata: u64,
    /// The logical port's tunnel.
    pub tunnel_id: u64,
    /// The queue of later outputs.
    pub queue: u32,
    /// What is done at the end.
    pub action_set: ActionSet,
    /// The table and cookie of the entry at work, for packet-ins.
    pub place: (u8, u64),
    /// Whether the entry at work is the table-miss entry.
    pub is_miss: bool,
    /// Copies of it that groups have made.
    pub(crate) copies: u16,
}

impl<'b> Passage<'b> {
    /// A frame that has just come in.
    #[inline]
    pub fn new(packet: Packet<'b>, in_port: u32) -> Self {
        Self {
            packet,
            in_port,
            in_phy_port: in_port,
            metadata: 0,
            tunnel_id: 0,
            queue: 0,
            action_set: ActionSet::default(),
            place: (0, u64::MAX),
            is_miss: false,
            copies: 0,
        }
    }

    /// The same with a copy of the frame in `buffer`, which has room for it and for what is in front.
    pub(crate) fn copied<'c>(&self, buffer: &'c mut [u8]) -> Passage<'c> {
        let (headroom, len) = (self.packet.headroom(), self.packet.len());
        buffer[headroom..headroom + len].copy_from_slice(&self.packet);
        Passage {
            packet: Packet::new(buffer, headroom, len),
            action_set: ActionSet::default(),
            ..*self
        }
    }

    /// The value of a match field; `None` where the frame does not have it.
    pub fn read(&self, field: MatchField, headers: &Headers) -> Option<u128> {
        match (field, field.info().source) {
            (_, Source::Frame(place)) => place.read(&self.packet, headers),
            (MatchField::InPort, _) => Some(u128::from(self.in_port)),
            (MatchField::InPhyPort, _) => Some(u128::from(self.in_phy_port)),
            (MatchField::Metadata, _) => Some(u128::from(self.metadata)),
            _ => Some(u128::from(self.tunnel_id)),
        }
    }
}

/// Actions to be done at the end of the pipeline: one of a kind, one for each field.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ActionSet(Vec<Action>);

impl ActionSet {
    /// Adds actions; each replaces the one of its kind.
    pub fn write(&mut self, actions: &[Action]) {
        for action in actions {
            self.0.retain(|other| kind(other) != kind(action));
            self.0.push(action.clone());
        }
    }

    /// Takes all actions out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The actions in the order in which they are done (OF 1.3.5 section 5.10). Without an output or a group there is
    /// nothing to do; a group makes the output of no account.
    pub fn in_order(&self) -> Vec<&Action> {
        let has_group = self.0.iter().any(|action| matches!(action, Action::Group(_)));
        let mut actions: Vec<&Action> = self
            .0
            .iter()
            .filter(|action| !has_group || !matches!(action, Action::Output { .. }))
            .collect();
        actions.sort_by_key(|action| order(action));
        actions
    }
}

/// What distinguishes actions of a set.
fn kind(action: &Action) -> (u8, Option<MatchField>) {
    match action {
        Action::SetField { field, .. } => (order(action), Some(*field)),
        Action::SetMplsTtl(_) => (103, None),
        Action::SetNwTtl(_) => (104, None),
        Action::PopMpls(_) => (100, None),
        Action::PopPbb => (101, None),
        Action::DecNwTtl => (102, None),
        _ => (order(action), None),
    }
}

/// The place of an action in the order of the specification.
fn order(action: &Action) -> u8 {
    match action {
        Action::CopyTtlIn => 1,
        Action::PopVlan | Action::PopMpls(_) | Action::PopPbb => 2,
        Action::PushMpls(_) => 3,
        Action::PushPbb(_) => 4,
        Action::PushVlan(_) => 5,
        Action::CopyTtlOut => 6,
        Action::DecMplsTtl | Action::DecNwTtl => 7,
        Action::SetField { .. } | Action::SetMplsTtl(_) | Action::SetNwTtl(_) => 8,
        Action::SetQueue(_) => 9,
        Action::Group(_) => 10,
        Action::Output { .. } => 11,
    }
}

/// Why a packet goes to the controller (OF 1.3.5 section 7.4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// It met the table-miss entry.
    NoMatch,
    /// An action sent it.
    Action,
    /// Its time to live ran out.
    InvalidTtl,
    /// The action set sent it: another reason from 1.4 on.
    ActionSet,
    /// A bucket of a group sent it: another reason from 1.4 on.
    Group,
    /// A packet-out sent it: another reason from 1.4 on.
    PacketOut,
}

/// A packet for the controller.
#[derive(Debug)]
pub struct PacketIn<'p> {
    /// All of the frame.
    pub frame: &'p [u8],
    /// Why.
    pub reason: Reason,
    /// The table of the entry that sent it.
    pub table: u8,
    /// The cookie of that entry.
    pub cookie: u64,
    /// Bytes of the frame that the controller wants.
    pub max_len: u16,
    /// The port that it came in by.
    pub in_port: u32,
    /// The physical port behind that.
    pub in_phy_port: u32,
    /// Metadata.
    pub metadata: u64,
    /// The logical port's tunnel.
    pub tunnel_id: u64,
}

/// Where a frame goes that takes its normal way (`OFPP_NORMAL`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Normal {
    /// Out of this port.
    Port(u32),
    /// Out of all that floods may use.
    Flood,
    /// Nowhere: its receiver is where it came from, or it is for bridges alone.
    Nowhere,
}

/// What the pipeline sees of the switch around it.
pub trait Environment {
    /// A group.
    fn group(&self, group: u32) -> Option<&GroupEntry>;
    /// A meter.
    fn meter(&self, meter: u32) -> Option<&MeterEntry>;
    /// Whether a port is there, up and linked.
    fn is_live(&self, port: u32) -> bool;
    /// The ports that a frame from `in_port` is flooded to; with `all`, also those that are closed for floods.
    fn flood_ports(&self, in_port: u32, all: bool) -> &[u32];
    /// Where a frame goes by what has been learnt of its receiver; learns of its sender.
    fn normal(&self, frame: &[u8], in_port: u32) -> Normal;
    /// Nanoseconds of the switch's clock.
    fn now(&self) -> u64;
    /// Counts a frame.
    fn count(&self, counter: CounterId, bytes: u64);
}

/// Where frames go. A frame may be changed again afterwards: what is needed of it is copied at once.
pub trait Outputs {
    /// Out of a port, which exists or not: the switch drops what it cannot send. Padding to the smallest frame of
    /// Ethernet is the port's.
    fn output(&mut self, frame: &[u8], port: u32, queue: u32);
    /// To the controller.
    fn packet_in(&mut self, packet: PacketIn<'_>);
    /// What groups would still have made of the frame is dropped: it is more than one frame may cause. Said once a frame.
    fn cut_short(&mut self, in_port: u32);
}
