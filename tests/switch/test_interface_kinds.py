"""Interfaces of other kinds than veth as ports: what passes, and what the switch says where something does not."""

import subprocess

import pytest
from hosts import PLAIN, PYTHON, switch, wait_until

PORTS = ["--port=1=other", "--port=2=s2"]
PACKET = ["packet", "packet-blocks"]
FAR_PROGRAM = """
import fcntl, os, struct, sys
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"other", 0x1002))
print("ready", flush=True)
while True:
    frame = os.read(tap, 2000)
    if frame[12:14] == bytes.fromhex("88b5"):
        os.write(tap, frame)
"""
FRAMES = """
import socket
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own:
    own.bind(("eth0", 0))
    for _ in range(3):
        own.send(bytes.fromhex("020000000001" "020000000002" "88b5") + bytes(60))
"""


def add_macvlan(bed, mode):
    bed.ip(bed.middle, "link", "add", "link", "s1", "name", "other", "type", "macvlan", "mode", mode)
    bed.ip(bed.middle, "link", "set", "other", "up")


@pytest.mark.parametrize("back_end", [*PACKET, "xdp-generic"])
def test_a_macvlan_for_all_frames_is_a_port_like_others(bed, tmp_path, back_end):
    add_macvlan(bed, "passthru")
    with switch(bed, tmp_path, PLAIN, back_end, ports=0, options=PORTS):
        assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
    assert "other by" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("back_end", [*PACKET, "xdp-generic"])
def test_a_macvlan_for_its_own_frames_is_said_to_be_one(bed, tmp_path, back_end):
    add_macvlan(bed, "bridge")
    with switch(bed, tmp_path, PLAIN, back_end, ports=0, options=PORTS):
        pass
    assert f"other by {back_end}: the interface below passes only" in (tmp_path / "log").read_text()


def test_a_macvlan_is_refused_where_it_cannot_be_a_port(bed, tmp_path):
    add_macvlan(bed, "passthru")
    with (
        pytest.raises(
            AssertionError, match="`other`: its driver runs no XDP program; use the back end packet or xdp-gen"
        ),
        switch(bed, tmp_path, PLAIN, "xdp-native", ports=0, options=PORTS),
    ):
        pass


@pytest.mark.parametrize("back_end", [*PACKET, "xdp-native", "xdp-generic"])
def test_the_tap_of_another_program_is_a_port_like_others(bed, tmp_path, back_end):
    bed.ip(bed.middle, "tuntap", "add", "other", "mode", "tap")
    bed.ip(bed.middle, "link", "set", "other", "up")
    command = bed.middle.command([*PYTHON, "-c", FAR_PROGRAM])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as far:
        try:
            assert far.stdout.readline() == "ready\n"
            with switch(bed, tmp_path, PLAIN, back_end, ports=0, options=PORTS) as own:
                wait_until(lambda: own.port(1)["has_link"], "the port is up")
                before = own.port(1)["received_frames"]
                bed.hosts[1].run([*PYTHON, "-c", FRAMES])
                wait_until(lambda: own.port(1)["received_frames"] >= before + 3, "they have come back")
        finally:
            far.kill()
