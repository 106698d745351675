use std::fs;
use std::io;

use crate::claim::await_carrier;
use crate::interface::Interface;
use crate::{BackEnd, Care, OpenError, PacketPortOptions};

/// Short enough for every back end.
const FRAME_LEN: usize = 60;

/// What was found out about one back end on one interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attempt {
    /// Which.
    pub back_end: BackEnd,
    /// Why it does not work, and what would help.
    pub obstacle: Option<String>,
    /// Whether it does not because another program has the interface.
    pub is_taken: bool,
    /// Whether the card itself reads and writes the frames.
    pub is_zero_copy: bool,
}

/// What was found out about an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Findings {
    /// What somebody uses it for, in words that follow its name: a tester leaves it alone unless it is forced.
    pub used_for: Option<String>,
    /// One a back end.
    pub attempts: Vec<Attempt>,
}

/// The interfaces of this network namespace but `lo`, in the kernel's order.
///
/// # Errors
/// When the kernel does not answer.
pub fn interface_names() -> io::Result<Vec<String>> {
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = table.lines().filter_map(|line| line.split_once(':'));
    Ok(names
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| name != "lo")
        .collect())
}

/// Opens and closes an interface with each back end; makes none.
pub fn try_back_ends(name: &str, care: Care) -> Findings {
    let found = Interface::find(name);
    let used_for = found
        .as_ref()
        .and_then(|interface| interface.use_by_others().ok().flatten());
    let is_spared = care == Care::SpareUsed && used_for.is_some();
    // For a program some drivers restart the link: one that was up is awaited.
    let was_up = found.as_ref().is_some_and(|interface| interface.check_up().is_ok());
    let check_link = |interface: &Interface| {
        if was_up {
            await_carrier(interface)
        } else {
            interface.check_up()
        }
    };
    let open = |back_end: BackEnd| {
        let interface = found.as_ref();
        let interface = interface.ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        if is_spared && matches!(back_end, BackEnd::Xdp(_)) {
            return Err(OpenError::NotTried(name.to_owned()));
        }
        if back_end != BackEnd::Tap {
            check_link(interface)?;
        }
        back_end.open(name, PacketPortOptions::new(FRAME_LEN))
    };
    let attempt = |back_end| {
        let opened = open(back_end);
        Attempt {
            back_end,
            obstacle: opened.as_ref().err().map(ToString::to_string),
            is_taken: opened.as_ref().is_err_and(OpenError::is_of_another_program),
            is_zero_copy: opened.is_ok_and(|port| port.sender.is_zero_copy()),
        }
    };
    let attempts = BackEnd::ALL.into_iter().map(attempt).collect();
    if let Some(interface) = &found {
        // The next program is to find it as it was.
        let _ = check_link(interface);
    }
    Findings { used_for, attempts }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_an_address_and_is_no_tap() {
        assert!(!interface_names().unwrap().contains(&"lo".to_owned()));
        let Findings { used_for, attempts } = try_back_ends("lo", Care::SpareUsed);
        if used_for.is_none() {
            return;
        }
        assert_eq!(attempts.len(), BackEnd::ALL.len());
        for attempt in attempts {
            match attempt.back_end {
                BackEnd::Packet(_) => {}
                BackEnd::Xdp(_) => assert!(attempt.obstacle.is_some_and(|text| text.contains("not tried"))),
                BackEnd::Tap => assert!(attempt.obstacle.is_some()),
            }
        }
    }
}
