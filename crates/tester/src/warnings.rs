use serde::Serialize;

use crate::{DirectionReport, LostBy};

/// Something that a reader of a result should know.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Warning {
    /// Stable word for programs.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// What a reader of the counts of a trial should know, `stale` being the frames of earlier trials that arrived.
pub(crate) fn warnings(directions: &[DirectionReport], stale: u64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn_of = |code, count: u64, what: &str| {
        if count > 0 {
            let text = format!("{count} {what}");
            warnings.push(Warning { code, text });
        }
    };
    let sum = |count: fn(&DirectionReport) -> u64| directions.iter().map(count).sum();
    warn_of(
        "stale-frames",
        stale,
        "frames of earlier trials arrived, not counted: the straggler wait is too short",
    );
    warn_of(
        "damaged-frames",
        sum(|direction| direction.damaged),
        "frames arrived with a wrong checksum and count as lost",
    );
    warn_of(
        "misrouted-frames",
        sum(|direction| direction.misrouted),
        "frames arrived on the port that sent them or on another VLAN, where they do not count as received",
    );
    for direction in directions {
        let DirectionReport { from, to, account, .. } = direction;
        let is_dead = direction.lost == direction.sent;
        let what = format!("frames sent by {from} are all that it sent to {to}: none arrived");
        warn_of("dead-direction", if is_dead { direction.lost } else { 0 }, &what);
        let dead = direction.flows.as_ref().map_or(0, |flows| flows.dead);
        let what = format!("flows from {from} to {to} did not arrive at all, others did");
        warn_of("dead-flows", if is_dead { 0 } else { dead }, &what);
        let lost = account.map_or(LostBy::default(), |account| account.lost);
        for (count, what) in [
            (lost.tester_send, format!("before {from} sent them")),
            (lost.tester_receive, format!("after {to} received them")),
        ] {
            let what = format!("frames were lost in the tester {what}: not the device's loss");
            warn_of("lost-in-tester", count, &what);
        }
    }
    warnings
}
