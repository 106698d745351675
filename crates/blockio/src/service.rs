use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brimful_trial::program::{Description, Machine, MeasureRequest, Respond};
use brimful_trial::{Load, Nanoseconds, TrialInput};
use serde_json::{Map, Value, json};

use crate::engine::SPARE_SLOTS;
use crate::protocol::Reply;
use crate::workload::{Area, Order, Workload};
use crate::{Arrivals, Clock, Device, Engine, Fault, Finished, IoSink, Plan, Ring};

/// A trial of fewer deadlines says little: what is in flight at its ends is a large part of it.
const LEAST_DEADLINES: u64 = 2;
/// The loads at which the tester's own ceiling is looked for begin here.
const FIRST_CEILING: f64 = 50_000.0;
const CEILING_TRIAL: Nanoseconds = Nanoseconds(100_000_000);
/// Halvings of the last doubling.
const BISECTIONS: u32 = 3;
/// Trials at a load until one is on schedule.
const CEILING_TRIES: u32 = 5;
/// Once the tester has fallen behind in this many of them, the load is too much for it.
const MOST_BEHIND: u32 = 2;
/// Depths of the probe that finds a load that a device cannot take, and how long each is kept.
const PROBE_DEPTHS: [u32; 5] = [1, 8, 32, 64, 128];
const PROBE: Nanoseconds = Nanoseconds(200_000_000);
/// A device that saved up credit, or has a cache, does more for a moment than it can keep up; loads begin well above.
const OVERLOAD: f64 = 2.0;

/// What trials are like, but for load and duration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is asked.
    pub workload: Workload,
    /// What it is called.
    pub pattern_name: String,
    /// When.
    pub arrivals: Arrivals,
    /// Where.
    pub area: Area,
    /// From the intended start of an IO.
    pub deadline: Nanoseconds,
    /// IOs in flight at most.
    pub slots: u32,
    /// For how long a trial's load is offered before it.
    pub warm_up: Nanoseconds,
    /// Writes are stored when they complete.
    pub durable: bool,
    /// Of places, times and data.
    pub seed: u64,
    /// The largest load to promise.
    pub max_load: Option<Load>,
}

impl Settings {
    /// The largest load at which slots last until the deadline.
    pub fn max_load(&self) -> f64 {
        let lasting = self.slots.saturating_sub(SPARE_SLOTS).max(1);
        let most = f64::from(lasting) / self.deadline.as_seconds();
        self.max_load.map_or(most, |load| load.per_second().min(most))
    }
}

/// A device and its tester, for the measurer protocol.
pub struct Service<C> {
    engine: Engine<Ring, C>,
    device: Device,
    settings: Settings,
    stop: Arc<AtomicBool>,
    trials: u64,
}

impl<C: Clock> Service<C> {
    /// Answers for a device; `stop` calls off whatever is going on.
    pub fn new(engine: Engine<Ring, C>, device: Device, settings: Settings, stop: Arc<AtomicBool>) -> Self {
        Self {
            engine,
            device,
            settings,
            stop,
            trials: 0,
        }
    }

    /// The rate with `depth` IOs always in flight, for a time, and how long they took; nothing when called off.
    ///
    /// # Errors
    /// When nothing more can be measured.
    #[expect(clippy::missing_panics_doc, reason = "1 is a load")]
    pub fn closed_loop(&mut self, depth: u32, duration: Nanoseconds) -> Result<Option<(f64, Finished)>, Fault> {
        let load = Load::new(1.0).expect("1 is a load");
        let plan = plan(&self.settings, load, duration, self.trials);
        self.engine.closed_loop(&plan, depth, &self.stop)
    }

    fn trial(&mut self, input: TrialInput, request: MeasureRequest) -> Option<Reply> {
        let MeasureRequest {
            id,
            detail,
            stop_above_loss_ratio,
            ..
        } = request;
        let machine = Machine::watch();
        // The number of the request, not of the trials of this process: one that was started anew, or for the rest of a
        // run, must not ask for the places that were asked for before, which a cache may hold.
        self.trials = id.as_u64().unwrap_or(self.trials.wrapping_add(1));
        let mut plan = plan(&self.settings, input.load, input.duration, self.trials);
        plan.warm_up = self.settings.warm_up;
        plan.stop_above = stop_above_loss_ratio.and_then(|ratio| brimful_trial::Ratio::from_f64(ratio).ok());
        let error = match self.engine.run(&plan, &self.stop) {
            Ok(None) => return None,
            Ok(Some(finished)) => match self.lost_its_device(&finished) {
                None => return Some(Reply::of_trial(id, finished, detail, || machine.hint())),
                Some(error) => error,
            },
            Err(fault) => fault.to_string(),
        };
        Some(Reply::Error { id: Some(id), error })
    }

    /// Failures of a device that is no longer there say nothing of its speed.
    fn lost_its_device(&self, finished: &Finished) -> Option<String> {
        let tally = &finished.tally;
        let has_failures = tally.reads.failed + tally.reads.short + tally.writes.failed + tally.writes.short > 0;
        (has_failures && self.device.has_shrunk()).then(|| "the device has gone, or has become smaller".to_owned())
    }

    /// A load that the device cannot take: a multiple of what it does with ever more IOs in flight.
    fn overload(&mut self) -> Option<f64> {
        let mut best = 0.0_f64;
        let slots = self.settings.slots;
        for depth in PROBE_DEPTHS.into_iter().filter(|depth| *depth <= slots) {
            let Ok(Some((rate, _))) = self.closed_loop(depth, PROBE) else {
                break;
            };
            best = best.max(rate);
        }
        (best > 0.0).then_some(best * OVERLOAD)
    }

    fn ceiling(&mut self) -> Result<Option<f64>, Fault> {
        find_ceiling(self.settings.max_load(), |load| {
            keeps_up(|| self.without_device(Load::new(load).expect("a ceiling is a load")))
        })
    }

    /// One short trial with IOs that do nothing; nothing when called off.
    fn without_device(&mut self, load: Load) -> Result<Option<Pace>, Fault> {
        let plan = plan(&self.settings, load, CEILING_TRIAL, 0);
        let finished = self.engine.run(&plan, &self.stop)?;
        Ok(finished.map(|finished| match finished.flaw {
            None if finished.counts.missing() == 0 => Pace::OnSchedule,
            Some(_) if !finished.tally.pacing.falls_behind() => Pace::HeldUp,
            _ => Pace::FallsBehind,
        }))
    }

    fn traffic(&self) -> Map<String, Value> {
        let settings = &self.settings;
        let mut traffic = json!({
            "pattern": settings.pattern_name,
            "arrivals": match &settings.arrivals {
                Arrivals::Even => "even",
                Arrivals::Poisson => "poisson",
                Arrivals::Timeline(_) => "as recorded, scaled to the load",
            },
            "load_reaction": match &settings.arrivals {
                Arrivals::Even => "IO i is due i / load after the start, so that all gaps scale with the load",
                Arrivals::Poisson => "IOs are due at independent, uniform times, as many as the load says",
                Arrivals::Timeline(_) => "IOs are due in their recorded distances, which scale with the load",
            },
            "deadline_s": settings.deadline.as_seconds(),
            "area_start": settings.area.start,
            "area_bytes": settings.area.len,
            "slots": settings.slots,
            "warm_up_s": settings.warm_up.as_seconds(),
            "seed": settings.seed,
            "mean_io_size": settings.workload.mean_size(),
            "deviations": self.deviations(),
            "warnings": self.warnings(),
        });
        let insert = |traffic: &mut Value, key: &str, value: Value| traffic[key] = value;
        match &settings.workload {
            Workload::Synthetic {
                pattern,
                sizes,
                streams,
            } => {
                insert(&mut traffic, "read_share", pattern.read_share.into());
                let size = sizes.only().map_or_else(|| sizes.to_string().into(), Value::from);
                insert(&mut traffic, "io_size", size);
                if pattern.order == Order::Sequential {
                    insert(&mut traffic, "streams", (*streams).into());
                }
            }
            Workload::Replay(trace) => {
                insert(&mut traffic, "replayed_ios", trace.len().into());
                insert(&mut traffic, "recorded_load", trace.recorded_load().into());
            }
        }
        if settings.workload.writes() {
            insert(&mut traffic, "durable_writes", settings.durable.into());
        }
        match traffic {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// What makes a result another one than people expect: reads of what was never written do not touch the medium.
    fn warnings(&self) -> Vec<String> {
        if !self.settings.workload.reads() {
            return Vec::new();
        }
        let area = self.settings.area;
        let cure = "write the working set once (destroy-data= with --prepare), or use a file that was written";
        match self.device.never_written(area) {
            Some(0) => Vec::new(),
            Some(bytes) => vec![format!(
                "{bytes} of the {} bytes that are read were never written: reads of them do not touch the medium; {cure}",
                area.len
            )],
            None => vec![format!(
                "whether the {} bytes that are read were ever written is not known: reads of what was not, or was \
                 discarded, do not touch the medium; {cure}",
                area.len
            )],
        }
    }

    /// What a reader has to know of the state that the device was measured in.
    fn deviations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let facts = self.device.facts();
        let mark = self.device.mark();
        if self.settings.workload.writes() {
            found.push(match mark.map(|mark| (mark.rounds, mark.is_steady)) {
                Some((Some(rounds), true)) => format!("the device was steady after {rounds} rounds of random writes"),
                Some((Some(rounds), false)) => format!("the device was not steady after {rounds} rounds"),
                _ => "whether the device had reached its steady state was not looked for".to_owned(),
            });
        }
        if mark.is_none_or(|mark| mark.written < self.settings.area.len) {
            found.push("whether all of the working set had been written once is not known".to_owned());
        }
        if self.settings.workload.granularity() < facts.physical_block {
            let block = facts.physical_block;
            found.push(format!("IOs are smaller than the {block} bytes of a physical block"));
        }
        if let Some(longest) = facts.longest_io
            && u64::from(self.settings.workload.longest()) > longest
        {
            found.push(format!("the kernel splits IOs of more than {longest} bytes"));
        }
        let is_buffered_loop = facts.record.get("loop_direct_io").and_then(Value::as_u64) == Some(0);
        if is_buffered_loop {
            found.push("the loop device goes through the page cache (direct IO is off)".to_owned());
        }
        found
    }
}

impl<C: Clock> Respond for Service<C> {
    type Reply = Reply;

    fn describe(&mut self) -> Reply {
        let overload = self.overload();
        let deadline = self.settings.deadline;
        Reply::Description(Box::new(Description {
            name: "brimful-disk",
            load_unit: "IO/s",
            load_scope: "total",
            conversion_factor: 1.0,
            contract: format!("an IO is lost when it is not done within {deadline} from its intended start"),
            max_load: Some(self.settings.max_load()),
            overload: overload.map(|load| load.min(self.settings.max_load())),
            min_duration_s: Nanoseconds(deadline.0.saturating_mul(LEAST_DEADLINES)).as_seconds(),
            can_stop_early: true,
            can_calibrate: true,
            tells_delay: true,
            on_this_machine: true,
            traffic: self.traffic(),
            device: self.device.facts().record.clone(),
        }))
    }

    fn calibrate(&mut self) -> Reply {
        self.engine.queue().aim_at(IoSink::Nothing);
        let ceiling = self.ceiling();
        self.engine.queue().aim_at(IoSink::Device);
        let error = match ceiling {
            Ok(Some(ceiling)) => return Reply::Calibration { ceiling },
            Ok(None) => "the tester is late even where IOs do nothing: is the machine busy?".to_owned(),
            Err(fault) => fault.to_string(),
        };
        Reply::Error { id: None, error }
    }

    fn measure(&mut self, request: MeasureRequest) -> Option<Reply> {
        match request.trial() {
            Ok((input, _)) => self.trial(input, request),
            Err(error) => Some(Reply::Error {
                id: Some(request.id),
                error,
            }),
        }
    }

    fn refuse(&mut self, id: Option<Value>, error: String) -> Reply {
        Reply::Error { id, error }
    }
}

/// How the tester kept its schedule in a trial.
#[derive(Clone, Copy, Debug)]
enum Pace {
    OnSchedule,
    /// By other work on the machine: that spoils trials at any load, and is judged in those of the device.
    HeldUp,
    FallsBehind,
}

/// Whether the tester keeps a load up, in trials that `attempt` makes; it does not where they are called off.
fn keeps_up<E>(mut attempt: impl FnMut() -> Result<Option<Pace>, E>) -> Result<bool, E> {
    let mut behind = 0;
    for _ in 0..CEILING_TRIES {
        match attempt()? {
            Some(Pace::OnSchedule) => return Ok(true),
            Some(Pace::HeldUp) => {}
            Some(Pace::FallsBehind) => behind += 1,
            None => return Ok(false),
        }
        if behind == MOST_BEHIND {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The highest load that is kept up, at most `most`; nothing where none that was tried is.
fn find_ceiling<E>(most: f64, mut keeps_up: impl FnMut(f64) -> Result<bool, E>) -> Result<Option<f64>, E> {
    let (mut good, mut bad) = (None, FIRST_CEILING.min(most));
    while keeps_up(bad)? {
        good = Some(bad);
        if bad >= most {
            return Ok(good);
        }
        bad = (2.0 * bad).min(most);
    }
    for _ in 0..BISECTIONS {
        let middle = good.map_or(bad / 2.0, |good| f64::midpoint(good, bad));
        if keeps_up(middle)? {
            good = Some(middle);
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

fn plan(settings: &Settings, load: Load, duration: Nanoseconds, trial: u64) -> Plan<'_> {
    Plan {
        load,
        duration,
        warm_up: Nanoseconds::ZERO,
        stop_above: None,
        workload: &settings.workload,
        area: settings.area,
        arrivals: &settings.arrivals,
        // Trials of a run differ, runs of a seed do not.
        seed: settings.seed.wrapping_add(trial.rotate_left(32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling_of(capacity: f64, most: f64) -> Option<f64> {
        find_ceiling(most, |load| Ok::<_, ()>(load <= capacity)).unwrap()
    }

    #[test]
    fn a_ceiling_is_found_by_doubling_and_three_halvings() {
        assert_eq!(ceiling_of(130_000.0, 1e9), Some(125_000.0));
        assert_eq!(ceiling_of(40_000.0, 1e9), Some(37_500.0));
        assert_eq!(ceiling_of(7_000.0, 1e9), Some(6_250.0));
        assert_eq!(ceiling_of(1e9, 300_000.0), Some(300_000.0));
        assert_eq!(ceiling_of(5_000.0, 1e9), None);
    }

    fn kept_up(attempts: &[Option<Pace>]) -> (bool, usize) {
        let mut left = attempts.iter();
        let found = keeps_up(|| Ok::<_, ()>(*left.next().expect("no more attempts")));
        (found.unwrap(), attempts.len() - left.len())
    }

    #[test]
    fn a_load_is_too_much_once_the_tester_falls_behind_twice_and_not_because_it_is_held_up() {
        let [on, held, behind] = [Pace::OnSchedule, Pace::HeldUp, Pace::FallsBehind].map(Some);
        assert_eq!(kept_up(&[on]), (true, 1));
        assert_eq!(kept_up(&[behind, held, on]), (true, 3));
        assert_eq!(kept_up(&[held; 5]), (true, 5));
        assert_eq!(kept_up(&[held, behind, held, behind, on]), (false, 4));
        assert_eq!(kept_up(&[held, None, on]), (false, 2));
    }
}
