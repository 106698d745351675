//! Lines with up to five segments for series that rise to a peak and fall: flat, rising, flat, falling, flat.

use crate::MIN_SEGMENT_WIDTH;
use crate::candidates::{MIN_STEP, Search};
use crate::lines::Point;
use crate::straight::{Straight, slope_through};

/// Indices of the data where the four corners stand.
type Corners = [usize; 4];

pub(crate) fn try_all(search: &mut Search) {
    let count = search.points.len();
    let start = search.start();
    let ranges = Ranges::new(search.points);
    let mut last_foot = f64::NEG_INFINITY;
    for foot in 0..=count {
        let foot_at = search.divide(foot);
        if foot > 0 && (foot_at < last_foot + MIN_STEP || foot_at < start + MIN_SEGMENT_WIDTH) {
            continue;
        }
        last_foot = foot_at;
        let mut last_left = f64::NEG_INFINITY;
        for left in foot..=count {
            let left_at = search.divide(left);
            if left > foot && (left_at < last_left + MIN_STEP || left_at - foot_at < MIN_SEGMENT_WIDTH) {
                continue;
            }
            last_left = left_at;
            let so_far = ranges.level_cost(0, foot) + ranges.slope_cost(foot, left);
            let corners = usize::from(foot > 0) + 1 + usize::from(left > foot);
            // Without a level part the line bends where two slopes meet, which may be far from the index.
            let may_meet = foot == 0;
            if left > foot && ranges.is_low(0, foot)
                || !may_meet && so_far + ranges.cost_from_left[left] > search.hopeless(corners)
            {
                continue;
            }
            let mut last_right = f64::NEG_INFINITY;
            for right in left..=count {
                let right_at = search.divide(right);
                if right > left && (right_at < last_right + MIN_STEP || right_at - left_at < MIN_SEGMENT_WIDTH) {
                    continue;
                }
                last_right = right_at;
                let so_far = so_far + ranges.level_cost(left, right);
                let corners = corners + usize::from(right > left);
                let may_meet = may_meet && left == right;
                if ranges.is_low(left, right)
                    || !may_meet && so_far + ranges.cost_from_right[right] > search.hopeless(corners)
                {
                    continue;
                }
                let tried = Tried {
                    so_far,
                    corners,
                    may_meet,
                };
                try_ends(search, &ranges, [foot, left, right], &tried);
            }
        }
    }
}

/// What is known of lines up to their third corner.
struct Tried {
    so_far: f64,
    corners: usize,
    may_meet: bool,
}

fn try_ends(search: &mut Search, ranges: &Ranges, [foot, left, right]: [usize; 3], tried: &Tried) {
    let (count, end, right_at) = (search.points.len(), search.end(), search.divide(right));
    let mut last_end = f64::NEG_INFINITY;
    for far in right..=count {
        let far_at = search.divide(far);
        if far > right {
            let inner = far < count - 1;
            if far_at - right_at < MIN_SEGMENT_WIDTH
                || (inner && (far_at < last_end + MIN_STEP || far_at > end - MIN_SEGMENT_WIDTH))
            {
                continue;
            }
        }
        last_end = far_at;
        let corners = tried.corners + usize::from(far > right) + usize::from(far_at < end);
        let cost = tried.so_far + ranges.slope_cost(right, far) + ranges.level_cost(far, count);
        if far > right && ranges.is_low(far, count)
            || !(tried.may_meet && far == count) && cost > search.hopeless(corners)
        {
            continue;
        }
        try_corners(search, ranges, [foot, left, right, far]);
    }
}

/// What is known of the points from one index to another, for all pairs.
struct Ranges {
    count: usize,
    mean: Vec<f64>,
    level_cost: Vec<f64>,
    slope_cost: Vec<f64>,
    /// What the points from an index on cost at least, with a level top or a slope beginning there.
    cost_from_left: Vec<f64>,
    cost_from_right: Vec<f64>,
}

impl Ranges {
    fn new(points: &[Point]) -> Self {
        let (count, middle) = (points.len(), Straight::least_squares(points).through);
        let mut ranges = Self {
            count,
            mean: vec![0.0; (count + 1).pow(2)],
            level_cost: vec![0.0; (count + 1).pow(2)],
            slope_cost: vec![0.0; (count + 1).pow(2)],
            cost_from_left: Vec::new(),
            cost_from_right: Vec::new(),
        };
        for from in 0..count {
            let mut sum = -0.0;
            let [mut x, mut xx, mut y, mut xy, mut yy] = [0.0; 5];
            for to in from + 1..=count {
                let point = points[to - 1];
                sum += point.y;
                let (dx, dy) = (point.x - middle.x, point.y - middle.y);
                x += dx;
                xx += dx * dx;
                y += dy;
                xy += dx * dy;
                yy += dy * dy;
                let number = (to - from) as f64;
                let (products, squares) = (xy - x * y / number, xx - x * x / number);
                let level_cost = yy - y * y / number;
                let index = ranges.index(from, to);
                ranges.mean[index] = sum / number;
                ranges.level_cost[index] = level_cost;
                // Points at the same place have no slope, and nearly so a slope that means nothing.
                if squares > 1e-9 * xx {
                    ranges.slope_cost[index] = level_cost - products * products / squares;
                }
            }
        }
        let least = |costs: &mut dyn Iterator<Item = f64>| costs.fold(f64::INFINITY, f64::min);
        ranges.cost_from_right = (0..=count)
            .map(|right| {
                least(&mut (right..=count).map(|far| ranges.slope_cost(right, far) + ranges.level_cost(far, count)))
            })
            .collect();
        ranges.cost_from_left = (0..=count)
            .map(|left| {
                least(&mut (left..=count).map(|right| ranges.level_cost(left, right) + ranges.cost_from_right[right]))
            })
            .collect();
        ranges
    }

    fn index(&self, from: usize, to: usize) -> usize {
        from * (self.count + 1) + to
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        self.mean[self.index(from, to)]
    }

    /// Whether a level part there would not be positive.
    fn is_low(&self, from: usize, to: usize) -> bool {
        from < to && self.mean(from, to) <= 0.0
    }

    /// Sum of squared distances from the best level line.
    fn level_cost(&self, from: usize, to: usize) -> f64 {
        self.level_cost[self.index(from, to)]
    }

    /// Sum of squared distances from the best line, or less.
    fn slope_cost(&self, from: usize, to: usize) -> f64 {
        self.slope_cost[self.index(from, to)]
    }
}

fn try_corners(search: &mut Search, ranges: &Ranges, corners: Corners) {
    let levels = levels(search, ranges, corners);
    if levels == [None; 4] {
        try_two_slopes(search, corners[1]);
        return;
    }
    let [Some(foot), Some(left), Some(right), Some(far)] = levels else {
        return;
    };
    let ends = [search.start(), search.end()];
    let mut vertices = [Point::default(); 6];
    let mut count = 0;
    let mut push = |vertex: Point| {
        vertices[count] = vertex;
        count += 1;
    };
    let first_at = search.divide(corners[0]);
    if first_at > ends[0] {
        push(Point::new(ends[0], foot));
    }
    let mut last_at = f64::NAN;
    for (&corner, level) in corners.iter().zip([foot, left, right, far]) {
        let at = search.divide(corner);
        if at != last_at {
            push(Point::new(at, level));
        }
        last_at = at;
    }
    if last_at < ends[1] {
        push(Point::new(ends[1], far));
    }
    if vertices[..count].windows(2).all(|pair| pair[0].x < pair[1].x) {
        search.offer(&vertices[..count]);
    }
}

/// Give the height of each corner as far as the data say one.
fn levels(search: &Search, ranges: &Ranges, corners: Corners) -> [Option<f64>; 4] {
    let points = search.points;
    let [foot, left, right, far] = corners;
    let mut levels = [None; 4];
    // Corners that stand at the same place have the same height.
    let set = |levels: &mut [Option<f64>; 4], index: usize, height: f64| {
        for (level, &corner) in levels.iter_mut().zip(&corners) {
            if corner == index {
                *level = Some(height);
            }
        }
    };
    if foot > 0 {
        set(&mut levels, foot, ranges.mean(0, foot));
    }
    if far < points.len() {
        set(&mut levels, far, ranges.mean(far, points.len()));
    }
    if left < right {
        let height = ranges.mean(left, right);
        set(&mut levels, left, height);
        set(&mut levels, right, height);
    }
    for [near, other] in [[0, 1], [2, 3], [0, 1]] {
        let (known, unknown) = match (levels[near], levels[other]) {
            (Some(height), None) => ((near, height), other),
            (None, Some(height)) => ((other, height), near),
            _ => continue,
        };
        // In the published results the slope comes from one point, taken by the number of the corner, and the height
        // is that at a break point taken the same way, though it is put at the right place.
        let anchor = Point::new(search.divide(corners[known.0]), known.1);
        let slope = slope_through(anchor, &points[near..other]);
        let height = Straight { through: anchor, slope }.at(search.divide(unknown)).y;
        set(&mut levels, corners[unknown], height);
    }
    levels
}

/// Two slopes that meet at a peak, or one where the peak would be at an end.
fn try_two_slopes(search: &mut Search, index: usize) {
    let (points, start, end) = (search.points, search.start(), search.end());
    if index == 0 || index == points.len() {
        let line = Straight::least_squares(points);
        search.offer(&[line.at(start), line.at(end)]);
        return;
    }
    let (rise, fall) = (
        Straight::least_squares(&points[..index]),
        Straight::least_squares(&points[index..]),
    );
    let meet = rise.meet(fall);
    if meet > start && meet < end {
        search.offer(&[rise.at(start), rise.at(meet), fall.at(end)]);
    }
}
