//! Lines with one slope, with a level stretch on either side or none.

use super::Search;
use super::form::Form;
use super::places::{Places, Sums};
use crate::FEW_POINTS;
use crate::Shape;

/// Sums below this are of points that all lie on one side of the slope.
const SINGULAR: f64 = 1e-12;

pub(super) fn try_all(search: &mut Search, places: &Places) {
    let end = places.count() - 1;
    if search.data.points.len() > FEW_POINTS {
        try_slope(search, places, 0, end);
    }
    let inner = 1..end;
    for foot in inner.clone() {
        try_slope(search, places, foot, end);
    }
    for top in inner.clone() {
        try_slope(search, places, 0, top);
    }
    for foot in inner {
        for top in places.left.next_after(foot)..end {
            try_slope(search, places, foot, top);
        }
    }
}

/// A slope between two places: the height is a + h w(x) with w = 0 before, 1 behind, and straight between.
fn try_slope(search: &mut Search, places: &Places, foot: usize, top: usize) {
    let side = &places.left;
    let (from, to) = (side.at[foot], side.at[top]);
    let (before, until, all) = (side.sums[foot], side.sums[top], side.sums[side.sums.len() - 1]);
    let between = until - before;
    let (width, behind) = (to - from, all.count - until.count);
    // Sums of w, w², w y: all with w counted in units of x, so that nothing needs to be divided.
    let w = between.x - from * between.count + width * behind;
    let ww = between.xx - from * (2.0 * between.x - from * between.count) + width * width * behind;
    let wy = between.xy - from * between.y + width * (all.y - until.y);
    let scatter = ww - w * w / all.count;
    let product = wy - w * all.y / all.count;
    let rises = product > 0.0;
    let wanted = match search.shape {
        Shape::NonDecreasing => rises,
        Shape::NonIncreasing => !rises,
        Shape::Any | Shape::SinglePeak => true,
    };
    let vertices = 2 + usize::from(foot > 0) + usize::from(top + 1 < places.count());
    let limit = search.limit(vertices);
    if !wanted || scatter < SINGULAR || product * product <= (all.yy - all.y * all.y / all.count - limit) * scatter {
        return;
    }
    let slope = product / scatter;
    let start = (all.y - slope * w) / all.count;
    let lowest = start.min(start + slope * width);
    if lowest < search.data.floor && squares_on_floor(search.data.floor, rises, width, [w, ww, wy], all) >= limit {
        return;
    }
    let end = places.count() - 1;
    search.offer(&Form::new(&[
        [places.place(0), places.place(foot)],
        [places.place(top), places.place(end)],
    ]));
}

/// Sum of squares with the lower end of the slope held at the floor.
fn squares_on_floor(floor: f64, rises: bool, width: f64, [w, ww, wy]: [f64; 3], all: Sums) -> f64 {
    let (square, product) = if rises {
        (ww, wy - floor * w)
    } else {
        // The other way round: 1 - w.
        (
            width * (width * all.count - 2.0 * w) + ww,
            width * (all.y - floor * all.count) - wy + floor * w,
        )
    };
    let around_floor = all.yy - floor * (2.0 * all.y - floor * all.count);
    around_floor - product * product / square
}
