//! System calls that more than one back end makes.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Turns the return value of a system call into a result.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Opens a socket that no other program inherits.
pub(crate) fn open_socket(domain: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    let descriptor = check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Bytes of sent frames that may wait in a driver: enough for the longest hardware queue, so that the socket's own
/// limit (about 270 small frames by default) never refuses.
const SEND_BUFFER_BYTES: libc::c_int = 16 << 20;

/// Lets as much of what a socket sends wait as drivers do.
pub(crate) fn enlarge_send_buffer(socket: &impl AsRawFd) -> io::Result<()> {
    // The forced form needs CAP_NET_ADMIN; without it the system's limit holds.
    set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER_BYTES)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER_BYTES))
}

/// Binds a packet socket to an interface; it receives frames of the protocol, none if that is 0.
pub(crate) fn bind_packet_socket(socket: &impl AsRawFd, interface: i32, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: all members of sockaddr_ll are plain data for which zero bytes are a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = interface;
    // SAFETY: `address` lives for the call, and the length is its size.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            mem::size_of_val(&address) as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Sets a socket option whose kernel type is `T`.
pub(crate) fn set_option<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: `value` lives for the call, and the length is its size.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            mem::size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// What the kernel may write as an option.
///
/// # Safety
/// It is plain integers: any bytes are a value of it.
pub(crate) unsafe trait SocketOption: Copy {}

// SAFETY: integers, and structures of integers alone.
unsafe impl SocketOption for i32 {}
// SAFETY: as above.
unsafe impl SocketOption for u32 {}
// SAFETY: as above.
unsafe impl SocketOption for libc::tpacket_stats {}
// SAFETY: as above.
unsafe impl SocketOption for libc::xdp_statistics {}
// SAFETY: as above.
unsafe impl SocketOption for libc::xdp_mmap_offsets {}

/// Reads a socket option whose kernel type is `T`.
pub(crate) fn get_option<T: SocketOption>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    mut value: T,
) -> io::Result<T> {
    let mut len = mem::size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` and `len` live for the call, `len` is the size of the former, and whatever is written is a value.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut len) })?;
    Ok(value)
}
