use brimful_openflow::{Action, FieldMatch, Instruction, Match, MatchField};
use smallvec::SmallVec;

use crate::CounterId;

/// What a rule demands of the fields of a frame: field, value and mask, sorted by field. Fields whose mask has no bits
/// are left out. Of many rules that look at few fields, each is one piece of memory.
pub type Demands = SmallVec<[(MatchField, u128, u128); 2]>;

/// Instructions by kind. They are done in the order of the members (OF 1.3.5 section 5.9).
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Instructions {
    /// A meter.
    pub meter: Option<u32>,
    /// Actions done at once.
    pub apply: Vec<Action>,
    /// Whether the action set is emptied.
    pub clear: bool,
    /// Actions for the action set.
    pub write: Vec<Action>,
    /// Metadata to write, and which bits of it.
    pub metadata: Option<(u64, u64)>,
    /// The next table.
    pub goto: Option<u8>,
}

/// An entry of a flow table. It does not change: a modification makes another one with the same counter and order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlowEntry {
    /// The table.
    pub table: u8,
    /// Higher ones are asked first.
    pub priority: u16,
    /// Of entries of the same priority, lower ones are asked first: it counts what was added before.
    pub order: u64,
    /// The match as it is compared.
    pub demands: Demands,
    /// How the match was given.
    pub(crate) given_match: GivenMatch,
    /// The hash of priority and demands.
    pub(crate) key_hash: u64,
    /// The instructions as they are done.
    pub instructions: Instructions,
    /// The order in which they were given.
    pub(crate) given: InstructionOrder,
    /// The controller's mark.
    pub cookie: u64,
    /// Of [`brimful_openflow::flow_flag`].
    pub flags: u16,
    /// Goes last when a table is full with a high one.
    pub importance: u16,
    /// Seconds without a frame until it goes; 0 for never.
    pub idle_timeout_s: u16,
    /// Seconds until it goes; 0 for never.
    pub hard_timeout_s: u16,
    /// Nanoseconds of the owner's clock.
    pub installed_at: u64,
    /// Its packets and bytes.
    pub counter: CounterId,
}

impl FlowEntry {
    /// Higher ranks are asked first; no two entries of a table have the same.
    pub fn rank(&self) -> u64 {
        const ORDER_BITS: u32 = 48;
        u64::from(self.priority) << ORDER_BITS | (!self.order & ((1 << ORDER_BITS) - 1))
    }

    /// Whether it is the table-miss entry.
    pub fn is_table_miss(&self) -> bool {
        self.priority == 0 && self.demands.is_empty()
    }

    /// Whether any of its actions sends to a port.
    pub fn outputs_to(&self, port: u32) -> bool {
        self.actions()
            .any(|action| matches!(action, Action::Output { port: own, .. } if *own == port))
    }

    /// Whether any of its actions uses a group.
    pub fn uses_group(&self, group: u32) -> bool {
        self.actions().any(|action| *action == Action::Group(group))
    }

    /// Whether it meets demands, as a non-strict flow-mod asks: whether every frame that meets it meets them.
    pub fn meets(&self, demands: &Demands) -> bool {
        covers(demands, &self.demands)
    }

    fn actions(&self) -> impl Iterator<Item = &Action> {
        self.instructions.apply.iter().chain(&self.instructions.write)
    }

    /// The match as it was given.
    pub fn matching(&self) -> Match {
        let given = self.given_match.0.iter();
        let fields = given.map(|&(field, has_mask)| {
            let demand = self.demands.iter().find(|demand| demand.0 == field);
            // What is not demanded had a mask without bits.
            let (value, mask) = demand.map_or((0, 0), |(_, value, mask)| (*value, *mask));
            FieldMatch {
                field,
                value,
                mask: has_mask.then_some(mask),
            }
        });
        Match {
            fields: fields.collect(),
        }
    }

    /// The instructions as they were given.
    pub fn given(&self) -> Vec<Instruction> {
        let kinds = self.given.0.iter().flatten();
        kinds.filter_map(|kind| self.instructions.of_kind(*kind)).collect()
    }
}

impl Instructions {
    fn of_kind(&self, kind: InstructionKind) -> Option<Instruction> {
        Some(match kind {
            InstructionKind::GotoTable => Instruction::GotoTable(self.goto?),
            InstructionKind::WriteMetadata => {
                let (value, mask) = self.metadata?;
                Instruction::WriteMetadata { value, mask }
            }
            InstructionKind::WriteActions => Instruction::WriteActions(self.write.clone()),
            InstructionKind::ApplyActions => Instruction::ApplyActions(self.apply.clone()),
            InstructionKind::ClearActions => Instruction::ClearActions,
            InstructionKind::Meter => Instruction::Meter(self.meter?),
        })
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum InstructionKind {
    GotoTable,
    WriteMetadata,
    WriteActions,
    ApplyActions,
    ClearActions,
    Meter,
}

/// Which instructions were given, in their order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct InstructionOrder([Option<InstructionKind>; 6]);

impl InstructionOrder {
    /// Of these; `None` where one stands twice.
    pub(crate) fn of(given: &[Instruction]) -> Option<Self> {
        let mut order = Self::default();
        for (index, instruction) in given.iter().enumerate() {
            let kind = match instruction {
                Instruction::GotoTable(_) => InstructionKind::GotoTable,
                Instruction::WriteMetadata { .. } => InstructionKind::WriteMetadata,
                Instruction::WriteActions(_) => InstructionKind::WriteActions,
                Instruction::ApplyActions(_) => InstructionKind::ApplyActions,
                Instruction::ClearActions => InstructionKind::ClearActions,
                Instruction::Meter(_) => InstructionKind::Meter,
            };
            if order.0.contains(&Some(kind)) {
                return None;
            }
            order.0[index] = Some(kind);
        }
        Some(order)
    }
}

/// The fields of a match in the order in which they were given, and whether each had a mask: with the demands, all that
/// there is to know of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GivenMatch(SmallVec<[(MatchField, bool); 8]>);

impl GivenMatch {
    /// Of a match that has been checked.
    pub(crate) fn of(matching: &Match) -> Self {
        let fields = matching.fields.iter();
        Self(fields.map(|one| (one.field, one.mask.is_some())).collect())
    }
}

/// The demands of a match, fields sorted, masks made explicit.
pub fn demands_of(matching: &Match) -> Demands {
    let mut demands = Demands::with_capacity(matching.fields.len());
    for FieldMatch { field, value, mask } in &matching.fields {
        let mask = mask.unwrap_or(field.largest()) & field.largest();
        if mask != 0 {
            demands.push((*field, value & mask, mask));
        }
    }
    demands.sort_by_key(|demand| demand.0);
    demands
}

/// Whether some frame may meet both.
pub(crate) fn overlap(one: &[(MatchField, u128, u128)], other: &[(MatchField, u128, u128)]) -> bool {
    one.iter().all(|(field, value, mask)| {
        other.iter().all(|(other_field, other_value, other_mask)| {
            field != other_field || (value ^ other_value) & mask & other_mask == 0
        })
    })
}

/// Whether every frame that meets `narrow` meets `wide`, as a non-strict flow-mod asks.
pub(crate) fn covers(wide: &[(MatchField, u128, u128)], narrow: &[(MatchField, u128, u128)]) -> bool {
    wide.iter().all(|(field, value, mask)| {
        narrow
            .iter()
            .any(|(own, own_value, own_mask)| own == field && own_mask & mask == *mask && own_value & mask == *value)
    })
}
