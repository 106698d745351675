//! Waits for each frame of a schedule as the tester does, sends nothing, and prints how late it was: what the machine
//! alone costs. With a third argument it spends that number of nanoseconds on each frame: what any sender of that cost
//! could do.
//!
//! usage: `busy_loop LOAD SECONDS [NANOSECONDS]`

use brimful_tester::{Clock, LoadShape, MonotonicClock, Schedule};
use brimful_trial::{Load, Nanoseconds};

/// As the tester has it before the first frame.
const LEAD: Nanoseconds = Nanoseconds(2_000_000);

#[expect(clippy::print_stdout, reason = "what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (load, seconds, spent) = match arguments.as_slice() {
        [load, seconds] => (load, seconds, 0),
        [load, seconds, spent] => (load, seconds, spent.parse()?),
        _ => return Err("usage: busy_loop LOAD SECONDS [NANOSECONDS]".into()),
    };
    let (load, duration) = (Load::new(load.parse()?)?, Nanoseconds::from_seconds(seconds.parse()?)?);
    let clock = MonotonicClock::start();
    let schedule = Schedule::new(clock.now() + LEAD, load, duration, &LoadShape::Even);
    // Touched beforehand: a page fault is not the clock's.
    let mut lateness = vec![u64::MAX; schedule.count() as usize];
    let schedule = Schedule::new(clock.now() + LEAD, load, duration, &LoadShape::Even);
    let mut next = 0;
    while next < schedule.count() {
        let now = clock.now();
        let due = schedule.due_by(now);
        for index in next..due {
            lateness[index as usize] = now.0 - schedule.due(index).0;
        }
        let busy_until = now + Nanoseconds((due - next) * spent);
        while clock.now() < busy_until {}
        next = due;
    }
    lateness.sort_unstable();
    let percentile = |per_mille: usize| lateness[(lateness.len() - 1) * per_mille / 1000] as f64 / 1e9;
    println!(
        r#"{{"lateness_p50_s": {:e}, "lateness_p99_s": {:e}, "lateness_p999_s": {:e}, "max_lateness_s": {:e}}}"#,
        percentile(500),
        percentile(990),
        percentile(999),
        percentile(1000),
    );
    Ok(())
}
