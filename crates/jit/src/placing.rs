//! How a rule gets its place in a tuple.

use std::sync::Arc;

use brimful_pipeline::Demands;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

use crate::key::{Key, MaskShape};
use crate::reclaim::Garbage;
use crate::tuple::Tuple;

/// A rule to be placed.
pub(crate) struct NewRule<'r> {
    pub(crate) counter: u32,
    pub(crate) rank: u64,
    pub(crate) demands: &'r Demands,
    pub(crate) value: u64,
}

/// Hashes with more slots take long to drop.
const MOST_SLOTS_AT_ONCE: usize = 1 << 12;

/// Whether a tuple is of rules that look at the same bits.
pub(crate) fn has_shape(tuple: &Tuple, demands: &Demands) -> bool {
    let bits = demands.iter().map(|(field, _, mask)| (*field, *mask));
    tuple.shape.iter().copied().eq(bits)
}

/// How a rule gets its key.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Room {
    /// It has no user.
    Free,
    /// The same rule has it.
    Own,
}

/// How a rule with a rank gets a key; `None` where another rule has it.
pub(crate) fn room_for(tuple: &Tuple, key: &[u64], rank: u64) -> Option<Room> {
    match tuple.find(key) {
        None => Some(Room::Free),
        Some((_, other)) => (other == rank).then_some(Room::Own),
    }
}

/// Puts a rule into the first of these tuples that has room for its key, or into a new one for this number of rules.
pub(crate) fn put_into<'t>(
    same: impl IntoIterator<Item = &'t Arc<Tuple>>,
    shape: &MaskShape,
    rules: usize,
    rule: &NewRule<'_>,
    random: &mut SplitMix64,
    garbage: &mut Garbage,
) -> (Arc<Tuple>, Key) {
    let free = same.into_iter().find_map(|tuple| {
        let key = tuple.layout.of_demands(rule.demands);
        let room = room_for(tuple, &key, rule.rank)?;
        Some((Arc::clone(tuple), key, room))
    });
    let (tuple, key, room) = free.unwrap_or_else(|| {
        let tuple = Arc::new(Tuple::with_room(shape.clone(), random.next_u64(), rules));
        let key = tuple.layout.of_demands(rule.demands);
        (tuple, key, Room::Free)
    });
    put(&tuple, &key, rule, room, garbage);
    (tuple, key)
}

pub(crate) fn put(tuple: &Tuple, key: &[u64], rule: &NewRule<'_>, room: Room, garbage: &mut Garbage) {
    if room == Room::Own {
        tuple.replace(key, rule.value);
    } else if let Some(old) = tuple.insert(key, rule.value, rule.rank) {
        if old.slots() > MOST_SLOTS_AT_ONCE {
            garbage.keep_large(old);
        } else {
            garbage.keep(old);
        }
    }
}
