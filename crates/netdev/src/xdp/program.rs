//! The XDP program that hands the frames of a receive queue to the socket of that queue, with the time at which each
//! arrived, and its attachment.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use super::bpf::{self, Attachment, instruction};
use super::live::{LiveFrames, Slots};
use super::parts::Parts;

/// Of `linux/bpf.h`.
const XDP_PASS: u32 = 2;
const BPF_FUNC_KTIME_GET_NS: u32 = 5;
const BPF_FUNC_REDIRECT_MAP: u32 = 51;
const BPF_FUNC_XDP_ADJUST_META: u32 = 54;
/// `offsetof(struct xdp_md, ...)`.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const RX_QUEUE_INDEX: i16 = 16;

/// What the program writes directly before a frame: the time by `CLOCK_MONOTONIC` in nanoseconds.
pub(super) const STAMP_LEN: u64 = 8;

/// An attached program; dropping it detaches it.
#[derive(Debug)]
pub(super) struct Program {
    /// Keeps the program where it is as long as it is open.
    link: OwnedFd,
    sockets: OwnedFd,
}

impl Program {
    /// Loads the program and attaches it to an interface with this number of receive queues; no socket is known to it
    /// yet.
    ///
    /// If asked, with a part that sends bursts, where the kernel can do that.
    pub(super) fn attach(
        interface: i32,
        queues: u32,
        attachment: Attachment,
        parts: Parts,
        wants_live_frames: bool,
    ) -> io::Result<(Self, Option<LiveFrames>)> {
        let sockets = bpf::create_socket_map(queues)?;
        let arriving = stamp_and_redirect_to(sockets.as_raw_fd());
        let slots = if wants_live_frames { Slots::new().ok() } else { None };
        let sending = slots.and_then(|slots| {
            let program = bpf::load(&[slots.program(interface), arriving.to_vec()].concat()).ok()?;
            Some((slots, program))
        });
        let (program, live) = match sending {
            Some((slots, program)) => (program.try_clone()?, Some(LiveFrames::new(slots, program))),
            None => (parts.load(&arriving)?, None),
        };
        let link = bpf::attach(&program, interface, attachment)?;
        Ok((Self { link, sockets }, live))
    }

    /// Takes it off the interface, wherever that is by now: one that moves to another network namespace keeps it.
    pub(super) fn detach(&self) {
        // What is gone already needs nothing.
        let _ = bpf::detach(&self.link);
    }

    /// Sends the frames of a queue to this socket from now on.
    pub(super) fn redirect_to(&self, queue: u32, socket: &impl AsFd) -> io::Result<()> {
        bpf::set_entry(&self.sockets, queue, socket)
    }
}

impl Parts {
    fn load(self, instructions: &[u64]) -> io::Result<OwnedFd> {
        match self {
            Self::One => bpf::load(instructions),
            Self::Several => bpf::load_for_parts(instructions),
        }
    }
}

/// Notes the time, where the driver lets programs write before the frame, and redirects.
///
/// ```text
/// r6 = context
/// r2 = -STAMP_LEN
/// call bpf_xdp_adjust_meta
/// if r0 != 0 goto redirect
/// call bpf_ktime_get_ns
/// r1 = context->data
/// r2 = context->data_meta
/// r3 = r2
/// r3 += STAMP_LEN
/// if r3 > r1 goto redirect        the kernel wants to see this
/// *r2 = r0
/// redirect:
/// r2 = context->rx_queue_index
/// r1 = the map                    (two slots)
/// r3 = XDP_PASS                   what becomes of frames of a queue without socket
/// call bpf_redirect_map
/// exit                            with its answer
/// ```
fn stamp_and_redirect_to(map: RawFd) -> [u64; 17] {
    [
        instruction(0xbf, 6, 1, 0, 0),
        instruction(0xb7, 2, 0, 0, (STAMP_LEN as u32).wrapping_neg()),
        instruction(0x85, 0, 0, 0, BPF_FUNC_XDP_ADJUST_META),
        instruction(0x55, 0, 0, 7, 0),
        instruction(0x85, 0, 0, 0, BPF_FUNC_KTIME_GET_NS),
        instruction(0x61, 1, 6, DATA, 0),
        instruction(0x61, 2, 6, DATA_META, 0),
        instruction(0xbf, 3, 2, 0, 0),
        instruction(0x07, 3, 0, 0, STAMP_LEN as u32),
        instruction(0x2d, 3, 1, 1, 0),
        instruction(0x7b, 2, 0, 0, 0),
        instruction(0x61, 2, 6, RX_QUEUE_INDEX, 0),
        instruction(0x18, 1, 1, 0, map as u32),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, XDP_PASS),
        instruction(0x85, 0, 0, 0, BPF_FUNC_REDIRECT_MAP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_layout_of_the_kernel() {
        let program = stamp_and_redirect_to(7);
        let expected: [[u8; 8]; 4] = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0xb7, 0x02, 0, 0, 0xf8, 0xff, 0xff, 0xff],
            [0x85, 0, 0, 0, 54, 0, 0, 0],
            [0x55, 0, 7, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program[..4], expected.map(u64::from_le_bytes));
        let expected: [[u8; 8]; 6] = [
            [0x61, 0x62, 16, 0, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 7, 0, 0, 0],
            [0; 8],
            [0xb7, 0x03, 0, 0, 2, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program[11..], expected.map(u64::from_le_bytes));
    }
}
