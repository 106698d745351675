"""Counters of the SNMP exporter, as Prometheus gives them: range queries saved as JSON."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec
import numpy as np

from brimful.discards.telemetry.columns import Decoded, Refused, put, wrong_clocks
from brimful.discards.telemetry.rows import ABSOLUTE, CODES, empty_rows
from brimful.discards.telemetry.tables import UnreadableError

ENDINGS = (".json", ".json.gz")
MAX_BYTES = 256 << 20
"""An answer is held in memory; Prometheus itself gives at most 11,000 samples of a series."""
_METRIC = re.compile(r"if(?:HC)?(In|Out)(Octets|UcastPkts|MulticastPkts|BroadcastPkts|Discards|Errors)")
_TYPES = {"Octets": "octets", "UcastPkts": "unicast", "MulticastPkts": "multicast", "BroadcastPkts": "broadcast"}
_PORT_LABELS = ("ifName", "ifDescr", "ifIndex")
_MAX_NAME_LENGTH = 80


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Series]
    result_type: str = msgspec.field(name="resultType", default="matrix")


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


def read_answer(path: Path, latest_s: float) -> Iterator[Decoded]:
    """Read an answer of ``/api/v1/query_range``; each series is a line.

    Raises
    ------
    UnreadableError
        When it is none.
    """
    answer = _decode(path)
    if answer.status != "success" or answer.data is None:
        message = f"is the answer to a query that failed: {answer.error or answer.status}"
        raise UnreadableError(message)
    if answer.data.result_type != "matrix":
        message = f"holds a {answer.data.result_type}; save the answer of /api/v1/query_range"
        raise UnreadableError(message)
    if not answer.data.result:
        message = "has no series"
        raise UnreadableError(message)
    for number, series in enumerate(answer.data.result, 1):
        decoded = Decoded(lines=1, samples=len(series.values))
        problem = _take(series, latest_s, decoded)
        if problem is not None:
            text = msgspec.json.encode(series.metric).decode()[:1000]
            decoded.refused.append(Refused(str(path), "", number, problem, text))
        yield decoded


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
        return msgspec.json.decode(content, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"is no answer of Prometheus: {str(error).splitlines()[0]}"
        raise UnreadableError(message) from error


def _take(series: _Series, latest_s: float, decoded: Decoded) -> str | None:
    """Make rows of a series, or say what is wrong with it."""
    match = _METRIC.fullmatch(series.metric.get("__name__", ""))
    if match is None:
        return "is no counter of an interface; save ifHCOutOctets and its like themselves, not their rate"
    device = series.metric.get("instance", "").rpartition(":")[0] or series.metric.get("instance", "")
    port = next((series.metric[label] for label in _PORT_LABELS if series.metric.get(label)), "")
    if not (0 < len(device) <= _MAX_NAME_LENGTH and 0 < len(port) <= _MAX_NAME_LENGTH):
        return f"has no label instance, or none of {', '.join(_PORT_LABELS)}"
    if not series.values:
        return "has no samples"
    scope = series.metric.get("scope", "uplink")
    kind = _TYPES.get(match[2], match[2].lower())
    metric = CODES.get(f"switch.{kind}.{scope}.{'rx' if match[1] == 'In' else 'tx'}")
    if metric is None:
        return "scope is neither uplink nor local"
    seconds = np.array([at for at, _ in series.values])
    for reason, wrong in wrong_clocks(seconds, latest_s):
        if wrong.any():
            return reason
    try:
        counters = [_counter(text) for _, text in series.values]
    except (ValueError, InvalidOperation, OverflowError):
        return "a value is no counter"
    rows = empty_rows(len(counters))
    rows["end_us"] = np.round(seconds * 1e6)
    rows["counter"] = counters
    rows["metric"] = metric
    rows["kind"] = ABSOLUTE
    put(decoded, rows, np.zeros(len(rows), np.int64), [(device, port)])
    return None


def _counter(text: str) -> int:
    """Read a counter, which may be written like ``1.2345e+10``.

    >>> _counter("1.2345e+10"), _counter("7")
    (12345000000, 7)
    """
    number = Decimal(text)
    if not 0 <= number < 2**64:
        message = "out of range"
        raise ValueError(message)
    return int(number)
