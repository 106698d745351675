//! The socket: registration of the frames, the rings, and the kick that makes the kernel send.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::xdp::{self, SocketAddrXdp, SocketAddrXdpFlags, XdpDesc, XdpOptionsFlags};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};

use super::bpf::Attachment;
use super::memory::{Frames, Ring};
use super::parts::Parts;
use crate::system::set_option;

/// `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h`: frames sent for one kick, 32 where the kernel does not know it.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
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
    pub(super) receive: Ring<XdpDesc>,
    pub(super) send: Ring<XdpDesc>,
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
        let descriptor = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { descriptor })
    }

    /// Makes the rings around `frames`, which must live as long as the socket.
    pub(super) fn make_rings(&self, frames: &Frames, sizes: Sizes) -> io::Result<Rings> {
        sockopt::set_xdp_umem_reg(self, frames.registration())?;
        sockopt::set_xdp_umem_fill_ring_size(self, sizes.receive)?;
        sockopt::set_xdp_umem_completion_ring_size(self, sizes.send)?;
        sockopt::set_xdp_rx_ring_size(self, sizes.receive)?;
        sockopt::set_xdp_tx_ring_size(self, sizes.send)?;
        let offsets = sockopt::xdp_mmap_offsets(self)?;
        Ok(Rings {
            fill: Ring::new(self, offsets.fr, sizes.receive, xdp::XDP_UMEM_PGOFF_FILL_RING)?,
            completion: Ring::new(self, offsets.cr, sizes.send, xdp::XDP_UMEM_PGOFF_COMPLETION_RING)?,
            receive: Ring::new(self, offsets.rx, sizes.receive, xdp::XDP_PGOFF_RX_RING)?,
            send: Ring::new(self, offsets.tx, sizes.send, xdp::XDP_PGOFF_TX_RING)?,
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
            Attachment::Native => SocketAddrXdpFlags::empty(),
            Attachment::Generic => SocketAddrXdpFlags::XDP_COPY,
        };
        let parts = match parts {
            Parts::One => SocketAddrXdpFlags::empty(),
            Parts::Several => SocketAddrXdpFlags::XDP_USE_SG,
        };
        let flags = copies | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP | parts;
        let address = SocketAddrXdp::new(flags, interface as u32, queue);
        let mut attempts = 0;
        loop {
            match bind(self, &address) {
                Err(Errno::BUSY) if attempts < BIND_ATTEMPTS => {
                    attempts += 1;
                    thread::sleep(BIND_PAUSE);
                }
                bound => break bound?,
            }
        }
        let has_budget = set_option(self, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget).is_ok();
        let options = sockopt::xdp_options(self)?;
        Ok(Started {
            budget: if has_budget { budget } else { 32 },
            is_zero_copy: options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY),
        })
    }

    /// Notifies the kernel that it may put arrived frames into the chunks on the fill ring.
    pub(super) fn wake_receiving(&self) {
        // Nothing is received this way: the call itself is what matters.
        let _ = recv(self, &mut [0; 0], RecvFlags::DONTWAIT);
    }

    /// Makes the kernel send what is on the ring, up to its budget.
    pub(super) fn kick(&self) -> Result<(), Errno> {
        send(self, &[], SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Frames that arrived and found no room, since the socket was made.
    pub(super) fn receive_dropped(&self) -> io::Result<u64> {
        let statistics = sockopt::xdp_statistics(self)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full.unwrap_or_default())
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
