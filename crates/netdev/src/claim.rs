use std::thread;
use std::time::{Duration, Instant};

use crate::OpenError;
use crate::interface::Interface;
use crate::mark::{Mark, Owner};

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
    _mark: Mark,
}

impl Claim {
    /// Checks that an interface is up and has no other user. Nothing is attached and nothing sent.
    ///
    /// # Errors
    /// When there is none of that name, or it is down or in use.
    pub fn new(name: &str, care: Care) -> Result<Self, OpenError> {
        let interface = found(name)?;
        let mark = mark(&interface, Owner::Tester)?.ok_or_else(|| OpenError::TesterThere(name.to_owned()))?;
        if care == Care::SpareUsed {
            check_unused(&interface)?;
        }
        match interface.check_up() {
            Ok(()) | Err(OpenError::NoCarrier(_)) => Ok(Self { interface, _mark: mark }),
            Err(error) => Err(error),
        }
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

impl Mark {
    /// Marks an interface as a port of a switch: no other switch has it as long as the mark lives.
    ///
    /// # Errors
    /// When another one has it, a tester measures on it, or there is none of that name.
    pub fn of_switch(name: &str) -> Result<Self, OpenError> {
        let interface = found(name)?;
        let mark = mark(&interface, Owner::Switch)?.ok_or_else(|| OpenError::SwitchThere(name.to_owned()))?;
        let is_measured = Self::is_there(Owner::Tester, interface.index());
        if is_measured.map_err(|source| OpenError::system(name, "ask who has it", source))? {
            return Err(OpenError::TesterThere(name.to_owned()));
        }
        Ok(mark)
    }
}

fn found(name: &str) -> Result<Interface, OpenError> {
    Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))
}

fn mark(interface: &Interface, owner: Owner) -> Result<Option<Mark>, OpenError> {
    let mark = Mark::put(owner, interface.index());
    mark.map_err(|source| OpenError::system(interface.name(), "mark it as taken", source))
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
        assert!(matches!(Mark::of_switch("lo"), Err(OpenError::TesterThere(_))));
        drop(claim);
        let claim = Mark::of_switch("lo").unwrap();
        assert!(matches!(Mark::of_switch("lo"), Err(OpenError::SwitchThere(_))));
        assert!(Claim::new("lo", Care::TakeAll).is_ok());
        drop(claim);
        assert!(Mark::of_switch("lo").is_ok());
    }

    #[test]
    fn what_does_not_exist_is_not_claimed() {
        assert!(matches!(
            Claim::new("brimful-absent", Care::TakeAll),
            Err(OpenError::NoSuchInterface(_))
        ));
    }
}
