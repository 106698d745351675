"""Digests within a record: whether its lines are still those that were written.

The first line and each `End` carry the SHA-256 of all lines before them and of themselves without it. It finds lines
that were changed, added or removed by mistake; an attacker can compute another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import msgspec

from brimful.records.format import encode
from brimful.records.record import Record
from brimful.records.run import End, Run

_SIGNED = re.compile(rb'(.*),"digest":"([0-9a-f]{64})"\}', re.DOTALL)


class Digest:
    """Goes through the lines of a file as they are written."""

    def __init__(self, content: bytes = b"") -> None:
        self._hash = hashlib.sha256(content)

    def line(self, record: Record) -> bytes:
        """Give the next line; a `Run` and an `End` are given their digest."""
        line = encode(record)
        if isinstance(record, Run | End):
            signed = self._hash.copy()
            signed.update(line)
            line = encode(msgspec.structs.replace(record, digest=signed.hexdigest()))
        return line

    def add(self, line: bytes) -> None:
        """Take notice that a line is in the file."""
        self._hash.update(line)


def broken_digests(content: bytes) -> Iterator[int]:
    """Give the numbers of the lines, from 1, whose digest is not that of the file up to there, or is missing there."""
    before = hashlib.sha256()
    is_signed = False
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        found = _SIGNED.fullmatch(line)
        if found is not None:
            signed = before.copy()
            signed.update(found[1] + b"}\n")
            is_signed = True
            if signed.hexdigest() != found[2].decode():
                yield number
        elif is_signed and line.startswith(b'{"kind":"end"'):
            yield number
        before.update(line + b"\n")
