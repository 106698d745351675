//! Changes of tables while another thread runs frames through them as machine code. A frame meets the tables as they were
//! before a change or as they are after it, and only the latter once the change has settled. The fuzzer uses it, too.
#![allow(clippy::unwrap_used, reason = "a module of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brimful_frame::Packet;
use brimful_netdev::memory_wire;
use brimful_openflow::{
    Action, Band, BandType, Bucket, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, Instruction, MeterMod,
    ModCommand, meter_flag, port,
};
use brimful_pipeline::{Change, CounterBlock, Limits, Passage, Pipeline, View, demands_of};
use brimful_switch::compiled::Compiled;
use brimful_switch::plane::{Path, Plane, SharedPipeline};
use brimful_switch::ports::{PortView, Ports, SwitchPort};

#[allow(dead_code, unreachable_pub)]
#[path = "../../../jit/tests/common/mod.rs"]
mod common;

use common::{HEADROOM, Random, STYLES, Seen, Style, TABLES, aimed_frame, flow_mod, frame_for};

const SECOND: u64 = 1_000_000_000;
const FRAMES: usize = 4;
/// How long a burst that began before changes goes on after they have been applied: a caller that does not wait for it
/// has long said by then that they have settled.
const REST_OF_BURST: Duration = Duration::from_micros(20);
/// What came of a sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Changes that were done.
    pub(crate) changes: usize,
    /// Frames that ran meanwhile.
    pub(crate) frames: usize,
    /// Kinds of frames that a change made a difference to.
    pub(crate) moved: usize,
}

/// Tables in two forms: as they are, and as another thread runs them.
struct Bed {
    tables: Pipeline,
    plane: Compiled,
    path: Option<Box<dyn Path>>,
    ports: Arc<PortView>,
    /// The clock goes so fast that no meter is ever exceeded.
    now: AtomicU64,
}

impl Bed {
    fn new(seed: u64) -> Self {
        let limits = Limits {
            tables: TABLES,
            ..Limits::default()
        };
        let mut plane = Compiled::new(SharedPipeline::new(Pipeline::new(limits)), seed).unwrap();
        let ports = (1..=4).map(|number| {
            let [near, _] = memory_wire(["near", "far"], 1);
            Arc::new(SwitchPort::new(number, [0; 6], Box::new(near.sender), None))
        });
        Self {
            path: Some(plane.path()),
            plane,
            tables: Pipeline::new(limits),
            ports: Ports::new(ports).view(),
            now: AtomicU64::new(SECOND),
        }
    }

    /// What the tables say of a frame.
    fn interpreted(&self, frame: &[u8], in_port: u32) -> Seen {
        let view = View {
            shared: self.tables.shared(),
            live_ports: &self.ports.live,
            now: self.now.fetch_add(SECOND, Ordering::Relaxed),
            counters: &CounterBlock::new(),
            floods: &*self.ports,
        };
        passed(frame, in_port, |passage, seen| {
            self.tables.process(passage, &view, seen);
        })
    }

    /// Has changes done while the other thread runs frames and judges what becomes of each by its place and by whether the
    /// changes had settled before it; gives how many there were. Where it `holds` a burst, one that begins before the changes
    /// lasts until after them, and they may not settle before its end.
    fn change(
        &mut self,
        changes: &[Change],
        is_atomic: bool,
        holds: bool,
        frames: &[(Vec<u8>, u32)],
        judge: impl Fn(usize, bool, &Seen) + Sync,
    ) -> usize {
        // Entries that may use groups which are new wait for bursts that do not know these: none may wait for them.
        let after_groups = changes.iter().skip_while(|change| !matches!(change, Change::Shared(_)));
        let adds = |change: &Change| matches!(change, Change::Installed(_) | Change::Replaced { .. });
        let holds = holds && !after_groups.into_iter().any(adds);
        let mut path = self.path.take().unwrap();
        let (passes, has_settled) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_applied = AtomicBool::new(false);
        let (plane, ports, now) = (&mut self.plane, &*self.ports, &self.now);
        let (path, count) = std::thread::scope(|scope| {
            let runner = scope.spawn(|| {
                let mut count = 0;
                loop {
                    let is_last = has_settled.load(Ordering::SeqCst);
                    path.begin();
                    let began_before = !is_applied.load(Ordering::SeqCst);
                    for (index, (frame, in_port)) in frames.iter().enumerate() {
                        let now = now.fetch_add(SECOND, Ordering::Relaxed);
                        let run = |passage: &mut Passage<'_>, seen: &mut Seen| path.process(passage, ports, now, seen);
                        // A frame that comes once the changes have settled may come to a burst that began before.
                        let has_settled = has_settled.load(Ordering::SeqCst);
                        judge(index, has_settled, &passed(frame, *in_port, run));
                    }
                    if holds && began_before && passes.load(Ordering::SeqCst) > 0 {
                        while !is_applied.load(Ordering::SeqCst) {
                            std::thread::yield_now();
                        }
                        let applied_at = Instant::now();
                        while applied_at.elapsed() < REST_OF_BURST {
                            std::hint::spin_loop();
                        }
                        let is_early = has_settled.load(Ordering::SeqCst);
                        assert!(!is_early, "changes have settled while a burst from before them runs");
                    }
                    count += frames.len();
                    passes.fetch_add(1, Ordering::SeqCst);
                    if is_last {
                        path.rest();
                        return (path, count);
                    }
                }
            });
            while passes.load(Ordering::SeqCst) == 0 && !runner.is_finished() {
                std::hint::spin_loop();
            }
            if is_atomic {
                plane.apply_together(changes);
            } else {
                plane.apply(changes);
            }
            is_applied.store(true, Ordering::SeqCst);
            plane.settle();
            has_settled.store(true, Ordering::SeqCst);
            runner.join().unwrap()
        });
        self.path = Some(path);
        count
    }

    fn describe(&self) -> String {
        let entries = (0..TABLES).flat_map(|table| self.tables.entries(table));
        let entries = entries.map(|entry| {
            let (demands, given) = (&entry.demands, entry.given());
            format!(
                "table {} priority {} {demands:x?} {given:?}",
                entry.table, entry.priority
            )
        });
        let forms = (0..TABLES).map(|table| self.plane.explain(table, false));
        entries.chain(forms).collect::<Vec<_>>().join("\n")
    }
}

fn passed(frame: &[u8], in_port: u32, run: impl FnOnce(&mut Passage<'_>, &mut Seen)) -> Seen {
    let mut buffer = vec![0; HEADROOM + frame.len()];
    buffer[HEADROOM..].copy_from_slice(frame);
    let mut seen = Seen::default();
    run(
        &mut Passage::new(Packet::new(&mut buffer, HEADROOM, frame.len()), in_port),
        &mut seen,
    );
    seen
}

fn group_mod(random: &mut Random) -> GroupMod {
    let group_type = random.pick(&[
        GroupType::All,
        GroupType::Select,
        GroupType::Indirect,
        GroupType::FastFailover,
    ]);
    let command = random.pick(&[ModCommand::Add, ModCommand::Add, ModCommand::Modify, ModCommand::Delete]);
    let group = 1 + random.below(3) as u32;
    let everything = command == ModCommand::Delete && random.one_in(4);
    let buckets = if group_type == GroupType::Indirect {
        1
    } else {
        random.below(3)
    };
    let bucket = |random: &mut Random| Bucket {
        weight: if group_type == GroupType::Select {
            1 + random.below(3) as u16
        } else {
            0
        },
        watch_port: if group_type == GroupType::FastFailover {
            1 + random.below(6) as u32
        } else {
            port::ANY
        },
        watch_group: GROUP_ANY,
        actions: match random.below(4) {
            0 if group > 1 => vec![Action::Group(group - 1)],
            _ => common::actions(random),
        },
    };
    GroupMod {
        command,
        group_type,
        group: if everything { GROUP_ALL } else { group },
        buckets: (0..buckets).map(|_| bucket(random)).collect(),
    }
}

fn meter_mod(random: &mut Random) -> MeterMod {
    MeterMod {
        command: random.pick(&[ModCommand::Add, ModCommand::Add, ModCommand::Modify, ModCommand::Delete]),
        flags: meter_flag::PACKETS,
        meter: 1 + random.below(2) as u32,
        bands: vec![Band {
            band_type: BandType::Drop,
            rate: 1 + random.below(1000) as u32,
            burst: 0,
        }],
    }
}

/// What is asked of the tables.
enum Wanted {
    Flow(Box<FlowMod>),
    Group(GroupMod),
    Meter(MeterMod),
}

impl Wanted {
    fn next(random: &mut Random, styles: &[Style]) -> Self {
        match random.below(8) {
            0 => return Self::Group(group_mod(random)),
            1 => return Self::Meter(meter_mod(random)),
            _ => {}
        }
        let table = random.pick(&[0, 0, 0, 1, 2, 3]);
        let mut change = flow_mod(random, table, styles[usize::from(table)]);
        if random.one_in(4) {
            let group = Action::Group(1 + random.below(3) as u32);
            change
                .instructions
                .retain(|one| !matches!(one, Instruction::ApplyActions(_)));
            change.instructions.push(Instruction::ApplyActions(vec![group]));
        }
        if random.one_in(6) {
            change.instructions.push(Instruction::Meter(1 + random.below(2) as u32));
        }
        Self::Flow(Box::new(change))
    }

    /// A frame that it may matter to.
    fn frame(&self, random: &mut Random, tables: &Pipeline) -> (Vec<u8>, u32) {
        match self {
            Self::Flow(change) if change.table == 0 && !random.one_in(4) => {
                frame_for(random, &demands_of(&change.matching))
            }
            _ => aimed_frame(random, tables),
        }
    }

    /// What it changes: nothing where it is refused.
    fn done(&self, tables: &mut Pipeline) -> Vec<Change> {
        let done = match self {
            Self::Flow(change) => tables.flow_mod_without_prerequisites(change, 0),
            Self::Group(change) => tables.group_mod(change, 0),
            Self::Meter(change) => tables.meter_mod(change, 0),
        };
        done.unwrap_or_default()
    }
}

/// Does the changes that bytes stand for, one by one or several together, each while frames run.
pub(crate) fn run(bytes: &[u8]) -> Tally {
    let mut random = Random::of(1, bytes);
    let mut bed = Bed::new(1);
    let styles: Vec<Style> = (0..TABLES).map(|_| random.pick(&STYLES)).collect();
    let mut tally = Tally::default();
    while !random.has_run_out() {
        let together = [1, 1, 1, 2, 5][random.below(5) as usize];
        let wanted: Vec<Wanted> = (0..together).map(|_| Wanted::next(&mut random, &styles)).collect();
        let frames: Vec<(Vec<u8>, u32)> = (0..FRAMES)
            .map(|index| {
                // Two bytes for a frame, so that most of them are for rules.
                let mut own = Random::new(random.next() << 8 | random.next());
                wanted[index % wanted.len()].frame(&mut own, &bed.tables)
            })
            .collect();
        let fates = |bed: &Bed| {
            frames
                .iter()
                .map(|(frame, port)| bed.interpreted(frame, *port))
                .collect()
        };
        let before: Vec<Seen> = fates(&bed);
        let changes: Vec<Change> = wanted.iter().flat_map(|one| one.done(&mut bed.tables)).collect();
        if changes.is_empty() {
            continue;
        }
        let after: Vec<Seen> = fates(&bed);
        // One change is there or is not. Of several, frames may meet some, unless none may.
        let is_atomic = random.one_in(2);
        let is_sharp = is_atomic || changes.len() == 1;
        let about = bed.describe();
        let judge = |index: usize, has_settled: bool, seen: &Seen| {
            let is_old = !has_settled && *seen == before[index];
            assert!(
                *seen == after[index] || is_old || (!has_settled && !is_sharp),
                "{seen:?}\nbefore {:?}\nafter {:?}\nsettled {has_settled}, frame {:02x?}, {changes:?}\n{about}",
                before[index],
                after[index],
                frames[index],
            );
        };
        // An atomic change waits for the end of bursts itself.
        let holds = !is_atomic && tally.changes.is_multiple_of(2);
        tally.changes += 1;
        tally.frames += bed.change(&changes, is_atomic, holds, &frames, judge);
        tally.moved += before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before != after)
            .count();
        let retired = bed.tables.take_retired();
        bed.tables.counters.take_back(retired);
    }
    tally
}
