use std::fs;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, getpid, getsid, set_parent_process_death_signal, setpriority_process, setsid};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The most weight that a process can have.
const HIGHEST_PRIORITY: i32 = -20;

/// Nobody reads the results of a tester whose parent is gone.
pub(crate) fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// Sets `stop` on SIGTERM and SIGINT.
pub(crate) fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Asks for the processor before others, as far as allowed.
///
/// Where the kernel groups processes by session, priority counts only within a group, so that the program needs a
/// group of its own. A program at a terminal keeps its session, or it would not hear the interrupt key.
pub(crate) fn raise_priority() {
    // Not being allowed is no reason not to measure: the pacing figures show what it cost.
    let _ = setpriority_process(None, HIGHEST_PRIORITY);
    // Whoever started it may have given it a session already.
    let leads_session = || setsid().is_ok() || getsid(None).is_ok_and(|session| session == getpid());
    if !io::stdin().is_terminal() && leads_session() {
        let _ = fs::write("/proc/self/autogroup", HIGHEST_PRIORITY.to_string());
    }
}

/// Differs from run to run.
pub(crate) fn arbitrary_trial_number() -> u16 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    // 64 ms steps: consecutive runs differ by more trials than fit between them.
    since_epoch.map_or(0, |time| (time.as_millis() >> 6) as u16)
}
