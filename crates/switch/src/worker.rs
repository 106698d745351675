//! Data-plane threads: each takes bursts from the ports that are its own, runs every frame through the tables to its
//! end, and hands over what leaves before it takes the next burst. So frames of a flow, which come in by one queue of
//! one port, stay in their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire};
use std::time::Duration;

use brimful_frame::{Headers, Merged, Packet, Train, finish_checksum, finish_untold_checksum};
pub(crate) use brimful_netdev::HEADROOM;
use brimful_netdev::{MonotonicTime, Offload, times_displaced, use_short_slices, wait_for_frames};
use brimful_pipeline::{Outputs, PacketIn, Passage};

use crate::batch::Batch;
use crate::closing::close_together;
use crate::counts::{Reason, Way};
use crate::events::PacketListeners;
use crate::mirror::Mirrored;
use crate::plane::Path;
use crate::ports::{Input, PortView, Ports, SwitchPort, TAG_LEN, is_tagged, port_config, receive};

/// The longest frame that a thread takes.
pub(crate) const MOST_FRAME_LEN: usize = 16 << 10;
/// The longest frame that holds several: what an IP packet can be, with Ethernet and tags.
const MOST_MERGED_LEN: usize = 66 << 10;
/// For how long a thread looks for frames before it sleeps. It does not yield meanwhile: another program on its
/// processor would then have a whole slice, which is milliseconds, while a sleeper is woken within microseconds.
const LOOK_NS: u64 = 200_000;
/// A round that took longer was interrupted. Where the scheduler gave the processor to others meanwhile, a thread that
/// looks for frames all the time has to wait for them as often as it has used up its share: for some time it sleeps at
/// once. What a hypervisor takes is no reason: who sleeps does not get it back, and has to be woken by each sender.
const INTERRUPTED_NS: u64 = 1_000_000;
const CROWDED_NS: u64 = 1_000_000_000;
/// How long a thread runs before others do, where there are others.
pub(crate) const SLICE: Duration = Duration::from_micros(200);
/// For how long it sleeps where it has to look for frames, and where it is woken by them.
const SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(10);
/// Rounds after which is counted what the interfaces have dropped.
const ROUNDS_BETWEEN_COUNTS: u32 = 1024;
/// How long what has already arrived may take to be sent when the switch ends.
const LAST_NS: u64 = 200_000_000;

/// One data-plane thread of one switch.
pub(crate) struct Worker {
    /// Its place among them.
    pub(crate) number: usize,
    pub(crate) inputs: Vec<Input>,
    pub(crate) path: Box<dyn Path>,
    pub(crate) ports: Arc<Ports>,
    pub(crate) packets: PacketListeners,
    pub(crate) ends: Arc<AtomicBool>,
    /// Whether it sees to the queues of all ports.
    pub(crate) tends: bool,
}

/// What leaves, gathered for each port.
struct Outbox<'w> {
    /// The thread's place.
    number: usize,
    /// By the number of the port.
    lanes: Vec<Lane>,
    packets: &'w PacketListeners,
    now: u64,
    /// What the frame that is on its way through the tables holds, if that is several segments.
    merged: Option<Merged>,
}

struct Lane {
    port: Arc<SwitchPort>,
    batch: Batch,
    /// Segments that are being put together behind the batch, and the queue that they are for.
    train: Option<(Train, u32)>,
    /// Memory for the next train.
    spare: Vec<u8>,
}

impl Lane {
    fn new(port: Arc<SwitchPort>) -> Self {
        Self {
            port,
            batch: Batch::default(),
            train: None,
            spare: Vec::new(),
        }
    }

    fn push(&mut self, frame: &[u8], queue: u32, thread: usize, now: u64) {
        self.end_train(thread, now);
        self.batch.push(frame, queue);
        if self.batch.is_full() {
            self.port.send_from(thread, &mut self.batch, now);
        }
    }

    /// Takes in a frame with several segments, or with one that others may follow.
    fn push_merged(&mut self, frame: &[u8], queue: u32, merged: Merged, thread: usize, now: u64) {
        let may_be_followed = self.port.takes_merged() && merged.may_be_followed(frame);
        if may_be_followed
            && let Some((train, of)) = &mut self.train
            && *of == queue
            && train.take(frame, &merged)
        {
            return;
        }
        self.end_train(thread, now);
        if may_be_followed {
            let train = Train::new(std::mem::take(&mut self.spare), frame, merged);
            self.train = Some((train, queue));
        } else {
            self.port
                .send_merged(thread, &mut self.batch, (frame, queue), merged, now);
        }
    }

    fn end_train(&mut self, thread: usize, now: u64) {
        if self.train.is_some()
            && let Some((train, queue)) = self.train.take()
        {
            let (frame, merged) = train.finish();
            self.port
                .send_merged(thread, &mut self.batch, (&frame, queue), merged, now);
            self.spare = frame;
        }
    }
}

impl Worker {
    /// Runs until the switch ends, then sends what has arrived by then.
    pub(crate) fn run(mut self) {
        let mut buffer = vec![0; HEADROOM + MOST_MERGED_LEN];
        let packets = self.packets.clone();
        let mut outbox = Outbox {
            number: self.number,
            lanes: Vec::new(),
            packets: &packets,
            now: 0,
            merged: None,
        };
        let mut generation = self.ports.generation();
        let mut view = self.follow(&mut outbox);
        // Elsewhere than on Linux 6.12 and later, it may have to wait when it is woken.
        let _ = use_short_slices(SLICE);
        let (mut idle_since, mut round) = (None, 0_u32);
        let (mut last, mut crowded_until) = (MonotonicTime::now().0, 0);
        let mut displaced = times_displaced().unwrap_or_default();
        while !self.ends.load(Acquire) {
            let current = self.ports.generation();
            if current != generation {
                generation = current;
                // Nothing is on its way between two rounds.
                view = self.follow(&mut outbox);
            }
            let received = self.round(&mut buffer, &view, &mut outbox);
            let now = outbox.now;
            if now - last > INTERRUPTED_NS && times_displaced().is_ok_and(|times| times != displaced) {
                crowded_until = now + CROWDED_NS;
            }
            last = now;
            round = round.wrapping_add(1);
            if round.is_multiple_of(ROUNDS_BETWEEN_COUNTS) {
                self.count_losses();
                displaced = times_displaced().unwrap_or(displaced);
            }
            if received > 0 {
                idle_since = None;
                continue;
            }
            let since = *idle_since.get_or_insert_with(|| {
                outbox.flush();
                now
            });
            let has_looked = now - since > LOOK_NS;
            if has_looked {
                self.count_losses();
            }
            if has_looked || now < crowded_until {
                self.path.rest();
                self.sleep();
                last = MonotonicTime::now().0;
            } else {
                std::hint::spin_loop();
            }
        }
        self.finish(&mut buffer, &view, &mut outbox);
        close_together(std::mem::take(&mut self.inputs));
    }

    /// Takes over ports that have come, lets go of those that have gone, and of what is known of the others.
    fn follow(&mut self, outbox: &mut Outbox<'_>) -> Arc<PortView> {
        let view = self.ports.view();
        let ports = self.ports.all();
        let is_there = |port: &Arc<SwitchPort>| ports.iter().any(|there| Arc::ptr_eq(there, port));
        let gone = self.inputs.extract_if(.., |input| !is_there(&input.port));
        self.ports.depart(gone.map(|input| input.receiver));
        self.inputs.extend(self.ports.take_inputs(self.number));
        self.ports.depart(self.inputs.iter_mut().filter_map(Input::follow));
        self.tends = self.number == 0 && ports.iter().any(|port| port.has_queues());
        outbox.lanes = ports.into_iter().map(Lane::new).collect();
        view
    }

    /// A burst of each port; gives how many frames there were.
    fn round(&mut self, buffer: &mut [u8], view: &PortView, outbox: &mut Outbox<'_>) -> usize {
        let now = MonotonicTime::now().0;
        outbox.now = now;
        let mut received = 0;
        let Self { inputs, path, .. } = self;
        path.begin();
        let mut mirrored;
        let path: &mut dyn Path = if view.has_mirrors() {
            mirrored = Mirrored(path.as_mut());
            &mut mirrored
        } else {
            path.as_mut()
        };
        for input in inputs {
            let takes = input.port.takes_frames();
            let (in_port, mut bytes) = (input.port.number, 0);
            let counts = &input.port.counts;
            let drop_it = |reason| counts.drop(Way::In, reason, 1);
            let burst = receive(input.receiver.as_mut(), &input.taps, &mut |mut frame| {
                let len = frame.len();
                bytes += len as u64;
                if !takes {
                    return drop_it(Reason::Configured);
                }
                outbox.merged = None;
                if frame.offload != Offload::Nothing {
                    let offload = frame.offload;
                    match complete(&mut frame, offload) {
                        Ok(merged) => outbox.merged = merged,
                        Err(reason) => return drop_it(reason),
                    }
                }
                if len > MOST_FRAME_LEN && (outbox.merged.is_none() || len > MOST_MERGED_LEN) {
                    return drop_it(Reason::TooLong);
                }
                let packet = if frame.headroom() >= HEADROOM {
                    let start = frame.headroom();
                    Packet::new(frame.buffer_mut(), start, len)
                } else {
                    buffer[HEADROOM..HEADROOM + len].copy_from_slice(&frame);
                    Packet::new(buffer, HEADROOM, len)
                };
                if view.drops_fragments && Headers::parse(&packet).is_fragment {
                    return drop_it(Reason::Fragment);
                }
                path.process(&mut Passage::new(packet, in_port), view, now, outbox);
            });
            // An interface that is gone is seen by its link.
            let count = burst.unwrap_or(0);
            if count > 0 {
                outbox.send_all();
                input.port.counts.received_frames.add(count as u64);
                input.port.counts.received_bytes.add(bytes);
            }
            received += count;
        }
        if self.tends {
            for lane in &outbox.lanes {
                lane.port.tend(now);
            }
        }
        received
    }

    /// Until a frame arrives, where the ports can report it; a thread that tends queues looks all the time.
    fn sleep(&self) {
        let descriptors: Option<Vec<_>> = self.inputs.iter().map(|input| input.receiver.descriptor()).collect();
        match descriptors {
            // Where this fails, the next round reports it.
            Some(descriptors) if !self.tends => drop(wait_for_frames(&descriptors, LONGEST_SLEEP)),
            _ => std::thread::sleep(SLEEP),
        }
    }

    fn count_losses(&mut self) {
        for input in &mut self.inputs {
            // A port that is gone keeps what it said last.
            let _ = input.count_losses();
        }
    }

    /// Takes what has arrived and sends it, within a bound: who goes on sending could keep the switch for ever.
    fn finish(&mut self, buffer: &mut [u8], view: &PortView, outbox: &mut Outbox<'_>) {
        let last = MonotonicTime::now().0 + LAST_NS;
        while self.round(buffer, view, outbox) > 0 && MonotonicTime::now().0 < last {}
        let ports = self.ports.all();
        while ports
            .iter()
            .map(|port| port.tend(MonotonicTime::now().0))
            .sum::<usize>()
            > 0
            && MonotonicTime::now().0 < last
        {
            std::thread::yield_now();
        }
        self.count_losses();
    }
}

/// Does what a card would have done to a frame; one that holds several segments is left to the ports that it leaves by.
fn complete(frame: &mut [u8], offload: Offload) -> Result<Option<Merged>, Reason> {
    match offload {
        Offload::Nothing => Ok(None),
        Offload::Untold => Ok(finish_untold_checksum(frame)),
        Offload::Checksum { start, offset } => {
            if finish_checksum(frame, start, offset) {
                Ok(None)
            } else {
                Err(Reason::Unfit)
            }
        }
        Offload::Merged { size, start } => Merged::find(frame, size, start).map(Some).ok_or(Reason::Unfit),
        Offload::MergedUntold { longest } => {
            let merged = Merged::find_tcp(frame, usize::MAX);
            let tag = if is_tagged(frame) { TAG_LEN } else { 0 };
            merged
                .and_then(|merged| merged.within(frame.len(), longest + tag))
                .map(Some)
                .ok_or(Reason::Unfit)
        }
    }
}

impl Outbox<'_> {
    fn send_all(&mut self) {
        for lane in &mut self.lanes {
            lane.end_train(self.number, self.now);
            if !lane.batch.is_empty() {
                lane.port.send_from(self.number, &mut lane.batch, self.now);
            }
        }
    }

    /// Pushes out what interfaces still hold.
    fn flush(&self) {
        for lane in &self.lanes {
            lane.port.flush_from(self.number);
        }
    }

    fn lane(lanes: &mut [Lane], port: u32) -> Option<&mut Lane> {
        let found = lanes.binary_search_by_key(&port, |lane| lane.port.number);
        found.ok().map(|index| &mut lanes[index])
    }
}

impl Outputs for Outbox<'_> {
    fn output(&mut self, frame: &[u8], port: u32, queue: u32) {
        let (number, now) = (self.number, self.now);
        let Some(lane) = Self::lane(&mut self.lanes, port) else {
            return;
        };
        match &self.merged {
            Some(merged) => lane.push_merged(frame, queue, *merged, number, now),
            None => lane.push(frame, queue, number, now),
        }
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        let is_quiet = |lane: &mut Lane| lane.port.config() & port_config::NO_PACKET_IN != 0;
        if Self::lane(&mut self.lanes, packet.in_port).is_some_and(is_quiet) {
            return;
        }
        let Some(merged) = self.merged else {
            return self.packets.tell(&packet);
        };
        // Controllers are to see what was sent on its way, not what a card would have made of it.
        let mut segment = Vec::new();
        for index in 0..merged.segments() {
            segment.clear();
            merged.cut(packet.frame, index, &mut segment);
            self.packets.tell(&PacketIn {
                frame: &segment,
                ..packet
            });
        }
    }

    fn cut_short(&mut self, in_port: u32) {
        if let Some(lane) = Self::lane(&mut self.lanes, in_port) {
            lane.port.counts.cut_short.add(1);
        }
    }
}
