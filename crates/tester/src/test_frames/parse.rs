use brimful_frame::{Checksum, IpProtocol, Malformed, VlanTag};

use super::anatomy::{Anatomy, Network};
use super::stamp::Stamp;

/// A test frame as it came back: intact, and what it says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TestFrame {
    /// What the sender put in.
    pub stamp: Stamp,
    /// The outermost VLAN tag, if any.
    pub vlan: Option<VlanTag>,
}

impl TestFrame {
    /// Finds the stamp behind whatever headers there are, at the start or at the end of the payload, and checks every
    /// checksum: a device that damages frames has lost them.
    ///
    /// # Errors
    /// When it is no test frame, or a damaged one ([`Malformed::Checksum`]).
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let anatomy = Anatomy::of(bytes)?;
        let payload = &bytes[anatomy.payload];
        let stamp = Stamp::parse(payload).or_else(|error| {
            let at_end = Stamp::offset_at_end(payload.len()).ok_or(error)?;
            Stamp::parse(&payload[at_end..])
        })?;
        if let Network::Ipv4 { header } = anatomy.network
            && !Checksum::new().with_bytes(&bytes[header]).is_intact()
        {
            return Err(Malformed::Checksum { format: "IPv4" });
        }
        let vlan = anatomy.vlan;
        let found = Self { stamp, vlan };
        let Some(segment) = anatomy.segment else {
            if !Checksum::new().with_bytes(payload).is_intact() {
                return Err(Malformed::Checksum { format: "payload" });
            }
            return Ok(found);
        };
        // An address in neighbour discovery can look like a stamp, and what a router sends back with an error has one.
        if is_message(segment.protocol, bytes[segment.place.start]) && !Checksum::new().with_bytes(payload).is_intact()
        {
            return Err(Malformed::Field {
                format: "test frame",
                field: "ICMP type",
                value: u32::from(bytes[segment.place.start]),
            });
        }
        // A device that leaves the UDP checksum out (RFC 768 allows it) has taken away what shows damage.
        let checksum = &bytes[segment.checksum_offset..segment.checksum_offset + 2];
        let is_left_out = segment.protocol == IpProtocol::UDP && *checksum == [0; 2];
        if is_left_out || !segment.pseudo_header.with_bytes(&bytes[segment.place]).is_intact() {
            return Err(Malformed::Checksum { format: "segment" });
        }
        Ok(found)
    }
}

/// Whether a type of ICMP is another than that of echoes, which are all that a tester makes itself.
fn is_message(protocol: IpProtocol, icmp_type: u8) -> bool {
    match protocol {
        IpProtocol::ICMP => !matches!(icmp_type, 0 | 8),
        IpProtocol::ICMPV6 => !matches!(icmp_type, 128 | 129),
        _ => false,
    }
}
