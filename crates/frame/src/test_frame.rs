use crate::{EtherType, EthernetView, IpProtocol, Ipv4View, Ipv6View, Malformed, Stamp, UdpPorts, UdpView, VlanTag};

/// A test frame as it came back: intact, and what it says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TestFrame {
    /// What the sender put in.
    pub stamp: Stamp,
    /// Both UDP ports.
    pub ports: UdpPorts,
    /// The outermost 802.1Q tag, if any.
    pub vlan: Option<VlanTag>,
}

impl TestFrame {
    /// Reads a frame and checks every checksum in it: a device that damages frames has lost them.
    ///
    /// # Errors
    /// When it is no test frame, or a damaged one ([`Malformed::Checksum`]).
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let ethernet = EthernetView::parse(bytes)?;
        let (datagram, pseudo_header) = match ethernet.ether_type() {
            EtherType::IPV4 => {
                let packet = Ipv4View::parse(ethernet.payload())?;
                require_udp("IPv4", packet.protocol())?;
                if !packet.checksum_is_right() {
                    return Err(Malformed::Checksum { format: "IPv4" });
                }
                (packet.payload(), packet.pseudo_header())
            }
            EtherType::IPV6 => {
                let packet = Ipv6View::parse(ethernet.payload())?;
                require_udp("IPv6", packet.next_header())?;
                (packet.payload(), packet.pseudo_header())
            }
            EtherType(other) => return Err(field("Ethernet", "type", u32::from(other))),
        };
        let datagram = UdpView::parse(datagram)?;
        let stamp = Stamp::parse(datagram.payload())?;
        if !datagram.has_checksum() || !datagram.checksum_is_right(pseudo_header) {
            return Err(Malformed::Checksum { format: "UDP" });
        }
        Ok(Self {
            stamp,
            ports: datagram.ports(),
            vlan: ethernet.vlan(),
        })
    }
}

fn require_udp(format: &'static str, protocol: IpProtocol) -> Result<(), Malformed> {
    if protocol == IpProtocol::UDP {
        Ok(())
    } else {
        Err(field(format, "protocol", u32::from(protocol.0)))
    }
}

fn field(format: &'static str, field: &'static str, value: u32) -> Malformed {
    Malformed::Field { format, field, value }
}
