"""Single frames out of capture files."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from brimful.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

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


def read_frame(path: Path, number: int) -> bytes:
    """Return a frame of a pcap file, the first being number 1.

    Raises
    ------
    UsageError
        When the file is no such capture, or has no such frame.
    """
    with path.open("rb") as file:
        header = file.read(_FILE_HEADER_LEN)
        order = _ORDERS.get(header[:4])
        if order is None or len(header) < _FILE_HEADER_LEN:
            message = f"{path}: is no pcap file; convert it with `editcap -F pcap`"
            raise UsageError(message)
        (kind,) = struct.unpack(f"{order}I", header[20:24])
        if kind & 0xFFFF != _ETHERNET:
            message = f"{path}: holds link type {kind}, not Ethernet"
            raise UsageError(message)
        for index in range(1, number + 1):
            head = file.read(_FRAME_HEADER_LEN)
            if len(head) < _FRAME_HEADER_LEN:
                message = f"{path}: has {index - 1} frames, no frame {number}"
                raise UsageError(message)
            (length,) = struct.unpack(f"{order}I", head[8:12])
            frame = file.read(length)
            if len(frame) < length:
                message = f"{path}: ends within frame {index}"
                raise UsageError(message)
    return frame
