use std::fs;
use std::io;

use crate::interface::Interface;
use crate::{BackEnd, OpenError, PacketPortOptions};

/// Short enough for every back end.
const FRAME_LEN: usize = 60;

/// What was found out about one back end on one interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attempt {
    /// Which.
    pub back_end: BackEnd,
    /// Why it does not work, and what would help.
    pub obstacle: Option<String>,
}

/// Whether trying may disturb what an interface is used for: a program that redirects its frames does, and some drivers
/// restart the link for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Care {
    /// Whoever asks knows what it is used for.
    TryAll,
    /// An interface with an address is used by someone.
    SpareAddresses,
}

/// The interfaces of this network namespace but `lo`, in the kernel's order.
///
/// # Errors
/// When the kernel does not tell.
pub fn interface_names() -> io::Result<Vec<String>> {
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = table.lines().filter_map(|line| line.split_once(':'));
    Ok(names
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| name != "lo")
        .collect())
}

/// Opens and closes an interface with each back end; makes none.
pub fn try_back_ends(interface: &str, care: Care) -> Vec<Attempt> {
    let found = Interface::find(interface);
    let is_spared = care == Care::SpareAddresses && found.as_ref().is_some_and(Interface::has_address);
    let obstacle = |back_end| match back_end {
        _ if found.is_none() => Some(OpenError::NoSuchInterface(interface.to_owned()).to_string()),
        BackEnd::Xdp(_) if is_spared => Some(format!(
            "not tried: `{interface}` carries an address, and trying interrupts its traffic; name it to try"
        )),
        _ => back_end
            .open(interface, PacketPortOptions::new(FRAME_LEN))
            .err()
            .map(|error| error.to_string()),
    };
    let attempt = |back_end| Attempt {
        back_end,
        obstacle: obstacle(back_end),
    };
    BackEnd::ALL.into_iter().map(attempt).collect()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_an_address_and_is_no_tap() {
        assert!(!interface_names().unwrap().contains(&"lo".to_owned()));
        let attempts = try_back_ends("lo", Care::SpareAddresses);
        assert_eq!(attempts.len(), BackEnd::ALL.len());
        for attempt in attempts {
            match attempt.back_end {
                BackEnd::Packet => {}
                BackEnd::Xdp(_) => assert!(attempt.obstacle.is_some_and(|text| text.contains("not tried"))),
                BackEnd::Tap => assert!(attempt.obstacle.is_some()),
            }
        }
    }
}
