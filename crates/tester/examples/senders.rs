//! How many 60-byte test frames a second one and two threads of the tester send into wires in memory, four ports in a
//! full mesh: schedule, stamps, checksums and pacing included. Rounds of both take turns.
//!
//! The wall rate needs two processors that nothing else uses. The other rate is by the processor time of each thread:
//! what they would send on processors of their own, as far as they do not hold each other up.
//!
//! usage: `senders [ROUNDS]`

use std::fs;
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

const PORTS: usize = 4;
const ROUNDS: usize = 15;
const TRIAL: Nanoseconds = Nanoseconds(500_000_000);
/// Of each port: more than any thread sends of it.
const LOAD: f64 = 15e6;
/// Bursts from one reading of the time of a thread to the next.
const BURSTS: u64 = 256;
/// Where two threads hold each other up, this is not reached.
const BAR: f64 = 1.7;

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

/// Frames a second of one trial: by the clock, and by the processor time of the threads that send.
fn rates(senders: usize) -> Result<[f64; 2], Box<dyn std::error::Error>> {
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

/// Nanoseconds for which the calling thread has had a processor.
fn thread_time() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[expect(clippy::print_stdout, reason = "what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let mut found: [[Vec<f64>; 3]; 2] = Default::default();
    for _ in 0..rounds {
        let (one, two) = (rates(1)?, rates(2)?);
        for (kind, found) in found.iter_mut().enumerate() {
            for (values, value) in found.iter_mut().zip([one[kind], two[kind], two[kind] / one[kind]]) {
                values.push(value);
            }
        }
    }
    for (kind, mut found) in ["by the clock", "by processor time"].into_iter().zip(found) {
        for values in &mut found {
            values.sort_by(f64::total_cmp);
        }
        let [one, two, ratio] = &found;
        let middle = rounds / 2;
        println!(
            "{kind}: one thread {:.1}, two {:.1} million frames/s; {:.2} times ({:.2} to {:.2}), median of {rounds} rounds; \
             bar {BAR}",
            one[middle] / 1e6,
            two[middle] / 1e6,
            ratio[middle],
            ratio[0],
            ratio[rounds - 1],
        );
    }
    Ok(())
}
