use brimful_openflow::{Action, Bucket, GroupType};

use crate::CounterId;

/// A group. It does not change: a modification makes another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GroupEntry {
    /// Its number.
    pub group: u32,
    /// How it chooses.
    pub group_type: GroupType,
    /// What it chooses among.
    pub buckets: Vec<Bucket>,
    /// Its packets and bytes.
    pub counter: CounterId,
    /// Those of each bucket.
    pub bucket_counters: Vec<CounterId>,
    /// Nanoseconds of the owner's clock.
    pub installed_at: u64,
}

impl GroupEntry {
    /// Groups that its buckets use.
    pub fn chained(&self) -> impl Iterator<Item = u32> {
        chained(&self.buckets)
    }
}

/// Groups that buckets use.
pub(crate) fn chained(buckets: &[Bucket]) -> impl Iterator<Item = u32> {
    let actions = buckets.iter().flat_map(|bucket| &bucket.actions);
    actions.filter_map(|action| match action {
        Action::Group(group) => Some(*group),
        _ => None,
    })
}
