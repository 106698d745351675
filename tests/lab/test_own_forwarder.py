"""`lab:program`: any command forwards, whatever it starts ends with the lab, and what goes wrong is one line."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.errors import MeasureError, UsageError
from brimful.lab import families, health, open_lab, program, state
from brimful.lab.namespaces import Process
from brimful.lab.programs import Programs, find_own_program
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.tester import LabMeasurer
from lab_support import cross, wait_until
from support import brimful

FORWARDER = """
import select, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit("bye"))
ports = []
for name in sys.argv[1:3]:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    port.bind((name, 0))
    ports.append(port)
print("forwarding", flush=True)
while True:
    for port in select.select(ports, [], [])[0]:
        frame, address = port.recvfrom(65536)
        if address[2] != socket.PACKET_OUTGOING:
            ports[1 - ports.index(port)].send(frame)
"""
BRIDGE = """
set -e
ip link add br0 type bridge mcast_snooping 0
for port; do ip link set $port master br0 addrgenmode none; done
ip link set br0 addrgenmode none up
"""
OPEN_VSWITCH = """
set -e
here=$(dirname "$0")
export OVS_RUNDIR=$here OVS_LOGDIR=$here
ovsdb-tool create $here/db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server --remote=punix:$here/db.sock --unixctl=$here/db.ctl $here/db &
configure="ovs-vsctl --db=unix:$here/db.sock --retry"
$configure --no-wait init
$configure add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 $1 -- add-port br0 $2 &
exec ovs-vswitchd unix:$here/db.sock --unixctl=$here/switch.ctl
"""
TESTPMD = (
    "dpdk-testpmd --no-huge -m128 --no-pci --no-shconf --no-telemetry --lcores=0@{cpu},1@{cpu}"
    " --vdev=net_af_packet0,iface={a} --vdev=net_af_packet1,iface={b} -- --total-num-mbufs=8192 --no-mlockall"
)
FORWARDERS = {
    "bridge": ("ip", "input=queue,run=sh bridge.sh {a} {b}"),
    "socat": ("socat", "run=socat -b 2000 INTERFACE:{a} INTERFACE:{b}"),
    "testpmd": ("dpdk-testpmd", f"run='{TESTPMD}'"),
    "ovs": ("ovs-vswitchd", "run='sh ovs.sh {a} {b}'"),
    "switch": (
        "brimful-switchd",
        "ready=ready:,run=brimful-switchd --port=1={a} --port=2={b} --control=s.sock --tables=f.flows",
    ),
}
"""What has to be installed, and how it is written."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin")
    flows = "in_port=1,actions=output:2\nin_port=2,actions=output:1\n"
    texts = {"forwarder.py": FORWARDER, "bridge.sh": BRIDGE, "ovs.sh": OPEN_VSWITCH, "f.flows": flows}
    for name, text in texts.items():
        Path(name).write_text(text)


def spec(options: str = "", start: str = "exec") -> str:
    """A lab with our forwarder."""
    return f"program,{options}run={start} {shlex.quote(sys.executable)} -u forwarder.py {{a}} {{b}}"


@pytest.mark.parametrize("name", FORWARDERS)
def test_forwarders_that_exist_forward_each_frame_once_and_end_with_the_lab(own_interfaces, state_directory, name):
    needed, options = FORWARDERS[name]
    if shutil.which(needed) is None and find_own_program(needed) is None:
        pytest.skip(f"{needed} is not installed: tools/setup test")
    if name == "ovs" and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("Open vSwitch needs /dev/net/tun")
    with open_lab(f"program,{options}") as lab:
        found = cross(lab)
        assert {port: seen["in_order"] for port, seen in found.items()} == {"ta": True, "tb": True}
        family = [Process.find(number) for number in families.members(lab._programs.running[0].process)]
        assert len(family) >= 2
        assert lab.failure() is None
        assert lab.describe()["input"] == ("program" if name != "bridge" else lab.input.value)
    assert not any(process.is_alive() for process in family if process is not None)
    assert list(state_directory.iterdir()) == []


def test_a_trial_says_what_the_program_used_and_wrote(own_interfaces):
    measurer = LabMeasurer(spec(), [], ip=4, timeout_s=20)
    try:
        assert measurer.describe().device["restart"] == "search"
        seen = [measured(measurer).extra["device_programs"] for _ in range(2)]
    finally:
        measurer.close()
    assert [one.get("output") for one in seen] == ["forwarding\n", None]
    assert all(one["cpu_s"] >= 0 and one["peak_memory_bytes"] > 1 << 20 for one in seen)


def test_a_report_names_the_command_and_what_it_used(own_interfaces, tmp_path):
    goal = ("--goal", "loss=90%,trial=200ms,width=50%", "--no-calibrate", "--max-load", "500pps")
    # Even the greatest load is done.
    asked = ("-m", f"lab:{spec()}", *goal, "--on-invalid", "retry:50", "-q", "--out", "run")
    brimful("search", *asked, cwd=tmp_path, check=1)
    said = brimful("report", "run", cwd=tmp_path, check=0).stdout
    assert said.splitlines()[0].endswith(" in a lab")
    assert re.search(r"\n +run +exec .* -u forwarder\.py \{a\} \{b\}\n", said)
    assert re.search(r"\n +processor time +[\d.]+ m?s, in trials that took ", said)
    assert re.search(r"\n +largest memory +\d+\.\d MiB\n", said)


def measured(measurer):
    """A trial; a busy machine may spoil some."""
    for _ in range(20):
        with contextlib.suppress(InvalidTrialError):
            return measurer.measure(200.0, 0.1)
    pytest.fail("20 trials in a row were invalid")


def test_each_trial_can_have_it_started_anew(own_interfaces):
    measurer = LabMeasurer(spec("restart=trial,"), [], ip=4, timeout_s=20)
    try:
        first = measurer._lab._programs.running[0].process
        measured(measurer)
        output = measured(measurer).extra["device_programs"]["output"]
        assert output.splitlines()[-2:] == ["bye", "forwarding"]
        assert not first.is_alive()
        assert [keeper.namespace.role for keeper in measurer._lab._keepers] == ["tester", "device", "program"]
    finally:
        measurer.close()


@pytest.mark.parametrize("restart", ["search", "trial"])
def test_a_trial_in_which_it_crashes_is_invalid_and_only_a_restart_helps(own_interfaces, monkeypatch, restart):
    measurer = LabMeasurer(spec(f"restart={restart},"), ["--max-stall=1s"], ip=4, timeout_s=20)
    try:
        measure = measurer._tester.measure

        def crash(*arguments, **options):
            victim = measurer._lab._programs.running[0].process
            os.kill(families.members(victim)[-1], signal.SIGSEGV)
            wait_until(lambda: not victim.is_alive(), "the forwarder ended")
            return measure(*arguments, **options)

        monkeypatch.setattr(measurer._tester, "measure", crash)
        ended = r"^the device no longer works: `exec .* da db` was ended by SIGSEGV; it said: forwarding"
        with pytest.raises(InvalidTrialError, match=ended):
            measurer.measure(200.0, 0.1)
        monkeypatch.setattr(measurer._tester, "measure", measure)
        if restart == "trial":
            assert measured(measurer).lost == 0
        else:
            with pytest.raises(MeasureError, match=ended):
                measurer.measure(200.0, 0.1)
    finally:
        measurer.close()


def test_one_that_cannot_be_started_again_is_a_failure(own_interfaces, monkeypatch):
    measurer = LabMeasurer(spec("restart=trial,"), [], ip=4, timeout_s=20)
    try:
        measured(measurer)
        monkeypatch.setattr(Programs, "start", lambda *_: (_ for _ in ()).throw(MeasureError("no memory")))
        for _ in range(2):
            with pytest.raises(MeasureError, match=r"^no memory$"):
                measurer.measure(200.0, 0.1)
        assert "could not be started again" in measurer._lab.failure()
    finally:
        measurer.close()


@pytest.mark.parametrize(
    ("options", "left", "expected"),
    [("", "true", "inline"), ("", "sleep 60 &", "program"), ("input=queue,", "true", "queue")],
)
def test_what_the_kernel_forwards_without_a_queue_never_loses_frames(own_interfaces, options, left, expected):
    with open_lab("bridge") as bridge:
        possible = bridge.input.value
    with open_lab(f"program,{options}run=sh bridge.sh {{a}} {{b}}; {left}") as lab:
        wait_until(lambda: lab._settings.forwarder._code() == 0, "it ended")
        wait_until(lambda: lab.describe()["input"] == (possible if expected == "queue" else expected), expected)


@pytest.mark.parametrize(("seconds", "is_needed"), [(0.3, False), (2.0, True)])
def test_what_sets_something_up_may_end_just_after_frames_pass(own_interfaces, seconds, is_needed):
    with open_lab(f"program,run=sh bridge.sh {{a}} {{b}}; sleep {seconds}") as lab:
        forwarder = lab._settings.forwarder
        wait_until(lambda: forwarder._code() == 0, "it ended")
        ended = f"`sh bridge.sh da db; sleep {seconds}` has ended with exit code 0 and said nothing"
        assert lab.failure() == (ended if is_needed else None)


def test_of_much_output_the_end_is_kept_and_the_log_does_not_grow(own_interfaces):
    talk = f"{shlex.quote(sys.executable)} -c 'print(2_000_000 * chr(120), 1)'; exec"
    with open_lab(spec(start=talk)) as lab:
        wait_until(lambda: lab._programs.running[0].last_words(1) == "forwarding", "it forwards")
        said = lab.take_output()
        assert said.endswith("xx 1\nforwarding\n")
        assert len(said) == 4000
        assert lab._programs.running[0].log.stat().st_size == 0
        assert lab.take_output() == ""


def test_a_kept_one_goes_on_until_it_is_cleaned(own_interfaces, state_directory):
    lab = open_lab(spec())
    lab_id, family = lab.id, [Process.find(n) for n in families.members(lab._programs.running[0].process)]
    lab.keep()
    lab.close()
    assert all(process.is_alive() for process in family)
    state.clean_one(lab_id)
    assert not any(process.is_alive() for process in family)
    assert list(state_directory.iterdir()) == []


OWNER = """
import json, sys
from brimful.lab import families, open_lab
lab = open_lab(sys.argv[1])
print(json.dumps(families.members(lab._programs.running[0].process)), flush=True)
sys.stdin.read()
"""


def test_all_that_it_started_dies_with_a_killed_owner(own_interfaces):
    # In a session of its own, and deaf to everything that can be heard.
    deaf = "sh -c \"trap '' TERM HUP; echo {a} {b}; setsid sleep 600 & sleep 600\" & exec"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, spec(start=deaf)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with owner:
        found = [Process.find(number) for number in json.loads(owner.stdout.readline())]
        owner.send_signal(signal.SIGKILL)
    assert len(found) >= 4
    wait_until(lambda: not any(process.is_alive() for process in found if process), "all ended")
    (entry,) = state.read_all()
    wait_until(lambda: entry.life is state.Life.STALE, "the keepers ended")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("./nothing {a} {b}", "`./nothing da db` was not found: give its path; it said: sh: 2: ./nothing: not found"),
        ("./f.flows {a} {b}", "`./f.flows da db` may not be executed: `chmod +x`; it said: "),
        ("echo one; echo two; exit 3 # {a} {b}", "has ended with exit code 3; it said: one / two"),
        ("kill -9 $$ # {a} {b}", "was ended by SIGKILL"),
        (
            "true {a} {b}",
            "no frame came through from ta to tb within 0.5 s, and `true da db` has ended with exit code 0",
        ),
        ("echo hello {a} {b}; sleep 60", "no frame came through from ta to tb within 0.5 s; program said: hello da db"),
        (
            "ip link set {b} name other; ip link set other up; exec sleep 60 # {a}",
            "no frame came through from ta to tb",
        ),
    ],
)
def test_why_it_does_not_forward_is_one_line(own_interfaces, state_directory, monkeypatch, run, message):
    monkeypatch.setattr(health, "_PATIENCE_S", 0.5)
    with pytest.raises(MeasureError, match=f"^lab:program does not work: .*{re.escape(message)}") as raised:
        open_lab("program", run=run)
    assert "\n" not in str(raised.value)
    assert list(state_directory.iterdir()) == []


def test_one_that_forwards_one_way_is_measured_that_way_alone(own_interfaces, monkeypatch):
    program = FORWARDER.replace("ports[1 - ports.index(port)].send(frame)", "ports[1].send(frame)")
    Path("one_way.py").write_text(program.replace("select.select(ports,", "select.select(ports[:1],"))
    one_way = f"program,run={shlex.quote(sys.executable)} one_way.py {{a}} {{b}}"
    measurer = LabMeasurer(one_way, ["--direction=uni"], ip=4, timeout_s=20.0)
    try:
        output = measured(measurer)
        assert (output.sent, output.lost) == (20, 0)
    finally:
        measurer.close()
    monkeypatch.setattr(health, "_PATIENCE_S", 2.0)
    said = "no frame came through from tb to ta within 2 s, but from ta to tb: `--direction uni` sends that way alone"
    with pytest.raises(MeasureError, match=re.escape(said)):
        LabMeasurer(one_way, [], ip=4, timeout_s=20.0)


def test_a_line_that_never_comes_is_missed(own_interfaces, monkeypatch):
    monkeypatch.setattr(program, "_LINE_PATIENCE_S", 0.5)
    printed = r"printed no line that begins with 'Ready' within 0.5 s; it said: "
    with pytest.raises(MeasureError, match=rf"^lab:program: `echo da db; sleep 60` {printed}da db$"):
        open_lab("program", run="echo {a} {b}; sleep 60", ready="Ready")
    with pytest.raises(MeasureError, match=rf"{printed}nothing; let it flush what it prints$"):
        open_lab("program", run="sleep 60 # {a} {b}", ready="Ready")
    with pytest.raises(MeasureError, match=r"`true da db` has ended with exit code 0 and said nothing$"):
        open_lab("program", run="true {a} {b}", ready="Ready")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program", "run='' does not name its interfaces {a} and {b}: write run='./forwarder {a} {b}'"),
        ("program,run=./fwd {a}", "run='./fwd {a}' does not name its interfaces"),
        ("program,restart=never,run={a} {b}", "restart is never: use one of search, trial"),
        ("program,run={a} {b},run={a} {b}", "is not key=value, or its key is there twice"),
        ("program,speed=3,run={a} {b}", "device program has no option 'speed': use run, ready, restart, input"),
    ],
)
def test_what_is_written_wrong_is_refused_before_anything_is_made(state_directory, text, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        open_lab(text)
    assert state_directory.exists() is False or list(state_directory.iterdir()) == []
