use std::io;
use std::mem;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use super::socket::PacketSocket;
use super::tag::{self, Tag};
use crate::mapping::Mapping;
use crate::system::set_option;
use crate::{Arrived, Take};

/// Blocks are the unit in which the kernel allocates; every slot length divides it.
const BLOCK_LEN: usize = 256 << 10;
/// Bytes of a slot before the frame: header, address and alignment (`linux/if_packet.h`), with the reserve.
const SLOT_OVERHEAD: usize = 92 + tag::RESERVE as usize;

/// Arrived frames in memory shared with the kernel, a slot each (`TPACKET_V2`).
#[derive(Debug)]
pub(super) struct ReceiveRing {
    area: Mapping,
    slot_len: usize,
    slots: usize,
    next: usize,
}

impl ReceiveRing {
    /// Maps a ring of about `bytes`; the socket must not be bound yet.
    pub(super) fn new(socket: &PacketSocket, max_frame_len: usize, bytes: usize) -> io::Result<Self> {
        let slot_len = (max_frame_len + SLOT_OVERHEAD).next_power_of_two();
        let blocks = (bytes / BLOCK_LEN).max(1);
        let area_len = blocks * BLOCK_LEN;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_LEN as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: slot_len as libc::c_uint,
            tp_frame_nr: (area_len / slot_len) as libc::c_uint,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RESERVE, &tag::RESERVE)?;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self {
            area: Mapping::of(socket, area_len, 0)?,
            slot_len,
            slots: area_len / slot_len,
            next: 0,
        })
    }

    /// Hands up to `limit` arrived frames to `take`, oldest first.
    pub(super) fn receive(&mut self, limit: usize, take: Take<'_>) -> usize {
        for count in 0..limit {
            let Some(mut slot) = self.arrived() else {
                return count;
            };
            take(slot.frame());
            drop(slot);
            self.next = (self.next + 1) % self.slots;
        }
        limit
    }

    fn arrived(&mut self) -> Option<Slot<'_>> {
        // SAFETY: `next < slots`, so that the slot is inside the area, which is mapped as long as `self` lives.
        let start = unsafe { self.area.start().add(self.next * self.slot_len) };
        // SAFETY: the status word is the first member of the header at the start of a slot, aligned because slots
        // are powers of two of at least 128 bytes; the kernel writes it atomically.
        let status = unsafe { AtomicU32::from_ptr(start.cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status says that the slot is ours until we give it back, which only dropping `Slot` does; the
        // mutable borrow of `self` allows one `Slot` at a time. The bytes after the status word are no one else's.
        let bytes = unsafe {
            slice::from_raw_parts_mut(start.add(mem::size_of::<u32>()), self.slot_len - mem::size_of::<u32>())
        };
        Some(Slot { status, bytes })
    }
}

/// A slot that belongs to us; dropping it gives it back to the kernel.
struct Slot<'a> {
    status: &'a AtomicU32,
    /// The slot without its status word.
    bytes: &'a mut [u8],
}

impl Slot<'_> {
    /// The frame. What the kernel has noted in front of it is not needed any more once it has been read here.
    fn frame(&mut self) -> Arrived<'_> {
        let captured = self.u32_at(mem::offset_of!(libc::tpacket2_hdr, tp_snaplen)) as usize;
        let at = mem::offset_of!(libc::tpacket2_hdr, tp_mac);
        let start = usize::from(self.u16_at(at)) - mem::size_of::<u32>();
        let end = (start + captured).min(self.bytes.len());
        let tag = Tag::beside_frame(
            self.status.load(Ordering::Relaxed),
            self.u16_at(mem::offset_of!(libc::tpacket2_hdr, tp_vlan_tci)),
            self.u16_at(mem::offset_of!(libc::tpacket2_hdr, tp_vlan_tpid)),
        );
        let start = tag.map_or(start, |tag| tag.put_back(self.bytes, start, end));
        Arrived::new(&mut self.bytes[..end], start, None)
    }

    fn u32_at(&self, header_offset: usize) -> u32 {
        let at = header_offset - mem::size_of::<u32>();
        let bytes = &self.bytes[at..at + 4];
        u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn u16_at(&self, header_offset: usize) -> u16 {
        let at = header_offset - mem::size_of::<u32>();
        u16::from_ne_bytes([self.bytes[at], self.bytes[at + 1]])
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}
