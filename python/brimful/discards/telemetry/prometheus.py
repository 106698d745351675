"""Counters of the SNMP exporter, as Prometheus gives them: range queries saved as JSON."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.seen import Series
from brimful.discards.telemetry.series import read_series
from brimful.discards.telemetry.source import Source, UnreadableError
from brimful.discards.texts import as_utf8

MAX_BYTES = 256 << 20
"""An answer is held in memory; Prometheus itself gives at most 11,000 samples of a series."""


class _Data(msgspec.Struct):
    result: list[Series]
    result_type: str = msgspec.field(name="resultType", default="matrix")


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


def read_answer(source: Source) -> Iterator[Decoded]:
    """Read an answer of ``/api/v1/query_range``; each series is a line.

    Raises
    ------
    UnreadableError
        When it is none.
    """
    answer = _decode(source.path)
    if answer.status != "success" or answer.data is None:
        message = f"is the answer to a query that failed: {answer.error or answer.status}"
        raise UnreadableError(message)
    if answer.data.result_type != "matrix":
        message = f"holds a {answer.data.result_type}; save the answer of /api/v1/query_range"
        raise UnreadableError(message)
    if not answer.data.result:
        message = "has no series"
        raise UnreadableError(message)
    yield from read_series(answer.data.result, source)


def _decode(path: Path) -> _Answer:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(str(error)) from error
    if len(content) > MAX_BYTES:
        message = f"has more than {MAX_BYTES >> 20} MiB; save shorter ranges"
        raise UnreadableError(message)
    try:
        return msgspec.json.decode(as_utf8(content), type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"is no answer of Prometheus: {str(error).splitlines()[0]}"
        raise UnreadableError(message) from error
