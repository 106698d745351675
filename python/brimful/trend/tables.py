"""Histories in tables of comma-separated values."""

from __future__ import annotations

import csv
import datetime
import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from brimful.errors import UsageError, one_line, shown
from brimful.trend.measured import Measured, Point, is_plausible

_MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds since 1970: as seconds they would be thousands of years ahead."""


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """What is where in a table."""

    series: str
    """Name of the series that the table is of."""
    version: str
    value: str
    time: str | None = None
    worse: str
    """``higher`` or ``lower``."""
    unit: str = ""


class Table(msgspec.Struct, frozen=True):
    """A table as runs, and what is to be known of it."""

    runs: list[Measured]
    notes: list[str]


def read(path: Path, columns: Columns, *, now: float) -> Table:
    """Read a table: a run for each version and time.

    Parameters
    ----------
    path
        Of comma-separated values, with the names of the columns in the first line.
    columns
        What is where.
    now
        Time of day in seconds since 1970: later times are not believed.

    Raises
    ------
    UsageError
        When it cannot be read, or lacks a column or rows.
    """
    notes = _Notes(path)
    groups: dict[tuple[str, float | None], list[Point]] = {}
    latest = -math.inf
    for line, version, text, time in _rows(path, columns):
        if not version:
            notes.count("rows have no version and were left out", line, "")
            continue
        at = None
        if time is not None:
            at = _time(time, now)
            if at is None:
                notes.count("times are none, before 1990 or in the future, and count as unknown", line, time)
            elif at < latest:
                notes.count("times are before that of the row above; versions without numbers go by time", line, time)
            latest = at if at is not None else latest
        point = _point(text, columns)
        if point.value is None:
            notes.count("rows have no number above 0 and count as failed", line, text)
        groups.setdefault((version, at), []).append(point)
    if not groups:
        message = f"{path}: has no rows with a version; nothing was added"
        raise UsageError(message)
    return Table([_run(columns, *group, points) for group, points in groups.items()], notes.lines())


def _rows(path: Path, columns: Columns) -> Iterator[tuple[int, str, str, str | None]]:
    """Give line, version, value and time of each row; no time where none is read."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(file)
            head = next(reader, [])
            version, value = _place(path, head, columns.version), _place(path, head, columns.value)
            time = None if columns.time is None else _place(path, head, columns.time)
            for row in filter(None, reader):
                row += [""] * (len(head) - len(row))
                yield reader.line_num, row[version].strip(), row[value], None if time is None else row[time].strip()
    except (OSError, csv.Error) as error:
        message = f"{path}: cannot read: {one_line(error)}"
        raise UsageError(message) from error


def _place(path: Path, head: list[str], name: str) -> int:
    if name not in head:
        there = one_line(", ".join(head)) or "none: it is empty"
        message = f"{path}: has no column {shown(name)}; its columns are {there}"
        raise UsageError(message)
    return head.index(name)


def _point(text: str, columns: Columns) -> Point:
    key = {"name": columns.series}
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        problem = f"the value {shown(text)} is no number above 0"
        return Point(key=key, worse=columns.worse, unit=columns.unit, problem=problem)
    return Point(key=key, worse=columns.worse, unit=columns.unit, value=value)


def _time(text: str, now: float) -> float | None:
    try:
        seconds = float(text)
        seconds = seconds / 1000 if seconds >= _MILLISECONDS_FROM else seconds
    except ValueError:
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        seconds = (time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)).timestamp()
    return seconds if is_plausible(seconds, now) else None


def _run(columns: Columns, version: str, at: float | None, points: list[Point]) -> Measured:
    # The same rows are the same run wherever they stand, so that a table that has grown can be added again.
    identity = repr((columns.series, version, at)).encode()
    return Measured(source=f"table {hashlib.sha256(identity).hexdigest()}", version=version, at=at, points=points)


class _Notes:
    """Counts what is to be known of rows: a line for each kind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}

    def count(self, what: str, line: int, text: str) -> None:
        self._counts[what] += 1
        self._first.setdefault(what, (line, text))

    def lines(self) -> list[str]:
        return [
            f"{self._path}: {count} {what} (first: line {self._first[what][0]}, {shown(self._first[what][1])})"
            for what, count in self._counts.items()
        ]
