//! The rules of a table in the form that one piece of code was compiled for, and what has come since.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use brimful_openflow::MatchField;
use brimful_pipeline::Demands;
use hashbrown::HashMap;
use rand_xoshiro::SplitMix64;

use crate::bitmap::Bitmap;
use crate::key::{Key, MaskShape};
use crate::overlay::{Overlay, OverlayCell};
use crate::places::Places;
use crate::placing::{NewRule, has_shape, put, put_into, room_for};
use crate::plan::{
    CodedRule, Group, PlanRule, PlannedForm, PlannedGroup, PrefixGroup, TupleGroup, plan, prefix_of, shape_of, without,
};
use crate::prefix::Prefixes;
use crate::reclaim::Garbage;
use crate::tuple::{TOMBSTONE, Tuple};

/// Where a rule is.
#[derive(Clone)]
enum Place {
    Tuple(Arc<Tuple>, Key),
    Prefix(usize, crate::prefix::Prefix),
    Bitmap(Arc<Bitmap>, usize),
    Cell(Arc<AtomicU64>),
}

/// A group, and which rules may still join it.
struct Base {
    /// Ranks above this are above all groups behind.
    floor: u64,
    /// Ranks up to this are below all groups in front.
    ceiling: u64,
    prefixes: Option<PrefixWriter>,
}

struct PrefixWriter {
    prefixes: Prefixes,
    field: MatchField,
    constants: Demands,
    /// The lowest and highest rank that a prefix of each length ever had.
    ranks: HashMap<u8, (u64, u64)>,
}

/// One form of a table.
pub(crate) struct Version {
    pub(crate) groups: Arc<Vec<Group>>,
    bases: Vec<Base>,
    pub(crate) cell: Arc<OverlayCell>,
    overlay: Vec<Arc<Tuple>>,
    places: Places<Place>,
    /// Shapes that the code is to know.
    pub(crate) shapes: usize,
}

impl Version {
    /// Without rules: all come to the overlay.
    pub(crate) fn empty() -> Self {
        Self {
            groups: Arc::default(),
            bases: Vec::new(),
            cell: Arc::new(AtomicPtr::new(ptr::null_mut())),
            overlay: Vec::new(),
            places: Places::new(),
            shapes: 0,
        }
    }

    /// The form that suits rules best. It shares nothing with the form before: changes go into both of them until the new
    /// one has code, and what one has taken out must not stay in the other.
    pub(crate) fn planned(rules: &[NewRule<'_>], random: &mut SplitMix64, garbage: &mut Garbage) -> Self {
        let to_plan: Vec<PlanRule<'_>> = rules
            .iter()
            .map(|rule| PlanRule {
                rank: rule.rank,
                demands: rule.demands,
            })
            .collect();
        let planned = plan(&to_plan);
        let mut version = Self::empty();
        let mut groups = Vec::new();
        let mut ceiling = u64::MAX;
        for (index, group) in planned.iter().enumerate() {
            let floor = planned.get(index + 1).map_or(0, |next| rules[next.rules[0]].rank);
            groups.push(version.build(groups.len(), group, rules, random, garbage));
            version.bases[index].floor = floor;
            version.bases[index].ceiling = ceiling;
            ceiling = floor;
        }
        version.groups = Arc::new(groups);
        version
    }

    fn build(
        &mut self,
        index: usize,
        planned: &PlannedGroup,
        rules: &[NewRule<'_>],
        random: &mut SplitMix64,
        garbage: &mut Garbage,
    ) -> Group {
        let members = || planned.rules.iter().map(|&index| &rules[index]);
        let mut prefixes = None;
        let group = match planned.form {
            PlannedForm::Rules => {
                let coded = members().map(|rule| {
                    let cell = Arc::new(AtomicU64::new(rule.value));
                    self.places.insert(rule.counter, Place::Cell(Arc::clone(&cell)));
                    let demands = rule.demands.clone();
                    CodedRule { demands, cell }
                });
                Group::Rules(coded.collect())
            }
            PlannedForm::Bitmap => {
                let all: Vec<(&[_], u64)> = members().map(|rule| (rule.demands.as_slice(), rule.value)).collect();
                let bitmap = Arc::new(Bitmap::new(&all));
                for (bit, rule) in members().enumerate() {
                    self.places
                        .insert(rule.counter, Place::Bitmap(Arc::clone(&bitmap), bit));
                }
                Group::Bitmap(bitmap)
            }
            PlannedForm::Prefixes(field) => {
                let constants = members()
                    .next()
                    .map_or_else(Demands::new, |rule| without(rule.demands, field));
                let mut writer = PrefixWriter {
                    prefixes: Prefixes::new(),
                    field,
                    constants: constants.clone(),
                    ranks: HashMap::new(),
                };
                for rule in members() {
                    if let Some(prefix) = prefix_of(field, rule.demands) {
                        writer.set(prefix, rule);
                        self.places.insert(rule.counter, Place::Prefix(index, prefix));
                    }
                }
                writer.prefixes.publish(garbage);
                let root = Arc::clone(writer.prefixes.root());
                prefixes = Some(writer);
                Group::Prefixes(PrefixGroup { field, constants, root })
            }
            PlannedForm::Tuples => Group::Tuples(self.build_tuples(&members().collect::<Vec<_>>(), random, garbage)),
        };
        self.bases.push(Base {
            floor: 0,
            ceiling: 0,
            prefixes,
        });
        group
    }

    fn build_tuples(&mut self, members: &[&NewRule<'_>], random: &mut SplitMix64, garbage: &mut Garbage) -> TupleGroup {
        let mut rooms: HashMap<MaskShape, usize> = HashMap::new();
        for rule in members {
            *rooms.entry(shape_of(rule.demands)).or_default() += 1;
        }
        let mut tuples: Vec<(u64, Arc<Tuple>)> = Vec::new();
        for rule in members {
            let shape = shape_of(rule.demands);
            let same = tuples
                .iter()
                .map(|(_, tuple)| tuple)
                .filter(|tuple| tuple.shape == shape);
            let room = rooms.get(&shape).copied().unwrap_or(0);
            let (tuple, key) = put_into(same, &shape, room, rule, random, garbage);
            self.places.insert(rule.counter, Place::Tuple(Arc::clone(&tuple), key));
            // Ranks fall from one rule to the next: the first one of a tuple is its highest.
            if !tuples.iter().any(|(_, other)| Arc::ptr_eq(other, &tuple)) {
                tuples.push((rule.rank, tuple));
            }
        }
        TupleGroup {
            ceilings: tuples.iter().map(|(highest, _)| AtomicU64::new(*highest)).collect(),
            tuples: tuples.into_iter().map(|(_, tuple)| tuple).collect(),
        }
    }

    /// Whether a rule is in it.
    pub(crate) fn has(&self, counter: u32) -> bool {
        self.places.get(counter).is_some()
    }

    /// Whether rules wait for code of their own.
    pub(crate) fn has_overlay(&self) -> bool {
        !self.overlay.is_empty()
    }

    /// Has the processor fetch where a rule with this rank and these demands most likely comes to.
    pub(crate) fn prefetch(&self, rank: u64, demands: &Demands) {
        let base = self.bases.iter().position(|base| base.accepts(rank));
        let tuples = match base.map(|index| &self.groups[index]) {
            Some(Group::Tuples(group)) => group.tuples.as_slice(),
            _ => &self.overlay,
        };
        if let Some(tuple) = tuples.iter().find(|tuple| has_shape(tuple, demands)) {
            tuple.prefetch(&tuple.layout.of_demands(demands));
        }
    }

    /// Puts a rule where frames find it from now on.
    pub(crate) fn insert(&mut self, rule: &NewRule<'_>, random: &mut SplitMix64, garbage: &mut Garbage) {
        let place = self
            .join(rule, garbage)
            .unwrap_or_else(|| self.lay_over(rule, random, garbage));
        self.places.insert(rule.counter, place);
    }

    /// Puts a rule into a group that suits it.
    fn join(&mut self, rule: &NewRule<'_>, garbage: &mut Garbage) -> Option<Place> {
        let index = self.bases.iter().position(|base| base.accepts(rule.rank))?;
        match &self.groups[index] {
            Group::Tuples(group) => {
                let same = group.tuples.iter().enumerate();
                let same = same.filter(|(_, tuple)| has_shape(tuple, rule.demands));
                let mut same = same.map(|(position, tuple)| (position, tuple, tuple.layout.of_demands(rule.demands)));
                let (position, tuple, key, room) = same.find_map(|(position, tuple, key)| {
                    let room = room_for(tuple, &key, rule.rank)?;
                    Some((position, tuple, key, room))
                })?;
                for ceiling in &group.ceilings[..=position] {
                    if ceiling.load(Ordering::Relaxed) < rule.rank {
                        ceiling.fetch_max(rule.rank, Ordering::AcqRel);
                    }
                }
                put(tuple, &key, rule, room, garbage);
                Some(Place::Tuple(Arc::clone(tuple), key))
            }
            Group::Prefixes(_) => {
                let writer = self.bases[index].prefixes.as_mut()?;
                let prefix = prefix_of(writer.field, rule.demands)?;
                let fits = without(rule.demands, writer.field) == writer.constants && writer.admits(prefix, rule.rank);
                if !fits {
                    return None;
                }
                writer.set(prefix, rule);
                writer.prefixes.publish(garbage);
                Some(Place::Prefix(index, prefix))
            }
            Group::Rules(_) | Group::Bitmap(_) => None,
        }
    }

    fn lay_over(&mut self, rule: &NewRule<'_>, random: &mut SplitMix64, garbage: &mut Garbage) -> Place {
        let shape = shape_of(rule.demands);
        let same = self.overlay.iter().filter(|tuple| tuple.shape == shape);
        let (tuple, key) = put_into(same, &shape, 0, rule, random, garbage);
        if !self.overlay.iter().any(|other| Arc::ptr_eq(other, &tuple)) {
            self.overlay.push(Arc::clone(&tuple));
            let overlay = Box::new(Overlay {
                tuples: self.overlay.clone(),
            });
            let old = self.cell.swap(Box::into_raw(overlay), Ordering::AcqRel);
            // SAFETY: it was in the cell until now, and only this thread puts any there.
            if let Some(old) = unsafe { take(old) } {
                garbage.keep(old);
            }
        }
        Place::Tuple(tuple, key)
    }

    /// Gives a rule another value.
    pub(crate) fn replace(&mut self, counter: u32, value: u64, garbage: &mut Garbage) {
        match self.places.get(counter) {
            Some(Place::Tuple(tuple, key)) => {
                tuple.replace(key, value);
            }
            Some(Place::Bitmap(bitmap, bit)) => bitmap.set(*bit, value),
            Some(Place::Cell(cell)) => cell.store(value, Ordering::Release),
            Some(Place::Prefix(group, prefix)) => {
                if let Some(writer) = self.bases[*group].prefixes.as_mut() {
                    writer.prefixes.set(*prefix, Some(value));
                    writer.prefixes.publish(garbage);
                }
            }
            None => {}
        }
    }

    /// Takes a rule out.
    pub(crate) fn remove(&mut self, counter: u32, garbage: &mut Garbage) {
        match self.places.remove(counter) {
            Some(Place::Tuple(tuple, key)) => {
                tuple.remove(&key);
            }
            Some(Place::Bitmap(bitmap, bit)) => bitmap.set(bit, TOMBSTONE),
            Some(Place::Cell(cell)) => cell.store(TOMBSTONE, Ordering::Release),
            Some(Place::Prefix(group, prefix)) => {
                if let Some(writer) = self.bases[group].prefixes.as_mut() {
                    writer.prefixes.set(prefix, None);
                    writer.prefixes.publish(garbage);
                }
            }
            None => {}
        }
    }
}

impl Base {
    /// Whether a rule with this rank may join.
    fn accepts(&self, rank: u64) -> bool {
        self.floor < rank && rank <= self.ceiling
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        // What stands in for a table without code knows the cell, too.
        let overlay = self.cell.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: it was in the cell until now; a version is dropped when no reader is left.
        drop(unsafe { take(overlay) });
    }
}

impl PrefixWriter {
    fn set(&mut self, prefix: crate::prefix::Prefix, rule: &NewRule<'_>) {
        self.prefixes.set(prefix, Some(rule.value));
        let range = self.ranks.entry(prefix.1).or_insert((rule.rank, rule.rank));
        *range = (range.0.min(rule.rank), range.1.max(rule.rank));
    }

    /// Whether longer prefixes still outrank shorter ones with this rule.
    fn admits(&self, prefix: crate::prefix::Prefix, rank: u64) -> bool {
        let fits = |(len, range): (&u8, &(u64, u64))| match len.cmp(&prefix.1) {
            std::cmp::Ordering::Less => range.1 < rank,
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => rank < range.0,
        };
        let is_known = self.prefixes.contains(prefix);
        !is_known && !self.prefixes.is_crowded(prefix) && self.ranks.iter().all(fits)
    }
}

/// # Safety
/// It came from `Box::into_raw` unless it is null, and was taken out of its cell by the caller.
unsafe fn take(overlay: *mut Overlay) -> Option<Box<Overlay>> {
    // SAFETY: the caller's.
    (!overlay.is_null()).then(|| unsafe { Box::from_raw(overlay) })
}
