//! What else the interfaces of this network namespace are used for, as the kernel reports over netlink.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use netlink_packet_core::{
    Emitable, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NlaBuffer, NlasIterator, parse_ip, parse_string,
    parse_u32,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// The kernel sends no more of a dump at once.
const LARGEST_PART: usize = 32 << 10;
/// `struct ifinfomsg` and `ifaddrmsg` of `linux/rtnetlink.h` and `linux/if_addr.h`; both have the index behind four bytes.
const LINK_HEADER_LEN: usize = 16;
const ADDRESS_HEADER_LEN: usize = 8;
/// Interfaces of these kinds send and receive through the one below them. The links of a pair name each other as well.
const UPPER_KINDS: [&str; 6] = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"];

/// Of those, the kinds to which the one below passes frames by their addresses.
const KINDS_BY_ADDRESS: [&str; 4] = ["macvlan", "macvtap", "ipvlan", "ipvtap"];
/// `IFLA_MACVLAN_MODE` and `MACVLAN_MODE_PASSTHRU` of `linux/if_link.h`: all frames are for this one.
const MACVLAN_MODE: u16 = 1;
const MACVLAN_PASSTHRU: u32 = 8;

/// An interface and its neighbours.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Link {
    index: i32,
    name: String,
    /// The bridge, bond or the like that it is a port of.
    master: Option<i32>,
    below: Option<i32>,
    /// What kind of software it is; nothing for hardware.
    kind: Option<String>,
    /// Whether it is a macvlan for all frames of the interface below.
    takes_all: bool,
}

/// Whether something is at the other end of an interface, and how often that ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Carrier {
    pub(crate) is_there: bool,
    pub(crate) losses: u32,
}

/// All interfaces of this network namespace.
#[derive(Debug)]
pub(crate) struct Links(Vec<Link>);

impl Links {
    /// Asks the kernel.
    pub(crate) fn read() -> io::Result<Self> {
        let messages = dump(libc::RTM_GETLINK, LINK_HEADER_LEN)?;
        Ok(Self(messages.iter().filter_map(|body| parse_link(body)).collect()))
    }

    /// Whether there is no hardware behind an interface.
    pub(crate) fn is_software(&self, index: i32) -> bool {
        self.0.iter().any(|link| link.index == index && link.kind.is_some())
    }

    /// Whether no frame to an address of others arrives at an interface, promiscuous or not.
    pub(crate) fn takes_its_addresses_only(&self, index: i32) -> bool {
        let is_by_address = |kind: &str| KINDS_BY_ADDRESS.contains(&kind);
        let found = self.0.iter().find(|link| link.index == index);
        found.is_some_and(|link| !link.takes_all && link.kind.as_deref().is_some_and(is_by_address))
    }

    /// The interface that has taken this one as a port.
    pub(crate) fn master_of(&self, index: i32) -> Option<&str> {
        let master = self.0.iter().find(|link| link.index == index)?.master?;
        let found = self.0.iter().find(|link| link.index == master);
        Some(found.map_or("another interface", |link| &link.name))
    }

    /// An interface whose frames go through this one.
    pub(crate) fn upper_of(&self, index: i32) -> Option<&str> {
        let is_upper = |link: &&Link| {
            link.below == Some(index) && link.kind.as_deref().is_some_and(|kind| UPPER_KINDS.contains(&kind))
        };
        self.0.iter().find(is_upper).map(|link| link.name.as_str())
    }
}

/// An address by which somebody can be reached through an interface; IPv6 gives a link-local one to everybody.
pub(crate) fn address_of(index: i32) -> io::Result<Option<IpAddr>> {
    let messages = dump(libc::RTM_GETADDR, ADDRESS_HEADER_LEN)?;
    let addresses = messages.iter().filter_map(|body| parse_address(body));
    let mut reachable = addresses.filter(|&(of, address)| of == index && !is_link_local(address));
    Ok(reachable.next().map(|(_, address)| address))
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// The carrier of an interface, as its driver has it: the flags of the interface follow up to a second later.
pub(crate) fn carrier_of(index: i32) -> io::Result<Carrier> {
    let mut header = [0; LINK_HEADER_LEN];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut socket = ask(libc::RTM_GETLINK, NLM_F_REQUEST, &header)?;
    let mut bodies = Vec::new();
    read_part(&mut socket, &mut bodies)?;
    let carrier = bodies.first().and_then(|body| parse_carrier(body));
    carrier.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The bodies of all messages that answer a question about everything.
fn dump(question: u16, header_len: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut socket = ask(question, NLM_F_REQUEST | NLM_F_DUMP, &vec![0; header_len])?;
    let mut bodies = Vec::new();
    while !read_part(&mut socket, &mut bodies)? {}
    Ok(bodies)
}

fn ask(question: u16, flags: u16, header: &[u8]) -> io::Result<File> {
    // The protocol NETLINK_ROUTE is 0.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut socket = File::from(socket);
    let mut message = NetlinkHeader::default();
    let mut request = vec![0; message.buffer_len()];
    message.length = (request.len() + header.len()) as u32;
    message.message_type = question;
    message.flags = flags;
    message.emit(&mut request);
    request.extend(header);
    socket.write_all(&request)?;
    Ok(socket)
}

/// Reads what the kernel sends at once and says whether the last message was among it.
fn read_part(socket: &mut File, bodies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let mut part = vec![0; LARGEST_PART];
    match socket.read(&mut part)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        len => take_bodies(&part[..len], bodies),
    }
}

/// Takes messages apart and says whether the last one was among them.
fn take_bodies(mut part: &[u8], bodies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while !part.is_empty() {
        let message = NetlinkBuffer::new_checked(part).map_err(io::Error::other)?;
        match libc::c_int::from(message.message_type()) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let code = number(message.payload(), 0).map_or(libc::EIO, i32::wrapping_neg);
                return Err(io::Error::from_raw_os_error(code));
            }
            _ => bodies.push(message.payload().to_vec()),
        }
        let len = message.length().next_multiple_of(4) as usize;
        part = part.get(len..).unwrap_or_default();
    }
    Ok(false)
}

fn parse_link(body: &[u8]) -> Option<Link> {
    let mut link = Link {
        index: number(body, 4)?,
        ..Link::default()
    };
    for attribute in attributes(body.get(LINK_HEADER_LEN..)?) {
        match attribute.kind() {
            libc::IFLA_IFNAME => link.name = text(&attribute),
            libc::IFLA_MASTER => link.master = number(attribute.value(), 0),
            libc::IFLA_LINK => link.below = number(attribute.value(), 0),
            libc::IFLA_LINKINFO => {
                for detail in attributes(attribute.value()) {
                    match detail.kind() {
                        libc::IFLA_INFO_KIND => link.kind = Some(text(&detail)),
                        libc::IFLA_INFO_DATA => link.takes_all = has_all_frames(detail.value()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(link)
}

fn has_all_frames(macvlan: &[u8]) -> bool {
    let is_mode = |mode: NlaBuffer<_>| {
        mode.kind() == MACVLAN_MODE && parse_u32(mode.value()).is_ok_and(|mode| mode == MACVLAN_PASSTHRU)
    };
    attributes(macvlan).any(is_mode)
}

/// The carrier, where the message has it; kernels before 4.16 do not count its losses.
fn parse_carrier(body: &[u8]) -> Option<Carrier> {
    let (mut is_there, mut losses) = (None, 0);
    for attribute in attributes(body.get(LINK_HEADER_LEN..)?) {
        match attribute.kind() {
            libc::IFLA_CARRIER => is_there = attribute.value().first().map(|&byte| byte != 0),
            libc::IFLA_CARRIER_DOWN_COUNT => losses = parse_u32(attribute.value()).ok()?,
            _ => {}
        }
    }
    Some(Carrier {
        is_there: is_there?,
        losses,
    })
}

/// The interface's index and an address of its own.
fn parse_address(body: &[u8]) -> Option<(i32, IpAddr)> {
    let mut address = None;
    for attribute in attributes(body.get(ADDRESS_HEADER_LEN..)?) {
        let kind = attribute.kind();
        // Where both ends of a link are given, `IFA_ADDRESS` is the other one.
        if kind == libc::IFA_LOCAL || (kind == libc::IFA_ADDRESS && address.is_none()) {
            address = parse_ip(attribute.value()).ok();
        }
    }
    Some((number(body, 4)?, address?))
}

/// Attributes up to the first that is cut short. Each is looked at by itself: what newer kernels add spoils nothing.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = NlaBuffer<&[u8]>> {
    NlasIterator::new(bytes).map_while(Result::ok)
}

fn text(attribute: &NlaBuffer<&[u8]>) -> String {
    parse_string(attribute.value()).unwrap_or_default()
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    Some(parse_u32(bytes.get(at..at + 4)?).ok()?.cast_signed())
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use std::net::Ipv6Addr;

    use netlink_packet_core::DefaultNla;
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let attribute = DefaultNla::new(kind, value.to_vec());
        let mut bytes = vec![0; attribute.buffer_len()];
        attribute.emit(&mut bytes);
        bytes
    }

    fn link(index: i32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0; LINK_HEADER_LEN];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        body.extend(attributes.concat());
        body
    }

    fn kind(name: &str) -> Vec<u8> {
        attribute(
            libc::IFLA_LINKINFO,
            &attribute(libc::IFLA_INFO_KIND, format!("{name}\0").as_bytes()),
        )
    }

    fn links() -> Links {
        let name = |text: &str| attribute(libc::IFLA_IFNAME, format!("{text}\0").as_bytes());
        let number = |kind, index: i32| attribute(kind, &index.to_ne_bytes());
        let bodies = [
            link(1, &[name("eth0")]),
            link(2, &[name("eth1"), number(libc::IFLA_MASTER, 3)]),
            link(3, &[name("br0"), kind("bridge")]),
            link(4, &[name("eth0.7"), number(libc::IFLA_LINK, 1), kind("vlan")]),
            link(5, &[name("ta"), number(libc::IFLA_LINK, 6), kind("veth")]),
            link(
                6,
                &[
                    name("tb"),
                    number(libc::IFLA_LINK, 5),
                    number(libc::IFLA_MASTER, 99),
                    kind("veth"),
                ],
            ),
        ];
        Links(bodies.iter().filter_map(|body| parse_link(body)).collect())
    }

    #[test]
    fn a_macvlan_is_for_all_frames_in_one_mode_only() {
        let macvlan = |mode: u32| {
            let mode = attribute(MACVLAN_MODE, &mode.to_ne_bytes());
            let details = [
                attribute(libc::IFLA_INFO_KIND, b"macvlan\0"),
                attribute(libc::IFLA_INFO_DATA, &mode),
            ];
            link(1, &[attribute(libc::IFLA_LINKINFO, &details.concat())])
        };
        for (body, expected) in [
            (macvlan(4), true),
            (macvlan(8), false),
            (link(1, &[kind("veth")]), false),
        ] {
            let links = Links(parse_link(&body).into_iter().collect());
            assert_eq!(links.takes_its_addresses_only(1), expected);
        }
    }

    #[test]
    fn neighbours_are_named() {
        let links = links();
        assert_eq!(links.master_of(2), Some("br0"));
        assert_eq!((links.master_of(1), links.master_of(77)), (None, None));
        assert_eq!(links.master_of(6), Some("another interface"));
        assert_eq!(links.upper_of(1), Some("eth0.7"));
        assert_eq!(links.upper_of(5), None, "the other end of a pair is nobody's user");
        assert_eq!([1, 4, 5].map(|index| links.is_software(index)), [false, true, true]);
    }

    #[test]
    fn addresses_are_the_interfaces_own() {
        let message = |attributes: &[Vec<u8>]| {
            let mut body = vec![0; ADDRESS_HEADER_LEN];
            body[4] = 9;
            body.extend(attributes.concat());
            parse_address(&body)
        };
        let (own, peer) = (
            attribute(libc::IFA_LOCAL, &[192, 0, 2, 1]),
            attribute(libc::IFA_ADDRESS, &[192, 0, 2, 9]),
        );
        let expected = Some((9, IpAddr::from([192, 0, 2, 1])));
        assert_eq!(message(&[peer.clone(), own.clone()]), expected);
        assert_eq!(message(&[own, peer]), expected);
        let v6 = message(&[attribute(libc::IFA_ADDRESS, &Ipv6Addr::LOCALHOST.octets())]);
        assert_eq!(v6, Some((9, Ipv6Addr::LOCALHOST.into())));
        assert_eq!(message(&[attribute(libc::IFA_ADDRESS, &[1, 2, 3])]), None);
        assert!(is_link_local("fe80::1".parse().unwrap()));
        assert!(!is_link_local("169.254.0.1".parse().unwrap()));
    }

    #[test]
    fn a_carrier_and_its_losses_are_read() {
        let losses = attribute(libc::IFLA_CARRIER_DOWN_COUNT, &7_u32.to_ne_bytes());
        let carrier = |byte: u8| attribute(libc::IFLA_CARRIER, &[byte]);
        let found = |attributes: &[Vec<u8>]| parse_carrier(&link(1, attributes));
        assert_eq!(
            found(&[carrier(1), losses]),
            Some(Carrier {
                is_there: true,
                losses: 7
            })
        );
        assert_eq!(found(&[carrier(0)]), Some(Carrier::default()));
        assert_eq!(found(&[]), None);
        assert!(carrier_of(i32::MAX).is_err());
    }

    #[test]
    fn errors_of_the_kernel_are_errors_here() {
        let mut part = vec![0; 20];
        part[0] = 20;
        part[4] = libc::NLMSG_ERROR as u8;
        part[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        let error = take_bodies(&part, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn the_kernel_tells_of_loopback() {
        let links = Links::read().unwrap();
        let lo = links.0.iter().find(|link| link.name == "lo").unwrap();
        assert_eq!((lo.index, links.master_of(lo.index)), (1, None));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bodies = Vec::new();
            let _ = take_bodies(&bytes, &mut bodies);
            for body in bodies.iter().chain([&bytes]) {
                let _ = (parse_link(body), parse_address(body), parse_carrier(body));
            }
        }
    }
}
