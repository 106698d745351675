//! Which form suits the rules of a table.
//!
//! Rules with the same masks are a *unit*; so are the prefixes of one address field. Units of which one has only higher
//! ranks than the other are asked one after the other, and the first rule found is the answer. Units whose ranks mix
//! form one [`Group`], which compares ranks.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use brimful_openflow::MatchField;
use brimful_pipeline::Demands;

use crate::bitmap::{Bitmap, MOST_OCTETS, MOST_RULES, octets};
use crate::context::ValueCell;
use crate::key::MaskShape;
use crate::prefix::{Root, SHORTEST};
use crate::tuple::Tuple;

/// Rules that are compared one by one rather than hashed.
pub(crate) const MOST_CODED: usize = 4;
/// Mask shapes of one group that are hashed one by one rather than intersected.
const MOST_TUPLES: usize = 8;

/// Rules asked together.
pub(crate) enum Group {
    /// One after the other, by code.
    Rules(Vec<CodedRule>),
    /// One hash for each mask shape.
    Tuples(TupleGroup),
    /// Longest prefixes.
    Prefixes(PrefixGroup),
    /// Rows of bits.
    Bitmap(Arc<Bitmap>),
}

/// A rule as code.
pub(crate) struct CodedRule {
    pub(crate) demands: Demands,
    pub(crate) cell: Arc<ValueCell>,
}

/// Hashes, those that may have the highest ranks first.
pub(crate) struct TupleGroup {
    pub(crate) tuples: Vec<Arc<Tuple>>,
    /// No rule in a tuple or in those behind it has a rank above its ceiling.
    pub(crate) ceilings: Arc<[AtomicU64]>,
}

/// Prefixes of a field, all other demands being the same.
pub(crate) struct PrefixGroup {
    pub(crate) field: MatchField,
    pub(crate) constants: Demands,
    pub(crate) root: Arc<Root>,
}

/// A rule to plan for.
pub(crate) struct PlanRule<'r> {
    pub(crate) rank: u64,
    pub(crate) demands: &'r Demands,
}

/// A group before its structure is built: rules by their index, the highest rank first.
pub(crate) struct PlannedGroup {
    pub(crate) form: PlannedForm,
    pub(crate) rules: Vec<usize>,
}

/// The form of a group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PlannedForm {
    Rules,
    Tuples,
    Prefixes(MatchField),
    Bitmap,
}

/// A set of rules that belong together.
struct Unit {
    field: Option<MatchField>,
    rules: Vec<usize>,
    lowest: u64,
    highest: u64,
}

/// Chooses forms, the highest ranks first.
pub(crate) fn plan(rules: &[PlanRule<'_>]) -> Vec<PlannedGroup> {
    let mut all: Vec<usize> = (0..rules.len()).collect();
    all.sort_by_key(|&index| std::cmp::Reverse(rules[index].rank));
    if rules.len() <= MOST_CODED {
        let form = PlannedForm::Rules;
        return if all.is_empty() {
            Vec::new()
        } else {
            vec![PlannedGroup { form, rules: all }]
        };
    }
    let mut units = units(rules, &all);
    units.sort_by_key(|unit| std::cmp::Reverse(unit.highest));
    let mut merged: Vec<Vec<Unit>> = Vec::new();
    for unit in units {
        match merged.last_mut() {
            Some(group) if group.iter().any(|other| other.lowest < unit.highest) => group.push(unit),
            _ => merged.push(vec![unit]),
        }
    }
    let groups: Vec<PlannedGroup> = merged.into_iter().map(|units| form_of(units, rules)).collect();
    // Many groups one after the other cost more than one look at all of them.
    if groups.len() > MOST_TUPLES && suits_bitmap(&all, rules) {
        let form = PlannedForm::Bitmap;
        return vec![PlannedGroup { form, rules: all }];
    }
    groups
}

fn form_of(units: Vec<Unit>, rules: &[PlanRule<'_>]) -> PlannedGroup {
    let prefix_field = match units.as_slice() {
        [unit] => unit.field,
        _ => None,
    };
    let mut members: Vec<usize> = units.into_iter().flat_map(|unit| unit.rules).collect();
    members.sort_by_key(|&index| std::cmp::Reverse(rules[index].rank));
    let form = match prefix_field {
        Some(field) => PlannedForm::Prefixes(field),
        None if suits_bitmap(&members, rules) => PlannedForm::Bitmap,
        None => PlannedForm::Tuples,
    };
    PlannedGroup { form, rules: members }
}

fn suits_bitmap(members: &[usize], rules: &[PlanRule<'_>]) -> bool {
    let mut shapes: Vec<MaskShape> = members.iter().map(|&index| shape_of(rules[index].demands)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let demands: Vec<(&[_], u64)> = members
        .iter()
        .map(|&index| (rules[index].demands.as_slice(), 0))
        .collect();
    shapes.len() > MOST_TUPLES && members.len() <= MOST_RULES && octets(&demands).len() <= MOST_OCTETS
}

/// Units: one for each mask shape, but one for all prefixes of a field where longer ones have higher ranks.
fn units(rules: &[PlanRule<'_>], all: &[usize]) -> Vec<Unit> {
    let mut by_shape: BTreeMap<MaskShape, Vec<usize>> = BTreeMap::new();
    for &index in all {
        by_shape.entry(shape_of(rules[index].demands)).or_default().push(index);
    }
    let mut by_rest: HashMap<(MatchField, Demands), Vec<MaskShape>> = HashMap::new();
    for (shape, members) in &by_shape {
        if let Some((field, rest)) = prefix_set(members, rules) {
            by_rest.entry((field, rest)).or_default().push(shape.clone());
        }
    }
    let mut sets: Vec<_> = by_rest.into_iter().filter(|(_, shapes)| shapes.len() > 1).collect();
    sets.sort_by(|one, other| one.1.cmp(&other.1));
    let mut units = Vec::new();
    for ((field, _), shapes) in sets {
        let members: Vec<usize> = shapes
            .iter()
            .flat_map(|shape| by_shape[shape].iter().copied())
            .collect();
        if longer_outrank_shorter(field, &members, rules) {
            for shape in &shapes {
                by_shape.remove(shape);
            }
            units.push(Unit::new(Some(field), members, rules));
        }
    }
    units.extend(by_shape.into_values().map(|members| Unit::new(None, members, rules)));
    units
}

impl Unit {
    fn new(field: Option<MatchField>, members: Vec<usize>, rules: &[PlanRule<'_>]) -> Self {
        let ranks = || members.iter().map(|&index| rules[index].rank);
        Self {
            field,
            lowest: ranks().min().unwrap_or(0),
            highest: ranks().max().unwrap_or(0),
            rules: members,
        }
    }
}

/// The masks of a rule.
pub(crate) fn shape_of(demands: &Demands) -> MaskShape {
    demands.iter().map(|(field, _, mask)| (*field, *mask)).collect()
}

/// The field of which rules of one mask shape have prefixes, and what they all demand beside it.
fn prefix_set(members: &[usize], rules: &[PlanRule<'_>]) -> Option<(MatchField, Demands)> {
    let first = rules[*members.first()?].demands;
    let (field, ..) = first.iter().find(|demand| prefix_of(demand.0, first).is_some())?;
    let rest = without(first, *field);
    let is_same = |&index: &usize| without(rules[index].demands, *field) == rest;
    members.iter().all(is_same).then_some((*field, rest))
}

/// All demands but that on a field.
pub(crate) fn without(demands: &Demands, field: MatchField) -> Demands {
    demands.iter().filter(|demand| demand.0 != field).copied().collect()
}

/// The prefix that demands have of a field of 32 bits.
pub(crate) fn prefix_of(field: MatchField, demands: &Demands) -> Option<crate::prefix::Prefix> {
    if !matches!(field, MatchField::Ipv4Src | MatchField::Ipv4Dst) {
        return None;
    }
    let (_, value, mask) = demands.iter().find(|demand| demand.0 == field)?;
    let mask = *mask as u32;
    let len = mask.leading_ones() as u8;
    let is_prefix = mask.leading_ones() + mask.trailing_zeros() == 32 && len >= SHORTEST;
    is_prefix.then_some((*value as u32, len))
}

fn longer_outrank_shorter(field: MatchField, members: &[usize], rules: &[PlanRule<'_>]) -> bool {
    let mut by_len: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
    let mut prefixes = std::collections::HashSet::new();
    for &index in members {
        let rule = &rules[index];
        let Some(prefix) = prefix_of(field, rule.demands) else {
            return false;
        };
        if !prefixes.insert(prefix) {
            return false;
        }
        let range = by_len.entry(prefix.1).or_insert((rule.rank, rule.rank));
        *range = (range.0.min(rule.rank), range.1.max(rule.rank));
    }
    by_len
        .values()
        .zip(by_len.values().skip(1))
        .all(|(shorter, longer)| shorter.1 < longer.0)
}
