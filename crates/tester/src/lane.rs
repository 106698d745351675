use std::collections::BTreeMap;

use brimful_trial::Nanoseconds;
use brimful_trial::program::DelayReport;
use serde::Serialize;

use crate::attribution::{Account, Counted, Direction, lost_before_sent};
use crate::plan::SendingPlan;
use crate::receiving_lane::ReceivingLane;
use crate::sending_lane::SendingLane;
use crate::sharing::Sharing;
use crate::{FlowsReport, PacingReport, Profile, Stream, TrialPlan};

/// What is known of one direction after a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// The port that sent.
    pub from: String,
    /// The port that received.
    pub to: String,
    /// Frames of the whole trial.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames sent that did not arrive within the contract.
    pub lost: u64,
    /// Frames that were never sent.
    pub unsent: u64,
    /// Further copies of frames that arrived.
    pub duplicated: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Frames that arrived outside the contract; they count as lost.
    pub late: u64,
    /// Frames that arrived after the end of sending, within the contract; they do not count as lost.
    pub stragglers: u64,
    /// Frames that the queue of the attached receiver refused at once (veth); part of `lost` unless a copy arrived.
    /// Nothing where the port sends to several, as the queue does not distinguish them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_into_full_queue: Option<u64>,
    /// Frames that arrived with a wrong checksum; they count as lost.
    pub damaged: u64,
    /// Frames that arrived on a port that they were not for, or on another VLAN; no arrivals of this direction.
    pub misrouted: u64,
    /// The same by the port at which they arrived.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misrouted_at: BTreeMap<String, u64>,
    /// How long the frames took; nothing when none arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayReport>,
    /// Which flows lost frames; nothing where there is but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsReport>,
    /// Where the frames were counted and lost; nothing where an interface does not count, or counts the frames of
    /// another direction too.
    pub account: Option<Account>,
    /// How the port that sent kept its schedule, all that it sent together.
    pub pacing: PacingReport,
}

/// What a trial was, once it is over: the sending ports, and the directions with the account of each.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) sending: Vec<SendingLane>,
    pub(crate) receiving: Vec<ReceivingLane>,
    accounts: Vec<Option<Account>>,
    /// The first port whose interface never counted frames that were lost, and how many; known once it is settled.
    pub(crate) lost_before_sent: Option<(usize, u64)>,
    /// The most frames by which a port was ahead of another one.
    pub(crate) slip: u64,
}

/// The sending half of a trial that has this place. Two ports are evenly interleaved; more have the same slots (RFC 2889
/// section 5.1.3), for which patterns are made.
pub(crate) fn sending_lane(place: usize, plan: &SendingPlan<'_>, start: Nanoseconds) -> SendingLane {
    let lots = plan.sharing.lots_of_a_port();
    let (sender, lot) = (place / lots, place % lots);
    let order = &plan.routes.orders()[sender];
    let schedule = plan.trial.schedule(order, start, plan.shape);
    let is_between = plan.ports == 2 && sender == 1;
    let schedule = if is_between {
        schedule.offset_by_half_a_period()
    } else {
        schedule
    };
    SendingLane::new(place, sender, order, schedule.of_lot(plan.sharing.lots(sender), lot))
}

/// The receiving halves of a trial.
pub(crate) fn receiving_lanes(
    profile: &Profile,
    streams: &[Stream],
    sharing: &Sharing,
    plan: &TrialPlan,
) -> Vec<ReceivingLane> {
    let routes = profile.routes();
    let frames: Vec<_> = routes.orders().iter().map(|order| plan.frames(order)).collect();
    let directions = routes.directions().iter().zip(streams);
    let lane = |(direction, stream): (&crate::Direction, &Stream)| {
        let (frames, lots) = (frames[direction.order], sharing.lots(direction.order));
        ReceivingLane::new(direction, frames, lots, stream.flow_turns(), profile.ports())
    };
    directions.map(lane).collect()
}

impl Lanes {
    /// Puts both sides together.
    pub(crate) fn join(mut sending: Vec<SendingLane>, receiving: Vec<ReceivingLane>, slip: u64) -> Self {
        sending.sort_by_key(|lane| lane.place);
        Self {
            accounts: vec![None; receiving.len()],
            sending,
            receiving,
            lost_before_sent: None,
            slip,
        }
    }

    /// Notes what ports and interfaces have counted during the trial, in the order of the ports.
    pub(crate) fn settle(&mut self, counted: &[Counted]) {
        for (index, lane) in self.receiving.iter().enumerate() {
            if self.is_alone(lane) {
                let sent = lane.turns.among(self.sum_of(lane.sender, SendingLane::sent));
                let direction = Direction {
                    sent,
                    seen: lane.seen(),
                    lost: lane.lost_of(sent),
                };
                self.accounts[index] = Account::new(direction, &counted[lane.from], &counted[lane.to]);
            }
        }
        self.lost_before_sent = self.sending.iter().find_map(|lane| {
            let from = &counted[lane.from];
            let sent = self.sum_of(lane.sender, SendingLane::sent);
            let lost = lost_before_sent(sent, lost_of_sender(lane.sender, sent, &self.receiving), from).unwrap_or(0);
            (lost > 0).then_some((lane.from, lost))
        });
    }

    /// Whether neither of its ports sends or receives in another direction, so that what interfaces count is its own.
    fn is_alone(&self, lane: &ReceivingLane) -> bool {
        let is_near = |other: &&ReceivingLane| other.from == lane.from || other.to == lane.to;
        self.receiving.iter().filter(is_near).count() == 1
    }

    /// Of all lots of a port, by its place among those that send.
    pub(crate) fn sum_of(&self, sender: usize, count: fn(&SendingLane) -> u64) -> u64 {
        sum_of(&self.sending, sender, count)
    }

    /// Each direction apart.
    pub(crate) fn report(&self, names: &[&str]) -> Vec<DirectionReport> {
        let lanes = self.receiving.iter().zip(&self.accounts);
        lanes
            .map(|(lane, account)| self.report_of(lane, *account, names))
            .collect()
    }

    fn report_of(&self, receiving: &ReceivingLane, account: Option<Account>, names: &[&str]) -> DirectionReport {
        let tracker = &receiving.tracker;
        let of_port = |count| self.sum_of(receiving.sender, count);
        let intended = receiving.turns.among(of_port(SendingLane::intended));
        let sent = receiving.turns.among(of_port(SendingLane::sent));
        let lanes = self.sending.iter().filter(|lane| lane.sender == receiving.sender);
        let lots: Vec<_> = lanes.collect();
        let first_unsent = |lane: &&SendingLane| receiving.turns.among(lane.first_unsent());
        let unsent_from: Vec<_> = lots.iter().map(first_unsent).collect();
        let pacing: Vec<_> = lots.iter().map(|lane| &lane.pacing).collect();
        let is_only = self
            .receiving
            .iter()
            .filter(|other| other.from == receiving.from)
            .count()
            == 1;
        let misrouted = names.iter().zip(&receiving.misrouted).filter(|&(_, &count)| count > 0);
        DirectionReport {
            from: names[receiving.from].to_owned(),
            to: names[receiving.to].to_owned(),
            intended,
            sent,
            lost: receiving.lost_of(sent),
            unsent: intended - sent,
            duplicated: tracker.duplicated(),
            reordered: receiving.reordered(),
            late: tracker.late(),
            stragglers: receiving.stragglers,
            sent_into_full_queue: is_only.then(|| of_port(|lane| lane.sent_into_full_queue)),
            damaged: receiving.damaged,
            misrouted: receiving.misrouted.iter().sum(),
            misrouted_at: misrouted.map(|(name, &count)| ((*name).to_owned(), count)).collect(),
            delay: receiving.delay.report(),
            flows: receiving.flows.as_ref().map(|flows| flows.report(&unsent_from)),
            account,
            pacing: PacingReport::of(&pacing),
        }
    }
}

/// Of all lots of a port.
pub(crate) fn sum_of<'l>(
    sending: impl IntoIterator<Item = &'l SendingLane>,
    sender: usize,
    count: fn(&SendingLane) -> u64,
) -> u64 {
    let own = sending.into_iter().filter(|lane| lane.sender == sender);
    own.map(count).sum()
}

/// Frames missing of all that a port sent.
pub(crate) fn lost_of_sender<'l>(
    sender: usize,
    sent: u64,
    receiving: impl IntoIterator<Item = &'l ReceivingLane>,
) -> u64 {
    let own = receiving.into_iter().filter(|lane| lane.sender == sender);
    own.map(|lane| lane.lost_of(lane.turns.among(sent))).sum()
}
