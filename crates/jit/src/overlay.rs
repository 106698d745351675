//! Rules that came since a table was compiled.

use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use brimful_frame::Headers;

use crate::context::{Context, RuleValue};
use crate::key::Subject;
use crate::tuple::{TOMBSTONE, Tuple};

/// Where code finds them; null where there are none.
pub(crate) type OverlayCell = AtomicPtr<Overlay>;

/// Rules added since the code was compiled: asked behind it, without code of their own.
pub(crate) struct Overlay {
    pub(crate) tuples: Vec<Arc<Tuple>>,
}

impl Overlay {
    /// The better of a rule and those here.
    ///
    /// # Safety
    /// The context is that of a worker with a frame on its way, within a burst.
    pub(crate) unsafe fn better(&self, context: &Context, value: u64) -> u64 {
        // SAFETY: the caller's.
        let frame = unsafe { context.frame() };
        let subject = Subject {
            frame,
            headers: Headers::parse(frame),
            in_port: context.in_port as u32,
            in_phy_port: context.in_phy_port as u32,
            metadata: context.metadata,
            tunnel_id: context.tunnel_id,
        };
        let rank = if value > TOMBSTONE {
            // SAFETY: the caller's; the value is that of a rule.
            unsafe { context.rule(RuleValue::counter_of(value)) }.map_or(0, |rule| rule.rank)
        } else {
            0
        };
        let found = self
            .tuples
            .iter()
            .filter_map(|tuple| tuple.find(&tuple.layout.of_subject(&subject)?));
        let best = found.max_by_key(|(_, rank)| *rank);
        best.filter(|(_, found)| *found > rank)
            .map_or(value, |(value, _)| value)
    }
}
