use std::collections::HashMap;
use std::sync::Arc;

use crate::{GroupEntry, MeterEntry};

/// Groups and meters, as data-plane threads see them.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// By number.
    pub groups: HashMap<u32, Arc<GroupEntry>>,
    /// By number.
    pub meters: HashMap<u32, Arc<MeterEntry>>,
}
