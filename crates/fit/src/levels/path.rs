//! The cheapest path through a history along lines of a grid (Viterbi).

use super::{Observed, Piece};

/// Lines of the grid in a standard deviation of the noise.
const LINES: f64 = 4.0;

/// Give the pieces of the path that costs least, each jump costing `penalty`.
pub(super) fn cheapest(observed: &Observed, deviation: f64, penalty: f64) -> Vec<Piece> {
    let heights = heights(observed, deviation);
    if heights.is_empty() {
        return Vec::new();
    }
    let mut costs = vec![0.0; heights.len()];
    // Of the cheapest path to each line: where its last piece began.
    let mut starts = vec![0; heights.len()];
    let mut cheapest = Vec::with_capacity(observed.values.len());
    for (index, (&value, &deviation)) in observed.values.iter().zip(observed.deviations).enumerate() {
        let with_jump = cheapest.last().map_or(f64::INFINITY, |&(line, _)| costs[line as usize]) + penalty;
        let scale = 1.0 / deviation;
        for ((cost, start), height) in costs.iter_mut().zip(&mut starts).zip(&heights) {
            if *cost > with_jump {
                *cost = with_jump;
                *start = index as u32;
            }
            let distance = (value - height) * scale;
            *cost += (distance * distance).min(observed.cap);
        }
        let line = lowest(&costs);
        cheapest.push((line as u32, starts[line]));
    }
    pieces(&cheapest, &heights)
}

/// Follow the path from its end: the piece before one that began somewhere is the cheapest that ended there.
fn pieces(cheapest: &[(u32, u32)], heights: &[f64]) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut end = cheapest.len();
    while end > 0 {
        let (line, start) = cheapest[end - 1];
        let start = start as usize;
        found.push(Piece {
            start,
            end,
            height: heights[line as usize],
        });
        end = start;
    }
    found.reverse();
    found
}

/// Give the lines of the grid that are near any value: on others every value costs most, and no path takes them.
fn heights(observed: &Observed, deviation: f64) -> Vec<f64> {
    let (step, reach) = (deviation / LINES, observed.cap.sqrt() * deviation);
    let base = observed.values.iter().copied().fold(f64::INFINITY, f64::min);
    let top = observed.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut spans: Vec<(i64, i64)> = observed
        .values
        .iter()
        .map(|value| {
            let line = |height: f64| ((height.clamp(base, top) - base) / step) as i64;
            (line(value - reach), line(value + reach) + 1)
        })
        .collect();
    spans.sort_unstable();
    let mut heights = Vec::new();
    let mut next = 0;
    for (first, last) in spans {
        heights.extend((first.max(next)..=last).map(|line| base + line as f64 * step));
        next = next.max(last + 1);
    }
    heights
}

fn lowest(costs: &[f64]) -> usize {
    let mut lowest = 0;
    for (line, &cost) in costs.iter().enumerate() {
        if cost < costs[lowest] {
            lowest = line;
        }
    }
    lowest
}
