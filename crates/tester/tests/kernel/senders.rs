//! Several threads that send on one interface.

use serde_json::json;

use crate::program::Program;
use crate::{on_both, refusal_after, works};

/// Two joined ports with two queues each.
const JOINED_QUEUES: &str = "ip link add ta numtxqueues 2 numrxqueues 2 type veth \
        peer name tb numtxqueues 2 numrxqueues 2 && \
    for port in ta tb; do \
        ip link set $port addrgenmode none 2>/dev/null; ip link set $port up || exit 99; \
    done";

#[test]
fn threads_that_share_a_port_send_each_their_own_way() {
    for back_end in ["packet", "xdp-native"].into_iter().filter(|name| works(name)) {
        let text = format!("--direction=uni --flows=4 --senders=2 --max-stall=100ms --back-end={back_end}");
        let arguments = on_both(&text.split(' ').collect::<Vec<_>>());
        let Some(mut program) = Program::start_over(JOINED_QUEUES, &arguments) else {
            return;
        };
        assert_eq!(program.ask(&json!({"op": "describe"}))["traffic"]["senders"], 2);
        let reply = program.trial();
        for (count, expected) in [("sent", 2000), ("lost", 0), ("reordered", 0), ("duplicated", 0)] {
            assert_eq!(reply[count], expected, "{back_end} {count}: {reply}");
        }
        assert_eq!(
            (&reply["cost"][0]["sent"], &reply["cost"][1]["sent"]),
            (&json!(1000), &json!(1000))
        );
        assert_eq!(program.exit_code(), Some(0));
    }
}

#[test]
fn one_queue_is_one_thread_by_xdp() {
    if !works("xdp-native") {
        return;
    }
    let shared = ["--direction=uni", "--flows=2", "--senders=2", "--back-end=xdp-native"];
    let Some((code, message)) = refusal_after("true", &shared) else {
        return;
    };
    assert_eq!((code, message.lines().count()), (Some(3), 1), "{message}");
    assert!(
        message.contains("`ta`: 2 threads send by xdp-native, each by a queue of its own, and it has 1"),
        "{message}"
    );
}
