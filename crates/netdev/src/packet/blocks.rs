use std::io;
use std::mem::{self, offset_of};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::MmapRaw;

use super::PacketPortOptions;
use super::socket::PacketSocket;
use super::tag::{self, Tag};
use crate::offload::HEADER_LEN;
use crate::system::{map_shared, set_option};
use crate::{Arrived, Offload, Take};

/// Blocks are handed over whole: small ones come soon at low rates, large ones cost less at high rates.
const BLOCK_LEN: usize = 256 << 10;
/// After so long the kernel hands over a block that is not full; its clock has no finer one.
const RETIRE_AFTER_MS: libc::c_uint = 1;
/// What `tp_frame_size` has to be a multiple of; frames take as much room of a block as they need.
const SLOT_LEN: usize = 2048;
/// Bytes of a block before `hdr`, the part that all versions of its description begin with.
const DESCRIPTION: usize = offset_of!(libc::tpacket_block_desc, hdr);
const BLOCK_STATUS: usize = DESCRIPTION + offset_of!(libc::tpacket_hdr_v1, block_status);
const FRAME_COUNT: usize = DESCRIPTION + offset_of!(libc::tpacket_hdr_v1, num_pkts);
const FIRST_FRAME: usize = DESCRIPTION + offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt);

/// Arrived frames in blocks shared with the kernel (`TPACKET_V3`).
#[derive(Debug)]
pub(super) struct ReceiveBlocks {
    area: MmapRaw,
    blocks: usize,
    current: usize,
    /// Within the current block, once it is ours.
    position: Option<Position>,
    /// Whether a header in front of each frame describes offloads.
    takes_offloads: bool,
    /// Frames that could not be handed out.
    unfit: u64,
}

/// Where reading of a block has got to.
#[derive(Clone, Copy, Debug)]
struct Position {
    frame_at: usize,
    frames_left: u32,
}

impl ReceiveBlocks {
    /// Maps blocks; the socket must not be bound yet.
    pub(super) fn new(socket: &PacketSocket, options: PacketPortOptions) -> io::Result<Self> {
        let blocks = (options.ring_bytes / BLOCK_LEN).max(2);
        let area_len = blocks * BLOCK_LEN;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_LEN as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: SLOT_LEN as libc::c_uint,
            tp_frame_nr: (area_len / SLOT_LEN) as libc::c_uint,
            tp_retire_blk_tov: RETIRE_AFTER_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RESERVE, &tag::RESERVE)?;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self {
            area: map_shared(socket, area_len, 0)?,
            blocks,
            current: 0,
            position: None,
            takes_offloads: options.takes_offloads,
            unfit: 0,
        })
    }

    /// Hands up to `limit` arrived frames to `take`, oldest first.
    pub(super) fn receive(&mut self, limit: usize, take: Take<'_>) -> usize {
        let mut received = 0;
        while received < limit {
            let Some(position) = self.position.or_else(|| self.begin_block()) else {
                break;
            };
            if position.frames_left == 0 {
                self.give_back_block();
                continue;
            }
            let next = self.take_frame(position.frame_at, &mut received, take);
            self.position = Some(Position {
                frame_at: next,
                frames_left: position.frames_left - 1,
            });
        }
        received
    }

    /// Frames since the last call that could not be handed out.
    pub(super) fn take_unfit(&mut self) -> u64 {
        mem::take(&mut self.unfit)
    }

    /// Where the first frame of the current block is, if the kernel has handed it over.
    fn begin_block(&mut self) -> Option<Position> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let block = self.block();
        let position = Position {
            frame_at: u32_at(block, FIRST_FRAME) as usize,
            frames_left: u32_at(block, FRAME_COUNT),
        };
        self.position = Some(position);
        Some(position)
    }

    fn give_back_block(&mut self) {
        self.position = None;
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % self.blocks;
    }

    /// Hands the frame described at `at` to `take`, counts it, and gives where the next one is described.
    fn take_frame(&mut self, at: usize, received: &mut usize, take: Take<'_>) -> usize {
        let takes_offloads = self.takes_offloads;
        let block = self.block();
        let field = |offset| u32_at(block, at + offset);
        let next = at + field(offset_of!(libc::tpacket3_hdr, tp_next_offset)) as usize;
        let captured = field(offset_of!(libc::tpacket3_hdr, tp_snaplen)) as usize;
        let len = field(offset_of!(libc::tpacket3_hdr, tp_len)) as usize;
        let status = field(offset_of!(libc::tpacket3_hdr, tp_status));
        let variant = offset_of!(libc::tpacket3_hdr, hv1);
        let tag = Tag::beside_frame(
            status,
            field(variant + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci)) as u16,
            u16_at(
                block,
                at + variant + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid),
            ),
        );
        let start = at + usize::from(u16_at(block, at + offset_of!(libc::tpacket3_hdr, tp_mac)));
        let end = (start + captured).min(BLOCK_LEN);
        let offload = if !takes_offloads {
            Some(Offload::Nothing)
        } else if captured < len {
            None
        } else {
            Offload::read(&block[start - HEADER_LEN..start])
        };
        let Some(offload) = offload else {
            self.unfit += 1;
            return next;
        };
        let new_start = tag.map_or(start, |tag| tag.put_back(block, start, end));
        let frame = Arrived::new(&mut block[at..end], new_start - at, None);
        take(frame.with_offload(offload.behind(start - new_start)));
        *received += 1;
        next
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `current < blocks`, so that the word is inside the area, which is mapped as long as `self` lives; it is
        // aligned, because blocks are pages, and the kernel writes it atomically.
        unsafe {
            AtomicU32::from_ptr(
                self.area
                    .as_mut_ptr()
                    .add(self.current * BLOCK_LEN + BLOCK_STATUS)
                    .cast(),
            )
        }
    }

    /// The current block, which must be ours: between `begin_block` and `give_back_block` the kernel leaves it alone.
    fn block(&mut self) -> &mut [u8] {
        // SAFETY: inside the area as above, ours as the callers have seen, and borrowed once by `&mut self`.
        unsafe { slice::from_raw_parts_mut(self.area.as_mut_ptr().add(self.current * BLOCK_LEN), BLOCK_LEN) }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; mem::size_of::<u32>()];
    word.copy_from_slice(&bytes[at..at + mem::size_of::<u32>()]);
    u32::from_ne_bytes(word)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}
