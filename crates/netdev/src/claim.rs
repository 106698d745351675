use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread;
use std::time::{Duration, Instant};

use crate::OpenError;
use crate::interface::Interface;

/// How long an interface may take to find its carrier: one that was just set up, or whose driver has restarted the link
/// for a program, negotiates a gigabit for three seconds.
const CARRIER_WAIT: Duration = Duration::from_secs(5);
const CARRIER_POLL: Duration = Duration::from_millis(20);

/// Whether what an interface is used for may be disturbed: by test traffic, by a program that redirects its frames, or
/// by a driver that restarts the link for such a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Care {
    /// The caller knows what it is used for.
    TakeAll,
    /// An interface that carries an address or a default route, or belongs to another interface, is used by someone.
    SpareUsed,
}

/// The right to send test traffic through an interface; no other tester has it as long as this one lives.
#[derive(Debug)]
pub struct Claim {
    interface: Interface,
    _mark: UnixDatagram,
}

impl Claim {
    /// Checks that an interface is up and has no other user. Nothing is attached and nothing sent.
    ///
    /// # Errors
    /// When there is none of that name, or it is down or in use.
    pub fn new(name: &str, care: Care) -> Result<Self, OpenError> {
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        if care == Care::SpareUsed {
            check_unused(&interface)?;
        }
        match interface.check_up() {
            Ok(()) | Err(OpenError::NoCarrier(_)) => {}
            Err(error) => return Err(error),
        }
        // Such names are those of a network namespace, as interfaces are, and vanish with the socket.
        let address = SocketAddr::from_abstract_name(format!("brimful-tester-{}", interface.index()));
        let mark = address.and_then(|address| UnixDatagram::bind_addr(&address));
        let mark = mark.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => OpenError::TesterThere(name.to_owned()),
            _ => OpenError::system(name, "mark it as taken", source),
        })?;
        Ok(Self { interface, _mark: mark })
    }

    /// Waits for the carrier that an interface may lack in its first moments. Of two interfaces that are joined, claim
    /// both first: where one lacks its carrier because the other is down, that is the one to name.
    ///
    /// # Errors
    /// When there still is none after some seconds.
    pub fn await_carrier(&self) -> Result<(), OpenError> {
        await_carrier(&self.interface)
    }
}

/// As [`Claim::await_carrier`]. Then the flags of the interface have it too, which follow later.
pub(crate) fn await_carrier(interface: &Interface) -> Result<(), OpenError> {
    let start = Instant::now();
    loop {
        let found = interface.check_up();
        let is_settled = match &found {
            Ok(()) => interface.is_up().unwrap_or(true),
            Err(error) => !matches!(error, OpenError::NoCarrier(_)),
        };
        if is_settled || start.elapsed() >= CARRIER_WAIT {
            return found;
        }
        thread::sleep(CARRIER_POLL);
    }
}

fn check_unused(interface: &Interface) -> Result<(), OpenError> {
    let name = interface.name();
    let used_for = interface.use_by_others();
    match used_for.map_err(|source| OpenError::system(name, "ask what it is used for", source))? {
        Some(used_for) => Err(OpenError::InUse {
            name: name.to_owned(),
            used_for,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;

    #[test]
    fn loopback_carries_an_address() {
        let interface = Interface::find("lo").unwrap();
        if !interface.is_up().unwrap() {
            return;
        }
        let error = Claim::new("lo", Care::SpareUsed).unwrap_err().to_string();
        assert!(
            error.contains("`lo` carries the address") && error.contains("--force"),
            "{error}"
        );
        let claim = Claim::new("lo", Care::TakeAll).unwrap();
        assert!(matches!(
            Claim::new("lo", Care::TakeAll),
            Err(OpenError::TesterThere(_))
        ));
        drop(claim);
        assert!(Claim::new("lo", Care::TakeAll).is_ok());
    }

    #[test]
    fn what_does_not_exist_is_not_claimed() {
        assert!(matches!(
            Claim::new("brimful-absent", Care::TakeAll),
            Err(OpenError::NoSuchInterface(_))
        ));
    }
}
