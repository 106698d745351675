//! Lines through points with rising x.

/// A place in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
}

impl Point {
    /// Make a point.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// A line through vertices with strictly rising x; empty, a single vertex, or segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    vertices: Vec<Point>,
}

impl Lines {
    /// Make a line through vertices, which must be sorted by x.
    pub fn new(vertices: Vec<Point>) -> Self {
        debug_assert!(
            !vertices.windows(2).any(|pair| pair[0].x > pair[1].x),
            "vertices must be sorted by x"
        );
        Self { vertices }
    }

    /// The vertices from left to right.
    pub fn vertices(&self) -> &[Point] {
        &self.vertices
    }

    /// The least and the greatest x; zeros for an empty line.
    pub fn range(&self) -> (f64, f64) {
        match (self.vertices.first(), self.vertices.last()) {
            (Some(first), Some(last)) => (first.x, last.x),
            _ => (0.0, 0.0),
        }
    }

    /// Give y at x; outside its range the line goes on flat, an empty line is 0 everywhere.
    pub fn evaluate(&self, x: f64) -> f64 {
        evaluate(&self.vertices, x)
    }

    /// Give the line from `low` to `high`: cut where it is longer, its outer segments extended where it is shorter.
    #[must_use]
    pub fn with_range(&self, low: f64, high: f64) -> Self {
        if self.vertices.is_empty() {
            return Self::default();
        }
        let inner = self.vertices.get(1..self.vertices.len() - 1).unwrap_or_default();
        let mut vertices = vec![Point::new(low, self.extrapolate(low))];
        if low < high {
            vertices.extend(inner.iter().filter(|vertex| low < vertex.x && vertex.x < high));
            vertices.push(Point::new(high, self.extrapolate(high)));
        }
        Self { vertices }
    }

    /// Give the part of the line between `low` and `high`, or nothing where there is none.
    pub fn clamped(&self, low: f64, high: f64) -> Option<Self> {
        let (first, last) = self.range();
        let (low, high) = (low.max(first), high.min(last));
        (low <= high && !self.vertices.is_empty()).then(|| self.with_range(low, high))
    }

    fn extrapolate(&self, x: f64) -> f64 {
        let (first, last) = self.range();
        match self.vertices.as_slice() {
            [left, right, ..] if x < first => along(*left, *right, x),
            [.., left, right] if x > last => along(*left, *right, x),
            _ => self.evaluate(x),
        }
    }
}

/// Give y at x on the line through vertices sorted by x; flat outside them.
pub(crate) fn evaluate(vertices: &[Point], x: f64) -> f64 {
    let (Some(first), Some(last)) = (vertices.first(), vertices.last()) else {
        return 0.0;
    };
    if x <= first.x {
        return first.y;
    }
    for pair in vertices.windows(2) {
        if x <= pair[1].x {
            return along(pair[0], pair[1], x);
        }
    }
    last.y
}

/// Ends and flat segments are exact: whether a line is flat is decided by equality.
fn along(left: Point, right: Point, x: f64) -> f64 {
    if x == left.x || left.y == right.y {
        left.y
    } else if x == right.x {
        right.y
    } else {
        left.y + (right.y - left.y) / (right.x - left.x) * (x - left.x)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Point};

    fn rise_then_flat() -> Lines {
        Lines::new(vec![
            Point::new(10.0, 1.0),
            Point::new(20.0, 2.0),
            Point::new(40.0, 2.0),
        ])
    }

    #[test]
    fn goes_through_its_vertices_and_on_flat_outside() {
        let lines = rise_then_flat();
        assert_eq!(
            [5.0, 10.0, 15.0, 20.0, 30.0, 50.0].map(|x| lines.evaluate(x)),
            [1.0, 1.0, 1.5, 2.0, 2.0, 2.0]
        );
    }

    #[test]
    fn an_empty_line_is_zero_and_a_single_vertex_is_its_value() {
        assert_eq!(Lines::default().evaluate(3.0), 0.0);
        assert_eq!(Lines::default().range(), (0.0, 0.0));
        assert_eq!(Lines::new(vec![Point::new(1.0, 7.0)]).evaluate(3.0), 7.0);
    }

    #[test]
    fn a_range_extends_the_outer_segments_and_drops_what_is_outside() {
        let lines = rise_then_flat().with_range(5.0, 15.0);
        assert_eq!(lines.vertices(), [Point::new(5.0, 0.5), Point::new(15.0, 1.5)]);
        assert_eq!(rise_then_flat().with_range(10.0, 50.0).evaluate(50.0), 2.0);
    }

    #[test]
    fn clamping_to_what_the_line_does_not_reach_gives_nothing() {
        assert_eq!(rise_then_flat().clamped(41.0, 50.0), None);
        assert_eq!(Lines::default().clamped(0.0, 100.0), None);
        assert_eq!(rise_then_flat().clamped(0.0, 100.0), Some(rise_then_flat()));
    }
}
