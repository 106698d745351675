//! What becomes of rules while a table is laid out anew.

use std::sync::Arc;

use brimful_pipeline::FlowEntry;
use rand_xoshiro::SplitMix64;

use crate::placing::NewRule;
use crate::reclaim::Garbage;
use crate::version::Version;

/// A rule as it is while a table is laid out.
#[derive(Clone)]
pub(crate) struct NotedRule {
    pub(crate) counter: u32,
    pub(crate) value: u64,
    pub(crate) entry: Arc<FlowEntry>,
}

/// What has become of a rule since a layout began.
#[derive(Clone)]
pub(crate) enum Since {
    Installed(NotedRule),
    Removed(u32),
}

impl NotedRule {
    pub(crate) fn as_new(&self) -> NewRule<'_> {
        NewRule {
            counter: self.counter,
            rank: self.entry.rank(),
            demands: &self.entry.demands,
            value: self.value,
        }
    }
}

/// Does to a new form what was done to the old one meanwhile.
pub(crate) fn make_up_for(version: &mut Version, since: &Since, random: &mut SplitMix64, garbage: &mut Garbage) {
    match since {
        Since::Installed(rule) if version.has(rule.counter) => version.replace(rule.counter, rule.value, garbage),
        Since::Installed(rule) => version.insert(&rule.as_new(), random, garbage),
        Since::Removed(counter) => version.remove(*counter, garbage),
    }
}
