use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::Nanoseconds;

const SIGNIFICANT_DIGITS: u8 = 3;
/// 18 minutes: what the time stamp in a test frame can hold.
const LONGEST: u64 = (1 << 40) - 1;

/// How often each time was seen, to three significant digits; 250 kB whatever it holds.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    counts: Histogram<u64>,
    highest: u64,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeHistogram {
    /// Up to 18 minutes; what is longer counts as that.
    #[expect(clippy::missing_panics_doc, reason = "the bounds are constants")]
    pub fn new() -> Self {
        Self {
            counts: Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS).expect("the bounds make sense"),
            highest: 0,
        }
    }

    /// Counts one time.
    pub fn record(&mut self, time: Nanoseconds) {
        self.counts.saturating_record(time.0);
        self.highest = self.highest.max(time.0);
    }

    /// Counts all times that another one has counted.
    #[expect(clippy::missing_panics_doc, reason = "all have the same bounds")]
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("the bounds are the same");
        self.highest = self.highest.max(other.highest);
    }

    /// The least time that at least this many thousandths of all do not exceed, less than 0.1 % too long at most; 0
    /// where there is none. The rank is a whole number, because a goal may depend on it.
    pub fn percentile(&self, thousandths: u64) -> Nanoseconds {
        let rank = (u128::from(self.counts.len()) * u128::from(thousandths)).div_ceil(1000);
        let mut seen = 0;
        let at_rank = self.counts.iter_recorded().find(|step| {
            seen += u128::from(step.count_since_last_iteration());
            seen >= rank
        });
        Nanoseconds(at_rank.map_or(0, |step| step.value_iterated_to()).min(self.highest))
    }

    /// The longest time, exactly; 0 where there is none.
    pub fn highest(&self) -> Nanoseconds {
        Nanoseconds(self.highest)
    }

    /// The V2 serialisation of `HdrHistogram`, not compressed, in base64; the unit is the nanosecond.
    #[expect(clippy::missing_panics_doc, reason = "memory can be written")]
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.counts, &mut bytes)
            .expect("memory can be written, and fewer than 2^63 times were counted");
        STANDARD.encode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = Vec<u64>> {
        let time = prop_oneof![0..10_u64, 0..3000_u64, 1000..10_000_000_u64, 0..=LONGEST];
        proptest::collection::vec(time, 1..500)
    }

    fn histogram(times: &[u64]) -> TimeHistogram {
        let mut histogram = TimeHistogram::new();
        for &time in times {
            histogram.record(Nanoseconds(time));
        }
        histogram
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_times(mut times in times(), thousandths in 1..=1000_u64) {
            let histogram = histogram(&times);
            times.sort_unstable();
            let rank = (times.len() as u64 * thousandths).div_ceil(1000);
            let exact = times[rank as usize - 1];
            let found = histogram.percentile(thousandths).0;
            prop_assert!(exact <= found && found - exact <= exact / 1000, "{exact} {found}");
            prop_assert_eq!(histogram.highest().0, times[times.len() - 1]);
            prop_assert_eq!(histogram.percentile(1000), histogram.highest());
        }

        #[test]
        fn its_text_holds_all_of_it(times in times()) {
            let histogram = histogram(&times);
            let bytes = STANDARD.decode(histogram.to_base64()).unwrap();
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(read, histogram.counts);
        }
    }

    #[test]
    fn nothing_is_0() {
        assert_eq!(TimeHistogram::new().percentile(999), Nanoseconds::ZERO);
    }
}
