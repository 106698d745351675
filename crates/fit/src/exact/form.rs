//! Candidates: break points, and which vertices have the same height.

use super::Data;
use crate::Shape;
use crate::lines::Point;

/// No candidate has more different heights.
const MOST_HEIGHTS: usize = 3;
const MOST_VERTICES: usize = 6;

/// A pivot below this means that no point says how high a vertex is.
const SINGULAR: f64 = 1e-12;

pub(super) type Heights = [f64; MOST_HEIGHTS];

/// A candidate, in the places of the scaled points.
#[derive(Clone, Copy, Default)]
pub(super) struct Form {
    at: [f64; MOST_VERTICES],
    height: [usize; MOST_VERTICES],
    vertices: usize,
    heights: usize,
}

impl Form {
    /// Level stretches joined by slopes; a stretch that ends where it begins is a vertex between two slopes.
    pub(super) fn new(levels: &[[f64; 2]]) -> Self {
        let mut form = Self {
            heights: levels.len(),
            ..Self::default()
        };
        for (height, &[from, to]) in levels.iter().enumerate() {
            form.push(from, height);
            if from < to {
                form.push(to, height);
            }
        }
        form
    }

    fn push(&mut self, at: f64, height: usize) {
        self.at[self.vertices] = at;
        self.height[self.vertices] = height;
        self.vertices += 1;
    }

    pub(super) fn vertices(&self) -> usize {
        self.vertices
    }

    pub(super) fn line(&self, heights: Heights) -> impl Iterator<Item = Point> {
        let vertices = self.at.into_iter().zip(self.height).take(self.vertices);
        vertices.map(move |(at, height)| Point::new(at, heights[height]))
    }

    /// Give the best heights that are positive and have the shape, with their sum of squares.
    ///
    /// Nothing where a line with fewer heights is as good.
    pub(super) fn fit(&self, data: &Data, shape: Shape) -> Option<(Heights, f64)> {
        let sums = self.normal_equations(data);
        let fit_with = |held: usize| {
            let heights = self.solve(&sums, data.floor, held)?;
            let heights_used = &heights[..self.heights];
            let fits = heights_used.iter().all(|&height| height >= data.floor) && has_shape(heights_used, shape);
            fits.then(|| (heights, self.squares(data, heights)))
        };
        // Convex: the best heights are those with the right ones held at the floor, mostly none.
        fit_with(0).or_else(|| {
            (1..1 << self.heights)
                .filter_map(fit_with)
                .min_by(|a, b| a.1.total_cmp(&b.1))
        })
    }

    /// Share of the heights of the vertices on either side in the line at x.
    fn weights(&self, x: f64) -> [(usize, f64); 2] {
        let right = self.at[1..self.vertices - 1].partition_point(|&at| at < x) + 1;
        let (from, to) = (self.at[right - 1], self.at[right]);
        let share = ((x - from) / (to - from)).clamp(0.0, 1.0);
        [(self.height[right - 1], 1.0 - share), (self.height[right], share)]
    }

    fn normal_equations(&self, data: &Data) -> [[f64; MOST_HEIGHTS + 1]; MOST_HEIGHTS] {
        let mut sums = [[0.0; MOST_HEIGHTS + 1]; MOST_HEIGHTS];
        for point in &data.points {
            let mut weights = [0.0; MOST_HEIGHTS];
            for (height, weight) in self.weights(point.x) {
                weights[height] += weight;
            }
            for (row, weight) in sums.iter_mut().zip(weights) {
                for (sum, other) in row.iter_mut().zip(weights) {
                    *sum += weight * other;
                }
                row[MOST_HEIGHTS] += weight * point.y;
            }
        }
        sums
    }

    /// Solve for the heights whose bits are not set in `held`; those are at the floor.
    fn solve(&self, sums: &[[f64; MOST_HEIGHTS + 1]; MOST_HEIGHTS], floor: f64, held: usize) -> Option<Heights> {
        let mut rows = *sums;
        let is_held = |height: usize| height >= self.heights || held >> height & 1 == 1;
        for (height, row) in rows.iter_mut().enumerate() {
            if is_held(height) {
                *row = [0.0; MOST_HEIGHTS + 1];
                row[height] = 1.0;
                row[MOST_HEIGHTS] = floor;
            }
        }
        for pivot in 0..MOST_HEIGHTS {
            let row = rows[pivot];
            if row[pivot].abs() < SINGULAR {
                return None;
            }
            for (other, target) in rows.iter_mut().enumerate() {
                let factor = target[pivot] / row[pivot];
                if other != pivot {
                    target.iter_mut().zip(row).for_each(|(value, of)| *value -= factor * of);
                }
            }
        }
        let mut heights = [floor; MOST_HEIGHTS];
        for (height, row) in rows.iter().enumerate() {
            if !is_held(height) {
                heights[height] = row[MOST_HEIGHTS] / row[height];
            }
        }
        Some(heights)
    }

    fn squares(&self, data: &Data, heights: Heights) -> f64 {
        let distance = |point: &Point| {
            let weights = self.weights(point.x);
            point.y
                - weights
                    .iter()
                    .map(|&(height, weight)| heights[height] * weight)
                    .sum::<f64>()
        };
        data.points.iter().map(|point| distance(point).powi(2)).sum()
    }
}

fn has_shape(heights: &[f64], shape: Shape) -> bool {
    let steps = || heights.windows(2).map(|pair| pair[1] - pair[0]);
    match shape {
        Shape::Any => true,
        Shape::NonDecreasing => steps().all(|step| step >= 0.0),
        Shape::NonIncreasing => steps().all(|step| step <= 0.0),
        Shape::SinglePeak => !steps().skip_while(|&step| step >= 0.0).any(|step| step > 0.0),
    }
}
