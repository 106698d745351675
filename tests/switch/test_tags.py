"""VLAN tags stay in the frames that AF_XDP reads, and what was changed for that is put back."""

import signal
import subprocess
import sys

import pytest
from hosts import PLAIN, PYTHON, switch, wait_until
from support import ROOT

XDP = ["xdp-native", "xdp-generic"]
RX_VLAN, TX_VLAN = 1 << 8, 1 << 7
FLAGS = """
import array, fcntl, socket, struct, sys
def exchange(command, flags):
    value = array.array("I", [command, flags])
    request = struct.pack("16sP16x", sys.argv[1].encode(), value.buffer_info()[0])
    fcntl.ioctl(own, 0x8946, request)
    return value[1]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
    flags = exchange(0x25, 0)
    if len(sys.argv) > 2:
        exchange(0x26, flags & ~int(sys.argv[2]))
    print(flags)
"""
PUT_BACK = f"""
import sys
sys.path.insert(0, {str(ROOT / "python")!r})
from brimful.changes import put_back
print(put_back())
"""
TAGGED_FRAMES = """
import socket
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own:
    own.bind(("eth0", 0))
    for _ in range(3):
        own.send(bytes.fromhex("020000000002" "020000000001" "8100" "0007" "88b5") + bytes(60))
"""


def takes_tags_off(bed, name):
    return bool(int(bed.middle.run([*PYTHON, "-c", FLAGS, name])) & RX_VLAN)


@pytest.mark.parametrize("back_end", XDP)
def test_a_driver_leaves_tags_in_frames_while_the_port_is_open(bed, tmp_path, back_end):
    assert takes_tags_off(bed, "s1")
    with switch(bed, tmp_path, PLAIN, back_end) as own:
        assert not takes_tags_off(bed, "s1")
        bed.ip(bed.middle, "link", "delete", "s1")
        bed.join(1)
        wait_until(lambda: own.port(1)["has_link"], "the port is up")
        assert not takes_tags_off(bed, "s1"), "what is opened before the other is closed"
    assert takes_tags_off(bed, "s1")
    assert "tx-vlan-offload off" in (tmp_path / "log").read_text()


def test_what_a_killed_switch_changed_is_put_back_in_its_namespace(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN, "xdp-generic") as own:
        own.process.send_signal(signal.SIGKILL)
        own.process.wait()
    assert not takes_tags_off(bed, "s1")
    elsewhere = subprocess.run([sys.executable, "-c", PUT_BACK], capture_output=True, text=True, check=True)
    assert "rx-vlan" not in elsewhere.stdout
    said = []

    def is_put_back():
        # Another command that looks at the note at this moment holds it.
        said.append(bed.middle.run([sys.executable, "-c", PUT_BACK]))
        return takes_tags_off(bed, "s1") and takes_tags_off(bed, "s2")

    wait_until(is_put_back, "both are put back")
    assert "".join(said).count("rx-vlan-offload on") == 2


@pytest.mark.parametrize("back_end", ["packet", "packet-blocks", *XDP])
def test_tags_beside_frames_arrive_once_the_other_end_leaves_them_in(bed, tmp_path, back_end):
    """A bridge of the kernel has taken them off; a VLAN interface puts them there likewise."""
    bed.ip(bed.middle, "link", "add", "br0", "type", "bridge")
    for name in ("s1", "s3"):
        bed.ip(bed.middle, "link", "set", name, "master", "br0")
    bed.ip(bed.middle, "link", "set", "br0", "up")
    if back_end in XDP:
        bed.middle.run([*PYTHON, "-c", FLAGS, "s3", str(TX_VLAN)])
    rules = "in_port=1,dl_vlan=7,actions=output:2\n"
    with switch(bed, tmp_path, rules, back_end, ports=0, options=["--port=1=s4", "--port=2=s2"]) as own:
        bed.hosts[0].run([*PYTHON, "-c", TAGGED_FRAMES])
        wait_until(lambda: own.port(2)["sent_frames"] == 3, "three have come")
