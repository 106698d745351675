//! The XDP program that hands the frames of a receive queue to the socket of that queue, and its attachment.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::system::check;

/// Commands, types and flags of `linux/bpf.h` and `linux/if_link.h`.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
const XDP_PASS: u32 = 2;
const BPF_FUNC_REDIRECT_MAP: u32 = 51;
/// `offsetof(struct xdp_md, rx_queue_index)`.
const RX_QUEUE_INDEX: u16 = 16;
const LICENSE: &[u8] = b"Apache-2.0\0";

/// Where in the kernel the program runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attachment {
    /// In the driver, before the kernel makes a packet of the frame.
    Native,
    /// After that; works on every interface.
    Generic,
}

/// An attached program; dropping it detaches it.
#[derive(Debug)]
pub(super) struct Program {
    /// Keeps the program where it is as long as it is open.
    _link: OwnedFd,
    sockets: OwnedFd,
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
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

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

impl Program {
    /// Loads the program and attaches it to an interface; no socket is known to it yet.
    pub(super) fn attach(interface: i32, attachment: Attachment) -> io::Result<Self> {
        let sockets = create_socket_map()?;
        let program = load(&redirect_to(sockets.as_raw_fd()))?;
        let link = LinkCreate {
            program: program.as_raw_fd() as u32,
            interface: interface as u32,
            attach_type: BPF_XDP,
            flags: match attachment {
                Attachment::Native => XDP_FLAGS_DRV_MODE,
                Attachment::Generic => XDP_FLAGS_SKB_MODE,
            },
        };
        Ok(Self {
            _link: new_descriptor(bpf(BPF_LINK_CREATE, &link)?),
            sockets,
        })
    }

    /// Sends the frames of the first queue to this socket from now on.
    pub(super) fn redirect_to(&self, socket: &impl AsRawFd) -> io::Result<()> {
        let (queue, descriptor) = (0_u32, socket.as_raw_fd() as u32);
        let update = MapUpdate {
            map: self.sockets.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const queue) as u64,
            value: (&raw const descriptor) as u64,
            flags: 0,
        };
        bpf(BPF_MAP_UPDATE_ELEM, &update)?;
        Ok(())
    }
}

/// ```text
/// r2 = context->rx_queue_index
/// r1 = the map                    (two slots)
/// r3 = XDP_PASS                   what becomes of frames of a queue without socket
/// call bpf_redirect_map
/// exit                            with its answer
/// ```
fn redirect_to(map: RawFd) -> [u64; 6] {
    [
        instruction(0x61, 2, 1, RX_QUEUE_INDEX, 0),
        instruction(0x18, 1, 1, 0, map as u32),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, XDP_PASS),
        instruction(0x85, 0, 0, 0, BPF_FUNC_REDIRECT_MAP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// The layout of `struct bpf_insn` on a little-endian machine; the two registers share a byte.
fn instruction(code: u8, destination: u8, source: u8, offset: u16, immediate: u32) -> u64 {
    let registers = if cfg!(target_endian = "little") {
        source << 4 | destination
    } else {
        destination << 4 | source
    };
    let [low, high] = offset.to_ne_bytes();
    let [a, b, c, d] = immediate.to_ne_bytes();
    u64::from_ne_bytes([code, registers, low, high, a, b, c, d])
}

fn create_socket_map() -> io::Result<OwnedFd> {
    let map = MapCreate {
        map_type: BPF_MAP_TYPE_XSKMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
    };
    Ok(new_descriptor(bpf(BPF_MAP_CREATE, &map)?))
}

fn load(instructions: &[u64]) -> io::Result<OwnedFd> {
    let program = ProgramLoad {
        program_type: BPF_PROG_TYPE_XDP,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel_version: 0,
        flags: 0,
    };
    Ok(new_descriptor(bpf(BPF_PROG_LOAD, &program)?))
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
    // SAFETY: a descriptor that a bpf call has just made is nobody else's.
    unsafe { OwnedFd::from_raw_fd(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_layout_of_the_kernel() {
        let expected: [[u8; 8]; 6] = [
            [0x61, 0x12, 16, 0, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 7, 0, 0, 0],
            [0; 8],
            [0xb7, 0x03, 0, 0, 2, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(redirect_to(7), expected.map(u64::from_le_bytes));
    }
}
