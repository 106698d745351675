"""Test frames, as bytes, without their check sequence: the NIC adds it."""

from __future__ import annotations

import socket
import struct

from .errors import CannotMeasureError

FCS_BYTES = 4
ETHERNET_BYTES = 14
VLAN_BYTES = 4
UDP_BYTES = 8
IP_BYTES = {4: 20, 6: 40}
LARGEST_FRAME = 9234
IMIX = ((64, 7), (594, 4), (1518, 1))
"""Size and number in twelve frames, as of our own tester."""
FIRST_PORT = 1024
LAST_PORT = 65535
_DISCARD_PORT = 9
_UDP = 17


def smallest(ip: int, vlan: int | None) -> int:
    """Give the smallest frame, with its check sequence, that holds the headers and is legal."""
    headers = ETHERNET_BYTES + (VLAN_BYTES if vlan else 0) + IP_BYTES[ip] + UDP_BYTES
    return max(64, headers + FCS_BYTES)


def sizes(text: str, ip: int, vlan: int | None) -> list[tuple[int, int]]:
    """Read ``--frame-size``: sizes with their shares. In a mix a size that is too small is raised.

    Raises
    ------
    CannotMeasureError
        When it is no size, or one that no frame can have.
    """
    least = smallest(ip, vlan)
    if text == "imix":
        return [(max(size, least), share) for size, share in IMIX]
    if not text.isdecimal() or not least <= int(text) <= LARGEST_FRAME:
        message = f"--frame-size {text}: use imix, or {least} to {LARGEST_FRAME} bytes for these headers"
        raise CannotMeasureError(message)
    return [(int(text), 1)]


def source_port_offset(ip: int, vlan: int | None) -> int:
    """Say where in the frame the UDP source port is: what the flows differ in."""
    return ETHERNET_BYTES + (VLAN_BYTES if vlan else 0) + IP_BYTES[ip]


def frame(size: int, *, ip: int, vlan: int | None, source: str, destination: str, flow: int, checksum: bool) -> bytes:
    """Build a frame of ``size`` bytes (counting the check sequence, which is left to the NIC).

    The MAC addresses are left empty: the server fills in those that its configuration gives to the port. ``checksum``
    is whether the datagram gets one; without, over IPv4, its sender says that there is none (RFC 768).
    """
    ether_type = struct.pack("!H", 0x86DD if ip == 6 else 0x0800)
    tag = struct.pack("!HH", 0x8100, vlan) if vlan else b""
    payload = bytes(size - FCS_BYTES - ETHERNET_BYTES - len(tag) - IP_BYTES[ip] - UDP_BYTES)
    length = UDP_BYTES + len(payload)
    family = socket.AF_INET6 if ip == 6 else socket.AF_INET
    addresses = socket.inet_pton(family, source) + socket.inet_pton(family, destination)
    ports = struct.pack("!HH", FIRST_PORT + flow, _DISCARD_PORT)
    pseudo_header = addresses + struct.pack("!HH", _UDP, length)
    total = _checksum(pseudo_header + ports + struct.pack("!H", length) + payload) if checksum else 0
    datagram = ports + struct.pack("!HH", length, total) + payload
    if ip == 6:
        header = struct.pack("!IHBB", 6 << 28, length, _UDP, 64) + addresses
    else:
        start, end = struct.pack("!BBHHHBB", 0x45, 0, 20 + length, 0, 0, 64, _UDP), addresses
        header = start + struct.pack("!H", _checksum(start + end)) + end
    return bytes(12) + tag + ether_type + header + datagram


def _checksum(data: bytes) -> int:
    """Give the Internet checksum (RFC 1071); zero is written as its other form, which means a checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF) or 0xFFFF
