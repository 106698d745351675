//! Two interfaces that the kernel joins by XDP: what arrives at one leaves by the other, and no program sees it.

use std::io;
use std::os::fd::OwnedFd;

use super::bpf::{self, Attachment, instruction};
use crate::interface::Interface;
use crate::{InterfaceCounters, OpenError};

/// Of `linux/bpf.h`.
const BPF_FUNC_REDIRECT: u32 = 23;
/// Any odd number: the product never settles at zero.
const MULTIPLIER: u32 = 1_103_515_245;

/// Forwards between two interfaces until it is dropped.
#[derive(Debug)]
pub struct XdpForwarder {
    interfaces: [Interface; 2],
    before: [InterfaceCounters; 2],
    /// Keep the programs where they are as long as they are open.
    _links: [OwnedFd; 2],
}

/// What became of the frames that arrived at one interface.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Forwarded {
    /// Frames that arrived.
    pub received: u64,
    /// Of those, frames that left by the other interface.
    pub forwarded: u64,
    /// Of those, frames that did not.
    pub dropped: u64,
}

impl XdpForwarder {
    /// The kernel follows the work step by step before it accepts a program, and gives up after a million instructions
    /// (`BPF_COMPLEXITY_LIMIT_INSNS`).
    pub const MOST_WORK: u32 = 100_000;

    /// Joins two interfaces of this network namespace. Each frame takes `work` multiplications, which depend on each
    /// other, on top of what it takes anyway: about two nanoseconds each.
    ///
    /// A veth takes redirected frames only when its peer has NAPI: a native XDP program, or GRO. Otherwise the kernel
    /// drops all of them, and counts them where they arrived. Generic attachment needs nothing of the peer.
    ///
    /// # Errors
    /// When there is no such interface, privilege is missing, another program is attached, the driver runs none, or the
    /// work is above [`Self::MOST_WORK`].
    pub fn start(names: [&str; 2], attachment: Attachment, work: u32) -> Result<Self, OpenError> {
        let [near, far] =
            names.map(|name| Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.into())));
        let interfaces = [near?, far?];
        let counters = |interface: &Interface| {
            let failed = |source| OpenError::system(interface.name(), "read its counters", source);
            interface.counters().map_err(failed)
        };
        let before = [counters(&interfaces[0])?, counters(&interfaces[1])?];
        let join = |from: &Interface, to: &Interface| {
            let program = bpf::load(&forward_to(to.index(), work));
            let link = program.and_then(|program| bpf::attach(&program, from.index(), attachment));
            link.map_err(|source| OpenError::attaching(from.name(), attachment, source))
        };
        let links = [
            join(&interfaces[0], &interfaces[1])?,
            join(&interfaces[1], &interfaces[0])?,
        ];
        Ok(Self {
            interfaces,
            before,
            _links: links,
        })
    }

    /// What has become of the frames that arrived at each interface, as far as the kernel has counted it.
    ///
    /// # Errors
    /// When an interface is gone.
    pub fn counts(&self) -> io::Result<[Forwarded; 2]> {
        let now = [self.interfaces[0].counters()?, self.interfaces[1].counters()?];
        let account = |from: usize, to: usize| {
            let received = now[from].received.saturating_sub(self.before[from].received);
            let forwarded = now[to].sent.saturating_sub(self.before[to].sent);
            Forwarded {
                received,
                forwarded,
                dropped: received.saturating_sub(forwarded),
            }
        };
        Ok([account(0, 1), account(1, 0)])
    }
}

/// ```text
/// r6 = work                       these five only when there is work
/// r7 = 1
/// r7 *= MULTIPLIER                step
/// r6 -= 1
/// if r6 != 0 goto step
/// r1 = interface
/// r2 = 0                          no flags
/// call bpf_redirect
/// exit                            with its answer
/// ```
fn forward_to(interface: i32, work: u32) -> Vec<u64> {
    let mut program = Vec::new();
    if work > 0 {
        program.extend([
            instruction(0xb7, 6, 0, 0, work),
            instruction(0xb7, 7, 0, 0, 1),
            instruction(0x27, 7, 0, 0, MULTIPLIER),
            instruction(0x17, 6, 0, 0, 1),
            instruction(0x55, 6, 0, -3, 0),
        ]);
    }
    program.extend([
        instruction(0xb7, 1, 0, 0, interface as u32),
        instruction(0xb7, 2, 0, 0, 0),
        instruction(0x85, 0, 0, 0, BPF_FUNC_REDIRECT),
        instruction(0x95, 0, 0, 0, 0),
    ]);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forwarder_without_work_has_four_instructions() {
        let expected: [[u8; 8]; 4] = [
            [0xb7, 0x01, 0, 0, 0x34, 0x12, 0, 0],
            [0xb7, 0x02, 0, 0, 0, 0, 0, 0],
            [0x85, 0, 0, 0, 23, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(forward_to(0x1234, 0), expected.map(u64::from_le_bytes));
    }

    #[test]
    fn work_goes_round_before_the_same_instructions() {
        let expected: [[u8; 8]; 5] = [
            [0xb7, 0x06, 0, 0, 0xe8, 0x03, 0, 0],
            [0xb7, 0x07, 0, 0, 1, 0, 0, 0],
            [0x27, 0x07, 0, 0, 0x6d, 0x4e, 0xc6, 0x41],
            [0x17, 0x06, 0, 0, 1, 0, 0, 0],
            [0x55, 0x06, 0xfd, 0xff, 0, 0, 0, 0],
        ];
        let program = forward_to(7, 1000);
        assert_eq!(program[..5], expected.map(u64::from_le_bytes));
        assert_eq!(program[5..], forward_to(7, 0));
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = XdpForwarder::start(["lo", "brimful-absent"], Attachment::Generic, 0).unwrap_err();
        assert!(error.to_string().contains("`brimful-absent`"), "{error}");
    }
}
