use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::system::{open_packet_socket, set_option};

/// Has an interface take frames to any address, not its own alone: test frames have addresses of their own, and a
/// network card throws others away before anybody sees them. It lasts as long as the socket.
pub(crate) fn take_all_addresses(packet_socket: &impl AsFd, interface: i32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: interface,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(
        packet_socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &membership,
    )
}

/// The same for a back end without a packet socket: this one receives nothing.
#[derive(Debug)]
pub(crate) struct Promiscuity {
    _socket: OwnedFd,
}

impl Promiscuity {
    pub(crate) fn of(interface: i32) -> io::Result<Self> {
        let socket = open_packet_socket()?;
        take_all_addresses(&socket, interface)?;
        Ok(Self { _socket: socket })
    }
}
