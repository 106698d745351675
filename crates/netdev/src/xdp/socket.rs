//! The socket: registration of the frames, the rings, and the kick that makes the kernel send.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::thread;
use std::time::Duration;

use super::bpf::Attachment;
use super::memory::{Frames, Ring};
use super::parts::Parts;
use crate::system::{check, get_option, set_option};

/// `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h`: frames sent for one kick, 32 where the kernel does not know it.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// Of `linux/if_xdp.h`: frames come in several chunks where one does not hold them.
const XDP_USE_SG: u16 = 1 << 4;
/// A socket that was just closed gives its queue back late.
const BIND_ATTEMPTS: u32 = 50;
const BIND_PAUSE: Duration = Duration::from_millis(10);

/// An `AF_XDP` socket.
#[derive(Debug)]
pub(super) struct XdpSocket {
    descriptor: OwnedFd,
}

/// Its four rings.
pub(super) struct Rings {
    pub(super) fill: Ring<u64>,
    pub(super) completion: Ring<u64>,
    pub(super) receive: Ring<libc::xdp_desc>,
    pub(super) send: Ring<libc::xdp_desc>,
}

/// What became of a bound socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    /// Frames that the kernel sends for one kick.
    pub(super) budget: u32,
    /// Whether the card itself reads and writes the frames. Then a kick starts it, however many there are.
    pub(super) is_zero_copy: bool,
}

/// Entries of the rings, powers of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) receive: u32,
    pub(super) send: u32,
}

impl XdpSocket {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let descriptor = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        Ok(Self {
            // SAFETY: the descriptor is new and has no other owner.
            descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) },
        })
    }

    /// Makes the rings around `frames`, which must live as long as the socket.
    pub(super) fn make_rings(&self, frames: &Frames, sizes: Sizes) -> io::Result<Rings> {
        let set = |option, value: u32| set_option(self, libc::SOL_XDP, option, &value);
        set_option(self, libc::SOL_XDP, libc::XDP_UMEM_REG, &frames.registration())?;
        set(libc::XDP_UMEM_FILL_RING, sizes.receive)?;
        set(libc::XDP_UMEM_COMPLETION_RING, sizes.send)?;
        set(libc::XDP_RX_RING, sizes.receive)?;
        set(libc::XDP_TX_RING, sizes.send)?;
        // SAFETY: all members are integers for which zero bytes are a value.
        let zero: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
        let offsets = get_option(self, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, zero)?;
        let fill_at = libc::XDP_UMEM_PGOFF_FILL_RING.cast_signed();
        let completion_at = libc::XDP_UMEM_PGOFF_COMPLETION_RING.cast_signed();
        Ok(Rings {
            fill: Ring::new(self, offsets.fr, sizes.receive, fill_at)?,
            completion: Ring::new(self, offsets.cr, sizes.send, completion_at)?,
            receive: Ring::new(self, offsets.rx, sizes.receive, libc::XDP_PGOFF_RX_RING)?,
            send: Ring::new(self, offsets.tx, sizes.send, libc::XDP_PGOFF_TX_RING)?,
        })
    }

    /// Binds to a queue of an interface: without copies where its driver can do that and runs the program.
    pub(super) fn start(
        &self,
        interface: i32,
        queue: u32,
        (attachment, parts): (Attachment, Parts),
        budget: u32,
    ) -> io::Result<Started> {
        // With neither this nor its opposite the kernel takes zero copy if it can.
        let copies = match attachment {
            Attachment::Native => 0,
            Attachment::Generic => libc::XDP_COPY,
        };
        let parts = match parts {
            Parts::One => 0,
            Parts::Several => XDP_USE_SG,
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: copies | libc::XDP_USE_NEED_WAKEUP | parts,
            sxdp_ifindex: interface as u32,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let mut attempts = 0;
        loop {
            // SAFETY: `address` lives for the call, and the length is its size.
            let bound = check(unsafe {
                libc::bind(
                    self.as_raw_fd(),
                    (&raw const address).cast(),
                    mem::size_of_val(&address) as libc::socklen_t,
                )
            });
            match bound {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && attempts < BIND_ATTEMPTS => {
                    attempts += 1;
                    thread::sleep(BIND_PAUSE);
                }
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        let has_budget = set_option(self, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget).is_ok();
        let options = get_option(self, libc::SOL_XDP, libc::XDP_OPTIONS, 0_u32)?;
        Ok(Started {
            budget: if has_budget { budget } else { 32 },
            is_zero_copy: options & libc::XDP_OPTIONS_ZEROCOPY != 0,
        })
    }

    /// Notifies the kernel that it may put arrived frames into the chunks on the fill ring.
    pub(super) fn wake_receiving(&self) {
        let (descriptor, nothing) = (self.as_raw_fd(), ptr::null_mut());
        // SAFETY: no buffer and no address are given. Nothing is received this way: the call itself is what matters.
        unsafe {
            libc::recvfrom(
                descriptor,
                nothing,
                0,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
    }

    /// Makes the kernel send what is on the ring, up to its budget.
    pub(super) fn kick(&self) -> io::Result<()> {
        // SAFETY: no buffer and no address are given.
        let sent = unsafe { libc::sendto(self.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        check(sent as libc::c_int)?;
        Ok(())
    }

    /// Frames that arrived and found no room, since the socket was made.
    pub(super) fn receive_dropped(&self) -> io::Result<u64> {
        // SAFETY: all members are integers for which zero bytes are a value.
        let zero: libc::xdp_statistics = unsafe { mem::zeroed() };
        let statistics = get_option(self, libc::SOL_XDP, libc::XDP_STATISTICS, zero)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsRawFd for XdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}
