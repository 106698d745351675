use super::layers::{GRE, GRE_CHECKSUM, Layer, Layers};
use super::{PUSH, TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE, UDP_CHECKSUM, put_sum, put_word, word};
use crate::{Checksum, EtherType, IpProtocol, header_len};

/// Flags that only the last segment has, and only the first one.
const FIN_AND_PUSH: u8 = 0x09;
const ACKNOWLEDGEMENT: u8 = 0x10;
const CONGESTION_WINDOW_REDUCED: u8 = 0x80;
/// Where GRE has its checksum.
const GRE_CHECKSUM_AT: usize = 4;
/// How many packets may lie within one another around segments.
const MOST_LAYERS: usize = 4;

/// Several segments of TCP or UDP in one frame: the headers once, then what the segments carry.
///
/// Places are counted from the end of the frame, so that they hold whatever is pushed in front of IP or popped.
///
/// ```
/// use brimful_frame::Merged;
/// assert!(Merged::find(&[0; 60], 1448, None).is_none());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Merged {
    /// The IP packets within one another, the last with the segments.
    layers: [Span; MOST_LAYERS],
    depth: usize,
    pub(crate) payload: usize,
    pub(crate) size: usize,
}

/// A layer, its places counted from the end of the frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) network: u32,
    pub(crate) transport: u32,
    destination: u32,
    protocol: u8,
    pub(crate) is_v6: bool,
    /// Whether what it carries has a checksum.
    is_summed: bool,
}

/// How a card learns of the checksum of a merged frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PartialSum {
    /// Where summing begins.
    pub start: usize,
    /// How far behind that the field is.
    pub offset: usize,
    /// What the field is to hold: the sum of the pseudo header.
    pub value: u16,
}

impl Merged {
    /// A frame with segments that carry `size` bytes each, the last one perhaps less; `None` where it is no such frame.
    /// The segments begin at `start`, or in the outermost packet of TCP or UDP.
    pub fn find(frame: &[u8], size: usize, start: Option<usize>) -> Option<Self> {
        Self::find_layer(frame, size, |layer| match start {
            Some(start) => layer.at == start,
            None => matches!(layer.protocol, IpProtocol::TCP | IpProtocol::UDP),
        })
    }

    /// The same with segments of TCP, wherever they begin.
    pub fn find_tcp(frame: &[u8], size: usize) -> Option<Self> {
        Self::find_layer(frame, size, |layer| layer.protocol == IpProtocol::TCP)
    }

    /// A frame with one segment of TCP whose checksum is not finished, as hosts send that cannot merge: others may
    /// follow that belong to it ([`crate::Train`]). Nothing but data and acknowledgements is taken for such.
    pub fn find_unfinished(frame: &[u8]) -> Option<Self> {
        Self::unfinished_at(frame, Layers::of(frame).next()?)
    }

    pub(super) fn unfinished_at(frame: &[u8], layer: Layer) -> Option<Self> {
        if layer.protocol != IpProtocol::TCP || !layer.is_unfinished(frame) {
            return None;
        }
        Self::within_layers(frame, [layer], usize::MAX).filter(|merged| merged.may_be_followed(frame))
    }

    fn find_layer(frame: &[u8], size: usize, is_it: impl Fn(&Layer) -> bool) -> Option<Self> {
        let last = Layers::of(frame).take(MOST_LAYERS).position(|layer| is_it(&layer))?;
        Self::within_layers(frame, Layers::of(frame).take(last + 1), size)
    }

    /// In the last of these layers.
    fn within_layers(frame: &[u8], layers: impl IntoIterator<Item = Layer>, size: usize) -> Option<Self> {
        let (mut spans, mut depth, mut inner) = ([Span::default(); MOST_LAYERS], 0, None);
        for layer in layers {
            // Behind the IP packet is nothing that belongs to a segment.
            if layer.end != frame.len() {
                return None;
            }
            spans[depth] = Span::of(frame, &layer)?;
            depth += 1;
            inner = Some(layer);
        }
        let inner = inner?;
        let header_len = match inner.protocol {
            IpProtocol::TCP => (usize::from(frame[inner.at + 12] >> 4) * 4).max(header_len::TCP),
            IpProtocol::UDP => header_len::UDP,
            _ => return None,
        };
        let payload = frame.len().checked_sub(inner.at + header_len)?;
        (payload > 0 && size > 0).then(|| Self {
            layers: spans,
            depth,
            payload,
            size: size.min(payload),
        })
    }

    fn inner(&self) -> &Span {
        &self.layers[self.depth - 1]
    }

    /// The only packet of a frame that is in no tunnel.
    pub(crate) fn single(&self) -> Span {
        self.layers[0]
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.payload.div_ceil(self.size)
    }

    /// Whether it is a single segment of TCP with nothing but data, in no tunnel: others may follow that belong to it.
    pub fn may_be_followed(&self, frame: &[u8]) -> bool {
        self.depth == 1 && self.is_tcp() && self.segments() == 1 && {
            let flags = frame[frame.len() - self.inner().transport as usize + TCP_FLAGS];
            flags & !PUSH == ACKNOWLEDGEMENT
        }
    }

    /// Bytes that a segment carries, all but the last.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether it is TCP; else UDP.
    pub fn is_tcp(&self) -> bool {
        self.inner().protocol == IpProtocol::TCP.0
    }

    /// Whether it is IPv6; else IPv4.
    pub fn is_v6(&self) -> bool {
        self.inner().is_v6
    }

    /// Bytes of all headers of a frame that is so long by now.
    pub fn headers_len(&self, frame_len: usize) -> usize {
        frame_len - self.payload
    }

    /// With one more segment's bytes behind the others.
    pub(crate) fn extend(&mut self, bytes: usize) {
        let span = &mut self.layers[0];
        for place in [&mut span.network, &mut span.transport, &mut span.destination] {
            *place += bytes as u32;
        }
        self.payload += bytes;
    }

    /// With segments that are no longer than frames may be. The datagrams of UDP cannot be made smaller.
    #[must_use]
    pub fn within(mut self, frame_len: usize, longest: usize) -> Option<Self> {
        let room = longest.saturating_sub(self.headers_len(frame_len));
        if self.size > room {
            if room == 0 || !self.is_tcp() {
                return None;
            }
            self.size = room;
        }
        Some(self)
    }

    /// Whether a card finds the headers: IP directly behind Ethernet, or behind one tag, and in no tunnel.
    pub fn is_plain(&self, frame: &[u8]) -> bool {
        let network = frame.len() - self.single().network as usize;
        let ip = if self.is_v6() { EtherType::IPV6 } else { EtherType::IPV4 };
        let type_at = |at: usize| EtherType(word(frame, at) as u16);
        let ethernet_len = header_len::ADDRESSES + 2;
        self.depth == 1
            && type_at(network - 2) == ip
            && (network == ethernet_len
                || network == ethernet_len + header_len::TAG && type_at(header_len::ADDRESSES) == EtherType::VLAN)
            && self.is_still_itself(frame, network)
    }

    /// Whether no action has written another protocol into IP.
    fn is_still_itself(&self, frame: &[u8], network: usize) -> bool {
        self.is_v6() || frame[network + 9] == self.inner().protocol
    }

    /// What a card needs to finish the checksums of all segments, whatever has been done to the addresses meanwhile.
    pub fn partial_sum(&self, frame: &[u8]) -> PartialSum {
        let layer = self.inner().in_frame(frame.len());
        PartialSum {
            start: layer.at,
            offset: self.checksum_offset(),
            value: layer.pseudo_sum(frame, layer.end - layer.at),
        }
    }

    fn checksum_offset(&self) -> usize {
        if self.is_tcp() { TCP_CHECKSUM } else { UDP_CHECKSUM }
    }

    /// Appends segment `index` to `out`, complete.
    pub fn cut(&self, frame: &[u8], index: usize, out: &mut Vec<u8>) {
        let from = index * self.size;
        let carried = self.size.min(self.payload - from);
        let headers_len = self.headers_len(frame.len());
        let begin = out.len();
        out.extend_from_slice(&frame[..headers_len]);
        out.extend_from_slice(&frame[headers_len + from..][..carried]);
        let segment = &mut out[begin..];
        if self.is_tcp() {
            let at = frame.len() - self.inner().transport as usize;
            let sequence = &mut segment[at + TCP_SEQUENCE..][..4];
            let first = u32::from_be_bytes([sequence[0], sequence[1], sequence[2], sequence[3]]);
            sequence.copy_from_slice(&first.wrapping_add(from as u32).to_be_bytes());
            if index > 0 {
                segment[at + TCP_FLAGS] &= !CONGESTION_WINDOW_REDUCED;
            }
            if from + carried < self.payload {
                segment[at + TCP_FLAGS] &= !FIN_AND_PUSH;
            }
        }
        // The checksums of outer packets cover the inner ones.
        for span in self.layers[..self.depth].iter().rev() {
            let layer = Layer {
                end: segment.len(),
                ..span.in_frame(frame.len())
            };
            layer.put_len(segment, index);
            layer.put_checksum(segment, span.is_summed);
        }
    }
}

impl Span {
    /// `None` where the header of what the packet carries is not all there.
    fn of(frame: &[u8], layer: &Layer) -> Option<Self> {
        let back = |at: usize| (frame.len() - at) as u32;
        let is_transport = matches!(layer.protocol, IpProtocol::TCP | IpProtocol::UDP);
        let is_there = !is_transport || layer.checksum_offset().is_some();
        is_there.then(|| Self {
            network: back(layer.network),
            transport: back(layer.at),
            destination: back(layer.destination),
            protocol: layer.protocol.0,
            is_v6: layer.is_v6,
            is_summed: match layer.protocol {
                IpProtocol::TCP => true,
                IpProtocol::UDP => word(frame, layer.at + UDP_CHECKSUM) != 0,
                GRE => frame[layer.at] & GRE_CHECKSUM != 0,
                _ => false,
            },
        })
    }

    fn in_frame(self, frame_len: usize) -> Layer {
        Layer {
            network: frame_len - self.network as usize,
            at: frame_len - self.transport as usize,
            end: frame_len,
            protocol: IpProtocol(self.protocol),
            is_v6: self.is_v6,
            destination: frame_len - self.destination as usize,
        }
    }
}

impl Layer {
    /// Writes the lengths of a segment, and the identification that its place among the others gives it.
    fn put_len(&self, segment: &mut [u8], index: usize) {
        let Self { network, at, end, .. } = *self;
        if self.is_v6 {
            put_word(segment, network + 4, end - network - header_len::IPV6);
        } else {
            put_word(segment, network + 2, end - network);
            let identification = word(segment, network + 4) + index;
            put_word(segment, network + 4, identification);
            put_word(segment, network + 10, 0);
            let behind = network + usize::from(segment[network] & 0xf) * 4;
            let sum = Checksum::new().with_bytes(&segment[network..behind]);
            put_word(segment, network + 10, usize::from(sum.finish()));
        }
        if self.protocol == IpProtocol::UDP {
            put_word(segment, at + 4, end - at);
        }
    }

    fn put_checksum(&self, segment: &mut [u8], is_summed: bool) {
        let Self { at, end, .. } = *self;
        let (offset, pseudo) = match self.protocol {
            _ if !is_summed => return,
            IpProtocol::TCP => (TCP_CHECKSUM, self.pseudo_sum(segment, end - at)),
            IpProtocol::UDP => (UDP_CHECKSUM, self.pseudo_sum(segment, end - at)),
            GRE => (GRE_CHECKSUM_AT, 0),
            _ => return,
        };
        put_word(segment, at + offset, 0);
        let sum = Checksum::new().with_word(pseudo).with_bytes(&segment[at..end]);
        put_sum(segment, at + offset, sum.finish());
    }
}
