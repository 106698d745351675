//! System calls that more than one back end makes.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

/// Turns the return value of a system call into a result.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Opens a packet socket that receives nothing until it is bound, and never waits.
pub(crate) fn open_packet_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)
}

/// Maps what the kernel shares by a descriptor: the rings of a socket, which must have been set up with this length.
pub(crate) fn map_shared(of: &impl AsFd, len: usize, offset: u64) -> io::Result<MmapRaw> {
    MmapOptions::new()
        .offset(offset)
        .len(len)
        .populate()
        .map_raw(&of.as_fd())
}

/// Bytes of sent frames that may wait in a driver: enough for the longest hardware queue, so that the socket's own
/// limit (about 270 small frames by default) never refuses.
const SEND_BUFFER_BYTES: usize = 16 << 20;

/// Lets as much of what a socket sends wait as drivers do.
pub(crate) fn enlarge_send_buffer(socket: &impl AsFd) -> io::Result<()> {
    // The forced form needs CAP_NET_ADMIN; without it the system's limit holds.
    sockopt::set_socket_send_buffer_size_force(socket, SEND_BUFFER_BYTES)
        .or_else(|_| sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER_BYTES))?;
    Ok(())
}

/// Whether the interface that a packet socket was bound to is gone: the socket forgets it.
pub(crate) fn is_unbound(socket: &impl AsFd) -> bool {
    let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
    let mut len = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` has room for `len` bytes, and all of its bytes are written already.
    let answer = unsafe { libc::getsockname(socket.as_fd().as_raw_fd(), address.as_mut_ptr().cast(), &raw mut len) };
    // SAFETY: any bytes are an address.
    answer == 0 && unsafe { address.assume_init() }.sll_ifindex < 0
}

/// Binds a packet socket to an interface; it receives frames of the protocol, none if that is 0.
pub(crate) fn bind_packet_socket(socket: &impl AsFd, interface: i32, protocol: libc::c_int) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: `address` lives for the call, and the length is its size.
    check(unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            mem::size_of_val(&address) as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Sets a socket option whose kernel type is `T`.
pub(crate) fn set_option<T>(socket: &impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` lives for the call, and the length is its size.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            mem::size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Reads an option of a packet socket, a number of words.
pub(crate) fn packet_option<const WORDS: usize>(socket: &impl AsFd, option: libc::c_int) -> io::Result<[u32; WORDS]> {
    let mut words = [0; WORDS];
    let mut len = mem::size_of_val(&words) as libc::socklen_t;
    // SAFETY: `words` and `len` live for the call, and `len` is the size of the former.
    check(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            option,
            words.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    Ok(words)
}
