use serde::Serialize;

use crate::DirectionReport;
use crate::sending_lane::SendingLane;

/// What is known of one port of more than two after a trial.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Frames that it was to send.
    pub intended: u64,
    /// Frames that it sent.
    pub sent: u64,
    /// Of those, frames that did not arrive at their port.
    pub lost: u64,
    /// Frames that others sent to it.
    pub expected: u64,
    /// Of those, frames that arrived, each counted once.
    pub received: u64,
    /// Frames that arrived here and were for another port, or on another VLAN.
    pub misrouted: u64,
    /// Frames of it that the queue of the attached receiver refused at once (veth).
    pub sent_into_full_queue: u64,
}

impl PortReport {
    /// Of all ports, from what is known of the directions.
    pub(crate) fn of_all(names: &[&str], directions: &[DirectionReport], lanes: &[SendingLane]) -> Vec<Self> {
        let of_port = |(port, &name): (usize, &&str)| {
            let lanes = lanes.iter().filter(|lane| lane.from == port);
            let sum = |is_own: fn(&DirectionReport, &str) -> bool, count: fn(&DirectionReport) -> u64| {
                let own = directions.iter().filter(|direction| is_own(direction, name));
                own.map(count).sum::<u64>()
            };
            let from = |direction: &DirectionReport, name: &str| direction.from == name;
            let to = |direction: &DirectionReport, name: &str| direction.to == name;
            let misrouted = directions
                .iter()
                .filter_map(|direction| direction.misrouted_at.get(name));
            Self {
                name: name.to_owned(),
                intended: sum(from, |direction| direction.intended),
                sent: sum(from, |direction| direction.sent),
                lost: sum(from, |direction| direction.lost),
                expected: sum(to, |direction| direction.sent),
                received: sum(to, |direction| direction.sent - direction.lost),
                misrouted: misrouted.sum(),
                sent_into_full_queue: lanes.map(|lane| lane.sent_into_full_queue).sum(),
            }
        };
        names.iter().enumerate().map(of_port).collect()
    }
}
