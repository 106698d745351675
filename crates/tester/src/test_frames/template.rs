use brimful_frame::header_len::IPV6;
use brimful_frame::{Checksum, FRAME_CHECK_SEQUENCE_LEN, IpProtocol, MIN_FRAME_SIZE, MacAddress, Malformed, VlanTag};

use super::anatomy::{Anatomy, Network};
use super::place::FieldPlace;
use super::stamp::{Stamp, begins_with_magic};

/// A test frame with everything filled in but the stamp and the fields that vary, which are zero.
///
/// The payload adds nothing to checksums whatever the stamp is (see [`Stamp`]), so that a frame without varied fields
/// takes a copy and a stamp. A varied field adds its value to kept sums: the incremental update of RFC 1624, from zero.
#[derive(Clone, Debug)]
pub struct TestTemplate {
    bytes: Vec<u8>,
    stamp_offset: usize,
    /// The sum of the payload without the stamp.
    rest: Checksum,
    network: Option<KeptSum>,
    segment: Option<KeptSum>,
}

/// A checksum of a header and the sum that it comes from.
#[derive(Clone, Copy, Debug)]
struct KeptSum {
    offset: usize,
    sum: Checksum,
    is_udp: bool,
}

impl TestTemplate {
    /// From headers and a payload of zeros with the stamp at its start.
    pub(crate) fn generated(bytes: Vec<u8>) -> Self {
        let anatomy = Anatomy::of(&bytes).expect("whole headers were written");
        let stamp_offset = anatomy.payload.start;
        Self::stamped_at(bytes, &anatomy, stamp_offset)
    }

    /// From a captured frame, frame check sequence not included: stamped at the end of its payload, all checksums put
    /// right. A frame too short for the stamp, or for Ethernet, grows.
    ///
    /// # Errors
    /// When the frame ends within its headers.
    ///
    /// # Panics
    /// Never.
    pub fn captured(frame: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = frame.to_vec();
        pad(&mut bytes);
        let mut anatomy = Anatomy::of(&bytes)?;
        // A longer packet may show a header that the shorter one had no room for, hence again.
        while Stamp::offset_at_end(anatomy.payload.len()).is_none() {
            make_room(&mut bytes, &anatomy);
            anatomy = Anatomy::of(&bytes)?;
        }
        let payload = &mut bytes[anatomy.payload.clone()];
        let at_end = Stamp::offset_at_end(payload.len()).expect("room was made");
        // A captured test frame has a stamp at the start, which the receiver would read.
        if begins_with_magic(payload) {
            payload[..2].fill(0);
        }
        payload[at_end..at_end + Stamp::LEN].fill(0);
        let stamp_offset = anatomy.payload.start + at_end;
        Ok(Self::stamped_at(bytes, &anatomy, stamp_offset))
    }

    fn stamped_at(mut bytes: Vec<u8>, anatomy: &Anatomy, stamp_offset: usize) -> Self {
        let network = match &anatomy.network {
            Network::Ipv4 { header } => {
                let offset = header.start + 10;
                bytes[offset..offset + 2].fill(0);
                Some(KeptSum {
                    offset,
                    sum: Checksum::new().with_bytes(&bytes[header.clone()]),
                    is_udp: false,
                })
            }
            Network::Ipv6 { .. } | Network::Other => None,
        };
        let segment = anatomy.segment.as_ref().map(|segment| {
            let offset = segment.checksum_offset;
            bytes[offset..offset + 2].fill(0);
            KeptSum {
                offset,
                sum: segment
                    .pseudo_header
                    .with_bytes(&bytes[segment.place.start..anatomy.payload.start]),
                is_udp: segment.protocol == IpProtocol::UDP,
            }
        });
        for kept in [network, segment].iter().flatten() {
            kept.write(&mut bytes, kept.sum);
        }
        let rest = Checksum::new().with_bytes(&bytes[anatomy.payload.clone()]);
        Self {
            bytes,
            stamp_offset,
            rest,
            network,
            segment,
        }
    }

    /// The outermost VLAN tag, if any.
    pub fn vlan(&self) -> Option<VlanTag> {
        Anatomy::of(&self.bytes).ok()?.vlan
    }

    /// The same frame on its way back: sender and receiver swapped in Ethernet, IP, UDP and TCP.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn mirrored(mut self) -> Self {
        let anatomy = Anatomy::of(&self.bytes).expect("it was taken apart before");
        swap(&mut self.bytes, 0, 6);
        match &anatomy.network {
            Network::Ipv4 { header } => swap(&mut self.bytes, header.start + 12, 4),
            Network::Ipv6 { offset } => swap(&mut self.bytes, offset + 8, 16),
            Network::Other => {}
        }
        if let Some(segment) = &anatomy.segment
            && matches!(segment.protocol, IpProtocol::UDP | IpProtocol::TCP)
        {
            swap(&mut self.bytes, segment.place.start, 2);
        }
        self
    }

    /// The same frame with other Ethernet addresses.
    #[must_use]
    pub fn with_macs(mut self, destination: MacAddress, source: MacAddress) -> Self {
        self.bytes[..6].copy_from_slice(&destination.0);
        self.bytes[6..12].copy_from_slice(&source.0);
        self
    }

    /// Bytes of the frame, frame check sequence not included.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes one frame to the start of `buffer`, checksums right, and gives its length.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::byte_len`].
    pub fn fill(&self, buffer: &mut [u8], stamp: Stamp) -> usize {
        let frame = &mut buffer[..self.bytes.len()];
        frame.copy_from_slice(&self.bytes);
        frame[self.stamp_offset..self.stamp_offset + Stamp::LEN].copy_from_slice(&stamp.to_bytes(self.rest));
        frame.len()
    }

    /// The same with values for fields that are zero in the template. A value has no more bits than its field.
    ///
    /// # Panics
    /// When `buffer` is shorter than [`Self::byte_len`], or a place is not of the layout of this template.
    pub fn fill_varied(
        &self,
        buffer: &mut [u8],
        stamp: Stamp,
        fields: impl Iterator<Item = (FieldPlace, u128)>,
    ) -> usize {
        let len = self.fill(buffer, stamp);
        let (mut network, mut segment) = (Checksum::new(), Checksum::new());
        for (place, value) in fields {
            place.set(buffer, value);
            let sum = place.sum(value);
            if place.is_in_network_sum {
                network = network.plus(sum);
            }
            if place.is_in_transport_sum {
                segment = segment.plus(sum);
            }
        }
        for (kept, varied) in [(self.network, network), (self.segment, segment)] {
            if let Some(kept) = kept {
                kept.write(buffer, kept.sum.plus(varied));
            }
        }
        len
    }
}

impl KeptSum {
    fn write(&self, bytes: &mut [u8], sum: Checksum) {
        let checksum = match sum.finish() {
            // 0 would mean "none"; all ones has the same value (RFC 768).
            0 if self.is_udp => 0xffff,
            checksum => checksum,
        };
        bytes[self.offset..self.offset + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Swaps two neighbours; checksums do not notice.
fn swap(bytes: &mut [u8], offset: usize, len: usize) {
    bytes[offset..offset + 2 * len].rotate_left(len);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().max(MIN_FRAME_SIZE - FRAME_CHECK_SEQUENCE_LEN), 0);
}

/// Lengthens the payload to that of a stamp; padding of Ethernet behind an IP packet makes way.
fn make_room(bytes: &mut Vec<u8>, anatomy: &Anatomy) {
    let end = anatomy.payload.start + Stamp::LEN;
    bytes.truncate(anatomy.payload.end);
    bytes.resize(end, 0);
    match &anatomy.network {
        Network::Ipv4 { header } => set_length(bytes, header.start + 2, end - header.start),
        Network::Ipv6 { offset } => set_length(bytes, offset + 4, end - offset - IPV6),
        Network::Other => {}
    }
    if let Some(segment) = &anatomy.segment
        && segment.protocol == IpProtocol::UDP
    {
        set_length(bytes, segment.place.start + 4, end - segment.place.start);
    }
    pad(bytes);
}

fn set_length(bytes: &mut [u8], offset: usize, len: usize) {
    bytes[offset..offset + 2].copy_from_slice(&(len as u16).to_be_bytes());
}
