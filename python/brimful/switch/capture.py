"""Captures of a running switch, written as they come."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from brimful.errors import MeasureError, UsageError
from brimful.switch.client import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FRAME, _STATISTICS = 6, 5
"""Kinds of blocks of a pcapng file."""
_HEAD_LEN = 8
_LOST = 5
"""The option of statistics that counts frames without room."""
_PART_LEN = 1 << 16


@dataclass(frozen=True)
class Captured:
    """What a capture holds."""

    port: int
    """The port's number."""
    interface: str
    """The port's interface."""
    frames: int
    """Frames in the file."""
    lost: int
    """Frames that passed and found no room."""


def capture_to(file: str, control: Path, wanted: Mapping[str, object]) -> Captured:
    """Have a switch capture what passes a port, and write it until it ends or a signal comes; `-` is standard output.

    Raises
    ------
    MeasureError
        When no switch answers, it ends meanwhile, or the file cannot be written: then it holds what came before.
    UsageError
        When the switch refuses, with its reason.
    """
    with connect(control) as connection, connection.makefile("rb") as answers:
        request = {name: value for name, value in wanted.items() if value is not None}
        connection.sendall(json.dumps({"command": "capture", **request}).encode() + b"\n")
        answer = json.loads(answers.readline() or b'{"error": "the switch ended without an answer"}')
        if "error" in answer:
            raise UsageError(answer["error"])
        frames, lost = 0, None
        try:
            with _open(file) as output, _ended_by_signals(connection):
                for kind, block in _blocks(answers):
                    _write(output, block)
                    frames += kind == _FRAME
                    lost = _count_lost(block) if kind == _STATISTICS else lost
        except BrokenPipeError:
            # The reader has seen enough.
            sys.stdout = None
            lost = 0
        except OSError as error:
            message = f"{file}: {error.strerror}: the capture ended after {frames} frames"
            raise MeasureError(message) from None
    if lost is None:
        message = f"{file}: the switch ended after {frames} frames"
        raise MeasureError(message)
    return Captured(answer["port"], answer["interface"], frames, lost)


def _open(file: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if file == "-":
        return contextlib.nullcontext(sys.stdout.buffer)
    return Path(file).open("wb", buffering=0)


def _write(output: IO[bytes], block: bytes) -> None:
    """Write a whole block or, in a file, nothing of it."""
    rest = memoryview(block)
    try:
        while rest:
            rest = rest[output.write(rest) :]
        output.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(output.fileno(), output.tell() - (len(block) - len(rest)))
        raise


@contextlib.contextmanager
def _ended_by_signals(connection: socket.socket) -> Iterator[None]:
    """Let signals say that no more is wanted: the switch then sends the last blocks."""

    def end(_number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _blocks(answers: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the bytes of each block that comes."""
    waiting = bytearray()
    while True:
        try:
            part = answers.read1(_PART_LEN)  # type: ignore[attr-defined]
        except ConnectionError:
            part = b""
        if not part:
            return
        waiting += part
        at = 0
        while len(waiting) - at >= _HEAD_LEN:
            kind, length = struct.unpack_from("<II", waiting, at)
            if len(waiting) - at < length:
                break
            yield kind, bytes(waiting[at : at + length])
            at += length
        del waiting[:at]


def _count_lost(block: bytes) -> int:
    at = 20
    while at + 4 <= len(block) - 4:
        option, length = struct.unpack_from("<HH", block, at)
        if option == _LOST:
            return int.from_bytes(block[at + 4 : at + 4 + length], "little")
        at += 4 + (length + 3) // 4 * 4
    return 0
