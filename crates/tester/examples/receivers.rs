//! How many 60-byte test frames a second one and two threads of the tester receive, four ports in a full mesh: stamps,
//! checksums, order, duplicates and delays included. Rounds of both take turns.
//!
//! The frames lie in memory before the trial; a thread takes them once all have been sent, which costs nothing here. The
//! wall rate needs two processors that nothing else uses. The other rate is by the processor time of each thread: what
//! they would receive on processors of their own, as far as they do not hold each other up.
//!
//! usage: `receivers [ROUNDS]`

mod one_and_two;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use brimful_netdev::{
    Arrived, Capabilities, InterfaceCounters, MonotonicTime, Port, ReceiveStatistics, Receiver, SendStatistics, Sender,
    Take,
};
use brimful_tester::{
    MonotonicClock, Outcome, PacingBounds, Profile, ProfileFile, ProfileOptions, Stamp, Tester, Threads, Timing,
    TrialPlan,
};
use brimful_trial::{Load, Nanoseconds};

use one_and_two::{Rates, thread_time};

const PORTS: usize = 4;
/// Of each port, all due at once; one more is due at the end, until when the others can be received.
const FRAMES: u64 = 65_536;
/// What a port sends before a trial.
const LEARNING: u64 = 6;
const TRIAL: Nanoseconds = Nanoseconds(300_000_000);
const FIRST_TRIAL: u16 = 7;
const FRAME_LEN: usize = 60;

/// Takes frames for sent.
struct Swallowing(Arc<AtomicU64>);

/// Has the frames that others sent to a port.
struct Fed {
    frames: Vec<[u8; FRAME_LEN]>,
    offered: Arc<AtomicU64>,
    next: usize,
    begun: Option<(Instant, u64)>,
    spent: Arc<Spent>,
}

/// What the frames of a port took, by the clock and by the processor time of its thread, in nanoseconds.
#[derive(Default)]
struct Spent {
    by_clock: AtomicU64,
    by_thread: AtomicU64,
}

impl Sender for Swallowing {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: FRAME_LEN,
            headroom: 0,
            can_wait: false,
            notes_arrival: true,
        }
    }

    fn send_burst(&mut self, count: usize, _: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        self.0.fetch_add(count as u64, Ordering::Release);
        Ok(count)
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
}

impl Receiver for Fed {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let end = (self.next + limit).min(self.frames.len());
        if self.offered.load(Ordering::Acquire) < PORTS as u64 * (FRAMES + LEARNING) || self.next == end {
            return Ok(0);
        }
        let begun = *self.begun.get_or_insert_with(|| (Instant::now(), thread_time()));
        for frame in &mut self.frames[self.next..end] {
            take(Arrived::new(frame, 0, Some(MonotonicTime::now())));
        }
        let count = end - self.next;
        self.next = end;
        if end == self.frames.len() {
            let by_clock = begun.0.elapsed().as_nanos() as u64;
            self.spent.by_clock.store(by_clock, Ordering::Relaxed);
            self.spent.by_thread.store(thread_time() - begun.1, Ordering::Relaxed);
        }
        Ok(count)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics::default())
    }
}

fn rates(receivers: usize) -> Rates {
    let options = ProfileOptions {
        ports: Some(PORTS),
        pattern: Some("mesh".parse()?),
        ..ProfileOptions::default()
    };
    let file = ProfileFile::parse(&format!("[bursts]\nframes = {FRAMES}\n"))?;
    let profile = Profile::new(&file, Path::new(""), &options)?;
    let timing = Timing {
        straggler_wait: Nanoseconds::ZERO,
        stop_grace: Nanoseconds::ZERO,
        rest_after_stop: Nanoseconds::ZERO,
        // Nothing spoils a trial that is only to show how much is received.
        bounds: PacingBounds {
            off_window_share: 1.0,
            stall: TRIAL,
        },
    };
    let offered = Arc::new(AtomicU64::new(0));
    let spent: [Arc<Spent>; PORTS] = Default::default();
    let ports: Vec<_> = (0..PORTS)
        .map(|port| port_of(&profile, port, &offered, &spent[port]))
        .collect::<Result<_, _>>()?;
    let stop = AtomicBool::new(false);
    let tester = Tester::new(ports, MonotonicClock::start(), profile, timing, &stop, FIRST_TRIAL)?;
    let plan = TrialPlan {
        load: Load::new((FRAMES + 1) as f64 / TRIAL.as_seconds())?,
        duration: TRIAL,
        stop_above: None,
    };
    let outcome = tester
        .with_threads(Threads::Several { senders: 1, receivers })
        .measure(&plan)?;
    let (Outcome::Counted(report) | Outcome::Invalid { report, .. }) = outcome else {
        return Err("it was called off".into());
    };
    let received = report.counts.sent() - report.counts.lost();
    let all = PORTS as u64 * FRAMES;
    if received != all {
        return Err(format!("{received} frames of {all} were counted").into());
    }
    // The ports of a thread take turns, each about as long as all of them.
    let longest =
        |of: fn(&Spent) -> &AtomicU64| spent.iter().map(move |spent| of(spent).load(Ordering::Relaxed) as f64);
    let by_clock = longest(|spent| &spent.by_clock).fold(0.0, f64::max);
    let by_thread = longest(|spent| &spent.by_thread).map(|time| FRAMES as f64 * (PORTS / receivers) as f64 / time);
    let threads = receivers as f64 / PORTS as f64;
    Ok([all as f64 / by_clock * 1e9, by_thread.sum::<f64>() * threads * 1e9])
}

fn port_of(
    profile: &Profile,
    to: usize,
    offered: &Arc<AtomicU64>,
    spent: &Arc<Spent>,
) -> Result<Port<Swallowing, Fed>, Box<dyn std::error::Error>> {
    let directions = profile.routes().directions();
    let streams = directions.iter().map(|way| profile.stream(way.from, way.to));
    let streams: Vec<_> = streams.collect::<Result<_, _>>()?;
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        for order in profile.routes().orders() {
            let (direction, sequence) = order.at(frame);
            if directions[direction].to != to {
                continue;
            }
            let stamp = Stamp {
                trial: FIRST_TRIAL + 1,
                stream: direction as u8,
                timestamp: 0,
                sequence,
            };
            let mut bytes = [0; FRAME_LEN];
            streams[direction].fill(&mut bytes, stamp);
            frames.push(bytes);
        }
    }
    let receiver = Fed {
        frames,
        offered: Arc::clone(offered),
        next: 0,
        begun: None,
        spent: Arc::clone(spent),
    };
    let sender = Swallowing(Arc::clone(offered));
    Ok(Port { sender, receiver })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    one_and_two::compare(rates)
}
