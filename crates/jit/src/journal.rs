//! What becomes of rules while a table is laid out anew.

use std::sync::Arc;

use brimful_pipeline::FlowEntry;

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
pub(crate) fn make_up_for(
    version: &mut Version,
    since: &Since,
    factor: &mut dyn FnMut() -> u64,
    garbage: &mut Garbage,
) {
    match since {
        Since::Installed(rule) if version.has(rule.counter) => version.replace(rule.counter, rule.value, garbage),
        Since::Installed(rule) => version.insert(&rule.as_new(), factor, garbage),
        Since::Removed(counter) => version.remove(*counter, garbage),
    }
}

/// The next factor of a hash (`SplitMix64`).
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
