//! The ports of a switch: which there are, and what all of them are like at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use brimful_netdev::Receiver;

use super::view::{Members, PortView};
use super::{Input, SwitchPort};
use crate::learned::{Learned, LearningLimits};

/// The ports of a switch, by number. They may come and go while frames pass.
pub struct Ports {
    by_number: RwLock<Arc<Members>>,
    /// What data-plane threads, by their places, are still to take over.
    arriving: Mutex<Vec<(usize, Input)>>,
    /// What they have let go of: to close it takes longer than frames may wait.
    departed: Mutex<Vec<Box<dyn Receiver>>>,
    learned: Arc<Learned>,
    /// By the port that gets copies, those whose frames are copied.
    mirrors: Mutex<BTreeMap<u32, Vec<u32>>>,
    view: RwLock<Arc<PortView>>,
    generation: AtomicU64,
    drops_fragments: AtomicBool,
}

impl fmt::Debug for Ports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.members().iter()).finish()
    }
}

impl Ports {
    /// Of one switch.
    pub fn new(ports: impl IntoIterator<Item = Arc<SwitchPort>>) -> Self {
        Self::learning(ports, LearningLimits::default())
    }

    /// Of one switch that learns addresses within limits.
    pub fn learning(ports: impl IntoIterator<Item = Arc<SwitchPort>>, limits: LearningLimits) -> Self {
        let by_number: Members = ports.into_iter().map(|port| (port.number, port)).collect();
        let learned = Arc::new(Learned::within(limits));
        let view = RwLock::new(Arc::new(PortView::of(
            &by_number,
            Arc::clone(&learned),
            false,
            BTreeMap::new(),
        )));
        Self {
            by_number: RwLock::new(Arc::new(by_number)),
            arriving: Mutex::default(),
            departed: Mutex::default(),
            learned,
            mirrors: Mutex::default(),
            view,
            generation: AtomicU64::new(0),
            drops_fragments: AtomicBool::new(false),
        }
    }

    /// Whether fragments of IP that arrive are dropped from now on.
    pub fn drop_fragments(&self, drops: bool) {
        self.drops_fragments.store(drops, Relaxed);
        self.renew();
    }

    fn members(&self) -> Arc<Members> {
        Arc::clone(&self.by_number.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// All, by number.
    pub fn all(&self) -> Vec<Arc<SwitchPort>> {
        self.members().values().cloned().collect()
    }

    /// Their numbers by the names of their interfaces.
    pub fn names(&self) -> BTreeMap<String, u32> {
        let members = self.members();
        let named = members.values().map(|port| (port.name.clone(), port.number));
        named.collect()
    }

    /// Forgets which addresses are behind which port.
    pub fn forget_addresses(&self) {
        self.learned.forget_all();
    }

    /// One of them.
    pub fn get(&self, number: u32) -> Option<Arc<SwitchPort>> {
        self.members().get(&number).cloned()
    }

    /// One more, in the place of one of its number; `inputs` go to data-plane threads by their places.
    pub(crate) fn add(&self, port: Arc<SwitchPort>, inputs: impl IntoIterator<Item = (usize, Input)>) {
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        arriving.extend(inputs);
        drop(arriving);
        // A burst that had begun may have learned of one of this number that went.
        self.learned.forget(port.number);
        self.change(|members| {
            members.insert(port.number, port);
        });
    }

    /// One less; what bridges have learned of it is forgotten.
    pub(crate) fn remove(&self, number: u32) -> Option<Arc<SwitchPort>> {
        let gone = self.change(|members| members.remove(&number));
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        arriving.retain(|(_, input)| input.port.number != number);
        drop(arriving);
        self.learned.forget(number);
        let mut mirrors = self.mirrors();
        mirrors.remove(&number);
        mirrors
            .values_mut()
            .for_each(|sources| sources.retain(|&source| source != number));
        mirrors.retain(|_, sources| !sources.is_empty());
        drop(mirrors);
        self.renew();
        gone
    }

    /// By the port that gets copies, those whose frames are copied.
    pub(crate) fn mirrors(&self) -> MutexGuard<'_, BTreeMap<u32, Vec<u32>>> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies to a port what others take and send; without any, nothing more.
    pub(crate) fn mirror(&self, output: u32, sources: Vec<u32>) {
        if sources.is_empty() {
            self.mirrors().remove(&output);
        } else {
            self.mirrors().insert(output, sources);
        }
        self.renew();
    }

    fn change<T>(&self, change: impl FnOnce(&mut Members) -> T) -> T {
        let mut by_number = self.by_number.write().unwrap_or_else(PoisonError::into_inner);
        let done = change(Arc::make_mut(&mut by_number));
        drop(by_number);
        self.renew();
        done
    }

    /// What a data-plane thread is to receive from now on, besides what it has.
    pub(crate) fn take_inputs(&self, thread: usize) -> Vec<Input> {
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, left) = std::mem::take(&mut *arriving)
            .into_iter()
            .partition(|(place, _)| *place == thread);
        *arriving = left;
        let taken: Vec<(usize, Input)> = taken;
        taken.into_iter().map(|(_, input)| input).collect()
    }

    /// Lets go of what is not received any more.
    pub(crate) fn depart(&self, receivers: impl IntoIterator<Item = Box<dyn Receiver>>) {
        let mut departed = self.departed.lock().unwrap_or_else(PoisonError::into_inner);
        departed.extend(receivers);
    }

    /// Closes what data-plane threads have let go of.
    pub(crate) fn close_departed(&self) {
        let departed = std::mem::take(&mut *self.departed.lock().unwrap_or_else(PoisonError::into_inner));
        drop(departed);
    }

    /// Gives bits of [`super::port_config`] to a port; false where there is none.
    pub fn configure(&self, number: u32, config: u32, mask: u32) -> bool {
        let Some(port) = self.get(number) else {
            return false;
        };
        port.config.store(port.config() & !mask | config & mask, Relaxed);
        self.renew();
        true
    }

    /// Asks the interfaces for their links; gives the ports whose link has changed.
    pub(crate) fn look_at_links(&self) -> Vec<u32> {
        self.close_departed();
        let members = self.members();
        let changed = members.values().filter(|port| port.look_at_link());
        let changed: Vec<u32> = changed.map(|port| port.number).collect();
        if !changed.is_empty() {
            self.renew();
        }
        changed
    }

    /// Changes whenever [`Self::view`] does.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// As they are now.
    pub fn view(&self) -> Arc<PortView> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has data-plane threads look again.
    pub(crate) fn renew(&self) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let drops_fragments = self.drops_fragments.load(Relaxed);
        let mut mirrors: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&output, sources) in &*self.mirrors() {
            for &source in sources {
                mirrors.entry(source).or_default().push(output);
            }
        }
        let learned = Arc::clone(&self.learned);
        *view = Arc::new(PortView::of(&self.members(), learned, drops_fragments, mirrors));
        drop(view);
        self.generation.fetch_add(1, Release);
    }
}
