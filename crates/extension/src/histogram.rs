//! Histograms of delays, as values and counts.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes before the counts, of which the second four say how long these are (`AbstractHistogram.java`).
const HEADER_LEN: usize = 40;
/// The number that has no opposite, which the library does not expect.
const LEAST: [u8; 9] = [0xff; 9];

/// Which values were seen, and how often each, by the V2 encoding of `HdrHistogram` without compression; of values that
/// it does not distinguish, the highest.
#[pyfunction]
pub(crate) fn decode_histogram(content: &[u8]) -> PyResult<(Vec<u64>, Vec<u64>)> {
    let cannot_be = || PyValueError::new_err("it is cut short, or its numbers cannot be");
    let (header, counts) = content.split_at_checked(HEADER_LEN).ok_or_else(cannot_be)?;
    // The library makes room for as much as the header says.
    if header[4..8] != (counts.len() as u32).to_be_bytes() || counts.windows(LEAST.len()).any(|part| part == LEAST) {
        return Err(cannot_be());
    }
    let histogram = Deserializer::new().deserialize(&mut &*content);
    let histogram: Histogram<u64> = histogram.map_err(|error| PyValueError::new_err(error.to_string()))?;
    if i64::try_from(histogram.len()).is_err() {
        return Err(cannot_be());
    }
    let steps = histogram.iter_recorded();
    Ok(steps
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .unzip())
}
