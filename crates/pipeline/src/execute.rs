//! What actions and instructions do: the one place for the interpreter and for what compiled code leaves to it.

use brimful_frame::{Field, Headers};
use brimful_openflow::{Action, BandType, GroupType, MatchField, Source, port};

use crate::meter::remarked;
use crate::{Environment, FlowEntry, Normal, Outputs, PacketIn, Passage, Reason, flow_hash};

/// Where a frame goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// With a table.
    Table(u8),
    /// With the action set: it has been through the last table.
    Done,
    /// Nowhere: a meter or an action dropped it.
    Dropped,
}

/// Nothing more is to be done with the frame.
struct Dropped;

/// Groups within groups at most, and copies of one frame, whatever was configured: those of Open vSwitch. Two buckets in
/// each of 40 chained groups would make 10^12 copies.
const MOST_CHAINED: usize = 64;
const MOST_COPIES: u16 = 4096;

/// Does the instructions of an entry that a frame has met, and counts nothing but meters and groups.
pub fn run_instructions(
    entry: &FlowEntry,
    passage: &mut Passage<'_>,
    environment: &dyn Environment,
    outputs: &mut dyn Outputs,
) -> Next {
    let instructions = &entry.instructions;
    passage.place = (entry.table, entry.cookie);
    passage.is_miss = entry.is_table_miss();
    if let Some(meter) = instructions.meter
        && run_meter(meter, passage, environment).is_err()
    {
        return Next::Dropped;
    }
    let mut run = Run {
        environment,
        outputs,
        reason: Reason::Action,
    };
    for action in &instructions.apply {
        if run.action(action, passage, 0).is_err() {
            return Next::Dropped;
        }
    }
    if instructions.clear {
        passage.action_set.clear();
    }
    passage.action_set.write(&instructions.write);
    if let Some((value, mask)) = instructions.metadata {
        passage.metadata = passage.metadata & !mask | value & mask;
    }
    instructions.goto.map_or(Next::Done, Next::Table)
}

/// Does the action set of a frame that has been through its last table.
pub fn finish(passage: &mut Passage<'_>, environment: &dyn Environment, outputs: &mut dyn Outputs) {
    if passage.action_set.is_empty() {
        return;
    }
    let set = std::mem::take(&mut passage.action_set);
    let mut run = Run {
        environment,
        outputs,
        reason: Reason::ActionSet,
    };
    for action in set.in_order() {
        if run.action(action, passage, 0).is_err() {
            return;
        }
    }
}

/// Does a list of actions, as a packet-out has it. An output to [`port::TABLE`] is the caller's.
pub fn run_actions(
    actions: &[Action],
    passage: &mut Passage<'_>,
    environment: &dyn Environment,
    outputs: &mut dyn Outputs,
) {
    let mut run = Run {
        environment,
        outputs,
        reason: Reason::PacketOut,
    };
    for action in actions {
        if run.action(action, passage, 0).is_err() {
            return;
        }
    }
}

fn run_meter(meter: u32, passage: &mut Passage<'_>, environment: &dyn Environment) -> Result<(), Dropped> {
    let Some(meter) = environment.meter(meter) else {
        return Err(Dropped);
    };
    let bytes = passage.packet.len();
    environment.count(meter.counter, bytes as u64);
    let Some((band, band_type)) = meter.band(bytes, environment.now()) else {
        return Ok(());
    };
    environment.count(meter.band_counters[band], bytes as u64);
    match band_type {
        BandType::Drop => Err(Dropped),
        BandType::DscpRemark(levels) => {
            let headers = Headers::parse(&passage.packet);
            if let Some(dscp) = Field::IpDscp.read(&passage.packet, &headers) {
                let dscp = remarked(dscp as u8, levels);
                Field::IpDscp.write(&mut passage.packet, &headers, dscp.into());
            }
            Ok(())
        }
    }
}

struct Run<'e> {
    environment: &'e dyn Environment,
    outputs: &'e mut dyn Outputs,
    reason: Reason,
}

impl Run<'_> {
    fn action(&mut self, action: &Action, passage: &mut Passage<'_>, depth: usize) -> Result<(), Dropped> {
        let packet = &mut passage.packet;
        match action {
            Action::Output { port, max_len } => self.output(*port, *max_len, passage),
            Action::Group(group) => self.group(*group, passage, depth),
            Action::SetQueue(queue) => passage.queue = *queue,
            Action::SetField { field, value } => set_field(*field, *value, passage),
            Action::SetMplsTtl(ttl) => write(Field::MplsTtl, *ttl, passage),
            Action::SetNwTtl(ttl) => write(Field::IpTtl, *ttl, passage),
            Action::CopyTtlOut => packet.copy_ttl_out(),
            Action::CopyTtlIn => packet.copy_ttl_in(),
            Action::PopVlan => packet.pop_vlan(),
            Action::PopMpls(ether_type) => packet.pop_mpls(*ether_type),
            Action::PopPbb => packet.pop_pbb(),
            Action::PushVlan(ether_type) => return packet.push_vlan(*ether_type).map_err(|_| Dropped),
            Action::PushMpls(ether_type) => return packet.push_mpls(*ether_type).map_err(|_| Dropped),
            Action::PushPbb(ether_type) => return packet.push_pbb(*ether_type).map_err(|_| Dropped),
            Action::DecMplsTtl => {
                let result = packet.decrement_mpls_ttl();
                return result.map_err(|_| self.invalid_ttl(passage));
            }
            Action::DecNwTtl => {
                let result = packet.decrement_ip_ttl();
                return result.map_err(|_| self.invalid_ttl(passage));
            }
        }
        Ok(())
    }

    fn output(&mut self, port: u32, max_len: u16, passage: &Passage<'_>) {
        let queue = passage.queue;
        match port {
            port::CONTROLLER => {
                let reason = if passage.is_miss { Reason::NoMatch } else { self.reason };
                self.packet_in(reason, max_len, passage);
            }
            port::IN_PORT => self.outputs.output(&passage.packet, passage.in_port, queue),
            port::ALL | port::FLOOD => {
                for &other in self.environment.flood_ports(passage.in_port, port == port::ALL) {
                    self.outputs.output(&passage.packet, other, queue);
                }
            }
            port::NORMAL => match self.environment.normal(&passage.packet, passage.in_port) {
                Normal::Port(port) => self.outputs.output(&passage.packet, port, queue),
                Normal::Flood => self.output(port::FLOOD, max_len, passage),
                Normal::Nowhere => {}
            },
            // OF 1.3.5 section 7.2.5: the port that it came in by only as IN_PORT.
            _ if port == passage.in_port => {}
            _ => self.outputs.output(&passage.packet, port, queue),
        }
    }

    fn packet_in(&mut self, reason: Reason, max_len: u16, passage: &Passage<'_>) {
        self.outputs.packet_in(PacketIn {
            frame: &passage.packet,
            reason,
            table: passage.place.0,
            // OF 1.3.5 section 7.4.1: those of buckets and of action sets are no single entry's.
            cookie: match self.reason {
                Reason::ActionSet | Reason::Group => u64::MAX,
                _ => passage.place.1,
            },
            max_len,
            in_port: passage.in_port,
            in_phy_port: passage.in_phy_port,
            metadata: passage.metadata,
            tunnel_id: passage.tunnel_id,
        });
    }

    fn invalid_ttl(&mut self, passage: &Passage<'_>) -> Dropped {
        self.packet_in(Reason::InvalidTtl, u16::MAX, passage);
        Dropped
    }

    fn group(&mut self, group: u32, passage: &mut Passage<'_>, depth: usize) {
        let Some(group) = self.environment.group(group) else {
            return;
        };
        if depth >= MOST_CHAINED {
            return self.cut_short(passage);
        }
        self.environment.count(group.counter, passage.packet.len() as u64);
        let chosen = match group.group_type {
            GroupType::All => None,
            GroupType::Indirect => Some(0),
            GroupType::FastFailover => Some(group.first_live(self.environment).unwrap_or(usize::MAX)),
            GroupType::Select => {
                let headers = Headers::parse(&passage.packet);
                let hash = flow_hash(&passage.packet, &headers);
                Some(group.selected(hash, self.environment).unwrap_or(usize::MAX))
            }
        };
        let reason = std::mem::replace(&mut self.reason, Reason::Group);
        for (index, bucket) in group.buckets.iter().enumerate() {
            if chosen.is_some_and(|chosen| chosen != index) {
                continue;
            }
            if passage.copies >= MOST_COPIES {
                self.cut_short(passage);
                break;
            }
            self.environment
                .count(group.bucket_counters[index], passage.packet.len() as u64);
            self.bucket(&bucket.actions, passage, depth);
        }
        self.reason = reason;
    }

    /// Every bucket has a copy of its own; its actions are done as an action set.
    fn bucket(&mut self, actions: &[Action], passage: &mut Passage<'_>, depth: usize) {
        let mut buffer = vec![0; passage.packet.headroom() + passage.packet.len()];
        passage.copies += 1;
        let mut copy = passage.copied(&mut buffer);
        let mut set = crate::ActionSet::default();
        set.write(actions);
        for action in set.in_order() {
            if self.action(action, &mut copy, depth + 1).is_err() {
                break;
            }
        }
        passage.copies = copy.copies;
    }

    /// No more copies are made of the frame.
    fn cut_short(&mut self, passage: &mut Passage<'_>) {
        if passage.copies <= MOST_COPIES {
            passage.copies = MOST_COPIES + 1;
            self.outputs.cut_short(passage.in_port);
        }
    }
}

fn set_field(field: MatchField, value: u128, passage: &mut Passage<'_>) {
    match field.info().source {
        Source::Frame(place) => {
            let headers = Headers::parse(&passage.packet);
            place.write(&mut passage.packet, &headers, value);
        }
        Source::Pipeline if field == MatchField::TunnelId => passage.tunnel_id = value as u64,
        Source::Pipeline => {}
    }
}

fn write(field: Field, value: u8, passage: &mut Passage<'_>) {
    let headers = Headers::parse(&passage.packet);
    field.write(&mut passage.packet, &headers, value.into());
}
