"""Traces of connections that servers of M-Lab keep beside results: what the kernel said, many times a second.

A file is JSON, one snapshot a line, compressed by Zstandard; a long connection has several, one after the other. The
first line names the connection, the others hold the messages of the kernel (inet_diag) as they came.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import BinaryIO, NamedTuple

import msgspec

from brimful.discards.speed_tests.ndt import ResultError, stripped_id
from brimful.discards.speed_tests.rows import ENDS_BEFORE_START, Server, Tally, time_trouble
from brimful.discards.times import parse_time

ENDING = ".jsonl.zst"
MAX_BYTES = 1 << 26
"""Of a file, uncompressed: servers begin another after ten minutes, with less than 10 MB."""
_TCP_INFO = 2
"""INET_DIAG_INFO of linux/inet_diag.h: which attribute is ``struct tcp_info``."""
_FIELDS = struct.Struct("<100x I 16x Q 8x I 28x Q")
"""Of ``struct tcp_info`` in linux/tcp.h: tcpi_total_retrans, tcpi_bytes_acked, tcpi_segs_out, tcpi_busy_time (us)."""
_LARGEST = 2**62


class Trace(NamedTuple):
    """What became of a connection until its last snapshot; times in microseconds since 1970."""

    site: str
    test_id: str
    """Of the test that used it, if one did."""
    start: int
    end: int
    """Time of the last snapshot: may be long after the transfer."""
    bytes: int
    sending_s: float
    retransmitted: int
    """Segments, as those sent."""
    sent: int


class _Connection(msgspec.Struct):
    UUID: str
    StartTime: str


class _Snapshot(msgspec.Struct):
    Timestamp: str = ""
    Metadata: _Connection | None = None
    Attributes: list[str | None] | None = None

    def tcp_info(self) -> str | None:
        return self.Attributes[_TCP_INFO] if self.Attributes and len(self.Attributes) > _TCP_INFO else None


_DECODER = msgspec.json.Decoder(_Snapshot)


def read_trace(file: BinaryIO, member: str, server: Server | None, tally: Tally) -> list[Trace]:
    """Give the trace in a file, which is uncompressed; none where there is nothing in it."""
    content = file.read(MAX_BYTES + 1)
    tally.results += 1
    if not content:
        tally.empty += 1
        return []
    try:
        trace = _trace(content, server)
    except ResultError as error:
        tally.reject(str(error), member=member)
        return []
    tally.traces += 1
    return [trace]


def _trace(content: bytes, server: Server | None) -> Trace:
    if server is None:
        message = "the server is not known: give it with --server"
        raise ResultError(message)
    if len(content) > MAX_BYTES:
        message = "is too large for a trace of a connection"
        raise ResultError(message)
    first, *others = content.splitlines()
    connection = _snapshot(first).Metadata
    # Attributes that did not change may be left out of a snapshot.
    last = next((one for one in map(_snapshot, reversed(others)) if one.tcp_info()), None)
    if connection is None or last is None:
        message = "is no trace of a connection, or has no snapshot of it"
        raise ResultError(message)
    start, end = _time(connection.StartTime), _time(last.Timestamp)
    # A connection may be open for days.
    trouble = ENDS_BEFORE_START if end < start else time_trouble(start, start)
    if trouble:
        raise ResultError(trouble)
    retransmitted, octets, sent, busy_us = _fields(last.tcp_info() or "")
    return Trace(
        site=server.site,
        test_id=stripped_id(connection.UUID),
        start=start,
        end=end,
        bytes=octets,
        sending_s=busy_us / 1e6,
        retransmitted=retransmitted,
        sent=sent,
    )


def _snapshot(line: bytes) -> _Snapshot:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        message = "is no trace of a connection, or a damaged one"
        raise ResultError(message) from None


def _time(text: str) -> int:
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        message = "a time is missing or is none"
        raise ResultError(message) from None


def _fields(text: str) -> tuple[int, ...]:
    try:
        fields = _FIELDS.unpack_from(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, struct.error):
        message = "does not tell how long it was sending: a kernel before Linux 4.10, or damaged"
        raise ResultError(message) from None
    if max(fields) > _LARGEST:
        message = "counts more than 2^62"
        raise ResultError(message)
    return fields
