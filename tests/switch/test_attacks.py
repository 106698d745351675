"""What may befall `brimful-switchd` while it forwards: ports that vanish, the shortest and the longest frames."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from brimful.lab.switch import find_switch

RULES = "in_port=1,actions=output:2\nin_port=2,actions=output:1\nin_port=3,actions=output:1\n"
LENGTHS = """
import socket, sys
way_in, way_out, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((way_in, 0))
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
receiver.bind((way_out, 0))
receiver.settimeout(2)
header = bytes.fromhex("020000000002020000000001") + b"\\x88\\xb5"
for length in (14, 15, 59, 60, 61, 1514, most):
    frame = header + bytes(index % 251 for index in range(length - 14))
    sender.send(frame)
    assert receiver.recv(65536) == frame.ljust(60, b"\\0"), length
"""


def link(lab, *words):
    subprocess.run(lab.command(["ip", "link", *words]), check=True)


def join(lab, near, far, mtu="1500"):
    link(lab, "add", near, "mtu", mtu, "type", "veth", "peer", "name", far, "mtu", mtu)
    for name in (near, far):
        link(lab, "set", name, "up")


@contextmanager
def running(lab, tmp_path, ports, *options):
    rules = tmp_path / "rules.flows"
    rules.write_text(RULES)
    joined = [f"--port={number}={name}" for number, name in ports.items()]
    command = lab.command([find_switch(), *joined, f"--tables={rules}", *options])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n"
            yield switch
            assert switch.poll() is None
        finally:
            switch.terminate()
        assert switch.wait(timeout=20) == 0


def start_flows(lab):
    flows = [sys.executable, "-I", str(Path(__file__).with_name("flows.py")), "na", "nb"]
    return subprocess.Popen(lab.command(flows), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.parametrize("back_end", ["packet", "xdp-native", "xdp-generic"])
def test_a_port_that_vanishes_takes_no_other_with_it(lab, tmp_path, back_end):
    for near, far in (("na", "fa"), ("nb", "fb"), ("nc", "fc")):
        join(lab, near, far)
    with running(lab, tmp_path, {1: "fa", 2: "fb", 3: "fc"}, f"--back-end={back_end}"):
        with start_flows(lab) as flows:
            link(lab, "del", "nc")
            said, _ = flows.communicate(timeout=60)
        assert json.loads(said) == {"lost": 0, "flows that came out of order": 0}
        # The port where frames go vanishes, and then the one that they come from.
        with start_flows(lab) as flows:
            link(lab, "del", "nb")
            flows.wait(timeout=60)
        link(lab, "del", "na")


@pytest.mark.parametrize(
    ("back_end", "most"), [("packet", 9014), ("packet-blocks", 9014), ("xdp-native", 1514), ("xdp-generic", 1514)]
)
def test_the_shortest_and_the_longest_frames_come_through(lab, tmp_path, back_end, most):
    join(lab, "na", "fa", mtu=str(most - 14))
    join(lab, "nb", "fb", mtu=str(most - 14))
    with running(lab, tmp_path, {1: "fa", 2: "fb"}, f"--back-end={back_end}", f"--max-frame-len={most}"):
        command = lab.command([sys.executable, "-I", "-c", LENGTHS, "na", "nb", str(most)])
        subprocess.run(command, timeout=60, check=True)
