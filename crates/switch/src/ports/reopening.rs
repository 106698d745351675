//! Ports follow the names of their interfaces: one that is deleted and made again, as by a container that starts anew, is
//! another interface to the kernel.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use brimful_netdev::{AnyPort, MonotonicTime, Receiver, Sender};

use super::{SwitchPort, WayOut, address_number};
use crate::counts::{Reason, Way};
use crate::notice::say;

/// Between attempts to open an interface that has come back.
const RETRY_NS: u64 = 500_000_000;

/// Opens the interface that has the name of a port's by now.
pub type Open = Box<dyn Fn() -> Result<Vec<AnyPort>, String> + Send + Sync>;

/// How a port follows the name of its interface.
pub(super) struct Reopening {
    open: Open,
    /// As how many ports it is opened.
    ports: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is to be received from now on, for each input of the port that has not taken it yet.
    receivers: BTreeMap<usize, Box<dyn Receiver>>,
    /// Nanoseconds of the switch's clock: not to be tried before.
    due: u64,
    /// What it failed with, which is said once.
    obstacle: String,
}

impl fmt::Debug for Reopening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reopening").finish_non_exhaustive()
    }
}

impl Reopening {
    pub(super) fn new(open: Open, ports: usize) -> Self {
        Self {
            open,
            ports,
            state: Mutex::default(),
        }
    }

    /// What an input of the port is to receive from now on, if that is something else.
    pub(super) fn take_receiver(&self, place: usize) -> Option<Box<dyn Receiver>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.receivers.remove(&place)
    }

    /// Opens the interface that has taken the name of the one that is gone, if that can be done; gives what sends.
    fn try_open(&self, name: &str) -> Option<Vec<Box<dyn Sender>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = MonotonicTime::now().0;
        if now < state.due {
            return None;
        }
        let opened = (self.open)().and_then(|opened| match (opened.len(), self.ports) {
            (now, before) if now == before => Ok(opened),
            (now, before) => Err(format!(
                "it had {before} receive queues and has {now}: start the switch again"
            )),
        });
        match opened {
            Ok(opened) => {
                let halves = opened.into_iter().map(|port| (port.sender, port.receiver));
                let (senders, receivers): (Vec<_>, Vec<_>) = halves.unzip();
                state.receivers = receivers.into_iter().enumerate().collect();
                state.obstacle.clear();
                Some(senders)
            }
            Err(obstacle) => {
                state.due = now + RETRY_NS;
                if state.obstacle != obstacle {
                    say(format_args!("port {name} has come back: {obstacle}"));
                    state.obstacle = obstacle;
                }
                None
            }
        }
    }
}

impl SwitchPort {
    /// Asks the interface; whether the answer has changed.
    pub(crate) fn look_at_link(&self) -> bool {
        let is_replaced = self.is_replaced();
        let is_another = is_replaced && self.reopen();
        let has_link = (!is_replaced || is_another) && self.look_at_interface();
        self.has_link.swap(has_link, Relaxed) != has_link || is_another
    }

    fn is_replaced(&self) -> bool {
        let way_out = self.way(0);
        let is_replaced = way_out.exit.sender.is_replaced();
        if is_replaced {
            way_out.exit.sender.let_go();
        }
        is_replaced
    }

    /// What of the interface may change; gives whether it has a link.
    fn look_at_interface(&self) -> bool {
        for place in 0..self.ways_out.len() {
            self.count_refused(&mut self.way(place));
        }
        let mut way_out = self.way(0);
        let longest = way_out.exit.sender.longest_untagged().unwrap_or(usize::MAX);
        self.longest_untagged.store(longest, Relaxed);
        if let Some(address) = way_out.exit.sender.hardware_address() {
            self.address.store(address_number(address), Relaxed);
        }
        way_out.exit.sender.link_is_up().unwrap_or(false)
    }

    /// Frames that were handed over, and that the other end of a veth pair threw away.
    fn count_refused(&self, way_out: &mut WayOut) {
        // An interface that is gone has counted what it has.
        let Ok(statistics) = way_out.exit.sender.statistics() else {
            return;
        };
        let refused = statistics.sent_into_full_queue;
        let more = refused.saturating_sub(std::mem::replace(&mut way_out.refused, refused));
        self.counts.drop(Way::Out, Reason::NoRoomThere, more);
    }

    /// Opens the interface that has taken the name of the one that is gone; gives whether that could be done.
    fn reopen(&self) -> bool {
        let reopening = self.reopening.as_ref();
        let Some(senders) = reopening.and_then(|reopening| reopening.try_open(&self.name)) else {
            return false;
        };
        for (place, sender) in senders.into_iter().take(self.ways_out.len()).enumerate() {
            let mut way_out = self.way(place);
            let before = std::mem::replace(&mut way_out.exit.sender, sender);
            way_out.refused = 0;
            // To close it takes longer than frames may wait.
            drop(way_out);
            drop(before);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use brimful_netdev::{Capabilities, InterfaceCounters, SendStatistics, loopback};

    use super::*;
    use crate::ports::Input;

    /// Of an interface whose name another one has taken.
    struct Replaced;

    impl Sender for Replaced {
        fn name(&self) -> &'static str {
            "replaced"
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities {
                max_frame_len: 1518,
                headroom: 0,
                can_wait: false,
                notes_arrival: false,
            }
        }

        fn send_burst(&mut self, _: usize, _: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
            Err(io::ErrorKind::NetworkDown.into())
        }

        fn flush(&mut self) -> io::Result<usize> {
            Ok(0)
        }

        fn statistics(&mut self) -> io::Result<SendStatistics> {
            Ok(SendStatistics::default())
        }

        fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
            Ok(None)
        }

        fn link_is_up(&mut self) -> io::Result<bool> {
            Ok(true)
        }

        fn is_replaced(&self) -> bool {
            true
        }
    }

    fn port(open: impl Fn() -> Result<Vec<AnyPort>, String> + Send + Sync + 'static) -> Arc<SwitchPort> {
        let port = SwitchPort::new(1, [0; 6], Box::new(Replaced), None);
        Arc::new(port.with_reopening(Box::new(open), 1))
    }

    fn fresh() -> AnyPort {
        loopback("fresh", 64).into_any()
    }

    #[test]
    fn both_halves_are_those_of_the_interface_that_has_the_name() {
        let port = port(|| Ok(vec![fresh()]));
        let mut input = Input::new(Arc::clone(&port), fresh().receiver);
        assert!(port.look_at_link(), "whoever follows the port is told");
        assert!(port.has_link());
        assert!(input.follow().is_some());
        let sent = port.way(0).exit.sender.send_burst(1, &mut |_, _| 60);
        assert_eq!(sent.unwrap(), 1);
        let received = input.receiver.receive_burst(1, &mut |_| {});
        assert_eq!(received.unwrap(), 1);
    }

    #[test]
    fn one_that_cannot_be_opened_is_down() {
        let tried = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tried);
        let port = port(move || {
            count.fetch_add(1, Relaxed);
            Err("it is busy".to_owned())
        });
        assert!(port.look_at_link());
        assert!(!port.has_link());
        assert!(!port.look_at_link(), "nothing has changed");
        assert!(tried.load(Relaxed) > 0);
    }

    #[test]
    fn one_with_another_number_of_queues_is_refused() {
        let port = port(|| Ok(vec![fresh(), fresh()]));
        port.look_at_link();
        assert!(!port.has_link());
    }
}
