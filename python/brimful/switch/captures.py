"""Single frames out of capture files."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from brimful.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_ORDERS = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\x3c\x4d": ">",
}
"""Byte order by the first bytes, with times in microseconds and in nanoseconds."""
_FILE_HEADER_LEN = 24
_FRAME_HEADER_LEN = 16
_ETHERNET = 1
_SECTION = b"\x0a\x0d\x0d\x0a"
"""How pcapng files begin."""
_SECTION_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _FRAME = 1, 6
_SHORTEST = {_INTERFACE: 8, _FRAME: 20}
"""Bytes that a block has at least behind its header, by its kind."""
_BLOCK_HEADER_LEN = 8
_LONGEST_BLOCK = 16 << 20


def read_frame(path: Path, number: int) -> bytes:
    """Return a frame of a pcap or pcapng file, the first being number 1.

    Raises
    ------
    UsageError
        When the file is no such capture, or has no such frame.
    """
    with path.open("rb") as file:
        begin = file.read(4)
        file.seek(0)
        frames = _of_blocks(path, file) if begin == _SECTION else _of_records(path, file)
        count = 0
        for count, frame in enumerate(frames, start=1):
            if count == number:
                return frame
    message = f"{path}: has {count} frames, no frame {number}"
    raise UsageError(message)


def _of_records(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the frames of a pcap file."""
    header = file.read(_FILE_HEADER_LEN)
    order = _ORDERS.get(header[:4])
    if order is None or len(header) < _FILE_HEADER_LEN:
        message = f"{path}: is no pcap or pcapng file"
        raise UsageError(message)
    (kind,) = struct.unpack(f"{order}I", header[20:24])
    _check_kind(path, kind & 0xFFFF)
    index = 0
    while len(head := file.read(_FRAME_HEADER_LEN)) == _FRAME_HEADER_LEN:
        index += 1
        (length,) = struct.unpack(f"{order}I", head[8:12])
        frame = file.read(length)
        if len(frame) < length:
            message = f"{path}: ends within frame {index}"
            raise UsageError(message)
        yield frame


def _of_blocks(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the frames of a pcapng file."""
    order, index = "<", 0
    while len(head := file.read(_BLOCK_HEADER_LEN)) == _BLOCK_HEADER_LEN:
        if head[:4] == _SECTION:
            magic = file.read(4)
            file.seek(-4, 1)
            order = _SECTION_ORDERS.get(magic, order)
        kind, length = struct.unpack(f"{order}II", head)
        shortest = _BLOCK_HEADER_LEN + _SHORTEST.get(kind, 0)
        body = file.read(length - _BLOCK_HEADER_LEN) if shortest < length <= _LONGEST_BLOCK else b""
        if len(body) + _BLOCK_HEADER_LEN != length:
            message = f"{path}: ends within a block behind frame {index}"
            raise UsageError(message)
        if kind == _INTERFACE:
            _check_kind(path, struct.unpack(f"{order}H", body[:2])[0])
        if kind == _FRAME:
            index += 1
            (captured,) = struct.unpack(f"{order}I", body[12:16])
            yield body[20 : 20 + captured]


def _check_kind(path: Path, kind: int) -> None:
    if kind != _ETHERNET:
        message = f"{path}: holds link type {kind}, not Ethernet"
        raise UsageError(message)
