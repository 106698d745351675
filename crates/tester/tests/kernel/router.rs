//! A Linux router that knows no neighbours: it asks before and during trials.

use std::thread;

use serde_json::json;

use crate::program::{Program, measure_alone};
use crate::works;

/// Between `da` and `db`, which are cabled to the tester's ports. It forgets a neighbour within a second or two, gives up
/// after one question, and reports errors, looks whether its own addresses are taken and joins groups as routers do.
const ROUTER: &str = "set -e; ip link set lo up; number=0; \
    for port in a b; do \
        ip link add t$port type veth peer name d$port address 02:62:66:00:00:0$port; \
        echo 1 > /proc/sys/net/ipv6/conf/t$port/disable_ipv6 || exit 99; \
        ip link set t$port up; ip link set d$port up; \
        ethtool -K d$port tx-vlan-offload off gro on >/dev/null 2>&1 || true; \
        for family in 4 6; do \
            folder=/proc/sys/net/ipv$family/neigh/d$port; \
            echo 500 > $folder/base_reachable_time_ms; \
            echo 1 > $folder/delay_first_probe_time; \
            echo 1 > $folder/ucast_solicit; \
            echo 1 > $folder/mcast_solicit; \
        done; \
        ip address add 198.$((18 + number)).0.1/24 dev d$port; \
        ip address add 2001:2:0:$number::1/64 dev d$port nodad; \
        number=$((number + 1)); \
    done; \
    echo 1 > /proc/sys/net/ipv4/ip_forward; \
    echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; \
    echo 1 > /proc/sys/net/ipv6/conf/ta/disable_ipv6; \
    echo 1 > /proc/sys/net/ipv6/conf/tb/disable_ipv6";

/// Nothing where there is no namespace to be had.
fn try_router(ip: &str, back_end: &str, cpu: &[&str]) {
    let arguments = [
        &[
            "--port=ta",
            "--port=tb",
            "--next-hop-mac=02:62:66:00:00:0a",
            "--next-hop-mac=02:62:66:00:00:0b",
        ][..],
        &["--max-stall=1s", "--ip", ip, "--back-end", back_end],
        cpu,
    ]
    .concat();
    let Some(mut program) = Program::start_over(ROUTER, &arguments) else {
        return;
    };
    // The trial outlasts what the router knows several times.
    let reply = program.trial_of(300, 4.5);
    assert_eq!(
        (&reply["sent"], &reply["lost"]),
        (&json!(2700), &json!(0)),
        "{ip} {back_end}: {reply}"
    );
    assert_eq!(reply["warnings"], json!([]), "{ip} {back_end}");
    for direction in reply["directions"].as_array().expect("a list") {
        // It asked during the trial.
        assert!(direction["account"]["other_received"].as_u64() > Some(1), "{reply}");
        assert_eq!(direction["misrouted"], 0);
    }
    assert_eq!(program.exit_code(), Some(0));
}

#[test]
fn a_router_without_static_neighbours_loses_nothing() {
    let cases = [
        ("4", "packet", &[][..]),
        ("6", "packet", &["--cpu=0"]),
        ("6", "packet-blocks", &[]),
        ("6", "xdp-native", &[]),
    ];
    let _alone = measure_alone();
    let running: Vec<_> = cases
        .into_iter()
        .filter(|(_, back_end, _)| works(back_end))
        .map(|(ip, back_end, cpu)| thread::spawn(move || try_router(ip, back_end, cpu)))
        .collect();
    for case in running {
        case.join().expect("no case fails");
    }
}
