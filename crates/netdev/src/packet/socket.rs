use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};

use crate::MAX_BURST;
use crate::promiscuity::take_all_addresses;
use crate::system::{bind_packet_socket, check, enlarge_send_buffer, open_packet_socket, packet_option, set_option};

/// Frames longer than a slot that may wait in a socket, by the memory that the kernel counts for them.
const WAITING_BYTES: usize = 32 << 20;
/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A raw packet socket.
#[derive(Debug)]
pub(super) struct PacketSocket {
    descriptor: OwnedFd,
}

/// The buffers of one burst to send.
#[derive(Debug)]
pub(super) struct Burst {
    slots: Vec<u8>,
    slot_len: usize,
    lengths: [usize; MAX_BURST],
}

impl PacketSocket {
    /// Receives nothing until it is started.
    pub(super) fn new() -> io::Result<Self> {
        let descriptor = open_packet_socket()?;
        Ok(Self { descriptor })
    }

    /// Binds to an interface, promiscuous, past the queueing discipline, blind to what this machine sends, and to all
    /// that arrives before [`Self::let_frames_in`].
    pub(super) fn start(&self, index: i32) -> io::Result<()> {
        let nothing = libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: 0,
        };
        let filter = libc::sock_fprog {
            len: 1,
            filter: (&raw const nothing).cast_mut(),
        };
        set_option(self, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        set_option(self, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        set_option(self, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        enlarge_send_buffer(self)?;
        bind_packet_socket(self, index, libc::ETH_P_ALL)?;
        take_all_addresses(self, index)
    }

    /// Binds to an interface past the queueing discipline, to send only.
    pub(super) fn start_sending(&self, index: i32) -> io::Result<()> {
        set_option(self, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        enlarge_send_buffer(self)?;
        bind_packet_socket(self, index, 0)
    }

    /// Has every frame that arrives come with what is still to be done to it; frames that are longer than a slot wait in
    /// the socket, up to a limit. Before there is a ring.
    pub(super) fn tell_of_offloads(&self) -> io::Result<()> {
        set_option(self, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        set_option(self, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1_i32)?;
        // The forced form needs CAP_NET_ADMIN; without it the system's limit holds.
        sockopt::set_socket_recv_buffer_size_force(self, WAITING_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(self, WAITING_BYTES))?;
        Ok(())
    }

    /// Takes the frame that has waited longest, with its header, and gives how long both are; nothing where none waits.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            match recv(self, &mut *buffer, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                Ok((_, len)) => return Some(len),
                // An interface that went down is reported once, by whatever call comes next.
                Err(Errno::NETDOWN) => {}
                Err(_) => return None,
            }
        }
    }

    /// Receives from now on.
    pub(super) fn let_frames_in(&self) -> io::Result<()> {
        set_option(self, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0_i32)
    }

    /// Frames dropped for want of room in the ring since the last call.
    pub(super) fn take_drops(&self) -> io::Result<u32> {
        let [_arrived, dropped] = packet_option(self, libc::PACKET_STATISTICS)?;
        Ok(dropped)
    }
}

/// Has every socket receive queues of its own of the interface that all of them are bound to.
pub(super) fn share_queues<'s>(sockets: impl Iterator<Item = &'s PacketSocket>) -> io::Result<()> {
    // The kernel chooses a number for the first, which the others name.
    let mut group = (libc::PACKET_FANOUT_QM | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    for socket in sockets {
        set_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &group)?;
        let [of_kernel] = packet_option(socket, libc::PACKET_FANOUT)?;
        group = libc::PACKET_FANOUT_QM << 16 | of_kernel & 0xffff;
    }
    Ok(())
}

impl Burst {
    pub(super) fn new(max_frame_len: usize) -> Self {
        // Whole cache lines, and no frame of another burst in between.
        let slot_len = max_frame_len.next_multiple_of(64);
        Self {
            slots: vec![0; slot_len * MAX_BURST],
            slot_len,
            lengths: [0; MAX_BURST],
        }
    }

    /// Writes a burst into the buffers.
    pub(super) fn prepare(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) {
        let slots = self.slots.chunks_exact_mut(self.slot_len);
        for (index, slot) in slots.take(count).enumerate() {
            self.lengths[index] = fill(index, slot).min(self.slot_len);
        }
    }

    /// Sends frames `from..to` of the burst and gives how many the driver took.
    pub(super) fn send(&mut self, socket: &PacketSocket, from: usize, to: usize) -> io::Result<usize> {
        let mut vectors = [const { mem::MaybeUninit::<libc::iovec>::uninit() }; MAX_BURST];
        let mut messages = [const { mem::MaybeUninit::<libc::mmsghdr>::uninit() }; MAX_BURST];
        for index in from..to {
            let slot = &mut self.slots[index * self.slot_len..][..self.lengths[index]];
            let vector = vectors[index].write(libc::iovec {
                iov_base: slot.as_mut_ptr().cast(),
                iov_len: slot.len(),
            });
            // SAFETY: all members of mmsghdr are plain data for which zero bytes are a value.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            messages[index].write(message);
        }
        // SAFETY: messages `from..to` were written above, each with one vector into `self.slots`; all three arrays
        // outlive the call and nothing else touches them during it.
        let sent = check(unsafe {
            libc::sendmmsg(
                socket.descriptor.as_raw_fd(),
                messages[from..to].as_mut_ptr().cast(),
                (to - from) as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        })?;
        Ok(sent as usize)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
