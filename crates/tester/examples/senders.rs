//! How many 60-byte test frames a second one and two threads of the tester send into wires in memory, four ports in a
//! full mesh: schedule, stamps, checksums and pacing included. Rounds of both take turns.
//!
//! The wall rate needs two processors that nothing else uses. The other rate is by the processor time of each thread:
//! what they would send on processors of their own, as far as they do not hold each other up.
//!
//! usage: `senders [ROUNDS]`

mod one_and_two;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brimful_netdev::{
    Capabilities, InterfaceCounters, MAX_BURST, MemoryReceiver, MemorySender, MonotonicTime, Port, ReceiveStatistics,
    Receiver, SendStatistics, Sender, Take, memory_wire,
};
use brimful_tester::{
    MonotonicClock, Outcome, PacingBounds, Profile, ProfileFile, ProfileOptions, Tester, Threads, Timing, TrialPlan,
};
use brimful_trial::{Load, Nanoseconds};

use one_and_two::{Rates, thread_time};

const PORTS: usize = 4;
const TRIAL: Nanoseconds = Nanoseconds(500_000_000);
/// Of each port: more than any thread sends of it.
const LOAD: f64 = 15e6;
/// Bursts from one reading of the time of a thread to the next.
const BURSTS: u64 = 256;

/// Frames that a port has sent, and the processor time of its thread meanwhile.
#[derive(Default)]
struct Spent {
    frames: AtomicU64,
    nanoseconds: AtomicU64,
}

/// One end of a wire whose other end is emptied at once, but for single frames: those make a port known.
struct Emptied {
    wire: MemorySender,
    end: MemoryReceiver,
    known: MemorySender,
    spent: Arc<Spent>,
    bursts: u64,
    since: Option<u64>,
}

/// Has the tester sleep while nothing arrives, as with a kernel that notes arrivals.
struct Noting(MemoryReceiver);

impl Sender for Emptied {
    fn name(&self) -> &str {
        self.wire.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.wire.capabilities()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        if count == 1 {
            return self.known.send_burst(count, fill);
        }
        let sent = self.wire.send_burst(count, fill)?;
        self.end.receive_burst(MAX_BURST, &mut |_| ())?;
        if self.bursts.is_multiple_of(BURSTS) {
            let now = thread_time();
            let since = *self.since.get_or_insert(now);
            self.spent.nanoseconds.store(now - since, Ordering::Relaxed);
            self.spent
                .frames
                .store(self.bursts * MAX_BURST as u64, Ordering::Relaxed);
        }
        self.bursts += u64::from(sent == MAX_BURST);
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        self.wire.statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(None)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Receiver for Noting {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        self.0.receive_burst(limit, &mut |mut frame| {
            frame.time = Some(MonotonicTime::now());
            take(frame);
        })
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.0.statistics()
    }
}

fn rates(senders: usize) -> Rates {
    let options = ProfileOptions {
        ports: Some(PORTS),
        pattern: Some("mesh".parse()?),
        ..ProfileOptions::default()
    };
    let profile = Profile::new(&ProfileFile::default(), Path::new(""), &options)?;
    let timing = Timing {
        straggler_wait: Nanoseconds::ZERO,
        stop_grace: Nanoseconds::ZERO,
        rest_after_stop: Nanoseconds::ZERO,
        // Nothing spoils a trial that is only to show how much is sent.
        bounds: PacingBounds {
            off_window_share: 1.0,
            stall: TRIAL,
        },
    };
    let (ports, spent): (Vec<_>, Vec<_>) = (0..PORTS).map(|_| port()).unzip();
    let stop = AtomicBool::new(false);
    let tester = Tester::new(ports, MonotonicClock::start(), profile, timing, &stop, 0)?;
    let plan = TrialPlan {
        load: Load::new(LOAD)?,
        duration: TRIAL,
        stop_above: None,
    };
    let outcome = tester
        .with_threads(Threads::Several { senders, receivers: 1 })
        .measure(&plan)?;
    let Outcome::Invalid { report, .. } = outcome else {
        return Err("all was sent: the load is too small".into());
    };
    let by_thread_time = spent.iter().map(|spent| {
        let frames = spent.frames.load(Ordering::Relaxed) as f64;
        frames / spent.nanoseconds.load(Ordering::Relaxed) as f64 * 1e9
    });
    Ok([report.counts.sent() as f64 / TRIAL.as_seconds(), by_thread_time.sum()])
}

fn port() -> (Port<Emptied, Noting>, Arc<Spent>) {
    let [near, far] = memory_wire(["near", "far"], 256);
    let [known, end] = memory_wire(["known", "end"], 256);
    let spent = Arc::new(Spent::default());
    let sender = Emptied {
        wire: near.sender,
        end: far.receiver,
        known: known.sender,
        spent: Arc::clone(&spent),
        bursts: 0,
        since: None,
    };
    let receiver = Noting(end.receiver);
    (Port { sender, receiver }, spent)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    one_and_two::compare(rates)
}
