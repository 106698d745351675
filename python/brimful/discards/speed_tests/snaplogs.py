"""Snapshot logs of web100 kernels, which NDT wrote until 2019: a header in words, then binary snapshots."""

from __future__ import annotations

import ipaddress
import re
from typing import BinaryIO

from brimful.discards.speed_tests.ndt import ResultError
from brimful.discards.speed_tests.rows import Server, SpeedTest, Tally, time_trouble
from brimful.discards.times import parse_time

ENDINGS = {".s2c_snaplog": "download", ".c2s_snaplog": "upload"}
MAX_BYTES = 1 << 28
"""Snapshots are taken every 5 ms: a test of ten seconds has 1.4 MB."""
_HEADER_END = b"----End-Of-Header----"
_SNAPSHOT = b"----Begin-Snap-Data----\n"
_FILE_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z_")
_IPV4, _IPV6 = 1, 2

Layout = dict[str, tuple[int, int]]
"""Of each variable, where it begins in a snapshot and how many octets it has."""


def read_snaplog(file: BinaryIO, name: str, member: str, server: Server | None, tally: Tally) -> list[SpeedTest]:
    """Give the test of a log; its ``name`` is the test's, and gives the direction."""
    tally.results += 1
    content = file.read(MAX_BYTES)
    if not content:
        tally.empty += 1
        return []
    try:
        return [_test(content, name, server)]
    except ResultError as error:
        tally.reject(str(error), member=member)
        return []


def _test(content: bytes, name: str, server: Server | None) -> SpeedTest:
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    layout = _layout(content.partition(_HEADER_END)[0])
    snapshot = _last_snapshot(content, max((first + size for first, size in layout.values()), default=0))

    def number(variable: str) -> int:
        return int.from_bytes(_octets(snapshot, layout, variable), "little")

    direction = next(direction for ending, direction in ENDINGS.items() if name.endswith(ending))
    start = number("StartTimeSec") * 1_000_000 + number("StartTimeUsec")
    end = start + number("Duration")
    trouble = time_trouble(start, end)
    if trouble:
        raise ResultError(trouble)
    download = direction == "download"
    limited_us = sum(number(f"SndLimTime{part}") for part in ("Rwin", "Cwnd", "Sender"))
    sending_s = (limited_us if download else end - start) / 1e6
    octets = number("ThruBytesAcked" if download else "ThruBytesReceived")
    family = number("LocalAddressType")
    return SpeedTest(
        site=server.site,
        test_id=name,
        protocol="web100",
        direction=direction,
        machine=server.machine,
        server_name=server.name,
        start=start,
        end=end,
        logged=_time_in_name(name) or start,
        client=_address(_octets(snapshot, layout, "RemAddress"), family),
        client_port=number("RemPort"),
        server=_address(_octets(snapshot, layout, "LocalAddress"), family),
        server_port=number("LocalPort"),
        bytes=octets,
        sending_s=sending_s,
        rate_bps=8 * octets / sending_s if sending_s else None,
        retransmitted=number("PktsRetrans") if download else None,
        sent=number("PktsOut") if download else None,
        retransmission_unit="segments" if download else None,
        congestion_control="reno",
    )


def _layout(header: bytes) -> Layout:
    """Read the lines ``NAME OFFSET TYPE SIZE`` below ``/read``: what a snapshot holds."""
    read = header.partition(b"\n/read\n")[2].partition(b"\n/")[0]
    layout = {}
    for line in read.splitlines():
        words = line.split()
        if len(words) == 4 and words[1].isdigit() and words[3].isdigit():
            layout[words[0].decode(errors="replace")] = (int(words[1]), int(words[3]))
    return layout


def _last_snapshot(content: bytes, size: int) -> bytes:
    """Give the last snapshot that is whole."""
    end = len(content)
    while size and (place := content.rfind(_SNAPSHOT, 0, end)) >= 0:
        snapshot = content[place + len(_SNAPSHOT) :][:size]
        if len(snapshot) == size:
            return snapshot
        end = place
    message = "is no snapshot log of web100, or has no whole snapshot"
    raise ResultError(message)


def _octets(snapshot: bytes, layout: Layout, variable: str) -> bytes:
    if variable not in layout:
        message = f"is a snapshot log without the variable {variable}"
        raise ResultError(message)
    first, size = layout[variable]
    return snapshot[first : first + size]


def _address(octets: bytes, family: int) -> str | None:
    if family == _IPV4:
        return str(ipaddress.IPv4Address(octets[:4]))
    return str(ipaddress.IPv6Address(octets[:16])) if family == _IPV6 and len(octets) >= 16 else None


def _time_in_name(name: str) -> int | None:
    match = _FILE_TIME.match(name)
    if match is None:
        return None
    year, month, day, time, fraction = match.groups("")
    try:
        return parse_time(f"{year}-{month}-{day}T{time}{fraction}Z")
    except ValueError:
        return None
