//! The greatest of many parabolas, each of which counts on an interval only.

/// Values of t beyond this are not looked at: a peak this many times higher than all points.
pub(super) const FARTHEST: f64 = 1e6;

/// A parabola on an interval, and which part of a line it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Factors of t², t and 1.
    pub(super) factors: [f64; 3],
    pub(super) foot: u32,
    pub(super) top: u32,
}

impl Arc {
    fn evaluate(&self, t: f64) -> f64 {
        let [a, b, c] = self.factors;
        (a * t + b) * t + c
    }
}

/// Arcs of the greatest values, from left to right; between them may be gaps.
#[derive(Default)]
pub(super) struct Envelope {
    arcs: Vec<Arc>,
    scratch: Vec<Arc>,
}

impl Envelope {
    pub(super) fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// Add an arc where it is greater than what is there.
    pub(super) fn insert(&mut self, arc: Arc) {
        if arc.low >= arc.high || !self.is_above(&arc) {
            return;
        }
        let mut arcs = std::mem::take(&mut self.scratch);
        arcs.clear();
        let mut reached = arc.low;
        for &old in &self.arcs {
            if old.high <= arc.low || old.low >= arc.high {
                if old.low >= arc.high {
                    push(&mut arcs, arc, reached, arc.high);
                    reached = arc.high;
                }
                push(&mut arcs, old, old.low, old.high);
                continue;
            }
            push(&mut arcs, old, old.low, arc.low);
            push(&mut arcs, arc, reached, old.low);
            let (low, high) = (old.low.max(arc.low), old.high.min(arc.high));
            let crossings = crossings(&old, &arc).map(|t| t.clamp(low, high));
            let mut from = low;
            for to in [crossings[0], crossings[1], high] {
                if from < to {
                    let middle = f64::midpoint(from, to);
                    let is_above = arc.evaluate(middle) > old.evaluate(middle);
                    push(&mut arcs, if is_above { arc } else { old }, from, to);
                    from = to;
                }
            }
            push(&mut arcs, old, arc.high, old.high);
            reached = high;
        }
        push(&mut arcs, arc, reached, arc.high);
        self.scratch = std::mem::replace(&mut self.arcs, arcs);
    }

    fn is_above(&self, arc: &Arc) -> bool {
        let mut reached = arc.low;
        let first = self.arcs.partition_point(|old| old.high <= arc.low);
        for old in &self.arcs[first..] {
            if old.low > reached {
                return true;
            }
            let (low, high) = (reached, old.high.min(arc.high));
            let [a, b, c] = [0, 1, 2].map(|i| arc.factors[i] - old.factors[i]);
            let difference = |t: f64| (a * t + b) * t + c;
            if difference(low) > 0.0 || difference(high) > 0.0 {
                return true;
            }
            // A bulge between the ends.
            if a < 0.0 && b * b > 4.0 * a * c && -b < 2.0 * a * low && -b > 2.0 * a * high {
                return true;
            }
            if old.high >= arc.high {
                return false;
            }
            reached = old.high;
        }
        true
    }
}

/// Add a part of an arc, to the last one where it is of the same parabola.
fn push(arcs: &mut Vec<Arc>, arc: Arc, low: f64, high: f64) {
    if low >= high {
        return;
    }
    match arcs.last_mut() {
        Some(last) if last.high == low && (last.foot, last.top, last.factors) == (arc.foot, arc.top, arc.factors) => {
            last.high = high;
        }
        _ => arcs.push(Arc { low, high, ..arc }),
    }
}

/// Where two parabolas meet, from left to right; far away where they do not.
fn crossings(one: &Arc, other: &Arc) -> [f64; 2] {
    let [a, b, c] = [0, 1, 2].map(|i| one.factors[i] - other.factors[i]);
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < 0.0 {
        return [f64::MAX; 2];
    }
    // Without the difference of nearly equal numbers.
    let q = -0.5 * (b + discriminant.sqrt().copysign(b));
    let roots = [q / a, c / q].map(|root| if root.is_nan() { f64::MAX } else { root });
    [roots[0].min(roots[1]), roots[0].max(roots[1])]
}
