//! Frames that lie in several chunks, and what is still to be done to them.

use rustix::net::xdp::{XdpDesc, XdpDescOptions};

use crate::offload::LONGEST_MERGED;
use crate::{Arrived, HEADROOM, Offload, Take};

const VLAN_TAG_LEN: usize = 4;

/// In how many chunks a frame may lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Parts {
    One,
    /// Merged frames of hosts are longer than any chunk. Before a native program there are none: the kernel has the other
    /// end of a veth pair cut them, and on other interfaces the program comes before anything merges.
    Several,
}

/// Frames put together from their chunks.
#[derive(Debug)]
pub(super) struct Whole {
    /// Frames longer than that, and a tag, are merged; nothing where frames come without offloads.
    pub(super) longest_untagged: Option<usize>,
    /// Room in front, and the parts of a frame that have come so far.
    parts: Vec<u8>,
}

impl Default for Whole {
    fn default() -> Self {
        Self {
            longest_untagged: None,
            parts: vec![0; HEADROOM],
        }
    }
}

impl Whole {
    /// What is still to be done to a frame, as far as that can be known.
    pub(super) fn offload_of(&self, frame: &[u8]) -> Offload {
        let Some(longest) = self.longest_untagged else {
            return Offload::Nothing;
        };
        let is_tagged = matches!(frame.get(12..14), Some([0x81, 0] | [0x88, 0xa8]));
        if frame.len() > longest + if is_tagged { VLAN_TAG_LEN } else { 0 } {
            Offload::MergedUntold { longest }
        } else {
            Offload::Untold
        }
    }

    /// Whether a chunk is but a part of a frame.
    pub(super) fn is_begun_by(&self, chunk: XdpDesc) -> bool {
        chunk.options.contains(XdpDescOptions::XDP_PKT_CONTD) || self.parts.len() > HEADROOM
    }

    /// Takes in a part, and hands the frame over with the last of them; gives how many frames that were. Of one that is
    /// longer than any host sends the end is missing.
    pub(super) fn take_part(&mut self, bytes: &[u8], chunk: XdpDesc, take: Take<'_>) -> u32 {
        if self.parts.len() + bytes.len() <= HEADROOM + LONGEST_MERGED {
            self.parts.extend_from_slice(bytes);
        }
        if chunk.options.contains(XdpDescOptions::XDP_PKT_CONTD) {
            return 0;
        }
        let offload = self.offload_of(&self.parts[HEADROOM..]);
        take(Arrived::new(&mut self.parts, HEADROOM, None).with_offload(offload));
        self.parts.truncate(HEADROOM);
        1
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;

    fn chunk(options: XdpDescOptions) -> XdpDesc {
        XdpDesc {
            addr: 0,
            len: 0,
            options,
        }
    }

    #[test]
    fn parts_are_put_together_and_frames_do_not_mix() {
        let mut whole = Whole {
            longest_untagged: Some(5),
            ..Whole::default()
        };
        let mut seen = Vec::new();
        for text in ["abcdef", "xy"] {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(2).collect();
            for (index, part) in parts.iter().enumerate() {
                let options = if index + 1 < parts.len() {
                    XdpDescOptions::XDP_PKT_CONTD
                } else {
                    XdpDescOptions::empty()
                };
                let taken = whole.take_part(part, chunk(options), &mut |frame| {
                    assert_eq!(frame.headroom(), HEADROOM);
                    seen.push((frame.to_vec(), frame.offload));
                });
                assert_eq!(taken, 1 - options.bits());
                assert_eq!(whole.is_begun_by(chunk(XdpDescOptions::empty())), !options.is_empty());
            }
        }
        let merged = Offload::MergedUntold { longest: 5 };
        assert_eq!(seen, [(b"abcdef".to_vec(), merged), (b"xy".to_vec(), Offload::Untold)]);
    }

    #[test]
    fn a_tag_comes_on_top() {
        let mut whole = Whole::default();
        let mut frame = vec![0; 18];
        assert_eq!(whole.offload_of(&frame), Offload::Nothing);
        whole.longest_untagged = Some(14);
        assert_eq!(whole.offload_of(&frame), Offload::MergedUntold { longest: 14 });
        frame[12] = 0x81;
        assert_eq!(whole.offload_of(&frame), Offload::Untold);
    }
}
