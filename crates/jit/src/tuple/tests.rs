//! Tuples that fill, empty and fill again.

use std::collections::HashMap;

use brimful_openflow::MatchField;
use proptest::prelude::*;

use super::*;

#[test]
fn a_tuple_that_was_emptied_is_filled_again() {
    let tuple = Tuple::with_room(vec![(MatchField::EthDst, 0xffff_ffff_ffff)], 0x9e37_79b9_7f4a_7c15, 0);
    let mut kept = Vec::new();
    for round in 0..5_u64 {
        let keys = round * 10_000..round * 10_000 + 5000;
        for key in keys.clone() {
            kept.extend(tuple.insert(&[key], key + 2, 7));
        }
        assert!(keys.clone().all(|key| tuple.find(&[key]) == Some((key + 2, 7))));
        assert!(keys.clone().all(|key| tuple.remove(&[key])));
        assert_eq!(tuple.len(), 0);
    }
}

#[test]
fn what_comes_again_takes_its_slot_again() {
    let tuple = Tuple::with_room(
        vec![(MatchField::EthDst, 0xffff_ffff_ffff)],
        0x9e37_79b9_7f4a_7c15,
        1000,
    );
    for (value, rank, used) in [(2, 9, 1), (3, 9, 1), (4, 8, 1), (5, 10, 2), (6, 9, 2)] {
        assert!(tuple.insert(&[1], value, rank).is_none());
        assert_eq!(tuple.find(&[1]), Some((value, rank)));
        assert!(tuple.remove(&[1]));
        assert_eq!(tuple.used.load(Relaxed), used);
    }
}

proptest! {
    #[test]
    fn a_tuple_is_a_map(steps in prop::collection::vec((0..400_u64, 0..5_u8), 0..1500)) {
        let tuple = Tuple::with_room(vec![(MatchField::EthDst, 0xffff_ffff_ffff)], 0x9e37_79b9_7f4a_7c15, 0);
        let mut model = HashMap::new();
        let mut kept = Vec::new();
        for (index, (key, step)) in steps.into_iter().enumerate() {
            let value = index as u64 + 2;
            // Insertions are the most, so that it grows; the memory that follows takes several to be filled.
            match (step.saturating_sub(2), model.contains_key(&key)) {
                (0, false) => {
                    kept.extend(tuple.insert(&[key], value, value % 2));
                    model.insert(key, (value, value % 2));
                }
                (1, _) => prop_assert_eq!(tuple.remove(&[key]), model.remove(&key).is_some()),
                (_, true) => {
                    prop_assert!(tuple.replace(&[key], value));
                    model.entry(key).and_modify(|now| now.0 = value);
                }
                _ => {}
            }
            prop_assert_eq!(tuple.find(&[key]), model.get(&key).copied());
            prop_assert_eq!(tuple.len(), model.len());
        }
        for key in 0..400 {
            prop_assert_eq!(tuple.find(&[key]), model.get(&key).copied());
        }
    }
}
