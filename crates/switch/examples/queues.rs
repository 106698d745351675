//! What output queues let through when all of them are overloaded: a whole switch on ports in memory, by the clock.
//!
//! usage: `queues [SECONDS]`
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement shows its figure, and ends where there is none"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use brimful_netdev::{Receiver, Sender, memory_wire};
use brimful_pipeline::{Limits, Pipeline};
use brimful_switch::compiled::Compiled;
use brimful_switch::control::Switch;
use brimful_switch::plane::SharedPipeline;
use brimful_switch::ports::{Input, Ports, SwitchPort};
use brimful_switch::queues::{NO_RATE, QueueSettings, Queues};
use brimful_switch::tables;

const SPEED_BPS: u64 = 200_000_000;
const FRAME_LEN: usize = 1000;
const ROOM: u32 = 1 << 12;
/// Three times the speed, a third of it for each queue.
const FRAMES_PER_S: f64 = 3.0 * SPEED_BPS as f64 / 8.0 / FRAME_LEN as f64;
const WARM_UP: Duration = Duration::from_millis(500);
/// Thousandths of the speed: number, at least, at most.
const QUEUES: [(u32, u16, u16); 3] = [(0, NO_RATE, NO_RATE), (1, NO_RATE, 250), (2, 500, NO_RATE)];

fn main() {
    let seconds: f64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10.0);
    let [near_in, mut far_in] = memory_wire(["in", "far in"], ROOM);
    let [near_out, mut far_out] = memory_wire(["out", "far out"], ROOM);
    let settings = QUEUES.map(|(queue, min_rate, max_rate)| QueueSettings {
        queue,
        min_rate,
        max_rate,
    });
    let queues = Queues::new(SPEED_BPS, &settings);
    let one = Arc::new(SwitchPort::new(1, [0; 6], Box::new(near_in.sender), None));
    let two = Arc::new(SwitchPort::new(2, [0; 6], Box::new(near_out.sender), Some(queues)));
    let inputs = vec![vec![Input::new(Arc::clone(&one), Box::new(near_in.receiver))]];
    let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
    let plane = Compiled::new(pipeline.clone(), 7).expect("machine code for this processor");
    let switch = Switch::new(
        "queues".to_owned(),
        1,
        Ports::new([one, two]),
        pipeline,
        Box::new(plane),
    );
    let running = switch.start(inputs);
    let rules = [0, 1, 2]
        .map(|queue| format!("dl_dst=02:00:00:00:00:0{queue},actions=set_queue:{queue},output:2"))
        .join("\n");
    let rules = tables::read("rules.flows", &rules, 0).expect("rules");
    let loaded = running
        .handle
        .call(move |switch| switch.load("rules.flows", &rules, true));
    loaded.expect("it runs").expect("the rules can be");

    let (begun, mut sent, mut bytes) = (Instant::now(), 0, [0_u64; 3]);
    let end = WARM_UP + Duration::from_secs_f64(seconds);
    while begun.elapsed() < end {
        let due = (begun.elapsed().as_secs_f64() * FRAMES_PER_S) as u64 - sent;
        let taken = far_in.sender.send_burst(due.min(64) as usize, &mut |index, buffer| {
            buffer[..FRAME_LEN].fill(0);
            buffer[..6].copy_from_slice(&[2, 0, 0, 0, 0, ((sent + index as u64) % 3) as u8]);
            FRAME_LEN
        });
        sent += taken.expect("a wire in memory takes everything") as u64;
        let counts = begun.elapsed() > WARM_UP;
        let received = far_out.receiver.receive_burst(64, &mut |frame| {
            bytes[usize::from(frame[5])] += if counts { frame.len() as u64 } else { 0 };
        });
        received.expect("a wire in memory gives what it has");
    }
    running.stop();
    for (index, (queue, min_rate, max_rate)) in QUEUES.into_iter().enumerate() {
        let share = bytes[index] as f64 * 8.0 / seconds / SPEED_BPS as f64;
        let limit = |rate: u16| match rate {
            NO_RATE => "none".to_owned(),
            rate => format!("{:.1} %", f64::from(rate) / 10.0),
        };
        println!(
            "queue {queue}: least {}, most {}: {:.2} % of the port's speed over {seconds} s",
            limit(min_rate),
            limit(max_rate),
            share * 100.0
        );
    }
}
