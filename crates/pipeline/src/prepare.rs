use std::hash::BuildHasher;
use std::sync::Arc;

use brimful_openflow::{ErrorCode, ErrorMessage, FlowCommand, FlowMod, TABLE_ALL};
use hashbrown::DefaultHashBuilder;

use crate::check::{check_instructions, check_match};
use crate::entry::{GivenMatch, InstructionOrder};
use crate::{CounterId, Demands, FlowEntry, Instructions, demands_of, describe};

/// All of [`brimful_openflow::flow_flag`].
const KNOWN_FLAGS: u16 = 0x1f;

/// Does everything about a flow-mod that takes no tables, in any thread.
#[derive(Clone, Debug)]
pub struct Preparer {
    hasher: DefaultHashBuilder,
    tables: u8,
}

/// A flow-mod that has been checked as far as that takes no tables, for [`crate::Pipeline::prepared_flow_mod`].
#[derive(Clone, Debug)]
pub struct PreparedFlowMod {
    /// What it adds. Where it modifies or deletes, what its parts say; of a deletion the instructions mean nothing.
    pub(crate) entry: Arc<FlowEntry>,
    /// What else there is to know where it modifies or deletes.
    pub(crate) selecting: Option<Box<Selecting>>,
}

/// How a flow-mod modifies or deletes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selecting {
    pub(crate) deletes: bool,
    pub(crate) is_strict: bool,
    pub(crate) cookie_mask: u64,
    pub(crate) out_port: u32,
    pub(crate) out_group: u32,
}

impl PreparedFlowMod {
    /// What its execution begins to read with.
    pub fn entry(&self) -> &FlowEntry {
        &self.entry
    }
}

impl Preparer {
    /// For this many tables.
    pub(crate) fn new(tables: u8) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            tables,
        }
    }

    /// Checks a flow-mod and makes what it adds.
    ///
    /// # Errors
    /// With the error for the controller.
    pub fn prepare(&self, change: FlowMod) -> Result<PreparedFlowMod, ErrorMessage> {
        self.prepare_as(change, true)
    }

    /// The same; prerequisites are asked for only where it is `strict`.
    pub(crate) fn prepare_as(&self, change: FlowMod, strict: bool) -> Result<PreparedFlowMod, ErrorMessage> {
        check_match(&change.matching, strict)?;
        let deletes = matches!(change.command, FlowCommand::Delete | FlowCommand::DeleteStrict);
        if change.table >= self.tables && !(deletes && change.table == TABLE_ALL) {
            let text = format!("table {}: there are tables 0 to {}", change.table, self.tables - 1);
            return Err(ErrorCode::FLOW_TABLE.because(text));
        }
        if change.flags & !KNOWN_FLAGS != 0 {
            return Err(ErrorCode::FLOW_FLAGS.because(format!("flags {:#x} are not known", change.flags)));
        }
        let (instructions, given) = if deletes {
            (Instructions::default(), InstructionOrder::default())
        } else {
            let (given, tables) = (change.instructions, self.tables);
            let checked = check_instructions(given, &change.matching, change.table, tables, strict)?;
            describe::check_flow(&checked.0)?;
            checked
        };
        let demands = demands_of(&change.matching);
        let entry = FlowEntry {
            table: change.table,
            priority: change.priority,
            order: 0,
            key_hash: self.key_hash(change.priority, &demands),
            demands,
            given_match: GivenMatch::of(&change.matching),
            instructions,
            given,
            cookie: change.cookie,
            flags: change.flags,
            importance: change.importance,
            idle_timeout_s: change.idle_timeout_s,
            hard_timeout_s: change.hard_timeout_s,
            installed_at: 0,
            counter: CounterId(0),
        };
        let selecting = || Selecting {
            deletes,
            is_strict: matches!(change.command, FlowCommand::ModifyStrict | FlowCommand::DeleteStrict),
            cookie_mask: change.cookie_mask,
            out_port: change.out_port,
            out_group: change.out_group,
        };
        Ok(PreparedFlowMod {
            entry: Arc::new(entry),
            selecting: (change.command != FlowCommand::Add).then(|| Box::new(selecting())),
        })
    }

    /// The hash by which entries are found.
    pub(crate) fn key_hash(&self, priority: u16, demands: &Demands) -> u64 {
        self.hasher.hash_one((priority, demands))
    }
}
