use std::collections::HashMap;
use std::sync::Arc;

use crate::{GroupEntry, MeterEntry};

/// Groups, meters and queues, as data-plane threads see them.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// By number.
    pub groups: HashMap<u32, Arc<GroupEntry>>,
    /// By number.
    pub meters: HashMap<u32, Arc<MeterEntry>>,
    /// The queues that ports have; `None` where it is not known.
    pub queues: Option<Arc<[u32]>>,
}

impl Shared {
    /// Whether a port may have this queue.
    pub(crate) fn has_queue(&self, queue: u32) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(&queue))
    }
}
