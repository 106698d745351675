use brimful_frame::header_len::ADDRESSES;
use brimful_frame::{EtherType, FRAME_CHECK_SEQUENCE_LEN, MIN_FRAME_SIZE};

use crate::test_frames::{Content, FrameLayout, HeaderField, Stamp, TestTemplate, Transport};

/// Frames below the least size of Ethernet have no room for IP, and IP packets in frames above the largest may be
/// fragmented by a bridge that filters: there the payload is the signature, of a type for experiments.
const EXPERIMENTAL: EtherType = EtherType(0x88b5);
const LARGEST_WITH_IP: usize = 1518;
const HEADER_LEN: usize = ADDRESSES + 2;
/// Has room for addresses, type and signature.
pub(super) const SMALLEST_FRAME_SIZE: usize = HEADER_LEN + Stamp::LEN + FRAME_CHECK_SEQUENCE_LEN;
/// 198.18.0.1 and 198.18.0.2: of the range for tests (RFC 2544 appendix C.2.2).
const SOURCE_IP: u128 = 0xc612_0001;
const DESTINATION_IP: u128 = 0xc612_0002;
const HOP_LIMIT: u128 = 64;
const SOURCE_PORT: u128 = 49152;
/// Echo (RFC 2544 appendix C.2.6.3).
const DESTINATION_PORT: u128 = 7;

/// All of a frame but its addresses and its signature; the size was checked.
pub(super) fn template(frame_size: usize) -> TestTemplate {
    if !(MIN_FRAME_SIZE..=LARGEST_WITH_IP).contains(&frame_size) {
        let mut bytes = vec![0; frame_size - FRAME_CHECK_SEQUENCE_LEN];
        bytes[ADDRESSES..HEADER_LEN].copy_from_slice(&EXPERIMENTAL.0.to_be_bytes());
        return TestTemplate::generated(bytes);
    }
    let layout = FrameLayout {
        tags: Vec::new(),
        labels: 0,
        content: Content::Ipv4(Transport::Udp),
    };
    let fields = [
        (HeaderField::SourceIp, SOURCE_IP),
        (HeaderField::DestinationIp, DESTINATION_IP),
        (HeaderField::HopLimit, HOP_LIMIT),
        (HeaderField::SourcePort, SOURCE_PORT),
        (HeaderField::DestinationPort, DESTINATION_PORT),
    ];
    layout.template(frame_size, &fields).expect("the size was checked")
}
