use std::sync::Arc;

use crate::division::{quotient, remainder};

/// The values of a header field: which one a frame has follows from its number alone, so that no caller has to keep
/// count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Values {
    /// The same in all frames.
    Fixed(u128),
    /// Another one for another flow or frame.
    Varied(Pattern),
}

/// How the values of a field change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pattern {
    pub(super) choices: Choices,
    pub(super) order: Order,
    /// Flows or frames in a row that have the same value.
    pub(super) every: u64,
    pub(super) per: Per,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Choices {
    Range { first: u128, step: u128, count: u64 },
    List(Arc<[u128]>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    /// One after the other, then from the start again.
    Increment,
    /// Any of them, by chance.
    Random { seed: u64 },
}

/// What a new value comes with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Per {
    Flow,
    Frame,
}

/// Which frame: the number of its flow, and its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameNumber {
    pub(super) flow: u64,
    pub(super) sequence: u64,
}

impl FrameNumber {
    pub(super) const FIRST: Self = Self { flow: 0, sequence: 0 };
}

impl Values {
    pub(super) fn at(&self, number: FrameNumber) -> u128 {
        match self {
            Self::Fixed(value) => *value,
            Self::Varied(pattern) => pattern.at(number),
        }
    }

    /// Whether some frame may have a value.
    pub(super) fn include(&self, value: u128) -> bool {
        match self {
            Self::Fixed(only) => *only == value,
            Self::Varied(pattern) => pattern.choices.include(value),
        }
    }
}

impl Pattern {
    pub(super) fn at(&self, number: FrameNumber) -> u128 {
        let number = match self.per {
            Per::Flow => number.flow,
            Per::Frame => number.sequence,
        };
        let number = quotient(number, self.every);
        let count = self.choices.count();
        let place = match self.order {
            Order::Increment => remainder(number, count),
            Order::Random { seed } => ((u128::from(mixed(seed, number)) * u128::from(count)) >> 64) as u64,
        };
        self.choices.at(place)
    }

    /// Flows that a pattern takes until it begins again; nothing where chance has no such number.
    pub(super) fn flows(&self) -> Option<u64> {
        match (self.per, self.order) {
            (Per::Flow, Order::Increment) => Some(self.choices.count().saturating_mul(self.every)),
            _ => None,
        }
    }
}

impl Choices {
    fn count(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(list) => list.len() as u64,
        }
    }

    fn at(&self, place: u64) -> u128 {
        match self {
            Self::Range { first, step, .. } => first + step * u128::from(place),
            Self::List(list) => list[place as usize],
        }
    }

    fn include(&self, value: u128) -> bool {
        match self {
            Self::Range { first, step, count } => value
                .checked_sub(*first)
                .is_some_and(|beyond| beyond % step == 0 && beyond / step < u128::from(*count)),
            Self::List(list) => list.contains(&value),
        }
    }
}

/// `SplitMix64` (Steele, Lea and Flood 2014) at a place of its sequence: any number from any seed, without state.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut word = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pattern(choices: Choices, order: Order, every: u64) -> Pattern {
        let per = Per::Flow;
        Pattern {
            choices,
            order,
            every,
            per,
        }
    }

    fn of_flow(pattern: &Pattern, flow: u64) -> u128 {
        pattern.at(FrameNumber { flow, sequence: 99 })
    }

    #[test]
    fn values_take_turns() {
        let range = pattern(
            Choices::Range {
                first: 10,
                step: 5,
                count: 3,
            },
            Order::Increment,
            2,
        );
        let seen: Vec<_> = (0..8).map(|flow| of_flow(&range, flow)).collect();
        assert_eq!(seen, [10, 10, 15, 15, 20, 20, 10, 10]);
        assert_eq!(range.flows(), Some(6));
        let list = pattern(Choices::List([7, 3].into()), Order::Increment, 1);
        assert_eq!([of_flow(&list, 0), of_flow(&list, 1), of_flow(&list, 2)], [7, 3, 7]);
    }

    #[test]
    fn the_first_numbers_of_the_generator_are_known() {
        // The reference implementation with seed 1234567.
        assert_eq!(mixed(1_234_567, 0), 6_457_827_717_110_365_317);
        assert_eq!(mixed(1_234_567, 1), 3_203_168_211_198_807_973);
    }

    proptest! {
        #[test]
        fn chance_stays_within_the_choices_and_misses_none(
            first in 0..u128::MAX / 2, step in 1..1_000_000_u128, count in 1..50_u64, seed: u64,
        ) {
            let choices = Choices::Range { first, step, count };
            let random = pattern(choices.clone(), Order::Random { seed }, 1);
            let seen: BTreeSet<_> = (0..count * 40).map(|flow| of_flow(&random, flow)).collect();
            prop_assert!(seen.iter().all(|&value| choices.include(value)));
            prop_assert_eq!(seen.len() as u64, count);
            prop_assert!(!choices.include(first + step * u128::from(count)));
        }
    }
}
