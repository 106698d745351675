"""Histories in tables of comma-separated values."""

from __future__ import annotations

import csv
import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from brimful.errors import UsageError, one_line, shown
from brimful.trend import reading
from brimful.trend.measured import Measured, Point, is_plausible

_SEPARATORS = ",;\t"
"""What may stand between values: the first with which the columns are found."""


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
        Of values with commas, semicolons or tabs between them, and the names of the columns in the first line. Between
        semicolons the decimal point may be a comma.
    columns
        What is where.
    now
        Time of day in seconds since 1970: later times are not believed.

    Raises
    ------
    UsageError
        When it cannot be read, lacks a column or rows, or has no number at all where the values are to be.
    """
    notes = _Notes(path)
    groups: dict[tuple[str, float | None], list[Point]] = {}
    latest = -math.inf
    wordy = 0
    for line, version, text, value, time in _rows(path, columns):
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
        point = _point(text, value, columns)
        if point.value is None:
            notes.count("rows have no number above 0 and count as failed", line, text)
        wordy += value is None and bool(text.strip())
        groups.setdefault((version, at), []).append(point)
    if not groups:
        message = f"{path}: has no rows with a version; nothing was added"
        raise UsageError(message)
    if wordy == sum(map(len, groups.values())) > 1:
        message = f"{path}: column {shown(columns.value)} has no numbers, the last is {shown(text)}; nothing was added"
        raise UsageError(message)
    return Table([_run(columns, *group, points) for group, points in groups.items()], notes.lines())


def _rows(path: Path, columns: Columns) -> Iterator[tuple[int, str, str, float | None, str | None]]:
    """Give line, version, value as text and as a number, and time of each row; no time where none is read."""
    names = [columns.version, columns.value, *([] if columns.time is None else [columns.time])]
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            separator = _separator(file.readline(), names)
            file.seek(0)
            reader = csv.reader(file, delimiter=separator)
            head = [name.strip() for name in next(reader, [])]
            version, value, *time = [_place(path, head, name) for name in names]
            for row in filter(None, reader):
                row += [""] * (len(head) - len(row))
                at = row[time[0]] if time else None
                yield reader.line_num, row[version].strip(), row[value], _number(row[value], separator), at
    except (OSError, csv.Error) as error:
        message = f"{path}: cannot read: {one_line(error)}"
        raise UsageError(message) from error


def _separator(head: str, names: list[str]) -> str:
    """Give what stands between the names of the columns; a comma where they are not there."""
    for separator in _SEPARATORS:
        if set(names) <= {name.strip() for row in csv.reader([head], delimiter=separator) for name in row}:
            return separator
    return _SEPARATORS[0]


def _place(path: Path, head: list[str], name: str) -> int:
    if name not in head:
        there = one_line(", ".join(head)) or "none: it is empty"
        message = f"{path}: has no column {shown(name)}; its columns are {there}"
        raise UsageError(message)
    if head.count(name) > 1:
        message = f"{path}: has {head.count(name)} columns {shown(name)}; give them names of their own"
        raise UsageError(message)
    return head.index(name)


def _number(text: str, separator: str) -> float | None:
    try:
        return float(text)  # a million of them
    except ValueError:
        pass
    try:
        return reading.number(text, decimal_comma=separator == ";")
    except ValueError:
        return None


def _point(text: str, value: float | None, columns: Columns) -> Point:
    key = {"name": columns.series}
    if value is None or not 0 < value < math.inf:
        problem = f"the value {shown(text)} is no number above 0"
        return Point(key=key, worse=columns.worse, unit=columns.unit, problem=problem)
    return Point(key=key, worse=columns.worse, unit=columns.unit, value=value)


def _time(text: str, now: float) -> float | None:
    seconds = reading.time(text)
    return seconds if seconds is not None and is_plausible(seconds, now) else None


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
