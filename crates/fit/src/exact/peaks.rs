//! Lines that rise to a peak and fall: level, rising, level, falling, level, where each level part may be missing.
//!
//! A line is cut at the ends of its top into two wings. With the top at height t, the best wing is the better by
//! k (t - t0)² than a level one, for t above t0: there its lower end is as high as the top. So a line costs what the
//! level line at t costs, less what its two wings gain, and the best wings are on the envelopes of these parabolas.

use super::Search;
use super::envelope::{Arc, Envelope, FARTHEST};
use super::form::Form;
use super::places::{Places, Side, Sums};
use crate::straight::Straight;

/// Below this curvature no point says how high the top is.
const SINGULAR: f64 = 1e-9;

pub(super) fn try_all(search: &mut Search, places: &Places) {
    try_bent(search, places);
    let plain = [&places.left, &places.right].map(|side| plain_wings(search, side));
    sweep(search, places, &plain, &[]);
    let stepped = stepped_wings(search, places);
    sweep(search, places, &plain, &stepped);
}

/// Two slopes that meet: a peak, or a rise or a fall that changes its steepness.
fn try_bent(search: &mut Search, places: &Places) {
    let end = places.count() - 1;
    let all = places.left.sums[end];
    let [start_at, end_at] = [0, end].map(|index| places.place(index));
    for bend in 1..end {
        let wings = [
            Wing::new(&places.left, 0, bend),
            Wing::new(&places.right, 0, places.mirrored(bend)),
        ];
        let arcs = wings.map(|wing| wing.gain());
        let Some((top, squares)) = least(all, arcs) else {
            continue;
        };
        let is_valley = wings.iter().all(|wing| top < wing.level);
        if !is_valley && squares < search.limit(3) {
            let at = places.place(bend);
            search.offer(&Form::new(&[[start_at; 2], [at; 2], [end_at; 2]]));
        }
    }
    let points = &search.data.points;
    for index in 2..points.len().saturating_sub(1) {
        let (left, right) = points.split_at(index);
        let meet = Straight::least_squares(left).meet(Straight::least_squares(right));
        if places.is_inner(meet) {
            search.offer(&Form::new(&[[start_at; 2], [meet; 2], [end_at; 2]]));
        }
    }
}

/// Wings at each place where the top may end.
type Wings = Vec<Vec<Arc>>;

fn plain_wings(search: &Search, side: &Side) -> Wings {
    let wings = (0..side.at.len()).map(|top| {
        let mut envelope = Envelope::default();
        if 0 < top && top + 1 < side.at.len() {
            Wing::new(side, 0, top).add_to(&mut envelope, search.data.floor, [f64::MIN, FARTHEST]);
        }
        envelope.arcs().to_vec()
    });
    wings.collect()
}

/// Wings that are level at first: only those that may be part of a line better than the best so far.
fn stepped_wings(search: &Search, places: &Places) -> [Wings; 2] {
    let sides = [&places.left, &places.right];
    let costs = sides.map(least_costs);
    let limit = search.limit(4);
    [0, 1].map(|side| {
        let rest = costs_of_rest(places, side, &costs[1 - side]);
        let side = sides[side];
        let wings = (0..side.at.len()).map(|top| {
            let wings = side.feet(top).filter_map(|foot| {
                let wing = Wing::new(side, foot, top);
                wing.window(side.sums[top], limit - rest[top])
                    .map(|window| (wing, window))
            });
            greatest(wings.collect(), search.data.floor)
        });
        wings.collect()
    })
}

/// The envelope of what wings gain, each within a window of heights of the top.
fn greatest(mut wings: Vec<(Wing, [f64; 2])>, floor: f64) -> Vec<Arc> {
    if wings.iter().any(|(wing, window)| wing.held_above(floor) < window[1]) {
        let mut envelope = Envelope::default();
        for (wing, window) in &wings {
            wing.add_to(&mut envelope, floor, *window);
        }
        return envelope.arcs().to_vec();
    }
    // With the floor out of reach, the roots of what wings gain are straight lines: the steeper one wins in the end.
    wings.sort_unstable_by(|(a, _), (b, _)| a.gain.total_cmp(&b.gain));
    let mut hull: Vec<(f64, f64, usize)> = Vec::new();
    for (index, (wing, _)) in wings.iter().enumerate() {
        let root = wing.gain.sqrt();
        let mut from = f64::MIN;
        while let Some(&(last_from, last_root, last)) = hull.last() {
            from = (root * wing.level - last_root * wings[last].0.level) / (root - last_root);
            if from > last_from || from.is_nan() {
                break;
            }
            hull.pop();
            from = f64::MIN;
        }
        if from < FARTHEST {
            hull.push((from, root, index));
        }
    }
    let ends = hull.iter().skip(1).map(|next| next.0).chain([FARTHEST]);
    let arcs = hull.iter().zip(ends).map(|(&(from, _, index), to)| {
        let (wing, [least, most]) = wings[index];
        wing.arc(from.max(wing.level).max(least), to.min(most), wing.gain())
    });
    arcs.filter(|arc| arc.low < arc.high).collect()
}

/// What the points before each place cost at least.
fn least_costs(side: &Side) -> Vec<f64> {
    let cost = |top: usize| {
        let feet = std::iter::once(0).chain(side.feet(top));
        let costs = feet.map(|foot| Wing::new(side, foot, top).least_cost(side.sums[top]));
        costs.fold(f64::INFINITY, f64::min)
    };
    (0..side.at.len())
        .map(|top| {
            if top == 0 || top + 1 == side.at.len() {
                f64::INFINITY
            } else {
                cost(top)
            }
        })
        .collect()
}

/// What the points from each place on cost at least: those of the top, and of the other wing.
fn costs_of_rest(places: &Places, side: usize, other_costs: &[f64]) -> Vec<f64> {
    let side = [&places.left, &places.right][side];
    let end = places.count() - 1;
    let cost = |top: usize| {
        let pointed = other_costs[places.mirrored(top)];
        (side.next_after(top)..end)
            .map(|far| side.sums[top].scatter_until(side.sums[far]) + other_costs[places.mirrored(far)])
            .fold(pointed, f64::min)
    };
    (0..=end).map(cost).collect()
}

/// Try all pairs of wings, from right to left; those right of a level top are gathered in an envelope.
fn sweep(search: &mut Search, places: &Places, plain: &[Wings; 2], stepped: &[Wings]) {
    let end = places.count() - 1;
    let none = Vec::new();
    let (mut plain_behind, mut stepped_behind) = (Envelope::default(), Envelope::default());
    let mut gathered = end;
    for top in (1..end).rev() {
        while gathered > places.left.next_after(top) {
            gathered -= 1;
            let at = places.mirrored(gathered);
            plain[1][at].iter().for_each(|&arc| plain_behind.insert(arc));
            stepped
                .get(1)
                .map_or(&none, |wings| &wings[at])
                .iter()
                .for_each(|&arc| stepped_behind.insert(arc));
        }
        let at = places.mirrored(top);
        let rights = [
            &plain[1][at],
            stepped.get(1).map_or(&none, |wings| &wings[at]),
            plain_behind.arcs(),
            stepped_behind.arcs(),
        ];
        for left in [&plain[0][top], stepped.first().map_or(&none, |wings| &wings[top])] {
            for right in rights {
                try_pairs(search, places, left, right);
            }
        }
    }
}

/// Try the pairs of arcs that have a value of t in common.
fn try_pairs(search: &mut Search, places: &Places, lefts: &[Arc], rights: &[Arc]) {
    let end = places.count() - 1;
    let all = places.left.sums[end];
    let (mut left, mut right) = (0, 0);
    while let (Some(one), Some(other)) = (lefts.get(left), rights.get(right)) {
        let (low, high) = (one.low.max(other.low), one.high.min(other.high));
        if one.high < other.high {
            left += 1;
        } else {
            right += 1;
        }
        if low > high {
            continue;
        }
        let Some((top, squares)) = least(all, [one.factors, other.factors]) else {
            continue;
        };
        let slack = SINGULAR * (1.0 + top.abs());
        if top < low - slack || top > high + slack {
            continue;
        }
        let mirrored = |index: u32| places.mirrored(index as usize);
        let [from, to] = [one.top as usize, mirrored(other.top)];
        let vertices = 3 + usize::from(one.foot > 0) + usize::from(other.foot > 0) + usize::from(from < to);
        if squares < search.limit(vertices) {
            search.offer(&Form::new(&[
                [places.place(0), places.place(one.foot as usize)],
                [places.place(from), places.place(to)],
                [places.place(mirrored(other.foot)), places.place(end)],
            ]));
        }
    }
}

/// The best height of the top and the sum of squares with it; nothing where no point says how high.
fn least(all: Sums, gains: [[f64; 3]; 2]) -> Option<(f64, f64)> {
    let [a, b, c] = [0, 1, 2].map(|i| gains[0][i] + gains[1][i]);
    let (a, b, c) = (all.count - a, all.y + 0.5 * b, all.yy - c);
    (a > SINGULAR).then(|| (b / a, c - b * b / a))
}

/// The points before the top, on a slope from the foot to the top and level before the foot.
#[derive(Clone, Copy)]
struct Wing {
    foot: u32,
    top: u32,
    /// With the lower level a and the top t, the line is a u + t (1 - u): sums of u², u (1 - u), u y.
    squares: f64,
    cross: f64,
    product: f64,
    /// Where the wing is as high as the top.
    level: f64,
    gain: f64,
}

impl Wing {
    fn new(side: &Side, foot: usize, top: usize) -> Self {
        let (from, until) = (side.at[foot], side.sums[top]);
        let between = until - side.sums[foot];
        let scale = 1.0 / (side.at[top] - from);
        let w = (between.x - from * between.count) * scale;
        let ww = (between.xx - from * (2.0 * between.x - from * between.count)) * scale * scale;
        let wy = (between.xy - from * between.y) * scale;
        let (squares, product) = (until.count - 2.0 * w + ww, until.y - wy);
        let reach = until.count - w;
        Self {
            foot: foot as u32,
            top: top as u32,
            squares,
            cross: w - ww,
            product,
            level: product / reach,
            gain: reach * reach / squares,
        }
    }

    /// What the wing gains over a level line at t, as factors of t², t and 1.
    fn gain(&self) -> [f64; 3] {
        let linear = self.gain * self.level;
        [self.gain, -2.0 * linear, linear * self.level]
    }

    /// What the points before the top cost with the best top at or above the level.
    fn least_cost(&self, until: Sums) -> f64 {
        let (a, b, c) = self.cost(until);
        if a < SINGULAR {
            return 0.0;
        }
        let top = (b / a).max(self.level);
        (a * top - 2.0 * b) * top + c
    }

    /// The heights of the top at which those points cost less than that.
    fn window(&self, until: Sums, most: f64) -> Option<[f64; 2]> {
        let (a, b, c) = self.cost(until);
        if a < SINGULAR {
            return (most > 0.0).then_some([f64::MIN, FARTHEST]);
        }
        let discriminant = b * b - a * (c - most);
        (discriminant > 0.0).then(|| {
            let root = discriminant.sqrt();
            [(b - root) / a, ((b + root) / a).min(FARTHEST)]
        })
    }

    /// Cost with the top at t: a t² - 2 b t + c.
    fn cost(&self, until: Sums) -> (f64, f64, f64) {
        let linear = self.gain * self.level;
        (
            until.count - self.gain,
            until.y - linear,
            until.yy - linear * self.level,
        )
    }

    /// The height of the top above which the other end is held at the floor.
    fn held_above(&self, floor: f64) -> f64 {
        let slack = self.product - floor * self.squares;
        if self.cross > SINGULAR {
            slack / self.cross
        } else {
            FARTHEST.copysign(slack)
        }
    }

    fn arc(&self, low: f64, high: f64, factors: [f64; 3]) -> Arc {
        let (foot, top) = (self.foot, self.top);
        Arc {
            low,
            high,
            factors,
            foot,
            top,
        }
    }

    /// Add what the wing gains, within a window of heights.
    fn add_to(&self, envelope: &mut Envelope, floor: f64, [least, most]: [f64; 2]) {
        let held = self.held_above(floor);
        envelope.insert(self.arc(self.level.max(least), held.min(most), self.gain()));
        if held < most {
            // 2 (t - f) (reach (t - level)) - (t - f)² squares, with the floor f.
            let reach = self.squares + self.cross;
            let (square, linear) = (2.0 * reach - self.squares, 2.0 * reach * (floor - self.level));
            let factors = [square, linear - 2.0 * square * floor, (square * floor - linear) * floor];
            envelope.insert(self.arc(held.max(floor).max(least), most, factors));
        }
    }
}
