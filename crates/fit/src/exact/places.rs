//! Where a line may bend, and sums of the points on either side.

use std::ops::{Range, Sub};

use super::Data;
use crate::MIN_SEGMENT_WIDTH;
use crate::lines::Point;

/// A finer lattice is coarsened until it has no more places: the time grows with their square.
const MOST_LATTICE_PLACES: f64 = 1024.0;

/// Places of a lattice are as far apart as they should be but for rounding.
const WIDTH_SLACK: f64 = 1e-9;

/// The start of the data, the places where a line may bend, the end of the data.
pub(super) struct Places {
    pub(super) left: Side,
    /// The same, seen from the right: x has the other sign, and places stand in the other order.
    pub(super) right: Side,
}

impl Places {
    /// A lattice from the first point on, and the midpoints between neighbours; far enough from both ends.
    pub(super) fn new(points: &[Point], data: &Data, mut step: f64) -> Self {
        let (start, end) = (points[0].x, points[points.len() - 1].x);
        while (end - start) / step > MOST_LATTICE_PLACES {
            step *= 2.0;
        }
        let (first, last) = (
            start + MIN_SEGMENT_WIDTH - WIDTH_SLACK,
            end - MIN_SEGMENT_WIDTH + WIDTH_SLACK,
        );
        let most = MOST_LATTICE_PLACES as u32;
        let mut places: Vec<f64> = (1..=most)
            .map(|index| start + step * f64::from(index))
            .chain(midpoints(points))
            .filter(|at| (first..=last).contains(at))
            .collect();
        places.push(start);
        places.push(end);
        places.sort_by(f64::total_cmp);
        places.dedup_by(|next, place| *next - *place < WIDTH_SLACK);
        let (middle, width) = (f64::midpoint(start, end), end - start);
        let scaled = |x: f64, sign: f64| sign * (x - middle) / width;
        let from_left = data
            .points
            .iter()
            .map(|point| Point::new(scaled(point.x, 1.0), point.y));
        let from_right = data
            .points
            .iter()
            .rev()
            .map(|point| Point::new(scaled(point.x, -1.0), point.y));
        Self {
            left: Side::new(
                places.clone(),
                places.iter().map(|&x| scaled(x, 1.0)).collect(),
                from_left,
                |point, at| point <= at,
            ),
            right: Side::new(
                places.iter().rev().map(|x| -x).collect(),
                places.iter().rev().map(|&x| scaled(x, -1.0)).collect(),
                from_right,
                |point, at| point < at,
            ),
        }
    }

    /// Number of places, both ends included.
    pub(super) fn count(&self) -> usize {
        self.left.at.len()
    }

    /// Where a place lies, counted from the left.
    pub(super) fn place(&self, index: usize) -> f64 {
        self.left.place[index]
    }

    /// Whether a line may bend there.
    pub(super) fn is_inner(&self, at: f64) -> bool {
        let widths = [at - self.place(0), self.place(self.count() - 1) - at];
        widths.iter().all(|width| *width >= MIN_SEGMENT_WIDTH - WIDTH_SLACK)
    }

    /// The same place counted from the other side.
    pub(super) fn mirrored(&self, index: usize) -> usize {
        self.count() - 1 - index
    }
}

/// The places in one direction, with sums over the points before each.
pub(super) struct Side {
    place: Vec<f64>,
    /// The places, scaled like the points.
    pub(super) at: Vec<f64>,
    pub(super) sums: Vec<Sums>,
}

impl Side {
    fn new(
        place: Vec<f64>,
        at: Vec<f64>,
        points: impl Iterator<Item = Point>,
        is_before: fn(f64, f64) -> bool,
    ) -> Self {
        let mut sum = Sums::default();
        let mut rest = points.peekable();
        let sums = at.iter().map(|&at| {
            while let Some(point) = rest.next_if(|point| is_before(point.x, at)) {
                sum.add(point);
            }
            sum
        });
        Self {
            sums: sums.collect(),
            place,
            at,
        }
    }

    /// Give the first place far enough behind another for a segment between them.
    pub(super) fn next_after(&self, index: usize) -> usize {
        let least = self.place[index] + MIN_SEGMENT_WIDTH - WIDTH_SLACK;
        self.place.partition_point(|&place| place < least).max(index + 1)
    }

    /// Give the places far enough before another for a segment between them and one before them.
    pub(super) fn feet(&self, top: usize) -> Range<usize> {
        let most = self.place[top] - MIN_SEGMENT_WIDTH + WIDTH_SLACK;
        1..self.place.partition_point(|&place| place <= most).clamp(1, top.max(1))
    }
}

/// Sums over points.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) count: f64,
    pub(super) x: f64,
    pub(super) xx: f64,
    pub(super) y: f64,
    pub(super) xy: f64,
    pub(super) yy: f64,
}

impl Sums {
    fn add(&mut self, point: Point) {
        self.count += 1.0;
        self.x += point.x;
        self.xx += point.x * point.x;
        self.y += point.y;
        self.xy += point.x * point.y;
        self.yy += point.y * point.y;
    }

    /// Give the sum of squared distances from the mean, for the points after these up to `others`.
    pub(super) fn scatter_until(self, others: Self) -> f64 {
        let count = others.count - self.count;
        if count == 0.0 {
            return 0.0;
        }
        let sum = others.y - self.y;
        others.yy - self.yy - sum * sum / count
    }
}

impl Sub for Sums {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            x: self.x - other.x,
            xx: self.xx - other.xx,
            y: self.y - other.y,
            xy: self.xy - other.xy,
            yy: self.yy - other.yy,
        }
    }
}

/// Half-way places between neighbours.
fn midpoints(points: &[Point]) -> impl Iterator<Item = f64> {
    points.windows(2).map(|pair| f64::midpoint(pair[0].x, pair[1].x))
}
