//! The program itself over real interfaces, in a network namespace of its own; skipped where that is not allowed.

mod changes;
mod program;
mod router;
mod senders;
#[path = "../../../skip.rs"]
mod skip;

use std::io::BufRead;
use std::process::{Command, Output, Stdio};

use program::*;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde_json::{Value, json};
use skip::skip;

pub(crate) fn on_both<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["--port", "ta", "--port", "tb"], more].concat()
}

#[test]
fn joined_ports_lose_nothing_whatever_the_frames() {
    for frames in [
        &[][..],
        &["--frame-size", "imix", "--flows", "100"],
        &["--frame-size", "100", "--ip", "6", "--vlan", "7"],
        &["--frame-size", "1518", "--direction", "uni"],
    ] {
        let Some(mut program) = Program::start(&on_both(frames)) else {
            return;
        };
        let description = program.ask(&json!({"op": "describe"}));
        assert_eq!(description["can_calibrate"], true);
        let reply = program.trial();
        let directions = description["conversion_factor"].as_f64().expect("a factor");
        assert_eq!(reply["sent"], (2000.0 * directions) as u64, "{reply}");
        assert_eq!(reply["intended"], reply["sent"]);
        assert_eq!(reply["lost"], 0, "{frames:?}: {reply}");
        assert_eq!(reply["stopped_early"], false);
        assert_eq!(program.exit_code(), Some(0));
    }
}

/// Of the processors that this process may use.
fn first_and_last_processor() -> [String; 2] {
    let set = sched_getaffinity(None).expect("the kernel tells");
    let usable: Vec<_> = (0..CpuSet::MAX_CPU)
        .filter(|&processor| set.is_set(processor))
        .collect();
    [usable[0], usable[usable.len() - 1]].map(|processor| processor.to_string())
}

/// Whether a back end works on joined ports here.
pub(crate) fn works(back_end: &str) -> bool {
    let Some(mut program) = Program::start(&["--list-back-ends", "--port", "ta"]) else {
        return false;
    };
    let mut line = String::new();
    program.output.read_line(&mut line).expect("text");
    program.exit_code();
    let listed: Value = serde_json::from_str(&line).expect("a JSON object");
    let mut back_ends = listed["back_ends"].as_array().expect("a list").iter();
    back_ends.any(|listed| listed["name"] == back_end && listed["works"] == true)
}

#[test]
fn one_thread_and_several_lose_nothing_on_any_back_end() {
    let [first, last] = first_and_last_processor();
    let on_one = &["--cpu", &first][..];
    let on_two = &["--cpu", &first, "--cpu", &last][..];
    let two_senders = &["--senders", "2", "--cpu", &first, "--cpu", &last, "--cpu", &last][..];
    for back_end in ["packet", "packet-blocks", "xdp-native", "xdp-generic"]
        .into_iter()
        .filter(|name| works(name))
    {
        for (processors, threads) in [
            (on_one, &["both"][..]),
            (on_two, &["sender", "receiver"]),
            (two_senders, &["sender", "sender", "receiver"]),
        ] {
            let options = [
                processors,
                &["--back-end", back_end, "--ramp-up", "50ms", "--max-stall", "100ms"],
            ]
            .concat();
            let Some(mut program) = Program::start(&on_both(&options)) else {
                return;
            };
            let description = program.ask(&json!({"op": "describe"}));
            assert_eq!(description["traffic"]["ramp_up_s"], 0.05);
            let reply = program.trial();
            assert_eq!(
                (&reply["sent"], &reply["lost"]),
                (&json!(4000), &json!(0)),
                "{options:?}: {reply}"
            );
            let cost = reply["cost"].as_array().expect("a list");
            let found: Vec<_> = cost
                .iter()
                .map(|cost| cost["thread"].as_str().expect("a name"))
                .collect();
            assert_eq!(found, threads);
            assert!(cost.iter().all(|cost| cost["busy_s"].as_f64() > Some(0.0)), "{reply}");
            assert_eq!(program.exit_code(), Some(0));
        }
    }
}

#[test]
fn the_group_of_its_session_goes_before_others_whoever_made_the_session() {
    let priority_of = |launcher: &'static [&'static str]| {
        let way = unshare()?;
        let script = format!("{JOINED_PORTS}; exec \"$@\"");
        let command = [way, &["sh", "-c", &script, "sh"], launcher, &[PROGRAM], &on_both(&[])].concat();
        let mut program = Program::of(&command);
        program.ask(&json!({"op": "describe"}));
        std::fs::read_to_string(format!("/proc/{}/autogroup", program.child.id())).ok()
    };
    let Some(own) = priority_of(&[]).filter(|text| text.contains("nice -20")) else {
        skip("this machine does not let us make a namespace, group processes or raise a priority");
        return;
    };
    let given = priority_of(&["setsid"]).expect("as before");
    assert!(given.contains("nice -20"), "{own} {given}");
}

#[test]
fn a_processor_that_is_not_there_is_named() {
    let Some(mut program) = Program::start(&on_both(&["--cpu", "100000"])) else {
        return;
    };
    drop(program.input.take());
    assert_eq!(program.child.wait().expect("the child is ours").code(), Some(3));
    for (more, expected) in [
        (
            &["--cpu", "0", "--cpu", "1", "--cpu", "2"][..],
            "--cpu is given 3 times: there is one",
        ),
        (
            &["--senders", "2", "--cpu", "0"],
            "--cpu is given 1 times: give one for each of 2 threads that send",
        ),
        (
            &["--senders", "3"],
            "--senders 3: 2 of the ports send, and as many threads",
        ),
        (
            &["--senders", "4"],
            "--senders 4: 2 of the ports send, and one thread sends what belongs to a flow",
        ),
        (&["--senders", "0"], "--senders"),
    ] {
        let (code, message) = refusal(&[&["--port", "a", "--port", "b"], more].concat());
        assert_eq!((code, message.lines().count()), (Some(2), 1), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn nonsense_is_answered_and_survived() {
    let Some(mut program) = Program::start(&on_both(&[])) else {
        return;
    };
    let reply = program.ask(&json!({"op": "measure", "id": 5, "load": -1, "duration_s": 1}));
    assert_eq!(reply["id"], 5);
    assert!(reply["error"].as_str().is_some_and(|text| text.starts_with("load")));
    assert!(program.ask(&json!({"op": "dance"}))["error"].is_string());
    assert_eq!(program.trial()["lost"], 0);
    assert_eq!(program.exit_code(), Some(0));
}

#[test]
fn the_end_of_the_input_ends_a_trial() {
    let Some(mut program) = Program::start(&on_both(&[])) else {
        return;
    };
    program.ask(&json!({"op": "describe"}));
    program.send(&json!({"op": "measure", "id": 1, "load": 1000, "duration_s": 100_000}));
    assert_eq!(program.exit_code(), Some(0));
}

#[test]
fn signals_end_a_trial() {
    for signal in [Signal::TERM, Signal::INT] {
        let Some(mut program) = Program::start(&on_both(&[])) else {
            return;
        };
        program.ask(&json!({"op": "describe"}));
        program.send(&json!({"op": "measure", "id": 1, "load": 1000, "duration_s": 100_000}));
        kill_process(Pid::from_child(&program.child), signal).expect("the child runs");
        let status = program.child.wait().expect("the child is ours");
        assert_eq!(status.code(), Some(0));
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program exists")
}

fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), message)
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let (code, message) = refusal(&["--port", "ta"]);
    assert_eq!((code, message.lines().count()), (Some(2), 1), "{message}");
    for (wrong, expected) in [
        (&["--port", "a", "--port", "b", "--flows", "0"][..], "--flows"),
        (
            &["--port", "a", "--port", "b", "--nope"],
            "unexpected argument '--nope' found",
        ),
        (&[], "--port <INTERFACE>"),
    ] {
        let (code, message) = refusal(wrong);
        assert_eq!((code, message.lines().count()), (Some(2), 1), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_missing_interface_is_one_clear_line() {
    let (code, message) = refusal(&["--port", "absent-a", "--port", "absent-b"]);
    assert_eq!((code, message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.contains("absent-a"), "{message}");
}

/// Exit code of a shell that could not make what a test is about.
const NOT_PREPARED: i32 = 98;

/// What the program says over two joined ports of which something was made, and its exit code.
pub(crate) fn refusal_after(preparation: &str, more: &[&str]) -> Option<(Option<i32>, String)> {
    let script = format!("{JOINED_PORTS}; ip link set lo up; {preparation} || exit {NOT_PREPARED}; exec \"$@\"");
    let command = [unshare()?, &["sh", "-c", &script, "sh", PROGRAM], &on_both(more)].concat();
    let output = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .output()
        .expect("unshare worked a moment ago");
    assert!(output.stdout.is_empty());
    Some((
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

#[test]
fn interfaces_in_use_are_taken_by_force_only() {
    'cases: for (preparation, expected) in [
        ("ip addr add 192.0.2.1/24 dev tb", "`tb` carries the address 192.0.2.1"),
        (
            "ip addr add 2001:db8::1/64 dev ta nodad",
            "`ta` carries the address 2001:db8::1",
        ),
        (
            "ip link add br0 type bridge && ip link set tb master br0",
            "`tb` is a port of `br0`",
        ),
        (
            "ip link add link ta name above type macvlan",
            "`ta` carries the frames of `above`",
        ),
        ("ip route add default dev ta", "`ta` has a default route"),
        ("ip -6 route add default dev tb", "`tb` has a default route"),
    ] {
        for back_end in ["--back-end=packet", "--back-end=xdp-native", "--flows=2"] {
            let Some((code, message)) = refusal_after(preparation, &[back_end]) else {
                return;
            };
            if code == Some(NOT_PREPARED) {
                skip(&format!("this kernel cannot do `{preparation}`: {message}"));
                continue 'cases;
            }
            assert_eq!(
                (code, message.lines().count()),
                (Some(3), 1),
                "{preparation}: {message}"
            );
            assert!(message.contains(expected) && message.contains("--force"), "{message}");
        }
        let forced = refusal_after(preparation, &["--back-end=packet", "--force"]);
        assert_eq!(forced, Some((Some(0), String::new())), "{preparation}");
    }
}

#[test]
fn link_local_addresses_are_everybodys() {
    let Some(result) = refusal_after("ip addr add fe80::1/64 dev ta nodad", &[]) else {
        return;
    };
    assert_eq!(result, (Some(0), String::new()));
}

#[test]
fn interfaces_that_carry_nothing_say_what_to_do() {
    for (preparation, expected_code, expected) in [
        ("ip link set ta down", 3, "`ta` is down: `ip link set ta up`"),
        ("ip link set tb down", 3, "`tb` is down: `ip link set tb up`"),
        (
            "ip link add tc type veth peer name td && ip link del ta && ip link set tc name ta && ip link set ta up && \
             ip link add te type veth peer name tb && ip link set tb up",
            3,
            "`ta` has no carrier",
        ),
        ("ip link set ta name tc", 2, "no interface `ta`"),
    ] {
        let Some((code, message)) = refusal_after(preparation, &[]) else {
            return;
        };
        assert_eq!(
            (code, message.lines().count()),
            (Some(expected_code), 1),
            "{preparation}: {message}"
        );
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn one_tester_has_an_interface() {
    let first = "{ sleep 10 | \"$@\"; } >/dev/null 2>&1 & \
        for i in $(seq 500); do grep -q brimful-tester /proc/net/unix && break; sleep 0.01; done; true";
    for force in ["--flows=2", "--force"] {
        let Some((code, message)) = refusal_after(first, &[force]) else {
            return;
        };
        assert_eq!((code, message.lines().count()), (Some(3), 1), "{message}");
        assert!(message.contains("`ta`: a brimful-tester measures on it"), "{message}");
    }
}

#[test]
fn a_small_mtu_says_how_to_raise_it() {
    let Some(mut program) = Program::start(&on_both(&["--frame-size", "9216"])) else {
        return;
    };
    drop(program.input.take());
    assert_eq!(program.child.wait().expect("the child is ours").code(), Some(3));
}

#[test]
fn back_ends_are_listed_with_what_hinders_them() {
    let Some(mut program) = Program::start(&["--list-back-ends"]) else {
        return;
    };
    let mut listed = [(); 2].map(|()| {
        let mut line = String::new();
        program.output.read_line(&mut line).expect("text");
        serde_json::from_str::<Value>(&line).expect("a JSON object")
    });
    listed.sort_by_key(|interface| interface["interface"].to_string());
    for (interface, name) in listed.iter().zip(["ta", "tb"]) {
        assert_eq!(interface["interface"], name);
        let back_ends = interface["back_ends"].as_array().expect("a list");
        let named = |name: &str| back_ends.iter().find(|back_end| back_end["name"] == name).expect(name);
        assert_eq!(
            named("packet"),
            &json!({"name": "packet", "works": true, "obstacle": null})
        );
        assert_eq!(named("tap")["works"], false);
        assert!(
            named("tap")["obstacle"]
                .as_str()
                .is_some_and(|text| text.contains("TAP"))
        );
        for xdp in ["xdp-native", "xdp-generic"] {
            assert_eq!(named(xdp)["works"], named(xdp)["obstacle"].is_null());
        }
    }
    assert_eq!(program.exit_code(), Some(0));
    let output = run(&["--list-back-ends", "--port", "brimful-absent"]);
    let interface: Value = serde_json::from_slice(&output.stdout).expect("a JSON object");
    let obstacle = interface["back_ends"][0]["obstacle"].as_str();
    assert!(
        obstacle.is_some_and(|text| text.contains("no interface `brimful-absent`")),
        "{interface}"
    );
}

#[test]
fn faults_are_injected_and_recorded() {
    let Some(mut program) = Program::start(&on_both(&["--fault", "ta/send:drop=0.1,delay=1ms"])) else {
        return;
    };
    let description = program.ask(&json!({"op": "describe"}));
    assert_eq!(description["traffic"]["faults"], json!(["ta/send:drop=0.1,delay=1ms"]));
    let all_sent = |reply: &Value| [0, 1].iter().all(|&at| reply["directions"][at]["sent"] == 2000);
    let reply = program.trial_that(10_000, 0.2, all_sent);
    let there = &reply["directions"][0];
    let lost = there["lost"].as_u64().expect("a count");
    assert!((100..300).contains(&lost), "{reply}");
    let reason = format!("{lost} frames were lost in the tester before ta sent them");
    assert_eq!(reply["invalid"], reason, "{reply}");
    assert_eq!(there["delay"]["frames"], 2000 - lost, "{reply}");
    // The injector lets frames go 0.2 us before their time.
    assert!(there["delay"]["min_s"].as_f64() >= Some(0.001 - 0.2e-6), "{reply}");
    assert_eq!(reply["directions"][1]["lost"], 0, "{reply}");
}

/// Two TAPs, joined by a bridge.
const BRIDGED_TAPS: &str = "ip link add br0 type bridge && ip link set br0 up && for port in xa xb; do \
        ip tuntap add $port mode tap && ip link set $port master br0 && ip link set $port addrgenmode none && \
        ip link set $port up || exit 1; \
    done";

#[test]
fn taps_joined_by_a_bridge_carry_a_trial() {
    let script = format!("{BRIDGED_TAPS}; exec \"$@\"");
    let in_namespace = |more: &[&'static str]| {
        let way = unshare()?;
        Some([way, &["sh", "-c"], more].concat())
    };
    let is_possible = in_namespace(&[BRIDGED_TAPS]).is_some_and(|command| {
        Command::new(command[0])
            .args(&command[1..])
            .status()
            .is_ok_and(|status| status.success())
    });
    let (true, Some(mut command)) = (is_possible, in_namespace(&[])) else {
        skip("this machine does not let us make TAPs and a bridge in a network namespace");
        return;
    };
    command.extend([
        script.as_str(),
        "sh",
        PROGRAM,
        "--port",
        "xa",
        "--port",
        "xb",
        "--back-end",
        "tap",
    ]);
    let mut program = Program::of(&command);
    let reply = program.trial();
    assert_eq!((&reply["sent"], &reply["lost"]), (&json!(4000), &json!(0)), "{reply}");
}
