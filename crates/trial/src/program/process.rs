use std::fs;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Signal, getpid, getsid, set_parent_process_death_signal, setpriority_process, setsid};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The most weight that a process can have.
const HIGHEST_PRIORITY: i32 = -20;

/// Ends with the parent: the results of a program whose parent is gone have no reader.
///
/// # Errors
/// When the kernel refuses.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// Sets `stop` on SIGTERM and SIGINT.
///
/// # Errors
/// When the kernel refuses.
pub fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Asks for the processor before others, as far as allowed.
///
/// Where the kernel groups processes by session, priority counts only within a group, so that the program needs a
/// group of its own. A program at a terminal keeps its session, or it would not hear the interrupt key.
pub fn raise_priority() {
    // Not being allowed is no reason not to measure: the pacing figures show what it cost.
    let _ = setpriority_process(None, HIGHEST_PRIORITY);
    // The starter may have given it a session already.
    let leads_session = || setsid().is_ok() || getsid(None).is_ok_and(|session| session == getpid());
    if !io::stdin().is_terminal() && leads_session() {
        let _ = fs::write("/proc/self/autogroup", HIGHEST_PRIORITY.to_string());
    }
}
