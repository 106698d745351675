"""Counters of interfaces as agents and their databases write them, turned into series of Prometheus.

Telegraf's JSON (a poll a line, or ``metrics`` in a list), InfluxDB's annotated CSV (``_time``, ``_field``, ``_value``),
tables with a column for each counter that is named as in IF-MIB, and text of OpenMetrics with times, as ``promtool``
dumps it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful.discards.archives import WholeLines, uncompressed
from brimful.discards.telemetry.series import COUNTER, PAUSES, Series
from brimful.discards.texts import as_utf8, encoding_of
from brimful.discards.times import parse_local

_DEVICE = ("instance", "agent_host", "sysName", "hostname", "device", "host")
"""Tags that name the device, the best first: ``host`` is often the one that polls."""
_TIMES = ("_time", "time", "timestamp")
_NOT_TAGS = {*_TIMES, "_value", "_field", "_start", "_stop", "_measurement", "result", "table", ""}
_UNITS = ((10**17, 1e9), (10**14, 1e6), (10**11, 1e3))
"""From this number on, a time is in this many parts of a second: agents write the unit of their configuration."""
_COUNTERS = re.compile(f"{COUNTER.pattern}|{PAUSES.pattern}|sysUpTime")

TEXT_ENDINGS = (".prom", ".openmetrics", ".prom.gz", ".openmetrics.gz")
_LINE = re.compile(r"([A-Za-z_:][\w:]*)?\{(.*)\}\s+(\S+)(?:\s+(\S+))?(?:\s+#.*)?", re.ASCII)
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')

Points = dict[tuple[tuple[str, str], ...], list[tuple[float, str]]]


def read_agents(path: Path, zone: str | None) -> tuple[list[Series], int] | None:
    """Give the series in a file and how many samples lack a time that can be known; nothing where it is no such file.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    """
    with path.open("rb") as file:
        lines = WholeLines(uncompressed(file))
        begin = lines.read(1 << 16)
        if encoding_of(begin)[0] != "utf-8":
            # Lines do not end where they seem to.
            begin += lines.read()
        begin = as_utf8(begin)
        if not path.name.endswith(TEXT_ENDINGS) and not _is_known(begin, is_table=".csv" in path.name):
            return None
        content = begin + lines.read()
    points: Points = {}
    doubtful = 0
    read = _exposed if path.name.endswith(TEXT_ENDINGS) else _table if ".csv" in path.name else _documents
    for tags, name, at, value in read(content):
        seconds = _seconds(at, zone)
        if seconds is None:
            doubtful += 1
            continue
        labels = {key: tag for key, tag in tags.items() if tag and key not in _NOT_TAGS}
        labels["instance"] = next((labels[key] for key in _DEVICE if labels.get(key)), "")
        labels["__name__"] = name
        points.setdefault(tuple(sorted(labels.items())), []).append((seconds, value))
    found = [Series(dict(labels), sorted(values, key=lambda one: one[0])) for labels, values in points.items()]
    return found, doubtful


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


def _table(content: bytes) -> Iterator[tuple[dict[str, str], str, str, str]]:
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


def _documents(content: bytes) -> Iterator[tuple[dict[str, str], str, str, str]]:
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


def _exposed(content: bytes) -> Iterator[tuple[dict[str, str], str, str, str]]:
    for line in content.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            tags = dict(_LABEL.findall(match[2]))
            yield tags, match[1] or tags.get("__name__", ""), match[4] or "", match[3]


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
