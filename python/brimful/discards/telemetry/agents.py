"""Counters of interfaces as agents and their databases write them, turned into series of Prometheus.

Telegraf's JSON (polls, or ``metrics`` in a list), gNMIc's events and notifications, InfluxDB's line protocol, answers
and CSV (annotated: ``_time``, ``_field``, ``_value``), and tables with a column for each counter.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from brimful.discards import table_texts
from brimful.discards.archives import WholeLines
from brimful.discards.compression import bare_name, uncompressed
from brimful.discards.json_texts import decoded_json, documents, first_object
from brimful.discards.telemetry.columns import Decoded, Refused
from brimful.discards.telemetry.seen import Series
from brimful.discards.telemetry.series import read_series
from brimful.discards.telemetry.source import Settled, Source, UnreadableError
from brimful.discards.telemetry.vocabularies import FRONTS, full_name, meaning_of
from brimful.discards.texts import decoded
from brimful.discards.times import DOUBTFUL, HOW_TO_WRITE, parse_local

_TIMES = ("_time", "time", "timestamp")
_NOT_TAGS = {*_TIMES, "_value", "_field", "_start", "_stop", "_measurement", "result", "table", ""}
_HEADER_WITHIN = 10
"""Lines."""
_SHOWN = 80
"""Characters of what cannot be read."""
_UNTIMED = "have no time"
"""Why samples are left out."""
_WITH_UNIT = re.compile(r"(.+?)\s*[(\[].*")
_NONE = "has no counters of interfaces with a name that is known, such as ifOutDiscards or .../counters/out-discards"
_KEY = re.compile(r"([^/\[\]]+)((?:\[[^=\]]+=[^\]]*\])+)")
_KEYS = re.compile(r"\[([^=\]]+)=([^\]]*)\]")
"""Of an element of a path, like ``interface[name=Ethernet1]``."""
_POINT = re.compile(r"((?:\\.|[^\\ ,])+)((?:,(?:\\.|[^\\ ])*)?) (.+?)(?: (-?[0-9]+))?")
_TAG = re.compile(r"((?:\\.|[^\\,=])+)=((?:\\.|[^\\,])*)")
_FIELD = re.compile(r'((?:\\.|[^\\,=])+)=("(?:\\.|[^"\\])*"|[^,]*)')
_FIELDS = re.compile(f"{_FIELD.pattern}(?:,{_FIELD.pattern})*")
_ESCAPED = re.compile(r"\\([ ,=])")

_FORMS = ({"metrics"}, {"results"}, {"fields", "tags"}, {"values", "tags"}, {"updates"}, {"sync-response"})
"""Keys by which a document is one of these."""

Sample = tuple[dict[str, str], str, str, str]
"""Labels, name of the counter, time and value."""
Problem = tuple[int, str, str]
"""A line that is none: number, reason and text."""


def recognises(path: Path) -> bool:
    """Say whether a file is one of an agent or its database.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    """
    with path.open("rb") as file:
        stream = uncompressed(file)
        if ".csv" in (name := bare_name(path.name)) or ".tsv" in name:
            return _is_table(_text_of(WholeLines(stream)))
        found = first_object(stream) or {}
        return any(keys <= found.keys() for keys in _FORMS)


def read_agents(source: Source) -> Iterator[Decoded | Settled]:
    """Read the series in a file.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    UnreadableError
        When there are none.
    DamagedError
        When it is damaged; what was given before is good.
    """
    is_table = bare_name(source.path.name).endswith((".csv", ".tsv"))
    return read_samples(source, _table if is_table else _documents)


def read_points(source: Source) -> Iterator[Decoded | Settled]:
    """Read the series in line protocol; raises what `read_agents` does."""
    return read_samples(source, _points)


def read_samples(
    source: Source, samples: Callable[[io.BufferedReader, list[Problem]], Iterator[Sample]]
) -> Iterator[Decoded | Settled]:
    """Read the series that a text has samples of; raises what `read_agents` does."""
    points: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
    of_tags: dict[tuple[object, ...], list[tuple[float, str]]] = {}
    left_out: Counter[str] = Counter()
    unreadable: list[str] = []
    problems: list[Problem] = []
    with source.path.open("rb") as file:
        lines = WholeLines(uncompressed(file))
        for tags, name, at, value in samples(_text_of(lines), problems):
            if not at:
                left_out[_UNTIMED] += 1
                continue
            seconds = _seconds(at, source.reading.zone)
            if seconds is None:
                left_out[f"time {DOUBTFUL}"] += 1
                continue
            if math.isnan(seconds):
                unreadable.append(at[:1000])
                continue
            key = (name, *tags.items())
            found = of_tags.get(key)
            if found is None:
                labels = {key: tag for key, tag in tags.items() if tag and key not in _NOT_TAGS} | {"__name__": name}
                found = of_tags[key] = points.setdefault(tuple(sorted(labels.items())), [])
            found.append((seconds, value))
    if unreadable:
        first = unreadable[0]
        problems.append((0, f"has a time that cannot be read: {first[:_SHOWN]}; {HOW_TO_WRITE}", first))
    if lines.damage is None and not points and not (left_out.keys() - {_UNTIMED}):
        raise UnreadableError(problems[0][1] if problems else f"has no times; {HOW_TO_WRITE}" if left_out else _NONE)
    every = [Series(dict(labels), list(values)) for labels, values in points.items()]
    yield Decoded(
        lines=len(problems),
        samples=left_out.total() + len(unreadable),
        refused_samples=len(unreadable),
        refused=[Refused(str(source.path), "", *problem) for problem in problems],
        left_out=left_out,
    )
    yield from read_series(every, source)
    if lines.damage is not None:
        raise lines.damage


def _text_of(lines: WholeLines) -> io.BufferedReader:
    return table_texts.opened(io.BufferedReader(lines, 1 << 20))


def _is_table(text: io.BufferedReader) -> bool:
    for _ in range(_HEADER_WITHIN):
        header = decoded(text.readline())
        names = {name.strip() for name in table_texts.fields(header.strip(), table_texts.delimiter_of(header))}
        if {"_time", "_value", "_field"} <= names:
            return True
        # The front of a name may be in the rows.
        fronts = FRONTS if names & {"path", "tags"} else ("",)
        if names & set(_TIMES) and any(_is_counter(full_name(name, front)) for name in names for front in fronts):
            return True
    return False


def _table(text: io.BufferedReader, problems: list[Problem]) -> Iterator[Sample]:
    names: list[str] = []
    known: set[str] = set()
    delimiter = ""
    for number, line in enumerate(text, start=1):
        row_text = decoded(line).strip("\r\n")
        # Each table of an annotated file has its own names, behind lines of annotations.
        if not row_text or row_text.startswith("#"):
            names = []
            continue
        if not names:
            delimiter = table_texts.delimiter_of(row_text)
        cells = next(table_texts.parted([row_text], delimiter), [])
        if not names or (known.intersection(cells) and _is_header(cells, known)):
            names = [cell.strip() for cell in cells]
            known = set(names) - {""}
            _check_units(names)
            continue
        if len(cells) != len(names):
            problems.append((number, f"has {len(cells)} columns, not {len(names)}", row_text[:1000]))
            continue
        row = dict(zip(names, cells, strict=True))
        # A column of InfluxDB 1.
        row |= dict(_TAG.findall(row.pop("tags", "")))
        at = next((row[name] for name in _TIMES if row.get(name)), "")
        if "_field" in row:
            name = full_name(row["_field"], row.get("path", ""), row.get("_measurement", ""))
            tags = {column: cell for column, cell in row.items() if column not in _NOT_TAGS}
            yield tags, name, at, row.get("_value", "")
        else:
            yield from _row(row, row.get("name", ""), at)


def _check_units(names: list[str]) -> None:
    for name in names:
        found = _WITH_UNIT.fullmatch(name)
        if found is not None and _is_counter(found[1]):
            message = f"column {name} has a unit: call it {found[1]} if it is the counter itself"
            raise UnreadableError(message)


def _is_header(cells: list[str], known: set[str]) -> bool:
    """Say whether a row is a header again, as where files were put one behind the other."""
    return any(cell in known for cell in cells[:3]) and any(cell in _TIMES for cell in cells)


def _row(row: dict[str, str], measurement: str, at: str) -> Iterator[Sample]:
    """Give the counters in a row of a table, of which all other columns are tags."""
    names = {column: full_name(column, row.get("path", ""), measurement) for column in row}
    counters = [column for column in row if _is_counter(names[column])]
    tags = {column: cell for column, cell in row.items() if column not in _NOT_TAGS and column not in counters}
    for column in counters:
        yield tags, names[column], at, row[column]


def _documents(text: io.BufferedReader, problems: list[Problem]) -> Iterator[Sample]:
    for number, document in documents(text):
        try:
            found: Any = decoded_json(document or b"")
            every = list(_polls(found))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            problems.append((number, "is no JSON of Telegraf or InfluxDB", decoded((document or b"")[:1000])))
            continue
        yield from every


def _polls(found: Any) -> Iterator[Sample]:  # noqa: ANN401  # Of any form: a wrong one raises.
    if isinstance(found, list):
        for one in found:
            yield from _polls(one)
    elif "metrics" in found:
        yield from _polls(found["metrics"])
    elif "results" in found:
        for series in (one for result in found["results"] for one in result.get("series", [])):
            for values in series["values"]:
                row = dict(zip(series["columns"], map(str, values), strict=True)) | series.get("tags", {})
                yield from _row(row, series.get("name", ""), row["time"])
    elif "updates" in found:
        yield from _notified(found)
    else:
        tags = {str(key): str(tag) for key, tag in (found.get("tags") or {}).items()}
        for field, value in (found.get("fields") or found.get("values") or {}).items():
            name = full_name(field, tags.get("path", ""), found.get("name", ""))
            if _is_counter(name):
                yield tags, name, str(found.get("timestamp", "")), str(value)


def _notified(found: dict[str, Any]) -> Iterator[Sample]:
    """Give the counters in a notification of gNMI, whose paths hold the keys: ``interface[name=Ethernet1]``."""
    at = str(found.get("timestamp") or found.get("time", ""))
    prefix = found.get("prefix") or ""
    for update in found["updates"]:
        tags = {"source": str(found.get("source", ""))}
        for element, keys in _KEY.findall(f"{prefix}/{update['Path']}"):
            tags |= {f"{element.rpartition(':')[2]}_{key}": value for key, value in _KEYS.findall(keys)}
        front = _KEYS.sub("", prefix)
        for name, value in _leaves(update.get("values") or {}, front):
            if _is_counter(name):
                yield tags, name, at, str(value)


def _leaves(values: dict[str, Any], front: str) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        path = f"{front}/{name}"
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield path, value


def _is_counter(name: str) -> bool:
    return meaning_of(name) is not None or name == "sysUpTime"


def _points(text: io.BufferedReader, problems: list[Problem]) -> Iterator[Sample]:
    for number, line in enumerate(text, start=1):
        point = decoded(line).strip()
        if not point or point.startswith("#"):
            continue
        match = _POINT.fullmatch(point)
        if match is None or _FIELDS.fullmatch(match[3]) is None:
            problems.append((number, "is no line of InfluxDB: measurement,tags fields time", point[:1000]))
            continue
        tags = {_plain(key): _plain(tag) for key, tag in _TAG.findall(match[2])}
        for key, value in _FIELD.findall(match[3]):
            name = match[1] if key == "value" else full_name(_plain(key), tags.get("path", ""), _plain(match[1]))
            if _is_counter(name):
                yield tags, name, match[4] or "", value.strip('"').rstrip("iu")


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _seconds(text: str, zone: str | None) -> float | None:
    """Read a time: NaN where it is none, nothing of a local time that the clocks show twice or never."""
    try:
        return float(text)
    except ValueError:
        try:
            us = parse_local(text, zone)
        except (ValueError, OverflowError):
            return math.nan
    return None if us is None else us / 1e6
