//! 802.1Q tags that the kernel has taken out of frames.

pub(super) const TAG_LEN: usize = 4;
const MAC_ADDRESSES_LEN: usize = 12;
const ETHER_TYPE_VLAN: u16 = 0x8100;
/// Kept free before each frame (`PACKET_RESERVE`), so that there is room for the tag, and beside what the kernel's own
/// notes leave for [`crate::HEADROOM`].
pub(super) const RESERVE: u32 = 72;

/// A tag that the kernel keeps beside its frame.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    protocol: u16,
    control_information: u16,
}

impl Tag {
    /// The tag that a packet header describes, if it does.
    pub(super) fn beside_frame(status: u32, control_information: u16, protocol: u16) -> Option<Self> {
        let has_protocol = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(Self {
            protocol: if has_protocol { protocol } else { ETHER_TYPE_VLAN },
            control_information,
        })
    }

    /// Puts it back into the frame `bytes[start..end]` and gives the frame's new start.
    pub(super) fn put_back(self, bytes: &mut [u8], start: usize, end: usize) -> usize {
        if end < start + MAC_ADDRESSES_LEN {
            return start;
        }
        let new_start = start - TAG_LEN;
        bytes.copy_within(start..start + MAC_ADDRESSES_LEN, new_start);
        let tag = &mut bytes[new_start + MAC_ADDRESSES_LEN..][..TAG_LEN];
        tag[..2].copy_from_slice(&self.protocol.to_be_bytes());
        tag[2..].copy_from_slice(&self.control_information.to_be_bytes());
        new_start
    }
}
