//! Packet ports: how frames enter and leave this machine, one interface each.
//!
//! [`PacketPort`] is a kernel interface through `AF_PACKET`, [`XdpPort`] one through `AF_XDP`, [`TapPort`] the
//! program's end of a TAP. [`memory_wire`] gives two ports joined in memory, [`loopback`] one that receives what it
//! sends, [`PcapPort`] replays and writes capture files, and [`FaultyPort`] mistreats the frames of any port on purpose.
//! Each is a [`Port`]: a [`Sender`] and a [`Receiver`], which two threads may use at once. Code above sees these only.
//! [`XdpForwarder`] is no port: it lets the kernel pass frames between two interfaces.
//!
//! # Safety
//!
//! All `unsafe` of the packet path is in the back ends of the kernel and their system calls: pointers that live for the
//! call, and memory shared with the kernel or another thread in which each part belongs to exactly one side, known by a
//! status word (`packet`) or by the rings (`xdp`, `memory`, `ring`). Every block says what it relies on.
#![allow(unsafe_code)]

mod arrived;
mod claim;
mod error;
mod fault;
mod interface;
mod joined;
mod links;
mod loopback;
mod mark;
mod memory;
mod offload;
mod open;
mod packet;
mod pcap;
mod port;
mod probe;
mod processor;
mod promiscuity;
mod ring;
mod routes;
#[cfg(all(test, not(feature = "loom")))]
#[path = "../../skip.rs"]
mod skip;
mod slice;
mod sync;
mod system;
mod tags;
mod tap;
mod time;
mod wait;
mod xdp;

pub use arrived::Arrived;
pub use claim::{Care, Claim};
pub use error::OpenError;
pub use fault::{FaultPlan, Faults, FaultyPort, FaultyReceiver, FaultySender, InjectedFaults};
pub use interface::{hardware_address, link_speed};
pub use loopback::loopback;
pub use mark::Mark;
pub use memory::{MemoryPort, MemoryReceiver, MemorySender, memory_wire};
pub use offload::{MergedFrame, Offload, Segments};
pub use open::BackEnd;
pub use packet::{PacketPort, PacketPortOptions, PacketReceiver, PacketRing, PacketSender};
pub use pcap::{
    Capture, CaptureBlocks, CaptureError, CaptureFlaw, CaptureWriter, CapturedWay, PcapPort, PcapReceiver, PcapSender,
    Replay,
};
pub use port::{
    AnyPort, Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, Port, ReceiveStatistics, Receiver, SendStatistics,
    Sender, Take,
};
pub use probe::{Attempt, Findings, interface_names, try_back_ends};
pub use processor::processor_cycles;
pub use slice::{times_displaced, use_short_slices};
pub use tap::{TapPort, TapReceiver, TapSender};
pub use time::MonotonicTime;
pub use wait::wait_for_frames;
pub use xdp::{Attachment, Forwarded, XdpForwarder, XdpPort, XdpReceiver, XdpSender};
