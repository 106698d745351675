//! What hosts leave to network cards, as the kernel reports it: the header of `linux/virtio_net.h` in front of a frame.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use crate::system::{bind_packet_socket, enlarge_send_buffer, open_packet_socket, set_option};

/// Bytes of `struct virtio_net_hdr`.
pub(crate) const HEADER_LEN: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_*`, and the bit beside them that says that TCP reports congestion.
const NOT_MERGED: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const CONGESTION: u8 = 0x80;
/// The longest frame that a host hands over: what an IP packet can be, with Ethernet and a tag.
pub(crate) const LONGEST_MERGED: usize = 0xffff + 40 + 14 + 4;

/// What is still to be done to a frame that has arrived, before it is what was meant for its receiver.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Offload {
    /// Nothing.
    #[default]
    Nothing,
    /// A checksum is to be finished over all from `start`, in the field that lies `offset` behind that.
    Checksum {
        /// Counted from the beginning of the frame.
        start: usize,
        /// Counted from `start`.
        offset: usize,
    },
    /// The kernel does not report whether there is a checksum to be finished.
    Untold,
    /// Segments of TCP or UDP in one frame are to be sent one by one, and their checksums finished.
    Merged {
        /// Bytes that each carries, all but the last.
        size: usize,
        /// Where TCP or UDP begins, counted from the beginning of the frame, where the kernel reports it.
        start: Option<usize>,
    },
    /// The same, where the kernel does not report how much each carries.
    MergedUntold {
        /// Bytes of a frame of the interface that it came in by, without tag.
        longest: usize,
    },
}

/// What the segments of a merged frame are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Segments {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// Datagrams of UDP.
    Udp,
}

/// What the kernel has to know of a merged frame to send it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MergedFrame {
    /// What it consists of.
    pub segments: Segments,
    /// Bytes that each segment carries, all but the last.
    pub size: u16,
    /// Bytes of all headers.
    pub headers_len: u16,
    /// Where the checksum's bytes begin.
    pub checksum_start: u16,
    /// How far behind that its field lies.
    pub checksum_offset: u16,
    /// What is to stand there: the sum of the pseudo header. The frame itself need not hold it.
    pub partial_sum: u16,
}

impl Offload {
    /// What a header says; nothing of a frame that this side cannot pass on.
    pub(crate) fn read(header: &[u8]) -> Option<Self> {
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        match header[1] & !CONGESTION {
            NOT_MERGED if header[0] & NEEDS_CHECKSUM == 0 => Some(Self::Nothing),
            NOT_MERGED => Some(Self::Checksum {
                start: word(6),
                offset: word(8),
            }),
            TCP_V4 | TCP_V6 | UDP => Some(Self::Merged {
                size: word(4),
                start: (header[0] & NEEDS_CHECKSUM != 0).then(|| word(6)),
            }),
            _ => None,
        }
    }

    /// The same, once bytes have been put in front of all that is counted from the beginning.
    #[must_use]
    pub(crate) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Checksum { start, offset } => Self::Checksum {
                start: start + bytes,
                offset,
            },
            Self::Merged { size, start } => Self::Merged {
                size,
                start: start.map(|start| start + bytes),
            },
            other => other,
        }
    }
}

impl MergedFrame {
    fn header(&self) -> [u8; HEADER_LEN] {
        let kind = match self.segments {
            Segments::TcpV4 => TCP_V4,
            Segments::TcpV6 => TCP_V6,
            Segments::Udp => UDP,
        };
        let words = [self.headers_len, self.size, self.checksum_start, self.checksum_offset];
        let mut header = [0; HEADER_LEN];
        header[..2].copy_from_slice(&[NEEDS_CHECKSUM, kind]);
        for (place, word) in header[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        header
    }
}

/// A packet socket that sends merged frames and receives nothing. It does not go past the queueing discipline: there the
/// kernel cuts frames for interfaces that cannot.
#[derive(Debug)]
pub(crate) struct MergedSocket {
    descriptor: OwnedFd,
}

impl MergedSocket {
    pub(crate) fn open(interface: i32) -> io::Result<Self> {
        let descriptor = open_packet_socket()?;
        set_option(&descriptor, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        enlarge_send_buffer(&descriptor)?;
        bind_packet_socket(&descriptor, interface, 0)?;
        Ok(Self { descriptor })
    }

    /// Sends a frame; false where there is no room for it.
    pub(crate) fn send(&self, frame: &[u8], how: &MergedFrame) -> io::Result<bool> {
        let field = usize::from(how.checksum_start) + usize::from(how.checksum_offset);
        let (Some(before), Some(behind)) = (frame.get(..field), frame.get(field + 2..)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let (header, sum) = (how.header(), how.partial_sum.to_be_bytes());
        let parts = [&header[..], before, &sum, behind].map(IoSlice::new);
        let nothing = &mut SendAncillaryBuffer::default();
        match sendmsg(&self.descriptor, &parts, nothing, SendFlags::DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;

    fn header(flags: u8, kind: u8, words: [u16; 4]) -> Vec<u8> {
        let mut bytes = vec![flags, kind];
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn headers_of_the_kernel_are_understood() {
        let checksum = Offload::Checksum { start: 34, offset: 16 };
        let merged = |start| Offload::Merged { size: 1448, start };
        for (flags, kind, expected) in [
            (0, 0, Some(Offload::Nothing)),
            // Checked by a device: nothing to do.
            (2, 0, Some(Offload::Nothing)),
            (1, 0, Some(checksum)),
            (1, 1, Some(merged(Some(34)))),
            (1, 0x84, Some(merged(Some(34)))),
            (1, 5, Some(merged(Some(34)))),
            (0, 5, Some(merged(None))),
            // Fragments of UDP in one frame (UFO): no longer in use, and they cannot be cut.
            (1, 3, None),
        ] {
            let header = header(flags, kind, [66, 1448, 34, 16]);
            assert_eq!(Offload::read(&header), expected, "{flags} {kind}");
        }
        assert_eq!(checksum.behind(4), Offload::Checksum { start: 38, offset: 16 });
        assert_eq!(merged(Some(34)).behind(4), merged(Some(38)));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let frame = MergedFrame {
            segments: Segments::TcpV6,
            size: 1428,
            headers_len: 86,
            checksum_start: 54,
            checksum_offset: 16,
            partial_sum: 7,
        };
        assert_eq!(frame.header().to_vec(), header(1, 4, [86, 1428, 54, 16]));
        assert_eq!(
            Offload::read(&frame.header()),
            Some(Offload::Merged {
                size: 1428,
                start: Some(54)
            })
        );
    }

    #[test]
    fn what_loopback_cannot_take_is_an_error() {
        // Without the privilege for packet sockets there is nothing to see.
        let Ok(socket) = MergedSocket::open(1) else { return };
        let how = MergedFrame {
            segments: Segments::TcpV4,
            size: 10,
            headers_len: 54,
            checksum_start: 34,
            checksum_offset: 16,
            partial_sum: 0,
        };
        assert!(socket.send(&[0; 40], &how).is_err(), "the checksum lies outside");
        assert!(socket.send(&[0; 52], &how).is_err(), "headers longer than the frame");
    }
}
