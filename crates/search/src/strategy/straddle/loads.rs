//! Which loads there are to choose from.

use super::belief::News;
use crate::grid::LoadGrid;
use crate::{Problem, SearchGoal};

pub(super) struct Loads {
    /// What positions are measured on: it never moves.
    scale: LoadGrid,
    /// The loads, in steps of the same size.
    pub(super) grid: LoadGrid,
}

impl Loads {
    /// Loads one width of the narrowest goal apart.
    pub(super) fn new(problem: &Problem) -> Self {
        let widths = problem.goals().iter().map(SearchGoal::target_width);
        let scale = LoadGrid::new(problem.min_load(), problem.max_load(), widths.fold(1.0, f64::min));
        Self { scale, grid: scale }
    }

    /// Lays the grid so that a capacity is where it belongs between two loads. Nothing else moves it.
    pub(super) fn react(&mut self, news: News) {
        if let News::Capacity { load_above, .. } = news {
            self.grid = self.scale.shifted(load_above.ceil() - load_above);
        }
    }

    /// The index of the first load at or above a position on the scale.
    pub(super) fn index_above(&self, position: f64) -> i64 {
        self.on_grid(position).ceil() as i64
    }

    /// The index of the load that is nearest to a position on the scale.
    pub(super) fn nearest(&self, position: f64) -> i64 {
        self.grid.nearest(self.on_grid(position))
    }

    fn on_grid(&self, position: f64) -> f64 {
        position + self.grid.shift_from(&self.scale)
    }
}
