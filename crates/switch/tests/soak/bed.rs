//! A switch on ports in memory whose rules change while frames run through it, and what became of every frame.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brimful_netdev::{MemoryPort, MemoryReceiver, MemorySender, Receiver, Sender, memory_wire};
use brimful_openflow::{FlowCommand, FlowMod};
use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::compiled::Compiled;
use brimful_switch::control::{Handle, Running, Switch};
use brimful_switch::plane::SharedPipeline;
use brimful_switch::ports::{Input, Ports, SwitchPort};
use brimful_switch::tables::{self, Change, Tables};
use brimful_switch::watch::TableChange;

/// Exact flows, each to its own port.
const FLOWS: u32 = 1000;
/// Frames that a wire holds, and frames that may be on their way: none is ever dropped for want of room.
const ROOM: u32 = 1 << 14;
const MOST_ON_THE_WAY: u64 = 1 << 13;
const BURST: usize = 64;
const FRAME_LEN: usize = 60;
/// Flows go to one of these.
const WAYS_OUT: [u32; 2] = [2, 3];
/// How long the last frames may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a run is to be.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Frames that are sent.
    pub frames: u64,
    /// Frames a second at most.
    pub rate: f64,
    /// Flow-mods a second.
    pub mods_per_s: f64,
}

/// What became of the frames of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: u64,
    pub lost: u64,
    /// Came out by a port that their flow did not have between the last change before they were sent and their arrival.
    pub misrouted: u64,
    /// Came out behind a later frame of their flow.
    pub overtaken: u64,
    pub mods: u64,
    pub took: Duration,
    /// How long each flow-mod took.
    pub times: Vec<ModTime>,
}

/// How long a flow-mod took until every data-plane thread ran the new rules. That the asker then has to be woken to
/// learn of it is no part of it.
#[derive(Clone, Copy, Debug)]
pub struct ModTime {
    /// From asking on.
    pub in_all: Duration,
    /// From when the control thread had been woken for it.
    pub in_control: Duration,
}

pub struct Bed {
    running: Option<Running>,
    way_in: MemorySender,
    ways_out: Vec<MemoryReceiver>,
    flows: Vec<Flow>,
    next_frame: u64,
    mods: u64,
}

/// A flow's port, and what it was before that.
#[derive(Clone, Copy, Debug)]
struct Flow {
    port: u32,
    before: u32,
    /// The number of the first frame that was sent after its last change.
    since: u64,
    /// The number of the last frame that came out by each port.
    last: [u64; WAYS_OUT.len()],
}

impl Bed {
    /// A switch with one data-plane thread.
    pub fn new() -> Self {
        let wires = [1, 2, 3].map(|number| (number, memory_wire([&format!("near{number}"), "far"], ROOM)));
        let (mut ports, mut inputs, mut far) = (Vec::new(), Vec::new(), Vec::new());
        for (number, [near, other]) in wires {
            let port = Arc::new(SwitchPort::new(number, [0; 6], Box::new(near.sender), None));
            inputs.push(Input::new(Arc::clone(&port), Box::new(near.receiver)));
            ports.push(port);
            far.push(other);
        }
        let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
        let plane = Compiled::new(pipeline.clone(), 7).expect("machine code for this processor");
        let switch = Switch::new("soak".to_owned(), 1, Ports::new(ports), pipeline, Box::new(plane));
        let running = switch.start(vec![inputs]);
        let mut far = far.into_iter();
        let way_in = far.next().map(|port: MemoryPort| port.sender).expect("three ports");
        let flow = Flow {
            port: WAYS_OUT[0],
            before: WAYS_OUT[0],
            since: 0,
            last: [0; WAYS_OUT.len()],
        };
        let mut bed = Self {
            running: Some(running),
            way_in,
            ways_out: far.map(|port| port.receiver).collect(),
            flows: vec![flow; FLOWS as usize],
            next_frame: 1,
            mods: 0,
        };
        for number in 0..FLOWS {
            bed.set(number, WAYS_OUT[number as usize % 2]);
        }
        bed
    }

    /// Sends frames and changes rules as planned.
    pub fn run(&mut self, plan: Plan) -> Outcome {
        let first = self.next_frame;
        let (mut outcome, begun, mut arrived) = (Outcome::default(), Instant::now(), 0);
        while outcome.sent < plan.frames {
            let elapsed = begun.elapsed().as_secs_f64();
            if (outcome.mods as f64) < elapsed * plan.mods_per_s {
                outcome.times.push(self.change_something());
                outcome.mods += 1;
            }
            let due = ((elapsed * plan.rate) as u64).min(plan.frames) - outcome.sent;
            let room = MOST_ON_THE_WAY - (outcome.sent - arrived);
            outcome.sent += self.send(due.min(room).min(BURST as u64));
            arrived += self.receive(&mut outcome);
        }
        let last = Instant::now() + PATIENCE;
        while arrived < outcome.sent && Instant::now() < last {
            arrived += self.receive(&mut outcome);
        }
        outcome.took = begun.elapsed();
        outcome.lost = self.next_frame - first - arrived;
        outcome
    }

    fn send(&mut self, count: u64) -> u64 {
        let first = self.next_frame;
        let sent = self.way_in.send_burst(count as usize, &mut |index, buffer| {
            let number = first + index as u64;
            buffer[..FRAME_LEN].fill(0);
            buffer[..6].copy_from_slice(&address(flow_of(number)));
            buffer[12..14].copy_from_slice(&[0x88, 0xb5]);
            buffer[14..22].copy_from_slice(&number.to_be_bytes());
            FRAME_LEN
        });
        let sent = sent.expect("a wire in memory takes everything") as u64;
        self.next_frame += sent;
        sent
    }

    fn receive(&mut self, outcome: &mut Outcome) -> u64 {
        let mut arrived = 0;
        for (way, receiver) in self.ways_out.iter_mut().enumerate() {
            let count = receiver.receive_burst(BURST, &mut |frame| {
                let number = frame[14..22].try_into().map_or(0, u64::from_be_bytes);
                let flow = &mut self.flows[flow_of(number) as usize];
                let port = WAYS_OUT[way];
                let was_so = number < flow.since && port == flow.before;
                outcome.misrouted += u64::from(port != flow.port && !was_so);
                outcome.overtaken += u64::from(number <= flow.last[way]);
                flow.last[way] = number;
            });
            arrived += count.expect("a wire in memory gives what it has") as u64;
        }
        arrived
    }

    /// One flow-mod of a kind that changes from one to the next; how long it took.
    fn change_something(&mut self) -> ModTime {
        let (number, turn) = (self.mods / 4, self.mods % 4);
        self.mods += 1;
        match turn {
            0 => {
                let flow = (number % u64::from(FLOWS)) as u32;
                let other = WAYS_OUT[usize::from(self.flows[flow as usize].port == WAYS_OUT[0])];
                self.set(flow, other)
            }
            // A rule of the same form as the flows', which no frame meets, comes and goes a thousand changes later.
            1 => self.ask(
                &format!("dl_dst={},actions=output:9", text(FLOWS + number as u32 % 1000)),
                None,
            ),
            2 => {
                let gone = FLOWS + (number as u32 + 500) % 1000;
                self.ask(
                    &format!("dl_dst={},actions=output:9", text(gone)),
                    Some(FlowCommand::DeleteStrict),
                )
            }
            // Another form: it waits for code of its own, or goes.
            _ => {
                let gone = (number % 2 == 1).then_some(FlowCommand::DeleteStrict);
                let rule = format!(
                    "priority={},in_port=7,dl_type=0x800,actions=output:9",
                    40_000 + number / 2 % 50
                );
                self.ask(&rule, gone)
            }
        }
    }

    /// To ask the switch.
    #[allow(dead_code, reason = "not all that share this ask")]
    pub fn handle(&self) -> Handle {
        self.running.as_ref().expect("it runs").handle.clone()
    }

    /// Tables that send every flow where it goes already.
    #[allow(dead_code, reason = "not all that share this load tables")]
    pub fn tables(&self) -> Tables {
        let flows = self.flows.iter().zip(0..);
        let rules: Vec<String> = flows
            .map(|(flow, number)| format!("dl_dst={},actions=output:{}", text(number), flow.port))
            .collect();
        tables::read("rules.flows", &rules.join("\n"), 0).expect("rules")
    }

    fn set(&mut self, number: u32, port: u32) -> ModTime {
        let time = self.ask(&format!("dl_dst={},actions=output:{port}", text(number)), None);
        let next_frame = self.next_frame;
        let flow = &mut self.flows[number as usize];
        (flow.before, flow.port, flow.since) = (flow.port, port, next_frame);
        time
    }

    /// Has rules changed; how long it took.
    fn ask(&self, rule: &str, command: Option<FlowCommand>) -> ModTime {
        let read = tables::read("rule.flows", rule, 0).expect("a rule");
        let Change::Flow(flow) = &read.changes[0].value else {
            unreachable!("it is a rule");
        };
        let flow = FlowMod {
            command: command.unwrap_or(flow.command),
            ..(**flow).clone()
        };
        let running = self.running.as_ref().expect("it runs");
        let begun = Instant::now();
        let done = running.handle.call(move |switch| {
            let woken = Instant::now();
            let done = switch.change(TableChange::Flow(Box::new(flow)));
            done.map(|()| ModTime {
                in_all: begun.elapsed(),
                in_control: woken.elapsed(),
            })
        });
        done.expect("it runs").expect("the change can be")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

fn flow_of(number: u64) -> u32 {
    // Any order that is not that of the rules.
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 % FLOWS
}

fn address(flow: u32) -> [u8; 6] {
    let [a, b, c, d] = flow.to_be_bytes();
    [2, 0, a, b, c, d]
}

fn text(flow: u32) -> String {
    address(flow).map(|octet| format!("{octet:02x}")).join(":")
}
