use crate::MatchField;

/// What a match says of one field.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FieldMatch {
    /// The field.
    pub field: MatchField,
    /// The value of the bits that count.
    pub value: u128,
    /// The bits that count; all of them where there is no mask.
    pub mask: Option<u128>,
}

/// A match, its fields in the order in which they were given. Without fields it matches every frame.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Match {
    /// What it says of each field.
    pub fields: Vec<FieldMatch>,
}

/// An action of OF 1.3.5 section 7.2.5.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Action {
    /// To a port, `port` being one of [`port`] or a number; of what goes to a controller, `max_len` bytes.
    Output {
        /// Where to.
        port: u32,
        /// Bytes for the controller.
        max_len: u16,
    },
    /// The time to live from the second outermost header to the outermost.
    CopyTtlOut,
    /// The time to live from the outermost header to the second outermost.
    CopyTtlIn,
    /// The time to live of MPLS.
    SetMplsTtl(u8),
    /// One less in the time to live of MPLS.
    DecMplsTtl,
    /// One more VLAN tag with this `EtherType`.
    PushVlan(u16),
    /// One VLAN tag less.
    PopVlan,
    /// One more label stack entry with this `EtherType`.
    PushMpls(u16),
    /// One label stack entry less; what follows has this `EtherType`.
    PopMpls(u16),
    /// The queue of later outputs.
    SetQueue(u32),
    /// Through a group.
    Group(u32),
    /// The time to live of IPv4 or the hop limit of IPv6.
    SetNwTtl(u8),
    /// One less in the time to live of IPv4 or the hop limit of IPv6.
    DecNwTtl,
    /// A value for a field.
    SetField {
        /// The field.
        field: MatchField,
        /// Its value.
        value: u128,
    },
    /// One more backbone header with this `EtherType`.
    PushPbb(u16),
    /// One backbone header less.
    PopPbb,
}

/// An instruction of OF 1.3.5 section 7.2.4.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Instruction {
    /// On with that table.
    GotoTable(u8),
    /// Bits of the metadata.
    WriteMetadata {
        /// Their values.
        value: u64,
        /// Which they are.
        mask: u64,
    },
    /// Into the action set.
    WriteActions(Vec<Action>),
    /// At once, in this order.
    ApplyActions(Vec<Action>),
    /// An empty action set.
    ClearActions,
    /// Through a meter.
    Meter(u32),
}

/// What a flow-mod does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum FlowCommand {
    Add,
    Modify,
    ModifyStrict,
    Delete,
    DeleteStrict,
}

/// Bits of [`FlowMod::flags`].
pub mod flow_flag {
    /// Notify the controller when the entry goes.
    pub const SEND_FLOW_REMOVED: u16 = 1;
    /// Refuse an entry that overlaps one of the same priority.
    pub const CHECK_OVERLAP: u16 = 2;
    /// Begin counting anew.
    pub const RESET_COUNTS: u16 = 4;
    /// Frames need not be counted.
    pub const NO_PACKET_COUNTS: u16 = 8;
    /// Bytes need not be counted.
    pub const NO_BYTE_COUNTS: u16 = 16;
}

/// Reserved ports (OF 1.3.5 section 7.2.1).
pub mod port {
    /// The largest number that a port can have.
    pub const MAX: u32 = 0xffff_ff00;
    /// The port that the frame came in by.
    pub const IN_PORT: u32 = 0xffff_fff8;
    /// The first table: in packet-outs only.
    pub const TABLE: u32 = 0xffff_fff9;
    /// What a switch without OpenFlow does.
    pub const NORMAL: u32 = 0xffff_fffa;
    /// All ports but that of the frame and blocked ones.
    pub const FLOOD: u32 = 0xffff_fffb;
    /// All ports but that of the frame.
    pub const ALL: u32 = 0xffff_fffc;
    /// A controller.
    pub const CONTROLLER: u32 = 0xffff_fffd;
    /// The switch's own end.
    pub const LOCAL: u32 = 0xffff_fffe;
    /// No port in particular.
    pub const ANY: u32 = 0xffff_ffff;
}

/// No group in particular.
pub const GROUP_ANY: u32 = 0xffff_ffff;
/// All groups.
pub const GROUP_ALL: u32 = 0xffff_fffc;
/// All tables.
pub const TABLE_ALL: u8 = 0xff;
/// No buffered packet.
pub const NO_BUFFER: u32 = 0xffff_ffff;
/// All of a frame to the controller.
pub const MAX_LEN_NO_BUFFER: u16 = 0xffff;

/// A change of flow tables.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlowMod {
    /// A mark of the controller's.
    pub cookie: u64,
    /// Bits of the cookie that entries to modify or delete must have.
    pub cookie_mask: u64,
    /// Which table; [`TABLE_ALL`] for all in a delete.
    pub table: u8,
    /// What to do.
    pub command: FlowCommand,
    /// Seconds without a frame until the entry goes; 0 for never.
    pub idle_timeout_s: u16,
    /// Seconds until the entry goes; 0 for never.
    pub hard_timeout_s: u16,
    /// Higher ones are asked first.
    pub priority: u16,
    /// A buffered packet to send through the tables, or [`NO_BUFFER`].
    pub buffer: u32,
    /// Deletes only entries that send to this port, unless [`port::ANY`].
    pub out_port: u32,
    /// Deletes only entries that use this group, unless [`GROUP_ANY`].
    pub out_group: u32,
    /// Of [`flow_flag`].
    pub flags: u16,
    /// What goes first when a table is full goes last with a high one (1.4).
    pub importance: u16,
    /// Which frames.
    pub matching: Match,
    /// What happens to them.
    pub instructions: Vec<Instruction>,
}

impl FlowMod {
    /// An entry to add to a table, without timeouts, flags or cookie.
    pub fn add(table: u8, priority: u16, matching: Match, instructions: Vec<Instruction>) -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table,
            command: FlowCommand::Add,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            priority,
            buffer: NO_BUFFER,
            out_port: port::ANY,
            out_group: GROUP_ANY,
            flags: 0,
            importance: 0,
            matching,
            instructions,
        }
    }
}

/// How a group chooses among its buckets.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum GroupType {
    /// Every one, each with a copy.
    All,
    /// One by weight, the same for all frames of a flow.
    Select,
    /// The only one.
    Indirect,
    /// The first that is alive.
    FastFailover,
}

/// Actions of a group.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Bucket {
    /// Its share in a select group.
    pub weight: u16,
    /// The port whose state is its own, or [`port::ANY`].
    pub watch_port: u32,
    /// The group whose state is its own, or [`GROUP_ANY`].
    pub watch_group: u32,
    /// What happens to the frame, as an action set.
    pub actions: Vec<Action>,
}

/// What a group-mod or a meter-mod does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum ModCommand {
    Add,
    Modify,
    Delete,
}

/// A change of groups.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GroupMod {
    /// What to do.
    pub command: ModCommand,
    /// How it chooses.
    pub group_type: GroupType,
    /// Which group.
    pub group: u32,
    /// What it chooses among.
    pub buckets: Vec<Bucket>,
}

/// Bits of [`MeterMod::flags`].
pub mod meter_flag {
    /// Rates are in kbit/s.
    pub const KBPS: u16 = 1;
    /// Rates are in packets/s.
    pub const PACKETS: u16 = 2;
    /// Bands say how large a burst may be.
    pub const BURST: u16 = 4;
    /// Count what passes.
    pub const STATISTICS: u16 = 8;
}

/// What a meter does above a rate.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BandType {
    /// Drops.
    Drop,
    /// Raises the drop precedence in the DSCP by this number of levels.
    DscpRemark(u8),
}

/// One rate of a meter.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Band {
    /// What happens above it.
    pub band_type: BandType,
    /// In kbit/s or packets/s.
    pub rate: u32,
    /// In kbit or packets.
    pub burst: u32,
}

/// A change of meters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MeterMod {
    /// What to do.
    pub command: ModCommand,
    /// Of [`meter_flag`].
    pub flags: u16,
    /// Which meter.
    pub meter: u32,
    /// What it does above which rates.
    pub bands: Vec<Band>,
}
