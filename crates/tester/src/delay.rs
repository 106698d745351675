use brimful_trial::Nanoseconds;

use crate::test_frames::TIMESTAMP_MASK;

/// The time from a stamp to a later reading of the same clock.
///
/// A stamp has 40 bits, so that the difference is right up to 9 minutes. A frame may have left after the clock was
/// read for its burst; its delay is then 0 and not 18 minutes.
pub(crate) fn since_stamp(timestamp: u64, now: Nanoseconds) -> Nanoseconds {
    let elapsed = now.0.wrapping_sub(timestamp) & TIMESTAMP_MASK;
    if elapsed > TIMESTAMP_MASK / 2 {
        return Nanoseconds::ZERO;
    }
    Nanoseconds(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_delay_is_right_across_the_wrap_of_the_stamp(sent in 0..u64::MAX / 2, delay in 0..=TIMESTAMP_MASK / 2) {
            let found = since_stamp(sent & TIMESTAMP_MASK, Nanoseconds(sent + delay));
            prop_assert_eq!(found, Nanoseconds(delay));
        }

        #[test]
        fn a_stamp_after_the_reading_is_no_delay(now in 1_000_000..u64::MAX / 2, ahead in 1..1_000_000_u64) {
            let found = since_stamp((now + ahead) & TIMESTAMP_MASK, Nanoseconds(now));
            prop_assert_eq!(found, Nanoseconds::ZERO);
        }
    }
}
