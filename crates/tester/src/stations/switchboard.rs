use std::io;

use brimful_frame::Malformed;
use brimful_netdev::{MAX_BURST, Port, Receiver, Sender};
use brimful_trial::Nanoseconds;

use super::arrivals::Arrivals;
use super::request::{Reply, SendRequest, SequenceReply};
use super::sequence::Sequence;
use crate::Clock;
use crate::test_frames::TestFrame;

/// While frames were sent so recently, ports are looked at without pause: the delay of a frame is known to one look.
const BUSY: Nanoseconds = Nanoseconds(300_000);
const NAP: Nanoseconds = Nanoseconds(50_000);
/// An interface that takes nothing for so long takes no more.
const PATIENCE: Nanoseconds = Nanoseconds(1_000_000_000);
const TOO_LONG: &str = "the frame is longer than the MTU of the interface allows";

/// Sends sequences on any number of ports, and counts what arrives at each.
#[derive(Debug)]
pub struct Switchboard<S, R, C> {
    ports: Vec<Port<S, R>>,
    clock: C,
    trial: u16,
}

/// What arrives, at each port.
struct Counts {
    /// By sequence, then by port.
    arrivals: Vec<Vec<Arrivals>>,
    damaged: Vec<u64>,
    foreign: Vec<u64>,
}

impl<S: Sender, R: Receiver, C: Clock> Switchboard<S, R, C> {
    /// Uses these ports; the number of the first trial differs from that of other testers nearby.
    pub fn new(ports: Vec<Port<S, R>>, clock: C, trial: u16) -> Self {
        Self { ports, clock, trial }
    }

    /// The ports, for their owner.
    pub fn ports(&self) -> &[Port<S, R>] {
        &self.ports
    }

    /// Sends all sequences at once, each at its rate, and waits until nothing has arrived for a while.
    ///
    /// # Errors
    /// When a port fails for another reason than the length of a frame.
    ///
    /// # Panics
    /// When the request was not checked.
    pub fn send(&mut self, request: &SendRequest) -> io::Result<Reply> {
        self.trial = self.trial.wrapping_add(1);
        let dropped_before = self.dropped()?;
        let numbered = request.sequences.iter().zip(0..=u8::MAX);
        let mut sequences: Vec<_> = numbered
            .map(|(sequence, stream)| Sequence::new(sequence, stream, self.trial))
            .collect();
        let mut counts = Counts::new(request, self.ports.len());
        let begin = self.clock.now();
        let (mut last_sent, mut last_arrival) = (begin, begin);
        while sequences.iter().any(|sequence| !sequence.is_over()) {
            for sequence in &mut sequences {
                if self.send_due(sequence, begin)? {
                    last_sent = self.clock.now();
                }
            }
            if self.receive(&mut counts)? {
                last_arrival = self.clock.now();
            }
            self.nap(&sequences, begin, last_sent);
        }
        let settle = Nanoseconds::from_seconds(request.settle_s).unwrap_or(Nanoseconds::ZERO);
        loop {
            let arrived = self.receive(&mut counts)?;
            let now = self.clock.now();
            if arrived {
                last_arrival = now;
            } else if now > last_arrival.max(last_sent) + settle {
                break;
            }
            if now > last_sent + BUSY {
                self.clock.sleep(NAP);
            }
        }
        let dropped = self
            .dropped()?
            .into_iter()
            .zip(dropped_before)
            .map(|(after, before)| after - before);
        Ok(counts.reply(request, &sequences, dropped.collect()))
    }

    /// Sends what is due of one sequence; false where nothing was sent.
    fn send_due(&mut self, sequence: &mut Sequence<'_>, begin: Nanoseconds) -> io::Result<bool> {
        let now = self.clock.now();
        let due = sequence.due(now.saturating_sub(begin));
        if sequence.is_over() || due == 0 {
            return Ok(false);
        }
        let port = &mut self.ports[sequence.request.port].sender;
        if sequence.frame_len() > port.capabilities().max_frame_len {
            sequence.refused = Some(TOO_LONG.to_owned());
            return Ok(false);
        }
        let burst = due.min(MAX_BURST as u64) as usize;
        let taken = port.send_burst(burst, &mut |ahead, buffer| sequence.fill(buffer, ahead, now));
        let taken = match taken {
            Ok(taken) => taken as u64,
            // EMSGSIZE, which has no name of its own in the standard library.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
                sequence.refused = Some(TOO_LONG.to_owned());
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if taken == 0 {
            if now > sequence.last_at.max(begin) + PATIENCE {
                sequence.refused = Some(format!("{} took nothing for {PATIENCE}", port.name()));
            }
            return Ok(false);
        }
        sequence.most_behind = sequence.most_behind.max(due - 1);
        if sequence.sent == 0 {
            sequence.first_at = now;
        }
        sequence.last_at = now;
        sequence.sent += taken;
        Ok(true)
    }

    /// Takes what has arrived; whether test frames of this request were among it.
    fn receive(&mut self, counts: &mut Counts) -> io::Result<bool> {
        let (clock, trial) = (&self.clock, self.trial);
        let mut any = false;
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.receiver.receive_burst(MAX_BURST, &mut |frame| {
                any |= counts.take(index, &frame, trial, clock.now());
            })?;
        }
        Ok(any)
    }

    fn nap(&self, sequences: &[Sequence<'_>], begin: Nanoseconds, last_sent: Nanoseconds) {
        let waiting = sequences.iter().filter(|sequence| !sequence.is_over());
        let Some(next) = waiting.map(Sequence::next_due).min() else {
            return;
        };
        let now = self.clock.now();
        if now > last_sent + BUSY && begin + next > now + BUSY {
            self.clock.sleep(NAP);
        }
    }

    fn dropped(&mut self) -> io::Result<Vec<u64>> {
        let statistics = self.ports.iter_mut().map(|port| port.receiver.statistics());
        statistics
            .map(|found| found.map(|found| found.receive_dropped))
            .collect()
    }
}

impl Counts {
    fn new(request: &SendRequest, ports: usize) -> Self {
        let sequences = request.sequences.iter();
        Self {
            arrivals: sequences
                .map(|sequence| vec![Arrivals::new(sequence.count); ports])
                .collect(),
            damaged: vec![0; ports],
            foreign: vec![0; ports],
        }
    }

    /// Counts a frame; false where it is none of this trial.
    fn take(&mut self, port: usize, bytes: &[u8], trial: u16, now: Nanoseconds) -> bool {
        let is_counted = match TestFrame::parse(bytes) {
            Ok(TestFrame { stamp, .. }) if stamp.trial == trial => {
                let arrivals = self.arrivals.get_mut(usize::from(stamp.stream));
                arrivals.is_some_and(|arrivals| arrivals[port].note(stamp, bytes.len(), now))
            }
            Err(Malformed::Checksum { .. }) => {
                self.damaged[port] += 1;
                return false;
            }
            _ => false,
        };
        self.foreign[port] += u64::from(!is_counted);
        is_counted
    }

    fn reply(&self, request: &SendRequest, sequences: &[Sequence<'_>], dropped: Vec<u64>) -> Reply {
        let replies = sequences
            .iter()
            .zip(&self.arrivals)
            .map(|(sequence, arrivals)| SequenceReply {
                port: sequence.request.port,
                sent: sequence.sent,
                refused: sequence.refused.clone(),
                duration_s: sequence.last_at.saturating_sub(sequence.first_at).as_seconds(),
                most_behind: sequence.most_behind,
                received: arrivals.iter().map(Arrivals::received).collect(),
            });
        Reply {
            id: request.id.clone(),
            sequences: replies.collect(),
            damaged: self.damaged.clone(),
            foreign: self.foreign.clone(),
            dropped,
        }
    }
}
