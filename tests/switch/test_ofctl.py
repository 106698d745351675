"""`brimful switch ofctl` against our switch and against Open vSwitch."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest
from brimful.errors import MeasureError
from brimful.lab import open_lab, state
from brimful.lab.switch import find_switch
from support import wire_lab

LONGEST_S = 30
SWITCH = "tcp:127.0.0.1:6653"
FRAME = (
    "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('{interface}', 0));"
    "s.send(bytes.fromhex('020000000009020000000001') + b'\\x08\\x06' + bytes(46))"
)


class Ofctl:
    """Runs it in a lab's namespace, for one switch."""

    def __init__(self, lab, place):
        self.lab, self.place = lab, place

    def command(self, *arguments):
        return self.lab.command([find_switch(), "ofctl", self.place, *arguments])

    def __call__(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LONGEST_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LONGEST_S)
        assert done.stderr.count("\n") == 1
        return done.returncode, done.stderr.strip()

    def lines(self, *arguments):
        return self(*arguments).splitlines()


def start(lab, *arguments):
    """Start the switch of a lab; it ends with the context."""
    command = lab.command([find_switch(), "--port=1=ta", "--port=2=tb", "--dpid=ab", *arguments])
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def ended(process):
    with process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def wire():
    with wire_lab() as lab:
        yield lab


@pytest.fixture
def ours(wire):
    with ended(start(wire, "--controller=ptcp:6653")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        yield Ofctl(wire, SWITCH)


@pytest.fixture(scope="module")
def open_vswitch():
    try:
        lab = open_lab("ovs")
    except MeasureError as error:
        pytest.skip(str(error))
    with lab:
        # The lab keeps the sockets of its programs in a directory of its own.
        yield Ofctl(lab, f"unix:{state._files(lab.id)}/ovs0.mgmt")


def change_and_dump(ofctl):
    ofctl("del-flows")
    assert ofctl("dump-flows", "--no-counters") == ""
    first, second = (
        "priority=7,in_port=1,eth_type=0x0800,nw_src=10.0.0.0/255.0.0.0,actions=output:2",
        "table=1,actions=drop",
    )
    ofctl("add-flow", first, second)
    dumped = ofctl.lines("dump-flows", "--no-counters")
    assert len(dumped) == 2
    # What is printed can be added again.
    ofctl("del-flows")
    ofctl("add-flow", *dumped)
    assert ofctl.lines("dump-flows", "--no-counters") == dumped
    assert all("n_packets=0," in line for line in ofctl.lines("dump-flows"))
    assert len(ofctl.lines("dump-flows", "table=1")) == 1
    assert len(ofctl.lines("dump-flows", "out_port=2")) == 1
    ofctl("mod-flows", "in_port=1,actions=output:1")
    assert "actions=output:1" in ofctl("dump-flows", "table=0")
    ofctl("mod-flows", "--strict", "priority=8,in_port=1,actions=drop")
    assert "actions=output:1" in ofctl("dump-flows", "table=0")
    ofctl("del-flows", "--strict", "table=1")
    assert len(ofctl.lines("dump-flows")) == 1
    ofctl("del-flows", "in_port=1")
    assert ofctl("dump-flows") == ""


def groups_and_meters(ofctl):
    group = "group_id=5,type=all,bucket=actions=output:1,bucket=actions=output:2"
    ofctl("add-flow", group, "meter=3,pktps,bands=type=drop,rate=100", "actions=meter:3,group:5")
    assert ofctl.lines("dump-groups") == [group]
    assert "references=1" in ofctl("dump-groups", "--counters")
    (meter,) = ofctl.lines("dump-meters")
    assert meter.startswith("meter=3,pktps")
    assert "type=drop,rate=100" in meter
    assert "flows=1" in ofctl("dump-meters", "--counters")


def test_our_flows_are_changed_and_dumped(ours):
    change_and_dump(ours)
    groups_and_meters(ours)


def test_flows_of_open_vswitch_are_changed_and_dumped(open_vswitch):
    change_and_dump(open_vswitch)
    groups_and_meters(open_vswitch)


@pytest.mark.parametrize("kind", ["ours", "open_vswitch"])
def test_a_switch_and_its_ports_are_shown(kind, request):
    ofctl = request.getfixturevalue(kind)
    shown = ofctl("show")
    assert shown.startswith("datapath ")
    assert "\nconfiguration: flags=0,miss_send_len=" in shown
    assert "\nport 1(" in shown
    assert {"port 1", "port 2"} <= {line.partition(":")[0] for line in ofctl.lines("dump-ports")}
    assert len(ofctl.lines("dump-ports", "2")) == 1


def test_what_cannot_be_is_told_in_one_line(ours):
    code, said = ours.refused("add-flow", "in_port=1,actions=goto_table:0")
    assert (code, said) == (3, "brimful-switchd: the switch refuses: OpenFlow error 3/2 (INSTRUCTION_TABLE)")
    code, said = ours.refused("add-flow", "in_port=1,actions=drop", "foo=1,actions=drop")
    assert code == 2
    assert "flow:2:1: there is no match field foo" in said
    code, said = Ofctl(ours.lab, "tcp:127.0.0.1:1").refused("show")
    assert (code, "Connection refused" in said) == (3, True)
    code, said = Ofctl(ours.lab, "udp:1").refused("show")
    assert (code, "use tcp:HOST:PORT" in said) == (2, True)


def test_what_a_switch_tells_is_watched(ours):
    ours("add-flow", "in_port=1,cookie=77,actions=controller")
    with subprocess.Popen(ours.command("monitor", "--count=1"), stdout=subprocess.PIPE, text=True) as monitor:
        # It has connected once the switch counts it; frames until then meet no one.
        deadline = time.monotonic() + LONGEST_S
        while monitor.poll() is None and time.monotonic() < deadline:
            subprocess.run(ours.lab.command([sys.executable, "-I", "-c", FRAME.format(interface="tb")]), check=True)
            time.sleep(0.1)
        line = monitor.stdout.readline()
    assert "PacketIn " in line
    assert "cookie=77" in line
    assert "in_port=1" in line
    assert "0200000000090200000000010806" in line


def test_what_a_switch_and_its_controller_say_is_seen_from_between(wire):
    watching = [find_switch(), "ofctl", "ptcp:7001", "snoop", "--controller=ptcp:7002", "--count=4"]
    with ended(start(wire, "--controller=tcp:127.0.0.1:7001")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        with subprocess.Popen(wire.command(watching), stdout=subprocess.PIPE, text=True) as snoop:
            asked = Ofctl(wire, "tcp:127.0.0.1:7002")
            deadline = time.monotonic() + LONGEST_S
            while snoop.poll() is None and time.monotonic() < deadline:
                subprocess.run(asked.command("dump-flows"), capture_output=True, timeout=LONGEST_S)
            seen = snoop.stdout.read()
    assert "switch: xid=" in seen
    assert "controller: xid=" in seen
    assert "MultipartRequest Flow table=255" in seen


def test_it_is_a_command_of_brimful(ours):
    program = Path(sys.executable).with_name("brimful")
    command = ours.lab.command([program, "switch", "ofctl", SWITCH, "add-flow", "actions=drop"])
    subprocess.run(command, check=True, timeout=LONGEST_S)
    assert ours("dump-flows", "--no-counters") == "actions=drop\n"
    wrong = ours.lab.command([program, "switch", "ofctl", SWITCH, "add-flow", "actions=fly"])
    assert subprocess.run(wrong, capture_output=True, timeout=LONGEST_S).returncode == 2
