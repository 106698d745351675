"""Counters of interfaces as agents and their databases write them, turned into series of Prometheus.

Telegraf's JSON (a poll a line, or ``metrics`` in a list), InfluxDB's annotated CSV (``_time``, ``_field``, ``_value``)
and tables with a column for each counter that is named as in IF-MIB.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful.discards.archives import WholeLines
from brimful.discards.compression import uncompressed
from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.seen import Series
from brimful.discards.telemetry.series import COUNTER, PAUSES, read_series
from brimful.discards.telemetry.source import Source
from brimful.discards.texts import as_utf8, encoding_of
from brimful.discards.times import DOUBTFUL, parse_local

_DEVICE = ("instance", "agent_host", "sysName", "hostname", "device", "host")
"""Tags that name the device, the best first: ``host`` is often the one that polls."""
_TIMES = ("_time", "time", "timestamp")
_NOT_TAGS = {*_TIMES, "_value", "_field", "_start", "_stop", "_measurement", "result", "table", ""}
_UNITS = ((10**17, 1e9), (10**14, 1e6), (10**11, 1e3))
"""From this number on, a time is in this many parts of a second: agents write the unit of their configuration."""
_COUNTERS = re.compile(f"{COUNTER.pattern}|{PAUSES.pattern}|sysUpTime")

Sample = tuple[dict[str, str], str, str, str]
"""Labels, name of the counter, time and value."""


def recognises(path: Path) -> bool:
    """Say whether a file is one of an agent or its database.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    """
    with path.open("rb") as file:
        return _is_known(_begin(WholeLines(uncompressed(file))), is_table=".csv" in path.name)


def read_agents(source: Source) -> Iterator[Decoded]:
    """Read the series in a file.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    DamagedError
        When it is damaged; what was given before is good.
    """
    return read_samples(source, _table if ".csv" in source.path.name else _documents)


def read_samples(source: Source, samples: Callable[[bytes], Iterator[Sample]]) -> Iterator[Decoded]:
    """Read the series that a text has samples of; raises what `read_agents` does."""
    with source.path.open("rb") as file:
        lines = WholeLines(uncompressed(file))
        content = _begin(lines) + lines.read()
    points: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
    doubtful = 0
    for tags, name, at, value in samples(content):
        seconds = _seconds(at, source.reading.zone)
        if seconds is None:
            doubtful += 1
            continue
        labels = {key: tag for key, tag in tags.items() if tag and key not in _NOT_TAGS}
        labels["instance"] = next((labels[key] for key in _DEVICE if labels.get(key)), "")
        labels["__name__"] = name
        points.setdefault(tuple(sorted(labels.items())), []).append((seconds, value))
    found = [Series(dict(labels), sorted(values, key=lambda one: one[0])) for labels, values in points.items()]
    yield Decoded(left_out=Counter({f"time {DOUBTFUL}, or none": doubtful} if doubtful else {}))
    yield from read_series(found, source)
    if lines.damage is not None:
        raise lines.damage


def _begin(lines: WholeLines) -> bytes:
    begin = lines.read(1 << 16)
    if encoding_of(begin)[0] != "utf-8":
        # Lines do not end where they seem to.
        begin += lines.read()
    return as_utf8(begin)


def _is_known(begin: bytes, *, is_table: bool) -> bool:
    text = begin.decode(errors="replace")
    if not is_table:
        first = text.lstrip()[:4000]
        return '"fields"' in first and ('"tags"' in first or '"metrics"' in first)
    for line in text.splitlines()[:10]:
        names = set(next(csv.reader([line]), []))
        if {"_time", "_value", "_field"} <= names:
            return True
        if names & set(_TIMES) and any(_COUNTERS.fullmatch(name) for name in names):
            return True
    return False


def _table(content: bytes) -> Iterator[Sample]:
    names: list[str] = []
    for cells in csv.reader(io.StringIO(content.decode(errors="replace"))):
        # Each table of an annotated file has its own names, behind lines of annotations.
        if not cells or cells[0].startswith("#"):
            names = []
            continue
        if not names:
            names = [cell.strip() for cell in cells]
            continue
        row = dict(zip(names, cells, strict=False))
        at = next((row[name] for name in _TIMES if row.get(name)), "")
        if "_field" in row:
            yield row, row["_field"], at, row.get("_value", "")
        else:
            tags = {name: cell for name, cell in row.items() if not _COUNTERS.fullmatch(name)}
            for name in row.keys() - tags.keys():
                yield tags, name, at, row[name] or "NaN"


def _documents(content: bytes) -> Iterator[Sample]:
    for line in content.splitlines():
        try:
            document: Any = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        for one in document.get("metrics", [document]) if isinstance(document, dict) else []:
            tags = {str(key): str(tag) for key, tag in (one.get("tags") or {}).items()}
            for name, value in (one.get("fields") or {}).items():
                if _COUNTERS.fullmatch(name):
                    yield tags, name, str(one.get("timestamp", "")), str(value)


def _seconds(text: str, zone: str | None) -> float | None:
    try:
        number = float(text)
    except ValueError:
        try:
            us = parse_local(text, zone)
        except (ValueError, OverflowError):
            return None
        return None if us is None else us / 1e6
    return number / next((parts for least, parts in _UNITS if number >= least), 1)
