//! Packet ports: how frames enter and leave this machine, one interface each.
//!
//! [`PacketPort`] is a kernel interface through `AF_PACKET`, [`memory_wire`] two ports joined in memory, and
//! [`FaultyPort`] a wrapper that loses, duplicates and reorders on purpose. Code above sees [`Port`] only.
//!
//! # Safety
//!
//! All `unsafe` of the packet path is in the module `packet`: system calls whose pointers live for the call, and the
//! receive ring, a memory area shared with the kernel in which each slot belongs to exactly one side, told by its
//! status word. Every block says what it relies on.
#![allow(unsafe_code)]

mod fault;
mod memory;
mod packet;
mod port;
mod random;

pub use fault::{Faults, FaultyPort, InjectedFaults};
pub use memory::{MemoryPort, memory_wire};
pub use packet::{OpenError, PacketPort, PacketPortOptions};
pub use port::{MAX_BURST, Port, Statistics};
pub use random::SplitMix64;
