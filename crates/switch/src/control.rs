//! The control thread, which changes tables. Others ask it through a [`Handle`]; while it has nothing to do, they do
//! themselves what they ask for.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brimful_netdev::{MonotonicTime, use_short_slices};
use brimful_pipeline::{CounterBlock, CounterId};
use thiserror::Error;

use crate::closing::close_together;
use crate::events::{PacketInEvent, PacketListeners};
use crate::plane::{Plane, SharedPipeline};
use crate::ports::{Input, Ports, SwitchPort};
use crate::settings::port::PortSettings;
use crate::vacancy::Vacancies;
use crate::watch::{PortEvent, Watcher};
use crate::worker::{SLICE, Worker};

/// How often entries expire and links are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How long threads may take to end before they are left. Those of the data plane send for some time what has arrived.
const LONGEST_END: Duration = Duration::from_secs(1);
/// How much longer that may take for each port: the kernel closes one socket after the other.
const LONGEST_CLOSE: Duration = Duration::from_millis(50);

/// A logical switch, on its control thread.
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Its datapath identifier.
    pub dpid: u64,
    /// Its ports.
    pub ports: Arc<Ports>,
    /// Its tables, for reading; [`Self::change`] and its like change them.
    pub pipeline: SharedPipeline,
    /// Data-plane threads.
    pub threads: usize,
    /// What its ports are to be, by number, where settings say so.
    pub(crate) port_settings: BTreeMap<u32, PortSettings>,
    /// For each data-plane thread the ports that it receives from, once for each input.
    pub(crate) shares: Vec<Vec<u32>>,
    pub(crate) plane: Box<dyn Plane>,
    /// The listeners to packets.
    pub(crate) packets: PacketListeners,
    /// The watchers of everything else.
    pub(crate) watcher: Option<Arc<dyn Watcher>>,
    /// Whether data-plane threads may still be running tables as they were.
    pub(crate) is_unsettled: bool,
    pub(crate) vacancies: Vacancies,
    /// Another number after every change of the tables.
    pub(crate) revision: Arc<AtomicU64>,
    /// The cells of frames that controllers send.
    pub(crate) counters: Option<Arc<CounterBlock>>,
}

/// The switch has ended.
#[derive(Clone, Copy, Debug, Error, Eq, PartialEq)]
#[error("the switch has ended")]
pub struct Ended;

type Request = Box<dyn FnOnce(&mut Switch) + Send>;

/// Asks a control thread.
#[derive(Clone)]
pub struct Handle {
    requests: Sender<Request>,
    seat: Arc<Seat>,
}

/// Where the switch is, for one thread at a time.
struct Seat {
    /// Gone once it has ended.
    switch: Mutex<Option<Switch>>,
    /// Requests that the control thread has been given and has not done.
    waiting: AtomicUsize,
}

/// Switches that can be asked, by name.
pub type Handles = BTreeMap<String, Handle>;

/// A switch that runs: its control thread and its data-plane threads. It ends when this is dropped.
pub struct Running {
    /// To ask it.
    pub handle: Handle,
    ends: Arc<AtomicBool>,
    stops: Arc<AtomicBool>,
    ports: Weak<Ports>,
    workers: Vec<JoinHandle<()>>,
    control: Option<JoinHandle<()>>,
}

/// An answer that is still to come.
#[derive(Debug)]
pub struct Pending<A>(Receiver<A>);

impl<A> Pending<A> {
    /// The answer, if it has come.
    ///
    /// # Errors
    /// When the switch has ended.
    pub fn look(&self) -> Result<Option<A>, Ended> {
        match self.0.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Ended),
        }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// When the switch has ended.
    pub fn wait(self) -> Result<A, Ended> {
        self.0.recv().map_err(|_| Ended)
    }
}

impl Handle {
    /// Has the control thread do something, and waits for its answer.
    ///
    /// # Errors
    /// When the switch has ended.
    pub fn call<A: Send + 'static>(&self, ask: impl FnOnce(&mut Switch) -> A + Send + 'static) -> Result<A, Ended> {
        match self.now(ask) {
            Ok(answer) => Ok(answer),
            Err(ask) => self.begin(ask, || {})?.wait(),
        }
    }

    /// Does something on this thread if the control thread has nothing to do: waking it takes longer than most requests.
    ///
    /// # Errors
    /// With what was to be done, otherwise.
    pub(crate) fn now<A, F: FnOnce(&mut Switch) -> A>(&self, ask: F) -> Result<A, F> {
        // What this thread has asked for before comes first.
        if self.seat.waiting.load(SeqCst) > 0 {
            return Err(ask);
        }
        match self.seat.switch.try_lock().as_deref_mut() {
            Ok(Some(switch)) => Ok(ask(switch)),
            _ => Err(ask),
        }
    }

    /// Has the control thread do something; `done` is called once the answer is there.
    ///
    /// # Errors
    /// When the switch has ended.
    pub fn begin<A: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Switch) -> A + Send + 'static,
        done: impl FnOnce() + Send + 'static,
    ) -> Result<Pending<A>, Ended> {
        let (answers, answer) = channel();
        let request: Request = Box::new(move |switch| {
            // The asker may have gone.
            let _ = answers.send(ask(switch));
            done();
        });
        self.seat.waiting.fetch_add(1, SeqCst);
        self.requests.send(request).map_err(|_| Ended)?;
        Ok(Pending(answer))
    }
}

impl Switch {
    /// A switch with these ports, its tables empty.
    pub fn new(name: String, dpid: u64, ports: Ports, pipeline: SharedPipeline, plane: Box<dyn Plane>) -> Self {
        Self {
            name,
            dpid,
            ports: Arc::new(ports),
            pipeline,
            threads: 0,
            port_settings: BTreeMap::new(),
            shares: Vec::new(),
            plane,
            packets: PacketListeners::default(),
            watcher: None,
            is_unsettled: false,
            vacancies: Vacancies::default(),
            revision: Arc::default(),
            counters: None,
        }
    }

    /// Starts its threads; frames of `inputs` go to as many data-plane threads as there are lists.
    ///
    /// # Panics
    /// When the system has no memory for a thread.
    pub fn start(mut self, inputs: Vec<Vec<Input>>) -> Running {
        let (ends, stops) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        self.threads = inputs.len();
        let numbers = |inputs: &Vec<Input>| inputs.iter().map(|input| input.port.number).collect();
        self.shares = inputs.iter().map(numbers).collect();
        let mut workers = Vec::new();
        for (index, inputs) in inputs.into_iter().enumerate() {
            let worker = Worker {
                number: index,
                inputs,
                path: self.plane.path(),
                ports: Arc::clone(&self.ports),
                packets: self.packets.clone(),
                ends: Arc::clone(&ends),
                tends: false,
            };
            let thread = std::thread::Builder::new().name(format!("frames-{index}"));
            let thread = thread.spawn(move || worker.run());
            workers.push(thread.expect("a thread can be started"));
        }
        let (requests, asked) = channel();
        let ports = Arc::downgrade(&self.ports);
        let seat = Arc::new(Seat {
            switch: Mutex::new(Some(self)),
            waiting: AtomicUsize::new(0),
        });
        let control = {
            let (seat, stops) = (Arc::clone(&seat), Arc::clone(&stops));
            let thread = std::thread::Builder::new().name("control".to_owned());
            let thread = thread.spawn(move || run(&seat, &asked, &stops));
            thread.expect("a thread can be started")
        };
        Running {
            handle: Handle { requests, seat },
            ends,
            stops,
            ports,
            workers,
            control: Some(control),
        }
    }

    /// Sends every packet for controllers to a listener, as far as it follows, and reports everything else to a
    /// watcher.
    pub(crate) fn attach(&mut self, listener: SyncSender<PacketInEvent>, watcher: Arc<dyn Watcher>) {
        self.packets.add(listener);
        self.watcher = Some(watcher);
    }

    /// Gives bits to a port's configuration, and notifies listeners.
    pub fn configure_port(&mut self, number: u32, config: u32, mask: u32) {
        if self.ports.configure(number, config, mask) {
            self.tell_of_port(number);
        }
    }

    /// Asks all ports for their links, and reports those that have changed.
    pub fn look_at_links(&mut self) {
        for number in self.ports.look_at_links() {
            self.tell_of_port(number);
        }
    }

    fn tell_of_port(&self, number: u32) {
        if let Some(port) = self.ports.get(number) {
            self.tell_of(&port, PortEvent::Modified);
        }
    }

    pub(crate) fn tell_of(&self, port: &Arc<SwitchPort>, event: PortEvent) {
        if let Some(watcher) = &self.watcher {
            watcher.port_changed(port, event);
        }
    }

    /// How a table is run.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn explain(&self, table: u8, with_code: bool) -> Result<String, String> {
        let tables = self.pipeline.read().limits().tables;
        if table < tables {
            Ok(self.plane.explain(table, with_code))
        } else {
            Err(format!("there is no table {table}: use 0 to {}", tables - 1))
        }
    }

    fn expire(&mut self, first: CounterId, now: u64) -> Option<CounterId> {
        let (changes, next) = self.pipeline.write().expire(first, now);
        self.take_over(&changes, &[]);
        self.settle();
        next
    }
}

/// The control thread.
fn run(seat: &Seat, asked: &Receiver<Request>, stops: &AtomicBool) {
    // Elsewhere than on Linux 6.12 and later, requests may have to wait for the thread that runs.
    let _ = use_short_slices(SLICE);
    let mut next_tick = MonotonicTime::now().0;
    // Entries are looked at for their timeouts some at a time, so that requests never wait for all.
    let mut expiring = None;
    while !stops.load(Relaxed) {
        let patience = if expiring.is_some() { Duration::ZERO } else { TICK / 10 };
        let request = match asked.recv_timeout(patience) {
            Ok(request) => Some(request),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        // A thread that has panicked with the switch leaves tables that cannot be relied on.
        let Ok(mut guard) = seat.switch.lock() else { return };
        let Some(switch) = guard.as_mut() else { return };
        match request {
            Some(request) => {
                request(switch);
                seat.waiting.fetch_sub(1, SeqCst);
            }
            None => switch.plane.tend(),
        }
        let now = MonotonicTime::now().0;
        if let Some(first) = expiring {
            expiring = switch.expire(first, now);
        } else if now >= next_tick {
            next_tick = now + TICK.as_nanos() as u64;
            expiring = Some(CounterId(0));
            switch.plane.tend();
            switch.look_at_links();
            if switch.plane.has_failed() {
                break;
            }
        }
    }
    if let Ok(mut guard) = seat.switch.lock() {
        let ports = guard.as_ref().map(|switch| switch.ports.all());
        *guard = None;
        close_together(ports.into_iter().flatten());
    }
}

impl Running {
    /// What does not run any more although it should: a thread that has panicked, or one whose part has.
    pub fn failure(&self) -> Option<&'static str> {
        if self.control.as_ref().is_none_or(JoinHandle::is_finished) {
            return Some("its control thread has ended");
        }
        let has_ended = self.workers.iter().any(JoinHandle::is_finished);
        has_ended.then_some("a data-plane thread has ended")
    }

    /// Ends it: data-plane threads first, which send what has arrived. Gives whether all threads have ended in time.
    pub fn stop(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        // Frames that had arrived by now are sent.
        self.ends.store(true, Release);
        let longest = LONGEST_END + LONGEST_CLOSE * self.ports.upgrade().map_or(0, |ports| ports.all().len() as u32);
        let have_workers_ended = join_in_time(self.workers.drain(..), longest);
        self.stops.store(true, Relaxed);
        join_in_time(self.control.take(), longest) && have_workers_ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether all threads end in time; others are left: they keep what they use.
fn join_in_time(threads: impl IntoIterator<Item = JoinHandle<()>>, longest: Duration) -> bool {
    let begun = Instant::now();
    let mut have_ended = true;
    for thread in threads {
        while !thread.is_finished() && begun.elapsed() < longest {
            std::thread::sleep(Duration::from_millis(1));
        }
        have_ended &= thread.is_finished();
    }
    have_ended
}
