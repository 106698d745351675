use brimful_trial::Load;

/// Keeps a step within the width it was made for, whatever the rounding of logarithms.
const ROUNDING_MARGIN: f64 = 1e-9;

/// Loads in equal steps of log(load) from min load (0) to max load (`steps`), neighbours at most one width apart:
/// two neighbours of opposite verdicts are a finished pair of bounds. On a shifted grid the steps next to the limits
/// are smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadGrid {
    min: f64,
    max: f64,
    steps: i64,
    /// Where max load lies in units of steps.
    max_position: f64,
    log_step: f64,
}

impl LoadGrid {
    pub(crate) fn new(min: Load, max: Load, width: f64) -> Self {
        let (min, max) = (min.per_second(), max.per_second());
        let widest_step = -(1.0 - width).ln() * (1.0 - ROUNDING_MARGIN);
        let span = (max / min).ln();
        let steps = (span / widest_step).ceil();
        Self {
            min,
            max,
            steps: steps as i64,
            max_position: steps,
            log_step: if steps > 0.0 { span / steps } else { widest_step },
        }
    }

    /// The same grid with all positions greater by `shift`, which is less than a step: each index but those of the
    /// limits moves to a lower load.
    pub(crate) fn shifted(self, shift: f64) -> Self {
        let max_position = self.max_position + shift;
        Self {
            steps: max_position.ceil() as i64,
            max_position,
            ..self
        }
    }

    /// How much greater positions are than on another grid of the same steps.
    pub(crate) fn shift_from(&self, other: &Self) -> f64 {
        self.max_position - other.max_position
    }

    /// The index of max load.
    pub(crate) fn top(&self) -> i64 {
        self.steps
    }

    /// The size of a step as a difference of log(load).
    pub(crate) fn log_step(&self) -> f64 {
        self.log_step
    }

    /// The load at an index; indices outside are clipped to the limits.
    pub(crate) fn load(&self, index: i64) -> Load {
        let per_second = if index <= 0 {
            self.min
        } else if index >= self.steps {
            self.max
        } else {
            (self.max * (-self.log_step * (self.max_position - index as f64)).exp()).clamp(self.min, self.max)
        };
        Load::new(per_second).expect("limits are loads, and so is what lies between")
    }

    /// Where a load lies in units of steps, between the indices; below 0 or above the top outside the limits.
    pub(crate) fn position(&self, per_second: f64) -> f64 {
        self.max_position + (per_second / self.max).ln() / self.log_step
    }

    /// The index nearest to a position.
    pub(crate) fn nearest(&self, position: f64) -> i64 {
        (position.round() as i64).clamp(0, self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_are_within_the_width(
            min in 1.0..1e6_f64, span in 1.0..1e5_f64, width in 1e-4..0.5_f64, at in 0.0..1.0_f64,
            shift in 0.0..1.0_f64,
        ) {
            let max = min * span;
            let grid = LoadGrid::new(Load::new(min).unwrap(), Load::new(max).unwrap(), width).shifted(shift);
            prop_assert_eq!(grid.load(grid.top().min(0)), Load::new(min).unwrap());
            if grid.top() > 0 {
                prop_assert_eq!(grid.load(grid.top()), Load::new(max).unwrap());
                let index = ((grid.top() - 1) as f64 * at) as i64;
                let (lower, upper) = (grid.load(index).per_second(), grid.load(index + 1).per_second());
                prop_assert!(lower < upper);
                prop_assert!((upper - lower) / upper <= width);
            }
        }

        #[test]
        fn position_is_the_inverse_of_load(index in 1_i64..2000, shift in 0.0..1.0_f64) {
            let grid = LoadGrid::new(Load::new(9001.0).unwrap(), Load::new(14.88e6).unwrap(), 0.005).shifted(shift);
            let index = index.min(grid.top() - 1);
            prop_assert_eq!(grid.nearest(grid.position(grid.load(index).per_second())), index);
        }
    }
}
