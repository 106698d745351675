//! Lines with up to five segments for series that rise to a peak and fall: flat, rising, flat, falling, flat.

use crate::MIN_SEGMENT_WIDTH;
use crate::compatible::{MIN_STEP, Search, Straight, slope_through};
use crate::lines::Point;
use crate::mean;

/// Indices of the data where the four corners stand.
type Corners = [usize; 4];

pub(crate) fn try_all(search: &mut Search) {
    let count = search.points.len();
    let (start, end) = (search.start(), search.end());
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
            let mut last_right = f64::NEG_INFINITY;
            for right in left..=count {
                let right_at = search.divide(right);
                if right > left && (right_at < last_right + MIN_STEP || right_at - left_at < MIN_SEGMENT_WIDTH) {
                    continue;
                }
                last_right = right_at;
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
                    try_corners(search, [foot, left, right, far]);
                }
            }
        }
    }
}

fn try_corners(search: &mut Search, corners: Corners) {
    let levels = levels(search, corners);
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
fn levels(search: &Search, corners: Corners) -> [Option<f64>; 4] {
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
        set(&mut levels, foot, mean(&points[..foot]));
    }
    if far < points.len() {
        set(&mut levels, far, mean(&points[far..]));
    }
    if left < right {
        let height = mean(&points[left..right]);
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
