//! The best line of a shape: see the module that follows.
use crate::Shape;
use crate::lines::{Lines, Point};

pub(crate) fn fit(points: &[Point], shape: Shape, _step: f64) -> Lines {
    crate::compatible::fit(points, shape)
}
