//! What benchmarks of one and two threads share: the processor time of a thread, and rounds of both that take turns.

use std::error::Error;
use std::fs;

/// Frames a second of one trial: by the clock, and by the processor time of the threads.
pub(crate) type Rates = Result<[f64; 2], Box<dyn Error>>;

const ROUNDS: usize = 15;
/// Where two threads hold each other up, this is not reached.
const BAR: f64 = 1.7;

/// Nanoseconds for which the calling thread has had a processor.
pub(crate) fn thread_time() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Prints frames a second of one thread and of two, by the clock and by processor time, in as many rounds as the command
/// line asks for.
#[expect(clippy::print_stdout, reason = "what it is for")]
pub(crate) fn compare(rates: fn(usize) -> Rates) -> Result<(), Box<dyn Error>> {
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
