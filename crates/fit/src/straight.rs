//! Lines without ends, and the slope that fits best.

use crate::lines::Point;
use crate::mean;

/// A line without ends.
#[derive(Clone, Copy)]
pub(crate) struct Straight {
    pub(crate) through: Point,
    pub(crate) slope: f64,
}

impl Straight {
    pub(crate) fn least_squares(points: &[Point]) -> Self {
        let count = points.len() as f64;
        let middle = Point::new(points.iter().map(|point| point.x).sum::<f64>() / count, mean(points));
        Self {
            through: middle,
            slope: slope_through(middle, points),
        }
    }

    /// The best line through a hinge; nothing where it would be flat.
    pub(crate) fn through(hinge: Point, points: &[Point]) -> Option<Self> {
        let slope = slope_through(hinge, points);
        (slope != 0.0).then_some(Self { through: hinge, slope })
    }

    /// Where two lines cross.
    pub(crate) fn meet(self, other: Self) -> f64 {
        let offset = |line: Self| line.through.y - line.slope * line.through.x;
        (offset(other) - offset(self)) / (self.slope - other.slope)
    }

    pub(crate) fn at(self, x: f64) -> Point {
        Point::new(x, self.through.y + self.slope * (x - self.through.x))
    }
}

/// Slope of the least-squares line through a hinge.
pub(crate) fn slope_through(hinge: Point, points: &[Point]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for point in points {
        products += (point.x - hinge.x) * (point.y - hinge.y);
        squares += (point.x - hinge.x).powi(2);
    }
    products / squares
}
