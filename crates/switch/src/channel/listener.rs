//! Where controllers connect to the switch: a port, or a socket of this machine.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::endpoint::Endpoint;
use crate::socket::Socket;

pub(super) enum Listener {
    Port(TcpListener),
    Local(Socket),
}

impl Listener {
    /// Listens at an endpoint; nothing where the switch connects itself.
    pub(super) fn open(endpoint: &Endpoint) -> Result<Option<Self>, String> {
        let failed = |error: io::Error| format!("{endpoint}: {error}");
        let listener = match endpoint {
            Endpoint::Connect(..) => return Ok(None),
            Endpoint::Listen(..) => {
                let listener = TcpListener::bind(endpoint.address()?).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Self::Port(listener)
            }
            Endpoint::Local(path) => {
                let socket = Socket::open(path).map_err(failed)?;
                socket.listener().set_nonblocking(true).map_err(failed)?;
                Self::Local(socket)
            }
        };
        Ok(Some(listener))
    }

    /// The port that it has.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Port(listener) => listener.local_addr().ok(),
            Self::Local(_) => None,
        }
    }

    /// A connection, if there is one.
    pub(super) fn accept(&self) -> io::Result<TcpStream> {
        match self {
            Self::Port(listener) => listener.accept().map(|(socket, _)| socket),
            // What is done with a connection is the same for both.
            Self::Local(socket) => {
                let (accepted, _) = socket.listener().accept()?;
                Ok(TcpStream::from(OwnedFd::from(accepted)))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Port(listener) => listener.as_fd(),
            Self::Local(socket) => socket.listener().as_fd(),
        }
    }
}
