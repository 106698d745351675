"""JSON documents of speed tests: one a file, one a line, or a list of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from brimful.discards.speed_tests import iperf3, ndt
from brimful.discards.speed_tests.rows import Server, SpeedTest, Tally

MAX_BYTES = 1 << 26
"""No result is nearly as large; what is larger is something else."""


class Document(ndt.Result):
    """A result of any of the known speed tests: their fields do not overlap."""

    a: ndt.Analysed | None = None
    raw: ndt.Result | None = None
    server: ndt.Host | None = None
    client: ndt.Host | None = None
    start: iperf3.Start | None = None
    end: iperf3.End | None = None
    error: str | None = None


# Exports of BigQuery write whole numbers of 64 bits as text.
_DECODER = msgspec.json.Decoder(Document | list[Document], strict=False)


def read_documents(
    file: BinaryIO, member: str, server: Server | None, tally: Tally, *, lines_alone: bool
) -> Iterator[SpeedTest]:
    """Give the tests in a file of JSON; ``lines_alone``: a document is never longer than a line."""
    every = enumerate(iter(lambda: file.readline(MAX_BYTES), b""), start=1)
    lines = ((number, line) for number, line in every if line.strip())
    begin = list(itertools.islice(lines, 2))
    if not begin:
        tally.results += 1
        tally.empty += 1
    elif len(begin) == 1 or lines_alone or _is_whole(begin[0][1]):
        for number, line in itertools.chain(begin, lines):
            yield from _read_line(line, member, number, server, tally)
    else:
        content = b"".join(line for _, line in begin) + file.read(MAX_BYTES)
        if len(content) > MAX_BYTES:
            tally.results += 1
            tally.reject("is too large for one result; write one a line", member=member)
            return
        yield from _read_line(content, member, begin[0][0], server, tally)


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _read_line(line: bytes, member: str, number: int, server: Server | None, tally: Tally) -> Iterator[SpeedTest]:
    try:
        decoded = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        problem = f"has a wrong type: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        problem = "is not JSON"
    else:
        for document in decoded if isinstance(decoded, list) else [decoded]:
            tally.results += 1
            try:
                tests = _tests_of(document, server)
            except ndt.ResultError as error:
                tally.reject(str(error), member=member, line=number, text=line.decode(errors="replace"))
                continue
            tally.without_transfer += not tests
            yield from tests
        return
    tally.results += 1
    tally.reject(problem, member=member, line=number, text=line.decode(errors="replace"))


def _tests_of(document: Document, server: Server | None) -> list[SpeedTest]:
    if document.start is not None:
        return iperf3.tests_of(document.start, document.end, document.error, server)
    if document.a is not None or document.raw is not None:
        return ndt.tests_of_row(document.a, document.raw, document.server, document.client, server)
    return ndt.tests_of(document, server)
