//! Interfaces that change in the middle of a trial.

use std::{fs, thread};

use serde_json::json;

use crate::program::{ATTEMPTS, JOINED_PORTS, Program, measure_alone};
use crate::{on_both, works};

/// Trials go on until something that is done in the middle of one shows; those before count, and lose nothing.
fn try_change(change: &str, expected: &str, back_end: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let is_ready = directory.path().join("ready");
    let change_later = format!(
        "while [ -d {} ] && [ ! -e {} ]; do sleep 0.05; done; sleep 0.5; {change}",
        directory.path().display(),
        is_ready.display()
    );
    let preparation = format!("{JOINED_PORTS}; {{ ({change_later}) >/dev/null 2>&1 </dev/null & }}");
    let options = on_both(&["--frame-size=500", "--max-stall=3s", "--back-end", back_end]);
    let Some(mut program) = Program::start_over(&preparation, &options) else {
        return;
    };
    program.ask(&json!({"op": "describe"}));
    fs::write(is_ready, "").expect("room for a file");
    let shown = (0..ATTEMPTS).any(|_| {
        let reply = program.ask(&json!({"op": "measure", "id": "x", "load": 200, "duration_s": 2}));
        let said = reply["error"].as_str().or(reply["invalid"].as_str());
        // The end with the smaller MTU drops frames that are too long: they are lost.
        let may_lose = change.contains("mtu");
        assert!(
            said.is_some() || may_lose || reply["lost"] == 0,
            "{back_end} {change}: {reply}"
        );
        assert!(said.is_none_or(|said| !said.contains('\n')));
        said.is_some_and(|said| expected.split('|').any(|part| said.contains(part)))
    });
    assert!(shown, "{back_end} {change}: {expected}");
    assert_eq!(program.exit_code(), Some(0), "{change}");
}

#[test]
fn an_interface_that_changes_never_makes_a_count_wrong() {
    let _alone = measure_alone();
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
