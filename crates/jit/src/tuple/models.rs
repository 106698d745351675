//! A tuple that one thread changes while others read it, in every order that loom knows.
//!
//! The writer is the thread of the model itself. Loom tries its steps first, and then lets the readers come in before
//! each store. The other way round it would miss orders, as a writer that loads a word before it stores it hides from
//! loom that somebody else has loaded it, too.

use std::sync::Arc;

use brimful_openflow::MatchField;
use loom::thread;

use super::*;

const A: [u64; 1] = [1];
const B: [u64; 1] = [2];

/// Runs a writer beside two readers of a key, who may find only what is allowed.
fn model(key: [u64; 1], allowed: &'static [Option<(u64, u64)>], write: impl Fn(&Tuple) + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Faults of this kind need few: each one more multiplies the orders.
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let shape = vec![(MatchField::EthDst, 0xffff_ffff_ffff)];
        let tuple = Arc::new(Tuple::with_room(shape, 0x9e37_79b9_7f4a_7c15, 1));
        let readers = [(); 2].map(|()| {
            let tuple = Arc::clone(&tuple);
            thread::spawn(move || {
                let found = tuple.find(&key);
                assert!(allowed.contains(&found), "{found:?}");
            })
        });
        write(&tuple);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn the_value_of_a_rule_may_meet_the_lower_rank_of_one_that_follows() {
    model(A, &[None, Some((2, 9)), Some((2, 8)), Some((4, 8))], |tuple| {
        assert!(tuple.insert(&A, 2, 9).is_none());
        assert!(tuple.remove(&A));
        assert!(tuple.insert(&A, 4, 8).is_none());
    });
}

#[test]
fn no_rule_wins_with_the_higher_rank_of_one_that_follows() {
    model(A, &[None, Some((2, 8)), Some((4, 9))], |tuple| {
        assert!(tuple.insert(&A, 2, 8).is_none());
        assert!(tuple.remove(&A));
        assert!(tuple.insert(&A, 4, 9).is_none());
    });
}

#[test]
fn a_key_never_has_the_value_of_another() {
    model(A, &[None, Some((3, 3))], |tuple| {
        assert!(tuple.insert(&B, 5, 5).is_none());
        assert!(tuple.insert(&A, 3, 3).is_none());
        assert!(tuple.remove(&B));
    });
}

#[test]
fn a_rule_is_found_while_the_memory_grows() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let shape = vec![(MatchField::EthDst, 0xffff_ffff_ffff)];
        let tuple = Arc::new(Tuple::with_room(shape, 0x9e37_79b9_7f4a_7c15, 1));
        let mut kept: Vec<_> = (1..=4_u64).filter_map(|key| tuple.insert(&[key], key + 2, 1)).collect();
        let reader = Arc::clone(&tuple);
        let reading = thread::spawn(move || assert_eq!(reader.find(&A), Some((3, 1))));
        kept.extend(tuple.insert(&[5], 7, 1));
        reading.join().unwrap();
        assert_eq!(kept.len(), 1);
    });
}
