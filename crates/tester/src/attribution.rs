use brimful_netdev::{InterfaceCounters, ReceiveStatistics, SendStatistics};
use serde::Serialize;

/// What a port and the interface below it have counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) sender: SendStatistics,
    pub(crate) receiver: ReceiveStatistics,
    pub(crate) interface: Option<InterfaceCounters>,
}

impl Counted {
    /// What they have counted since an earlier reading.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let (sender, receiver) = (before.sender, before.receiver);
        let interface = self
            .interface
            .zip(before.interface)
            .map(|(now, then)| InterfaceCounters {
                received: now.received.saturating_sub(then.received),
                receive_dropped: now.receive_dropped.saturating_sub(then.receive_dropped),
                sent: now.sent.saturating_sub(then.sent),
                send_dropped: now.send_dropped.saturating_sub(then.send_dropped),
                link_losses: now.link_losses.saturating_sub(then.link_losses),
                is_without_link: now.is_without_link,
            });
        Self {
            sender: SendStatistics {
                sent: self.sender.sent - sender.sent,
                sent_into_full_queue: self.sender.sent_into_full_queue - sender.sent_into_full_queue,
            },
            receiver: ReceiveStatistics {
                received: self.receiver.received - receiver.received,
                receive_dropped: self.receiver.receive_dropped - receiver.receive_dropped,
            },
            interface,
        }
    }

    /// Whether the link was down at some time, however short.
    pub(crate) fn lost_its_link(&self) -> bool {
        self.interface
            .is_some_and(|interface| interface.is_without_link || interface.link_losses > 0)
    }

    /// Frames that arrived on the interface and did not reach the reader of the port.
    pub(crate) fn unseen(&self) -> u64 {
        let arrived = self.interface.map_or(0, |interface| interface.received);
        arrived
            .saturating_sub(self.receiver.received)
            .max(self.receiver.receive_dropped)
            .max(self.dropped_by_interface())
    }

    /// Frames that arrived and that the card or its driver had no room for; it does not count them as arrived.
    pub(crate) fn dropped_by_interface(&self) -> u64 {
        self.interface.map_or(0, |interface| interface.receive_dropped)
    }
}

/// The frames of one direction of a trial, counted at each place that they pass.
///
/// Exact where nothing else sends on the interfaces: what the kernel or a device sends of its own is counted too.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Account {
    /// Sent by the tester.
    pub sent: u64,
    /// Counted out by the sending interface, those included that its peer's full queue refused.
    pub counted_out: u64,
    /// Counted in by the receiving interface.
    pub counted_in: u64,
    /// Seen by the tester, copies and damaged frames included.
    pub seen: u64,
    /// Other frames that the tester sent during the trial; not in the counts above.
    pub other_sent: u64,
    /// Other frames that the tester received during the trial; not in the counts above.
    pub other_received: u64,
    /// Where frames were lost.
    pub lost: LostBy,
}

/// Lost frames by place; the sum is what the trial lost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LostBy {
    /// The tester took them for sent and the interface did not count them.
    pub tester_send: u64,
    /// Links and device: whatever is between the interfaces, damage and lateness included.
    pub between: u64,
    /// The interface counted them and the tester did not see them.
    pub tester_receive: u64,
}

/// What the tester itself counted of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) sent: u64,
    pub(crate) seen: u64,
    pub(crate) lost: u64,
}

impl Account {
    /// Puts together what was counted during a trial; nothing where an interface does not count.
    pub(crate) fn new(direction: Direction, from: &Counted, to: &Counted) -> Option<Self> {
        let (out, into) = (from.interface?, to.interface?);
        let other_sent = from.sender.sent.saturating_sub(direction.sent);
        let other_received = to.receiver.received.saturating_sub(direction.seen);
        let counted_out = counted_out(direction.sent, from, out);
        let tester_send = direction.sent.saturating_sub(counted_out).min(direction.lost);
        let tester_receive = to.unseen().min(direction.lost - tester_send);
        Some(Self {
            sent: direction.sent,
            counted_out,
            counted_in: into.received.saturating_sub(other_received),
            seen: direction.seen,
            other_sent,
            other_received,
            lost: LostBy {
                tester_send,
                between: direction.lost - tester_send - tester_receive,
                tester_receive,
            },
        })
    }
}

/// Of `lost` frames of all that a port `sent`, those that its interface never counted; nothing where it does not count.
pub(crate) fn lost_before_sent(sent: u64, lost: u64, from: &Counted) -> Option<u64> {
    let counted_out = counted_out(sent, from, from.interface?);
    Some(sent.saturating_sub(counted_out).min(lost))
}

/// What an interface counted out of the frames that a trial sent.
fn counted_out(sent: u64, from: &Counted, interface: InterfaceCounters) -> u64 {
    let other_sent = from.sender.sent.saturating_sub(sent);
    (interface.sent + from.sender.sent_into_full_queue).saturating_sub(other_sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(sent: u64, refused: u64, received: u64, interface: [u64; 2]) -> Counted {
        Counted {
            sender: SendStatistics {
                sent,
                sent_into_full_queue: refused,
            },
            receiver: ReceiveStatistics {
                received,
                receive_dropped: 0,
            },
            interface: Some(InterfaceCounters {
                sent: interface[0],
                received: interface[1],
                ..InterfaceCounters::default()
            }),
        }
    }

    /// 100 frames of the trial and 4 others are sent; 2 vanish in the sender, 3 are refused by the peer, 5 vanish on the
    /// way, and the tester is not given 7 of the 90 and 4 that arrive.
    #[test]
    fn each_place_has_its_count() {
        let direction = Direction {
            sent: 100,
            seen: 83,
            lost: 17,
        };
        let account = Account::new(direction, &counted(104, 3, 0, [99, 0]), &counted(0, 0, 87, [0, 94]));
        let expected = Account {
            sent: 100,
            counted_out: 98,
            counted_in: 90,
            seen: 83,
            other_sent: 4,
            other_received: 4,
            lost: LostBy {
                tester_send: 2,
                between: 8,
                tester_receive: 7,
            },
        };
        assert_eq!(account, Some(expected));
    }

    /// A card does not count as arrived what it had no room for.
    #[test]
    fn what_the_card_dropped_the_device_has_not_lost() {
        let direction = Direction {
            sent: 100,
            seen: 93,
            lost: 7,
        };
        let mut to = counted(0, 0, 93, [0, 93]);
        to.interface.as_mut().unwrap().receive_dropped = 5;
        let account = Account::new(direction, &counted(100, 0, 0, [100, 0]), &to).unwrap();
        assert_eq!((account.lost.between, account.lost.tester_receive), (2, 5));
        assert_eq!((to.unseen(), to.dropped_by_interface()), (5, 5));
    }

    #[test]
    fn chatter_of_others_makes_no_loss() {
        let direction = Direction {
            sent: 100,
            seen: 100,
            lost: 0,
        };
        let account = Account::new(direction, &counted(100, 0, 0, [150, 0]), &counted(0, 0, 120, [0, 130])).unwrap();
        assert_eq!(account.lost, LostBy::default());
    }

    #[test]
    fn a_port_without_counters_has_no_account() {
        let direction = Direction {
            sent: 1,
            seen: 1,
            lost: 0,
        };
        assert!(Account::new(direction, &Counted::default(), &counted(0, 0, 1, [0, 1])).is_none());
    }
}
