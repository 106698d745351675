//! The `bpf` system call: as much of it as loading and attaching hand-assembled XDP programs takes.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::system::check;

/// Commands, types and flags of `linux/bpf.h` and `linux/if_link.h`.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TEST_RUN: libc::c_long = 10;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_LINK_DETACH: libc::c_long = 34;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;
/// Of a program that does not mind whether a frame lies in one piece.
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
const LICENSE: &[u8] = b"Apache-2.0\0";

/// Where in the kernel the program runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attachment {
    /// In the driver, before the kernel makes a packet of the frame.
    Native,
    /// After that; works on every interface.
    Generic,
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log: [u32; 2],
    log_buffer: u64,
    kernel_version: u32,
    flags: u32,
}

/// Ends with padding, which the kernel wants to be zero.
#[repr(C)]
struct TestRun {
    program: u32,
    answer: u32,
    frame_len: u32,
    result_len: u32,
    frame: u64,
    result: u64,
    repetitions: u32,
    duration: u32,
    context_lens: [u32; 2],
    contexts: [u64; 2],
    flags: u32,
    processor: u32,
    batch: u32,
    padding: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// The layout of `struct bpf_insn`; the two registers share a byte.
pub(super) fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: u32) -> u64 {
    let registers = if cfg!(target_endian = "little") {
        source << 4 | destination
    } else {
        destination << 4 | source
    };
    let [low, high] = offset.to_ne_bytes();
    let [a, b, c, d] = immediate.to_ne_bytes();
    u64::from_ne_bytes([code, registers, low, high, a, b, c, d])
}

/// A map from the number of a queue to the socket of that queue.
pub(super) fn create_socket_map(queues: u32) -> io::Result<OwnedFd> {
    let map = MapCreate {
        map_type: BPF_MAP_TYPE_XSKMAP,
        key_size: 4,
        value_size: 4,
        max_entries: queues,
        flags: 0,
    };
    Ok(new_descriptor(bpf(BPF_MAP_CREATE, &map)?))
}

/// An array of `len` bytes that programs can use, and this process once it has mapped them.
pub(super) fn create_shared_array(len: u32) -> io::Result<OwnedFd> {
    let map = MapCreate {
        map_type: BPF_MAP_TYPE_ARRAY,
        key_size: 4,
        value_size: len,
        max_entries: 1,
        flags: BPF_F_MMAPABLE,
    };
    Ok(new_descriptor(bpf(BPF_MAP_CREATE, &map)?))
}

/// Enters a descriptor into a map with keys and values of four bytes.
pub(super) fn set_entry(map: &OwnedFd, key: u32, descriptor: &impl AsFd) -> io::Result<()> {
    let value = descriptor.as_fd().as_raw_fd() as u32;
    let update = MapUpdate {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    bpf(BPF_MAP_UPDATE_ELEM, &update)?;
    Ok(())
}

/// Gives a program to the kernel, which checks it.
pub(super) fn load(instructions: &[u64]) -> io::Result<OwnedFd> {
    load_with(instructions, 0)
}

/// The same for one that also meets frames in several parts.
pub(super) fn load_for_parts(instructions: &[u64]) -> io::Result<OwnedFd> {
    load_with(instructions, BPF_F_XDP_HAS_FRAGS)
}

fn load_with(instructions: &[u64], flags: u32) -> io::Result<OwnedFd> {
    let program = ProgramLoad {
        program_type: BPF_PROG_TYPE_XDP,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel_version: 0,
        flags,
    };
    Ok(new_descriptor(bpf(BPF_PROG_LOAD, &program)?))
}

/// Lets a program see what arrives at an interface for as long as the returned descriptor is open.
pub(super) fn attach(program: &OwnedFd, interface: i32, attachment: Attachment) -> io::Result<OwnedFd> {
    let link = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface: interface as u32,
        attach_type: BPF_XDP,
        flags: match attachment {
            Attachment::Native => XDP_FLAGS_DRV_MODE,
            Attachment::Generic => XDP_FLAGS_SKB_MODE,
        },
    };
    Ok(new_descriptor(bpf(BPF_LINK_CREATE, &link)?))
}

/// Takes a program off its interface.
pub(super) fn detach(link: &OwnedFd) -> io::Result<()> {
    bpf(BPF_LINK_DETACH, &(link.as_raw_fd() as u32))?;
    Ok(())
}

/// Runs a program on `count` copies of a frame, and does with each what the program says. All of them are done when it
/// returns, or none.
pub(super) fn run_on_live_frames(program: &OwnedFd, frame: &[u8], count: u32) -> io::Result<()> {
    let run = TestRun {
        program: program.as_raw_fd() as u32,
        answer: 0,
        frame_len: frame.len() as u32,
        result_len: 0,
        frame: frame.as_ptr() as u64,
        result: 0,
        repetitions: count,
        duration: 0,
        context_lens: [0; 2],
        contexts: [0; 2],
        flags: BPF_F_TEST_XDP_LIVE_FRAMES,
        processor: 0,
        batch: count,
        padding: 0,
    };
    bpf(BPF_PROG_TEST_RUN, &run)?;
    Ok(())
}

/// Makes a bpf call. `attributes` is the member of `union bpf_attr` that `command` reads, or the beginning of it: the
/// kernel takes what is missing for zero. Whatever it points to must live for the call.
fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: `attributes` lives for the call, and the length is its size; the callers above hold what its addresses
    // point to in locals or arguments.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            mem::size_of::<T>(),
        )
    };
    check(result as libc::c_int)
}

fn new_descriptor(number: libc::c_int) -> OwnedFd {
    // SAFETY: a descriptor that a bpf call has just made has no other owner.
    unsafe { OwnedFd::from_raw_fd(number) }
}
