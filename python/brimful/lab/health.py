"""Whether frames pass a device: asked before a lab is handed over."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from brimful.lab import devices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimful.lab.namespaces import Namespace

_BEGINNING = """
import json, socket, sys, time
patience, mark, ways = json.loads(sys.argv[1])
passed = []
def fail(near, far):
    said = "no frame came through from %s to %s within %g s" % (near, far, patience)
    if passed and len(ways) == 2:
        said += ", but from %s to %s: `--direction uni` sends that way alone" % tuple(passed)
    sys.exit(said)
"""
# Runs in the tester's namespace. A short and a long frame are sent again until one of the newest has arrived, and the
# other as well or its time is over: none is on its way any more then.
_PROBE_PROGRAM = (
    _BEGINNING
    + """
ports = {}
for name in {name for near, (far, _) in ways.items() for name in (near, far)}:
    ports[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    ports[name].bind((name, 0))
    ports[name].settimeout(0.1)
deadline = time.monotonic() + patience
for near, (far, frames) in ways.items():
    number, arrived = 0, set()
    while not arrived:
        if time.monotonic() > deadline:
            fail(near, far)
        tails = []
        for frame in frames:
            number += 1
            tails.append(mark.encode() + number.to_bytes(4, "big"))
            ports[near].send(bytes.fromhex(frame) + tails[-1])
        until = time.monotonic() + 0.1
        try:
            while len(arrived) < len(tails) and time.monotonic() < until:
                got, address = ports[far].recvfrom(65536)
                if address[2] != socket.PACKET_OUTGOING:
                    arrived.update(tail for tail in tails if tail in got)
        except TimeoutError:
            continue
    passed += [near, far]
"""
)
# The same where a tester already takes what arrives, before any packet socket sees it: counters show what came, and
# that nothing is on its way any more.
_COUNTING_PROBE_PROGRAM = (
    _BEGINNING
    + """
def received(name):
    with open("/proc/net/dev") as table:
        return next(int(line.split(":")[1].split()[1]) for line in table if line.split(":")[0].strip() == name)
deadline = time.monotonic() + patience
for near, (far, frames) in ways.items():
    before = received(far)
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    port.bind((near, 0))
    while received(far) == before:
        if time.monotonic() > deadline:
            fail(near, far)
        for frame in frames:
            port.send(bytes.fromhex(frame) + mark.encode() + bytes(4))
        time.sleep(0.02)
    passed += [near, far]
seen = None
while seen != (seen := [received(far) for far, _ in ways.values()]):
    time.sleep(0.05)
"""
)
_MARK = "brimful lab"
_PATIENCE_S = 10.0
_LOOK_S = 0.1
_DISCARD_PORT = 9
_NUMBER_LEN = 4
_IPV4_HEADER_LEN = 20
_IPV6_HEADER_LEN = 40
_SHORT_LEN = 64
"""Bytes of a packet that the mark has room in, whatever its headers."""


class Way(NamedTuple):
    """From one port of the tester to another, by their places in the order of the ports."""

    sender: int
    receiver: int
    next_hop: str
    """The Ethernet address that the frames go to."""


def find_obstacle(
    tester: Namespace,
    *,
    ip: int,
    mtu: int,
    ways: Sequence[Way],
    is_over: Callable[[], bool] = lambda: False,
    tester_listens: bool = False,
) -> str | None:
    """Send frames through the device; return, in one line, which way none came through.

    They are short and long, and one of them is enough: that a device drops frames of a size is for trials to find.

    Parameters
    ----------
    tester
        The namespace with the tester's ports.
    ip
        4 or 6: what the frames are.
    mtu
        How long the packets of the long ones are.
    ways
        One from each port.
    is_over
        Says that the device has failed, so that no frame need be waited for.
    tester_listens
        Whether a tester has opened the ports.
    """
    frames = {}
    for sender, receiver, next_hop in ways:
        # Only a router looks at the networks, and it has two ports.
        source, destination = (devices.NETWORKS[ip][port % 2].tester for port in (sender, sender + 1))
        macs = next_hop, devices.TESTER_MACS[sender]
        both = [_frame(*macs, source, destination, length).hex() for length in (_SHORT_LEN, mtu)]
        frames[devices.TESTER_PORTS[sender]] = (devices.TESTER_PORTS[receiver], both)
    request = json.dumps([_PATIENCE_S, _MARK, frames])
    program = _COUNTING_PROBE_PROGRAM if tester_listens else _PROBE_PROGRAM
    command = tester.command([sys.executable, "-I", "-S", "-c", program, request])
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as probe:
        while probe.poll() is None:
            if is_over():
                probe.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                probe.wait(_LOOK_S)
        said = probe.stderr.read() if probe.stderr is not None else ""
    if probe.returncode == 0:
        return None
    return (said.strip().splitlines() or [f"the probe ended with exit code {probe.returncode}"])[-1]


def _frame(destination_mac: str, source_mac: str, source: str, destination: str, packet_len: int) -> bytes:
    """Return a UDP frame up to the end of its payload, which is the mark and a number."""
    macs = bytes.fromhex((destination_mac + source_mac).replace(":", ""))
    is_ipv6 = ":" in source
    length = packet_len - (_IPV6_HEADER_LEN if is_ipv6 else _IPV4_HEADER_LEN)
    datagram = struct.pack("!HHHH", _DISCARD_PORT, _DISCARD_PORT, length, 0)
    datagram += bytes(length - len(datagram) - len(_MARK) - _NUMBER_LEN)
    if is_ipv6:
        addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
        return macs + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, length, 17, 64) + addresses + datagram
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, 17, 0) + addresses
    return macs + b"\x08\x00" + header[:10] + struct.pack("!H", _checksum(header)) + header[12:] + datagram


def _checksum(header: bytes) -> int:
    """RFC 1071, for a header of less than 64 KiB."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
