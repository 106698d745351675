//! Interfaces that change in the middle of a trial.

use std::thread;

use serde_json::{Value, json};

use crate::program::{JOINED_PORTS, Program};
use crate::{on_both, works};

/// What comes of a trial in the middle of which something is done; nothing where there is no namespace to be had.
fn trial_with(change: &str, back_end: &str) -> Option<Value> {
    let preparation = format!("{JOINED_PORTS}; {{ (sleep 1.5; {change}) >/dev/null 2>&1 </dev/null & }}");
    let options = on_both(&["--frame-size=500", "--max-stall=3s", "--back-end", back_end]);
    let mut program = Program::start_over(&preparation, &options)?;
    let reply = program.ask(&json!({"op": "measure", "id": "x", "load": 200, "duration_s": 4}));
    assert_eq!(program.exit_code(), Some(0), "{change}");
    Some(reply)
}

fn try_change(change: &str, expected: &str, back_end: &str) {
    let Some(reply) = trial_with(change, back_end) else {
        return;
    };
    let said = reply["error"].as_str().or(reply["invalid"].as_str());
    let said = said.unwrap_or("nothing");
    assert!(
        expected.split('|').any(|part| said.contains(part)),
        "{back_end} {change}: {reply}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn an_interface_that_changes_never_makes_a_count_wrong() {
    let mut running = Vec::new();
    for back_end in ["packet", "xdp-native"].into_iter().filter(|name| works(name)) {
        for (change, expected) in [
            ("ip link delete ta", "interface `ta` is gone"),
            (
                "ip link set ta down; ip link set ta name tc; ip link set tc up",
                "`ta` is gone|the link of ta is down",
            ),
            (
                "ip link set ta mtu 200; ip link set tb mtu 200",
                "has a smaller MTU|the tester itself dropped",
            ),
            ("ip link set tb down", "the link of t"),
        ] {
            running.push(thread::spawn(move || try_change(change, expected, back_end)));
        }
    }
    for case in running {
        case.join().expect("no case fails");
    }
}
