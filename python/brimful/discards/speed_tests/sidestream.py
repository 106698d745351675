"""Files of SideStream: the variables of web100 of every connection that a server of M-Lab closed.

Most of them were no tests, and the test of a single stream is in the logs of that test as well: they are counted, and
left out. Streams that a client opened to one socket together are one test, which is nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from brimful.discards.schema import SEVERAL_STREAMS
from brimful.discards.speed_tests.rows import Server, SpeedTest, Tally, time_trouble

ENDING = ".web100"
TOGETHER_US = 1_000_000
"""Streams of one test begin within this time."""
FEWEST_BYTES = 8192
"""With less, M-Lab's views do not count a connection as a transfer either."""
_HEADER = b"K: cid "
_CONNECTION = b"C: "
_LINE_BYTES = 1 << 16
_DIGITS = 19
"""This many may not fit into 64 bits."""
_NUMBERS = (
    "LocalPort",
    "RemPort",
    "StartTimeSec",
    "StartTimeUsec",
    "Duration",
    "ThruBytesAcked",
    "ThruBytesReceived",
    "PktsRetrans",
    "PktsOut",
)
_ADDRESSES = ("LocalAddress", "RemAddress")


class _Stream(NamedTuple):
    """A connection that transferred something; times in microseconds since 1970."""

    server: str
    server_port: int
    client: str
    direction: str
    start: int
    end: int
    client_port: int
    bytes: int
    retransmitted: int
    sent: int


def read_connections(file: BinaryIO, member: str, server: Server | None, tally: Tally) -> list[SpeedTest]:
    """Count the connections in a file, and give the tests of several streams among them."""
    lines = iter(lambda: file.readline(_LINE_BYTES), b"")
    header = next(lines, b"")
    if not header.startswith(_HEADER):
        tally.results += 1
        tally.reject("is no file of SideStream", member=member)
        return []
    names = header.decode(errors="replace").split()
    connections = 0
    streams = []
    for line in lines:
        if line.startswith(_CONNECTION):
            connections += 1
            cells = line.decode(errors="replace").split() if line.endswith(b"\n") else []
            stream = _stream(dict(zip(names, cells, strict=False)))
            streams += [stream] if stream is not None else []
    groups = list(_groups(streams))
    others = connections - sum(map(len, groups))
    tally.observed += others
    tally.results += others + len(groups)
    if groups and server is None:
        tally.reject("the server is not known: give it with --server", member=member, count=len(groups))
        return []
    return [_test(group, server) for group in groups if server is not None]


def _stream(cells: dict[str, str]) -> _Stream | None:
    """Read a connection; nothing where it transferred nothing, or lacks what is asked of a test."""
    texts = {name: cells.get(name, "") for name in _NUMBERS}
    if not all(text.isdecimal() and len(text) < _DIGITS for text in texts.values()) or not all(
        map(cells.get, _ADDRESSES)
    ):
        return None
    value = {name: int(text) for name, text in texts.items()}
    download = value["ThruBytesAcked"] >= value["ThruBytesReceived"]
    start = value["StartTimeSec"] * 1_000_000 + value["StartTimeUsec"]
    stream = _Stream(
        server=cells["LocalAddress"],
        server_port=value["LocalPort"],
        client=cells["RemAddress"],
        direction="download" if download else "upload",
        start=start,
        end=start + value["Duration"],
        client_port=value["RemPort"],
        bytes=value["ThruBytesAcked" if download else "ThruBytesReceived"],
        retransmitted=value["PktsRetrans"],
        sent=value["PktsOut"],
    )
    possible = stream.bytes < 2**62 and max(stream.retransmitted, stream.sent) < 2**62 and stream.server_port < 2**16
    possible = possible and stream.client_port < 2**16 and time_trouble(stream.start, stream.end) is None
    return stream if possible and stream.bytes >= FEWEST_BYTES else None


def _groups(streams: Iterable[_Stream]) -> Iterator[list[_Stream]]:
    """Give the streams of each test of several: of one client to one socket and in one direction, begun together."""
    group: list[_Stream] = []
    for stream in sorted(streams):
        # Fields that say between whom and which way come first.
        if group and (stream[:4] != group[0][:4] or stream.start - group[0].start > TOGETHER_US):
            if len(group) > 1:
                yield group
            group = []
        group.append(stream)
    if len(group) > 1:
        yield group


def _test(streams: list[_Stream], server: Server) -> SpeedTest:
    first = streams[0]
    end = max(stream.end for stream in streams)
    octets = sum(stream.bytes for stream in streams)
    sending_s = (end - first.start) / 1e6
    download = first.direction == "download"
    return SpeedTest(
        site=server.site,
        test_id="",
        protocol=f"sidestream{SEVERAL_STREAMS}{len(streams)}",
        direction=first.direction,
        machine=server.machine,
        server_name=server.name,
        start=first.start,
        end=end,
        logged=first.start,
        client=first.client,
        client_port=first.client_port,
        server=first.server,
        server_port=first.server_port,
        bytes=octets,
        sending_s=sending_s,
        rate_bps=8 * octets / sending_s if sending_s else None,
        retransmitted=sum(stream.retransmitted for stream in streams) if download else None,
        sent=sum(stream.sent for stream in streams) if download else None,
        retransmission_unit="segments" if download else None,
        congestion_control="reno",
    )
