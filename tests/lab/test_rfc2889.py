"""The tests of RFC 2889 on real frames, through devices whose truth is known."""

import subprocess

import pytest
from brimful.lab import open_lab
from brimful.measurers.opening import open_measurer
from brimful.measurers.stations import stations_in
from brimful.records import SwitchingPlan, read_run
from brimful.report.suite.congestion import Shares
from brimful.report.verdicts import of_switching
from brimful.suites import forwarding
from brimful.switching.manager import SwitchingRequest, run_switching
from brimful.throughput.manager import SearchRequest
from lab_support import PYTHON, open_if_installed
from support import brimful

# RTM_NEWLINK with IFLA_BR_FDB_MAX_LEARNED, which `ip` does not know yet.
LIMIT = """
import socket, struct, sys
def attribute(kind, data):
    length = 4 + len(data)
    return struct.pack("HH", length, kind) + data + bytes(-length % 4)
limit = attribute(2, attribute(49, struct.pack("I", int(sys.argv[1]))))
info = attribute(18, attribute(1, b"bridge\\0") + limit)
body = struct.pack("BxHiII", 0, 0, socket.if_nametoindex("br0"), 0, 0) + info
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
    kernel.send(struct.pack("IHHII", 16 + len(body), 16, 5, 1, 0) + body)
    sys.exit(struct.unpack("i", kernel.recv(4096)[16:20])[0])
"""
PLANS = {
    "caching": {"first": 8, "most": 256},
    "learning": {},
    "ageing": {"rounds": 2, "limit_s": 4.0},
    "errored": {"sizes": [40, 63, 1519, 1522, 1523, 2000], "frames": 10},
    "broadcast": {"trial_s": 0.05, "most": 4000, "width": 0.05},
}
pytestmark = pytest.mark.usefixtures("labs_permitted")


def measure(lab, test, out, *commands, device="bridge", **facts):
    """Set a device with commands of `ip`, `bridge` and others where it is, and make one test of it."""
    stations = stations_in(lab, f"{device},ports=3", flush_command=None, timeout_s=30.0)
    try:
        for command in commands:
            words = command.split() if isinstance(command, str) else command
            subprocess.run(lab.device_command(words), check=True, capture_output=True)
        plan = SwitchingPlan(
            test=test,
            ports=list(stations.ports),
            rate=2000.0,
            patterns=["sequential"],
            forgets=stations.forgets,
            **{**PLANS[test], **facts},
        )
        outcome = run_switching(
            SwitchingRequest(measurer=f"lab:{device}", plan=plan, on_invalid="retry:50"), stations, out=out
        ).outcome
    finally:
        stations.close()
    assert outcome.end.reason == "done", outcome.end.text
    verified = of_switching(read_run(out), None)
    assert verified.holds, verified.text
    return {one.name: one for one in outcome.results}


def bridge():
    return open_lab("bridge,ports=3,work=0")


@pytest.mark.parametrize("test", ["broadcast", "caching"])
def test_jumbo_frames_are_tested_like_others(tmp_path, test):
    lab = open_lab("bridge,ports=3,work=0", mtu=9198)
    found = measure(lab, test, tmp_path / "r", limit(5), frame_size=9216)
    if test == "caching":
        assert found["sequential"].value == 4
    else:
        assert {one.verdict for name, one in found.items() if name.startswith("port")} <= {"pass"}
        assert found["throughput"].value > 0


def limit(entries):
    return [*PYTHON, "-c", LIMIT, str(entries)]


@pytest.mark.parametrize(("entries", "first"), [(5, 8), (100, 90)])
def test_the_capacity_of_a_bridge_is_its_limit_less_one(tmp_path, entries, first):
    result = measure(bridge(), "caching", tmp_path / "r", limit(entries), first=first, most=128)["sequential"]
    assert (result.verdict, result.value) == ("found", entries - 1)


def test_the_capacity_of_open_vswitch_is_its_limit_less_one(tmp_path):
    lab = open_if_installed("ovs,ports=3")
    directory = lab._programs.running[-1].log.parent
    setting = f"ovs-vsctl --db=unix:{directory}/database.sock set bridge ovs0 other_config:mac-table-size=64"
    result = measure(lab, "caching", tmp_path / "r", setting, device="ovs", first=60, most=128)
    assert (result["sequential"].verdict, result["sequential"].value) == ("found", 63)


def test_the_learning_rate_of_our_switch_is_the_one_it_has(tmp_path):
    lab = open_if_installed("switch,ports=3,learning_rate=1000")
    plan = {"first": 1120, "most": 1180, "width": 0.01, "addresses": 400, "attempts": 3}
    result = measure(lab, "learning", tmp_path / "r", device="switch", **plan)[""]
    # Addresses of 50 ms may come at once: 400 are learned in time at up to 1000 * 399 / 350 a second.
    assert (result.verdict, result.value) == ("found", pytest.approx(1140, rel=0.02))


def test_the_capacity_of_our_switch_is_its_limit_less_one(tmp_path):
    lab = open_if_installed("switch,ports=3,addresses=20")
    result = measure(lab, "caching", tmp_path / "r", device="switch", first=16, most=32)["sequential"]
    assert (result.verdict, result.value) == ("found", 19)


def test_a_bridge_that_does_not_learn_never_passes(tmp_path):
    command = "bridge link set dev pb learning off"
    result = measure(bridge(), "caching", tmp_path / "r", command, first=4)["sequential"]
    assert (result.verdict, result.value) == ("found", 0)


@pytest.mark.parametrize(
    "commands",
    [
        ["bridge link set dev pc flood off"],
        ["ip link add name br9 type bridge", "ip link set dev br9 up", "ip link set dev pc master br9"],
    ],
    ids=["floods off", "another bridge"],
)
def test_a_port_that_sees_no_floods_gives_no_verdict(tmp_path, commands):
    result = measure(bridge(), "caching", tmp_path / "r", limit(5), *commands)["sequential"]
    assert (result.verdict, result.value) == ("none", None)
    assert "tc does not see" in result.text


def test_a_port_that_gets_copies_of_all_frames_is_named(tmp_path):
    mirror = "tc filter add dev pa ingress prio 9 u32 match u32 0 0 action mirred egress mirror dev pc"
    commands = ["tc qdisc add dev pa clsact", mirror]
    result = measure(bridge(), "caching", tmp_path / "r", *commands, first=4)["sequential"]
    assert result.value == 0
    assert "gets copies of all frames" in result.text


def test_the_ageing_time_of_a_bridge_is_found(tmp_path):
    result = measure(bridge(), "ageing", tmp_path / "r", "ip link set br0 type bridge ageing_time 100")[""]
    trials = [trial.extra for trial in read_run(tmp_path / "r").trials]
    assert result.verdict == "found"
    assert all(one["known_until_s"] < 1.1 and one["flooded_from_s"] > 0.95 for one in trials)


def test_errored_frames_are_filtered_where_the_bridge_says(tmp_path):
    found = measure(bridge(), "errored", tmp_path / "r")
    forwarded = {name: (one.verdict, one.value) for name, one in found.items()}
    assert forwarded == {
        "40 bytes": ("fail", 10),
        "63 bytes": ("fail", 10),
        "1519 bytes": ("pass", 10),
        "1522 bytes": ("pass", 10),
        "1523 bytes": ("pass", 0),
        "2000 bytes": ("pass", 0),
    }


def test_broadcast_frames_come_to_all_but_their_sender(tmp_path):
    found = measure(bridge(), "broadcast", tmp_path / "r")
    assert (found["throughput"].verdict, found["throughput"].value) == ("at-least", 4000)
    assert [found[port].value for port in ("ta", "tb", "tc")] == [0, 200, 200]
    assert all(found[f"latency at {port}"].value > 0 for port in ("tb", "tc"))


def test_a_port_that_gets_no_broadcast_fails(tmp_path):
    found = measure(bridge(), "broadcast", tmp_path / "r", "bridge link set dev pc bcast_flood off")
    assert [found[port].verdict for port in ("ta", "tb", "tc")] == ["pass", "pass", "fail"]


def test_two_senders_to_one_port_are_told_from_a_port_that_loses_by_itself(tmp_path):
    # Outputs of 1,000 frames/s, which keep 100 frames, and let 100 leave at once.
    limits = [f"tc qdisc add dev {port} root tbf rate 480kbit burst 6000 limit 6000" for port in ("pc", "pd")]

    def opened(search):
        measurer = open_measurer(search.measurer, timeout_s=30.0, tester_arguments=search.traffic["arguments"])
        for command in limits:
            subprocess.run(measurer.device_command(command.split()), check=True)
        return measurer

    found = {}
    for test in (forwarding.CONTROL, forwarding.CONGESTION):
        arguments = ["--frame-size=64", f"--pattern={forwarding.pattern_of(test, 4)}"]
        search = SearchRequest(
            measurer="lab:bridge,ports=4,work=0",
            goals=[],
            strategy="straddle",
            max_load="1000",
            traffic={"arguments": arguments, "ip": 4},
        )
        trials = forwarding.Trials(search=search, open_measurer=opened, trial_s=1.0, rest_s=0.1, note=lambda text: None)
        assert forwarding.measure(test, trials, tmp_path / test).reason == "done"
        found[test] = Shares(read_run(tmp_path / test))
    assert [found[test].free for test in found] == [[0], [0]]
    # A third of 1,500 frames, but for those that are kept, and those that leave while a trial lasts longer.
    trial = read_run(tmp_path / forwarding.CONGESTION).trials[-1]
    lasted_s = trial.effective_duration_s or trial.duration_s
    (lost,) = found[forwarding.CONGESTION].congested
    assert 1 - (1000 * lasted_s + 200) / 1500 <= lost <= 1 / 3


def test_the_whole_suite_of_a_bridge_in_one_report(tmp_path):
    options = (
        "--quick",
        "--sizes",
        "64",
        "--tests",
        "mesh,broadcast,caching",
        "--max-load",
        "2kpps",
        "--max-addresses",
        "20",
        "--quiet",
    )
    done = brimful("rfc2889", "-m", "lab:bridge,ports=4", *options, "--out", "s", cwd=tmp_path, check=0)
    tables = done.stdout[done.stdout.index("What was done of RFC 2889") :]
    assert "needs hardware" in tables
    assert "at least 20 addresses" in tables
    assert "64  2.000 kpps" in tables
    assert "64, caching: " in brimful("verify", "s", cwd=tmp_path, check=0).stdout
