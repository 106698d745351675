//! How long a fit takes. A device is fitted hundreds of times where its spread is resampled.
//!
//! `cargo bench -p brimful-fit` prints, for both methods, one fit of a noisy peak with 25 points, as in a single result,
//! and with 75, as in three merged ones; and for the exact method one of a rising series. Compare ratios on one machine;
//! absolute times of another machine say nothing.

use std::hint::black_box;

use brimful_fit::{Method, Point, Shape, fit};
use criterion::Criterion;

/// A rise to a peak and a fall, over the range of a published result, with noise of a fixed sequence.
fn series(count: u32, fall: f64) -> Vec<Point> {
    let mut state = 1_u32;
    let mut noise = || {
        // The constants of Numerical Recipes.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) - 0.5
    };
    let points = (0..count).map(|index| {
        let x = 2.43 + 120.0 * f64::from(index) / f64::from(count - 1);
        let height = 1.3 + 0.4 * (x / 50.0).min(1.0) - fall * ((x - 65.0) / 35.0).clamp(0.0, 1.0);
        Point::new(x, height + 0.3 * noise())
    });
    points.collect()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for (name, method) in [("exact", Method::Exact), ("compatible", Method::Compatible)] {
        for count in [25, 75] {
            let peak = series(count, 0.75);
            criterion.bench_function(&format!("{name}/single-peak/{count}"), |bencher| {
                bencher.iter(|| fit(black_box(&peak), Shape::SinglePeak, method));
            });
            let rise = series(count, 0.0);
            criterion.bench_function(&format!("{name}/non-decreasing/{count}"), |bencher| {
                bencher.iter(|| fit(black_box(&rise), Shape::NonDecreasing, method));
            });
        }
    }
    criterion.final_summary();
}
