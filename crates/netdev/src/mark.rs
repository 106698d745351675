//! Marks by which programs see that another one has an interface. Such names are those of a network namespace, as
//! interfaces are, and vanish with the socket, however its program ends.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Who has an interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    Tester,
    Switch,
}

/// Says that an interface has an owner for as long as this lives.
#[derive(Debug)]
pub struct Mark {
    _name: UnixDatagram,
}

impl Mark {
    /// Marks an interface by its index; nothing where another owner of this kind has marked it.
    pub(crate) fn put(owner: Owner, index: i32) -> io::Result<Option<Self>> {
        match UnixDatagram::bind_addr(&name(owner, index)?) {
            Ok(name) => Ok(Some(Self { _name: name })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether an owner of this kind has marked an interface.
    pub(crate) fn is_there(owner: Owner, index: i32) -> io::Result<bool> {
        match UnixDatagram::unbound()?.connect_addr(&name(owner, index)?) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn name(owner: Owner, index: i32) -> io::Result<SocketAddr> {
    let owner = match owner {
        Owner::Tester => "tester",
        Owner::Switch => "switch",
    };
    SocketAddr::from_abstract_name(format!("brimful-{owner}-{index}"))
}
