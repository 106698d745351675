use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_trial::{Load, Nanoseconds};

use crate::admission::{Device, Mark};
use crate::memory::Buffers;
use crate::workload::{Area, Order, Pattern, Sizes, Workload};
use crate::{Arrivals, Clock, Engine, Fault, Plan, Queue};

/// Bytes that are written at once.
const BLOCK: u32 = 1 << 20;
/// SNIA SSS PTS 2.0.2 has rounds of a minute; these are shorter, the rule is the same.
const ROUND: Nanoseconds = Nanoseconds(10_000_000_000);
const ROUND_DEPTH: u32 = 32;
/// Rounds that the rule looks at.
const WINDOW: usize = 5;
/// Of their mean: how far the highest and the lowest may be apart, and how far their line may rise or fall.
const RANGE: f64 = 0.2;
const SLOPE: f64 = 0.1;

/// Writes an area once, unless that was done before; `progress` gets the bytes. False if it was called off.
///
/// # Errors
/// When the device refuses.
pub fn write_once(
    device: &mut Device,
    area: Area,
    seed: u64,
    stop: &AtomicBool,
    mut progress: impl FnMut(u64),
) -> io::Result<bool> {
    if device.mark().is_some_and(|mark| mark.written >= area.len) {
        return Ok(true);
    }
    // Until it is done, nothing is known of what is there.
    device.set_mark(Mark::default())?;
    let mut buffers = Buffers::new(1, BLOCK)?;
    buffers.fill(seed);
    let mut written = 0;
    while written < area.len {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let len = (area.len - written).min(u64::from(BLOCK)) as usize;
        buffers.renew(0, len);
        device
            .file()
            .write_all_at(&buffers.bytes(0)[..len], area.start + written)?;
        written += len as u64;
        progress(written);
    }
    device.file().sync_data()?;
    device.set_mark(Mark {
        written,
        seed,
        ..Mark::default()
    })?;
    Ok(true)
}

/// Makes rounds of random writes until their rate is steady, or `most` are made: each rate is reported. Whether it is,
/// and after how many; nothing when it was called off.
///
/// # Errors
/// When the device refuses.
#[expect(clippy::missing_panics_doc, reason = "1 is a load")]
pub fn find_steady_state<Q: Queue, C: Clock>(
    engine: &mut Engine<Q, C>,
    area: Area,
    sizes: &Sizes,
    most: u64,
    stop: &AtomicBool,
    mut progress: impl FnMut(f64),
) -> Result<Option<(bool, u64)>, Fault> {
    let workload = Workload::Synthetic {
        pattern: Pattern {
            order: Order::Random,
            read_share: 0.0,
        },
        sizes: sizes.clone(),
        streams: 1,
    };
    let mut rates = Vec::new();
    for round in 1..=most {
        let plan = Plan {
            load: Load::new(1.0).expect("1 is a load"),
            duration: ROUND,
            stop_above: None,
            warm_up: Nanoseconds::ZERO,
            workload: &workload,
            area,
            arrivals: &Arrivals::Even,
            seed: round,
        };
        let Some((rate, _)) = engine.closed_loop(&plan, ROUND_DEPTH, stop)? else {
            return Ok(None);
        };
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        progress(rate);
        rates.push(rate);
        if is_steady(&rates) {
            return Ok(Some((true, round)));
        }
    }
    Ok(Some((false, most)))
}

/// Whether the last five rates are alike and do not move one way.
pub fn is_steady(rates: &[f64]) -> bool {
    let Some(window) = rates.len().checked_sub(WINDOW).map(|start| &rates[start..]) else {
        return false;
    };
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let highest = window.iter().copied().fold(f64::MIN, f64::max);
    let lowest = window.iter().copied().fold(f64::MAX, f64::min);
    let middle = (WINDOW - 1) as f64 / 2.0;
    let place = |index: usize| index as f64 - middle;
    let covariance: f64 = window
        .iter()
        .enumerate()
        .map(|(index, rate)| place(index) * (rate - mean))
        .sum();
    let variance: f64 = (0..WINDOW).map(|index| place(index).powi(2)).sum();
    let rise = covariance / variance * (WINDOW - 1) as f64;
    highest - lowest <= RANGE * mean && rise.abs() <= SLOPE * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rounds_that_are_alike_are_steady() {
        assert!(is_steady(&[500.0, 100.0, 104.0, 98.0, 101.0, 99.0]));
        assert!(!is_steady(&[100.0, 100.0, 100.0, 100.0]));
    }

    #[test]
    fn a_wide_range_is_not_steady() {
        assert!(!is_steady(&[100.0, 121.0, 100.0, 100.0, 100.0]));
        assert!(is_steady(&[100.0, 100.0, 119.0, 100.0, 100.0]));
    }

    #[test]
    fn a_steady_fall_is_not_steady() {
        // All within a fifth of the mean, but the line falls by 12 % of it.
        assert!(!is_steady(&[106.0, 103.0, 100.0, 97.0, 94.0]));
        assert!(is_steady(&[104.0, 102.0, 100.0, 98.0, 96.0]));
    }
}
