//! Bursts without a socket: the kernel makes the frames itself, runs a program on each, which copies one of ours into
//! it, and hands them to the driver as they are (`BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18).
//!
//! No packet is made of a frame, so that a further one costs a seventh of what it costs through a socket. The call
//! itself costs as much as a dozen frames there, so that only bursts are worth it. The kernel does not report what
//! became of the frames: a driver that refuses all of them is found out by a trial on the first occasion, and single
//! ones that it refuses by the counters of the interface.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use memmap2::MmapRaw;

use super::bpf::{self, instruction};
use crate::MAX_BURST;
use crate::interface::Interface;
use crate::system::map_shared;

/// From how many frames on a burst is faster this way: 12 us for the call and 0.15 us a frame, against 1 us a frame.
pub(super) const LEAST_BURST: usize = 24;
/// The longest frame; a page also has to hold the kernel's notes and room for headers.
pub(super) const MAX_FRAME_LEN: usize = SLOT_LEN - SLOT_HEADER_LEN;

/// In the shared memory: the number of the next slot, then the slots, each with the length of its frame first.
const HEADER_LEN: u8 = 64;
const SLOT_LEN: usize = 1 << SLOT_LEN_LOG2;
const SLOT_LEN_LOG2: u32 = 11;
const SLOT_HEADER_LEN: usize = 8;
const MEMORY_LEN: usize = HEADER_LEN as usize + MAX_BURST * SLOT_LEN;
/// What the kernel makes before the program gives a frame its own length.
const INITIAL_LEN: usize = 64;

/// Of `linux/bpf.h`.
const BPF_FUNC_REDIRECT: u32 = 23;
const BPF_FUNC_XDP_ADJUST_TAIL: u32 = 65;
const BPF_FUNC_XDP_STORE_BYTES: u32 = 190;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
const XDP_DROP: u32 = 1;
/// `offsetof(struct xdp_md, ingress_ifindex)`.
const INGRESS_INTERFACE: i16 = 12;

const PROBES: usize = 8;
const PROBE_LEN: usize = 60;
/// To the nearest bridge, which forwards it nowhere (IEEE 802.1Q table 8-1), of a type for local experiments.
const PROBE_HEADER: [u8; 14] = [0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0, 0x88, 0xb5];
/// The receiver of probes counts them at once, or soon after in another thread of the kernel.
const PROBE_PATIENCE: Duration = Duration::from_millis(5);

/// Frames of one burst, in memory that the program reads.
#[derive(Debug)]
pub(super) struct Slots {
    memory: MmapRaw,
    map: OwnedFd,
}

impl Slots {
    pub(super) fn new() -> io::Result<Self> {
        let map = bpf::create_shared_array(MEMORY_LEN as u32)?;
        Ok(Self {
            memory: map_shared(&map, MEMORY_LEN, 0)?,
            map,
        })
    }

    /// What goes before a program for arriving frames, to be attached to `interface`: nothing for those, and for all
    /// others the sending of the next slot.
    ///
    /// ```text
    /// r6 = context
    /// r2 = context->ingress_ifindex
    /// if r2 == interface goto arriving
    /// r7 = the memory                 (two slots)
    /// r8 = memory->next
    /// r1 = r8
    /// r1 += 1
    /// memory->next = r1
    /// r8 &= MAX_BURST - 1
    /// r8 <<= SLOT_LEN_LOG2
    /// r7 += r8
    /// r9 = slot->len
    /// if r9 > MAX_FRAME_LEN goto drop
    /// if r9 == 0 goto drop            the kernel only lets programs copy something
    /// r1 = context
    /// r2 = r9
    /// r2 -= INITIAL_LEN
    /// call bpf_xdp_adjust_tail
    /// if r0 != 0 goto drop
    /// r1 = context
    /// r2 = 0
    /// r3 = r7
    /// r3 += the frame in the slot
    /// r4 = r9
    /// call bpf_xdp_store_bytes
    /// if r0 != 0 goto drop
    /// r1 = interface
    /// r2 = 0                          no flags
    /// call bpf_redirect
    /// exit                            with its answer
    /// drop:
    /// r0 = XDP_DROP
    /// exit
    /// arriving:
    /// r1 = context
    /// ```
    pub(super) fn program(&self, interface: i32) -> Vec<u64> {
        send_next(interface, self.map.as_raw_fd()).to_vec()
    }

    /// Where to write a frame.
    fn slot_mut(&mut self, index: usize) -> &mut [u8] {
        let start = slot_offset(index) + SLOT_HEADER_LEN;
        // SAFETY: the slot is inside the memory, which lives as long as `self`; the mutable borrow allows one such
        // slice at a time, and the kernel reads slots during `LiveFrames::run` only, which borrows `self` as well.
        unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(start), MAX_FRAME_LEN) }
    }

    fn set_len(&self, index: usize, len: usize) {
        self.word(slot_offset(index)).store(len as u32, Ordering::Relaxed);
    }

    fn begin_with_the_first(&self) {
        self.word(0).store(0, Ordering::Relaxed);
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: callers name the beginning of the memory or of a slot, both of which are aligned to eight bytes and
        // outside of what `slot_mut` gives away.
        unsafe { AtomicU32::from_ptr(self.memory.as_mut_ptr().add(offset).cast()) }
    }
}

fn slot_offset(index: usize) -> usize {
    assert!(index < MAX_BURST, "a burst has no more frames");
    usize::from(HEADER_LEN) + index * SLOT_LEN
}

/// Sends bursts of one interface.
#[derive(Debug)]
pub(super) struct LiveFrames {
    slots: Slots,
    /// Attached to the interface: otherwise the kernel would change its own code for every call, which takes tens of
    /// milliseconds (`bpf_dispatcher_change_prog`).
    program: OwnedFd,
    acceptance: Acceptance,
}

/// Whether the driver takes frames of this kind: veth does as long as its peer has NAPI, by a native program or GRO.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Acceptance {
    Untried,
    /// Probes are on their way.
    Open {
        /// Frames that the interface had handled before them and that were not sent here.
        by_others: u64,
        until: Instant,
    },
    Given,
    Refused,
}

impl LiveFrames {
    pub(super) fn new(slots: Slots, program: OwnedFd) -> Self {
        Self {
            slots,
            program,
            acceptance: Acceptance::Untried,
        }
    }

    /// Whether the driver of the interface takes them, as far as known; it is tried out when first asked. `sent` counts
    /// the frames that have left the interface any other way.
    pub(super) fn are_accepted(&mut self, interface: &Interface, sent: u64) -> io::Result<bool> {
        if self.acceptance == Acceptance::Untried {
            let by_others = handled(interface)?.saturating_sub(sent);
            self.acceptance = match self.send(PROBES, &mut write_probe) {
                Err(_) => Acceptance::Refused,
                Ok(()) if have_left(interface, by_others, sent)? => Acceptance::Given,
                Ok(()) => Acceptance::Open {
                    by_others,
                    until: Instant::now() + PROBE_PATIENCE,
                },
            };
        }
        if let Acceptance::Open { by_others, until } = self.acceptance
            && Instant::now() > until
        {
            let are_taken = have_left(interface, by_others, sent)?;
            self.acceptance = if are_taken {
                Acceptance::Given
            } else {
                Acceptance::Refused
            };
        }
        Ok(self.acceptance == Acceptance::Given)
    }

    /// Sends a burst; `fill` as for [`crate::Sender::send_burst`].
    pub(super) fn send(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<()> {
        for index in 0..count {
            let len = fill(index, self.slots.slot_mut(index)).min(MAX_FRAME_LEN);
            self.slots.set_len(index, len);
        }
        self.run(count)
    }

    fn run(&mut self, count: usize) -> io::Result<()> {
        self.slots.begin_with_the_first();
        bpf::run_on_live_frames(&self.program, &[0; INITIAL_LEN], count as u32)
    }
}

fn write_probe(_: usize, buffer: &mut [u8]) -> usize {
    buffer[..PROBE_LEN].fill(0);
    buffer[..PROBE_HEADER.len()].copy_from_slice(&PROBE_HEADER);
    PROBE_LEN
}

/// Whether all probes have been counted on the interface.
fn have_left(interface: &Interface, by_others: u64, sent: u64) -> io::Result<bool> {
    Ok(handled(interface)? >= by_others + sent + PROBES as u64)
}

/// Frames that an interface was given and has counted.
fn handled(interface: &Interface) -> io::Result<u64> {
    let counters = interface.counters()?;
    Ok(counters.sent + counters.send_dropped)
}

fn send_next(interface: i32, map: RawFd) -> [u64; 34] {
    let frame_offset = u32::from(HEADER_LEN) + SLOT_HEADER_LEN as u32;
    [
        instruction(0xbf, 6, 1, 0, 0),
        instruction(0x61, 2, 1, INGRESS_INTERFACE, 0),
        instruction(0x15, 2, 0, 30, interface as u32),
        instruction(0x18, 7, BPF_PSEUDO_MAP_VALUE, 0, map as u32),
        instruction(0, 0, 0, 0, 0),
        instruction(0x61, 8, 7, 0, 0),
        instruction(0xbf, 1, 8, 0, 0),
        instruction(0x07, 1, 0, 0, 1),
        instruction(0x63, 7, 1, 0, 0),
        instruction(0x57, 8, 0, 0, MAX_BURST as u32 - 1),
        instruction(0x67, 8, 0, 0, SLOT_LEN_LOG2),
        instruction(0x0f, 7, 8, 0, 0),
        instruction(0x61, 9, 7, i16::from(HEADER_LEN), 0),
        instruction(0x25, 9, 0, 17, MAX_FRAME_LEN as u32),
        instruction(0x15, 9, 0, 16, 0),
        instruction(0xbf, 1, 6, 0, 0),
        instruction(0xbf, 2, 9, 0, 0),
        instruction(0x17, 2, 0, 0, INITIAL_LEN as u32),
        instruction(0x85, 0, 0, 0, BPF_FUNC_XDP_ADJUST_TAIL),
        instruction(0x55, 0, 0, 11, 0),
        instruction(0xbf, 1, 6, 0, 0),
        instruction(0xb7, 2, 0, 0, 0),
        instruction(0xbf, 3, 7, 0, 0),
        instruction(0x07, 3, 0, 0, frame_offset),
        instruction(0xbf, 4, 9, 0, 0),
        instruction(0x85, 0, 0, 0, BPF_FUNC_XDP_STORE_BYTES),
        instruction(0x55, 0, 0, 4, 0),
        instruction(0xb7, 1, 0, 0, interface as u32),
        instruction(0xb7, 2, 0, 0, 0),
        instruction(0x85, 0, 0, 0, BPF_FUNC_REDIRECT),
        instruction(0x95, 0, 0, 0, 0),
        instruction(0xb7, 0, 0, 0, XDP_DROP),
        instruction(0x95, 0, 0, 0, 0),
        instruction(0xbf, 1, 6, 0, 0),
    ]
}
