use brimful_trial::program::DelayReport;
use serde::Serialize;

use crate::attribution::{Account, Counted, Direction};
use crate::receiving_lane::ReceivingLane;
use crate::sending_lane::SendingLane;
use crate::{FlowsReport, PacingReport, Schedule, Stream, TrialPlan};

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
    pub sent_into_full_queue: u64,
    /// Frames that arrived with a wrong checksum; they count as lost.
    pub damaged: u64,
    /// Frames that arrived on the port that sent them or on another VLAN; no arrivals of this direction.
    pub misrouted: u64,
    /// How long the frames took; nothing when none arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayReport>,
    /// Which flows lost frames; nothing where there is but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsReport>,
    /// Where the frames were counted and lost; nothing where an interface does not count.
    pub account: Option<Account>,
    /// How the sender kept its schedule.
    pub pacing: PacingReport,
}

/// One direction of one trial that is over.
pub(crate) struct Lane {
    pub(crate) sending: SendingLane,
    pub(crate) receiving: ReceivingLane,
    account: Option<Account>,
}

impl Lane {
    /// The sending halves of a trial, one a direction, evenly interleaved.
    pub(crate) fn sending(pairs: &[(usize, usize)], schedule: &Schedule) -> Vec<SendingLane> {
        let half = |(index, &(from, _)): (usize, &(usize, usize))| match index {
            0 => SendingLane::new(from, schedule.clone()),
            _ => SendingLane::new(from, schedule.clone().offset_by_half_a_period()),
        };
        pairs.iter().enumerate().map(half).collect()
    }

    /// The receiving halves of a trial.
    pub(crate) fn receiving(pairs: &[(usize, usize)], streams: &[Stream], plan: &TrialPlan) -> Vec<ReceivingLane> {
        let half =
            |(&(_, to), stream): (&(usize, usize), &Stream)| ReceivingLane::new(to, plan.frames(), stream.flow_turns());
        pairs.iter().zip(streams).map(half).collect()
    }

    /// Puts both halves together.
    pub(crate) fn join(sending: Vec<SendingLane>, receiving: Vec<ReceivingLane>) -> Vec<Self> {
        let join = |(sending, receiving)| Self {
            sending,
            receiving,
            account: None,
        };
        sending.into_iter().zip(receiving).map(join).collect()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.receiving.lost_of(self.sending.sent())
    }

    /// Notes what ports and interfaces have counted during the trial, in the order of the ports.
    pub(crate) fn settle(&mut self, counted: &[Counted; 2]) {
        let direction = Direction {
            sent: self.sending.sent(),
            seen: self.receiving.seen(),
            lost: self.lost(),
        };
        self.account = Account::new(direction, &counted[self.sending.from], &counted[self.receiving.to]);
    }

    /// Lost frames that the sending interface never counted; known once it is settled.
    pub(crate) fn lost_before_sent(&self) -> u64 {
        self.account.map_or(0, |account| account.lost.tester_send)
    }

    pub(crate) fn report(&self, names: [&str; 2]) -> DirectionReport {
        let Self { sending, receiving, .. } = self;
        let tracker = &receiving.tracker;
        DirectionReport {
            from: names[sending.from].to_owned(),
            to: names[receiving.to].to_owned(),
            intended: sending.intended(),
            sent: sending.sent(),
            lost: self.lost(),
            unsent: sending.intended() - sending.sent(),
            duplicated: tracker.duplicated(),
            reordered: tracker.reordered(),
            late: tracker.late(),
            stragglers: receiving.stragglers,
            sent_into_full_queue: sending.sent_into_full_queue,
            damaged: receiving.damaged,
            misrouted: receiving.misrouted.iter().sum(),
            delay: receiving.delay.report(),
            flows: receiving.flows.as_ref().map(|flows| flows.report(sending.sent())),
            account: self.account,
            pacing: sending.pacing.report(),
        }
    }
}
