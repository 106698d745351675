use std::io;
use std::mem;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::MmapRaw;

use super::PacketPortOptions;
use super::socket::PacketSocket;
use super::tag::{self, Tag};
use crate::offload::{HEADER_LEN, LONGEST_MERGED};
use crate::system::{map_shared, set_option};
use crate::{Arrived, HEADROOM, Offload, Take};

/// Blocks are the unit in which the kernel allocates; every slot length divides it.
const BLOCK_LEN: usize = 256 << 10;
/// Bytes of a slot before the frame: header, address and alignment (`linux/if_packet.h`), with the reserve.
const SLOT_OVERHEAD: usize = 92 + tag::RESERVE as usize;
/// Where a frame that was too long for its slot begins in the memory for it: a tag may have to be put back.
const LONG_FRAME_AT: usize = HEADROOM + tag::TAG_LEN;

/// Arrived frames in memory shared with the kernel, a slot each (`TPACKET_V2`).
#[derive(Debug)]
pub(super) struct ReceiveRing {
    area: MmapRaw,
    slot_len: usize,
    slots: usize,
    next: usize,
    /// A frame that was too long for its slot; nothing where frames come without offloads.
    long_frame: Vec<u8>,
    /// Frames that could not be handed out.
    unfit: u64,
}

impl ReceiveRing {
    /// Maps a ring; the socket must not be bound yet.
    pub(super) fn new(socket: &PacketSocket, options: PacketPortOptions) -> io::Result<Self> {
        // The header that describes offloads lies between, and frames stay aligned.
        let header_len = if options.takes_offloads {
            HEADER_LEN.next_multiple_of(16)
        } else {
            0
        };
        let slot_len = (options.max_frame_len + SLOT_OVERHEAD + header_len).next_power_of_two();
        let blocks = (options.ring_bytes / BLOCK_LEN).max(1);
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
            area: map_shared(socket, area_len, 0)?,
            slot_len,
            slots: area_len / slot_len,
            next: 0,
            long_frame: if options.takes_offloads {
                vec![0; LONG_FRAME_AT + LONGEST_MERGED]
            } else {
                Vec::new()
            },
            unfit: 0,
        })
    }

    /// Hands up to `limit` arrived frames to `take`, oldest first.
    pub(super) fn receive(&mut self, socket: &PacketSocket, limit: usize, take: Take<'_>) -> usize {
        let mut long_frame = mem::take(&mut self.long_frame);
        let (mut received, mut unfit) = (0, 0);
        while received < limit {
            let Some(mut slot) = self.arrived() else {
                break;
            };
            let frame = if long_frame.is_empty() {
                Some(slot.frame())
            } else if slot.is_cut() {
                slot.long_frame(socket, &mut long_frame)
            } else {
                slot.frame_with_offload()
            };
            match frame {
                Some(frame) => {
                    take(frame);
                    received += 1;
                }
                None => unfit += 1,
            }
            drop(slot);
            self.next = (self.next + 1) % self.slots;
        }
        self.long_frame = long_frame;
        self.unfit += unfit;
        received
    }

    /// Frames since the last call that could not be handed out.
    pub(super) fn take_unfit(&mut self) -> u64 {
        mem::take(&mut self.unfit)
    }

    fn arrived(&mut self) -> Option<Slot<'_>> {
        // SAFETY: `next < slots`, so that the slot is inside the area, which is mapped as long as `self` lives.
        let start = unsafe { self.area.as_mut_ptr().add(self.next * self.slot_len) };
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
        let start = self.start();
        let end = (start + self.captured()).min(self.bytes.len());
        let start = self.tag().map_or(start, |tag| tag.put_back(self.bytes, start, end));
        Arrived::new(&mut self.bytes[..end], start, None)
    }

    /// The same with what its header says, which lies directly in front of it; nothing where it cannot be passed on.
    fn frame_with_offload(&mut self) -> Option<Arrived<'_>> {
        let start = self.start();
        let offload = Offload::read(&self.bytes[start - HEADER_LEN..start])?;
        let frame = self.frame();
        let put_back = start - frame.headroom();
        Some(frame.with_offload(offload.behind(put_back)))
    }

    /// The whole of a frame of which the slot has the beginning: it waits in the socket. Nothing where there was no room
    /// for it, or it cannot be passed on.
    fn long_frame<'b>(&self, socket: &PacketSocket, buffer: &'b mut [u8]) -> Option<Arrived<'b>> {
        if self.status.load(Ordering::Relaxed) & libc::TP_STATUS_COPY == 0 {
            return None;
        }
        let len = socket.receive(&mut buffer[LONG_FRAME_AT - HEADER_LEN..])?;
        let end = LONG_FRAME_AT + len.checked_sub(HEADER_LEN)?;
        let offload = Offload::read(&buffer[LONG_FRAME_AT - HEADER_LEN..LONG_FRAME_AT])?;
        let buffer = buffer.get_mut(..end)?;
        let start = self
            .tag()
            .map_or(LONG_FRAME_AT, |tag| tag.put_back(buffer, LONG_FRAME_AT, end));
        let offload = offload.behind(LONG_FRAME_AT - start);
        Some(Arrived::new(buffer, start, None).with_offload(offload))
    }

    /// Where the frame begins.
    fn start(&self) -> usize {
        usize::from(self.u16_at(mem::offset_of!(libc::tpacket2_hdr, tp_mac))) - mem::size_of::<u32>()
    }

    fn captured(&self) -> usize {
        self.u32_at(mem::offset_of!(libc::tpacket2_hdr, tp_snaplen)) as usize
    }

    /// Whether the frame is longer than what is here of it.
    fn is_cut(&self) -> bool {
        self.captured() < self.u32_at(mem::offset_of!(libc::tpacket2_hdr, tp_len)) as usize
    }

    fn tag(&self) -> Option<Tag> {
        Tag::beside_frame(
            self.status.load(Ordering::Relaxed),
            self.u16_at(mem::offset_of!(libc::tpacket2_hdr, tp_vlan_tci)),
            self.u16_at(mem::offset_of!(libc::tpacket2_hdr, tp_vlan_tpid)),
        )
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
