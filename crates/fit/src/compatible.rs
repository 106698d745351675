//! The fit of the published results: every candidate from a family of lines, scored, the first of the best kept.
//!
//! The order of the candidates and of every sum is part of the answer: scores tie, and the first of equals wins.

use crate::candidates::{MIN_STEP, Search};
use crate::lines::{Lines, Point};
use crate::straight::Straight;
use crate::{FEW_POINTS, MIN_SEGMENT_WIDTH, Shape, mean, peak};

pub(crate) fn fit(points: &[Point], shape: Shape) -> Lines {
    let mut search = Search::new(points, shape);
    if shape == Shape::SinglePeak && points.len() > FEW_POINTS {
        peak::try_all(&mut search);
    } else {
        try_straight(&mut search);
        try_one_bend(&mut search);
        try_two_bends(&mut search);
    }
    Lines::new(search.best)
}

fn try_straight(search: &mut Search) {
    if search.points.len() <= FEW_POINTS {
        return;
    }
    let line = Straight::least_squares(search.points);
    let vertices = [line.at(search.start()), line.at(search.end())];
    search.offer(&vertices);
}

fn try_one_bend(search: &mut Search) {
    let (points, start, end) = (search.points, search.start(), search.end());
    let mut last = f64::NEG_INFINITY;
    for index in 0..points.len() {
        let at = search.divide(index);
        if at < last + MIN_STEP || at < start + MIN_SEGMENT_WIDTH || at > end - MIN_SEGMENT_WIDTH {
            continue;
        }
        last = at;
        let hinge = Point::new(at, mean(&points[..index]));
        if let Some(line) = Straight::through(hinge, &points[index..]) {
            search.offer(&[Point::new(start, hinge.y), hinge, line.at(end)]);
        }
        let hinge = Point::new(at, mean(&points[index..]));
        if let Some(line) = Straight::through(hinge, &points[..index]) {
            search.offer(&[line.at(start), hinge, Point::new(end, hinge.y)]);
        }
    }
}

fn try_two_bends(search: &mut Search) {
    let (points, start, end) = (search.points, search.start(), search.end());
    let mut last = f64::NEG_INFINITY;
    for left in 0..points.len() {
        let left_at = search.divide(left);
        if left_at < last + MIN_STEP || left_at < start + MIN_SEGMENT_WIDTH {
            continue;
        }
        last = left_at;
        let left_level = mean(&points[..left]);
        let mut last_right = f64::NEG_INFINITY;
        for right in left..points.len() {
            let right_at = search.divide(right);
            if right_at < last_right + MIN_STEP
                || right_at - left_at < MIN_SEGMENT_WIDTH
                || right_at > end - MIN_SEGMENT_WIDTH
            {
                continue;
            }
            last_right = right_at;
            let right_level = mean(&points[right..]);
            search.offer(&[
                Point::new(start, left_level),
                Point::new(left_at, left_level),
                Point::new(right_at, right_level),
                Point::new(end, right_level),
            ]);
        }
    }
}
