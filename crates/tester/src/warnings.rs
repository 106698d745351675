use serde::Serialize;

use crate::{DirectionReport, LostBy, PortReport};

/// A port of which fewer frames were to be expected may have lost them by chance.
const ENOUGH_TO_BE_STARVED: u128 = 10;

/// Something that a reader of a result should know.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Warning {
    /// Stable word for programs.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// What a reader of the counts of a trial should know, `stale` being the frames of earlier trials that arrived and `ports`
/// those that there are, where they are more than two.
pub(crate) fn warnings(directions: &[DirectionReport], ports: Option<&[PortReport]>, stale: u64) -> Vec<Warning> {
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
        "frames arrived on a port that they were not for or on another VLAN, where they do not count as received",
    );
    for direction in directions {
        let DirectionReport { from, to, account, .. } = direction;
        let is_dead = direction.lost == direction.sent;
        let what = format!("frames sent by {from} are all that it sent to {to}: none arrived");
        // Of more ports than two one line names those that are behind it.
        warn_of(
            "dead-direction",
            if is_dead && ports.is_none() { direction.lost } else { 0 },
            &what,
        );
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
    warnings.extend(ports.and_then(starved_ports));
    warnings
}

/// A neighbour hears none of the answers of a port, having asked this number of times in a row.
pub(crate) fn unheard_answers(name: &str, asked: u64) -> Warning {
    Warning {
        code: "unheard-answers",
        text: format!(
            "a neighbour asked {asked} times in a row for one address at {name}: the answers (ARP, neighbour discovery) do \
             not reach it, and it drops frames to that address"
        ),
    }
}

/// Ports that have had far less of the frames than the others, all in one line.
fn starved_ports(ports: &[PortReport]) -> Option<Warning> {
    let sum = |count: fn(&PortReport) -> u64| u128::from(ports.iter().map(count).sum::<u64>());
    let (expected, received) = (sum(|port| port.expected), sum(|port| port.received));
    // The share that arrived is less than half of what it is over all ports.
    let is_starved = |whole: u64, part: u64| {
        let due = u128::from(whole) * received;
        whole > 0 && received == 0 || due >= ENOUGH_TO_BE_STARVED * expected && 2 * u128::from(part) * expected < due
    };
    let complaint = |port: &PortReport| {
        let arrived = port.sent - port.lost;
        let complaints = [
            (port.sent < port.intended / 2, port.sent, "sent nothing", "sent little"),
            (
                is_starved(port.sent, arrived),
                arrived,
                "nothing that it sent arrived",
                "little that it sent arrived",
            ),
            (
                is_starved(port.expected, port.received),
                port.received,
                "received nothing",
                "received little",
            ),
        ];
        let own = complaints.iter().filter(|complaint| complaint.0);
        let own: Vec<_> = own
            .map(|&(_, count, none, few)| if count == 0 { none } else { few })
            .collect();
        (!own.is_empty()).then(|| format!("{} ({})", port.name, own.join("; ")))
    };
    let starved: Vec<_> = ports.iter().filter_map(complaint).collect();
    let (count, all) = (starved.len(), ports.len());
    let whose = if count == 1 { "its" } else { "their" };
    (count > 0).then(|| Warning {
        code: "starved-ports",
        text: format!(
            "{count} of {all} ports had less than half of {whose} share: {}",
            starved.join(", ")
        ),
    })
}
