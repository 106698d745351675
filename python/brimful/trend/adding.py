"""Runs on their way into a store, within one transaction: what is there already is not added again."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from pathlib import Path

import msgspec

from brimful.errors import UsageError
from brimful.trend.chaining import Anchors
from brimful.trend.measured import Measured, Point, is_plausible
from brimful.trend.series import name_of


class Added(msgspec.Struct):
    """What came into a store."""

    runs: int = 0
    values: int = 0
    known: int = 0
    """Values that were there already."""
    missing: int = 0
    """Of the values: those that are none, with the reason why."""
    new_series: int = 0
    odd_times: int = 0
    """Runs whose clock was before 1990 or is ahead: when they were measured is not known."""


class Adding:
    """Adds runs within one transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection, now: float) -> None:
        self.added = Added()
        self._path = path
        self._connection = connection
        self._now = now
        self._anchors = Anchors(connection)
        self._series: dict[_Facts, tuple[int, str, str]] = {}
        self._label_sets: dict[_Facts, int] = {}

    def add(self, run: Measured) -> None:
        """Add a run and its values.

        Raises
        ------
        UsageError
            When a value is in another unit than its series.
        """
        id, is_new = self._run(run)
        points = [(self._series_of(point), point) for point in map(self._anchored, run.points)]
        there = {} if is_new else self._there(id, {series for series, _ in points})
        repeats: defaultdict[int, int] = defaultdict(int)
        for (series, _), count in there.items():
            repeats[series] += count
        rows = []
        for series, point in points:
            # A ratio that is chained is another number once its anchor was measured again.
            same = (series, None) if point.anchor is not None else (series, (point.value, point.problem))
            if there.get(same, 0) > 0:
                there[same] -= 1
                continue
            rows.append((series, id, repeats[series], point.value, point.error, point.problem))
            repeats[series] += 1
        self._connection.executemany(_VALUE, sorted(rows))
        self.added.runs += is_new
        self.added.values += len(rows)
        self.added.known += len(points) - len(rows)
        self.added.missing += sum(row[3] is None for row in rows)

    def _run(self, run: Measured) -> tuple[int, bool]:
        """Give the id of a run, and whether it is new."""
        at = run.at if run.at is not None and is_plausible(run.at, self._now) else None
        self.added.odd_times += at != run.at
        row = (run.source, run.version, at, self._label_set(run.labels), run.report, self._now)
        made = self._connection.execute(_RUN, row)
        if made.rowcount == 1 and made.lastrowid is not None:
            return made.lastrowid, True
        return self._number("SELECT id FROM run WHERE source = ?", run.source), False

    def _there(self, run: int, all_series: set[int]) -> dict[_Same, int]:
        """Give what is there of a run, and how often."""
        found: defaultdict[_Same, int] = defaultdict(int)
        for series in all_series:
            for value, problem in self._connection.execute(_THERE, (series, run)):
                found[(series, None) if series in self._anchors.series else (series, (value, problem))] += 1
        return found

    def _number(self, query: str, *values: str) -> int:
        return int(self._connection.execute(query, values).fetchone()[0])

    def _anchored(self, point: Point) -> Point:
        return point if point.anchor is None else self._anchors.placed(point)

    def _label_set(self, labels: dict[str, str]) -> int:
        facts = tuple(labels.items())
        if facts not in self._label_sets:
            text = json.dumps(labels, sort_keys=True, ensure_ascii=False)
            self._connection.execute("INSERT OR IGNORE INTO label_set (labels) VALUES (?)", (text,))
            self._label_sets[facts] = self._number("SELECT id FROM label_set WHERE labels = ?", text)
        return self._label_sets[facts]

    def _series_of(self, point: Point) -> int:
        facts = tuple(point.key.items())
        if facts not in self._series:
            text = json.dumps(point.key, sort_keys=True, ensure_ascii=False)
            made = self._connection.execute(
                "INSERT OR IGNORE INTO series (key, unit, worse) VALUES (?, ?, ?)", (text, point.unit, point.worse)
            )
            self.added.new_series += made.rowcount
            query = "SELECT id, unit, worse FROM series WHERE key = ?"
            self._series[facts] = self._connection.execute(query, (text,)).fetchone()
            self._anchors.begin(self._series[facts][0], point.key)
        id, unit, worse = self._series[facts]
        if (unit, worse) != (point.unit, point.worse):
            message = (
                f"{self._path}: {name_of(point.key)!r} is in {unit or 'no unit'}, {worse} is worse; now it came in"
                f" {point.unit or 'no unit'}, {point.worse} worse: nothing was added; give it another name"
            )
            raise UsageError(message)
        return id


_Facts = tuple[tuple[str, str], ...]
_Same = tuple[int, tuple[float | None, str | None] | None]
"""What makes values of a run equal: series, value and problem; of ratios the series alone."""
_RUN = "INSERT OR IGNORE INTO run (source, version, at, label_set, report, added) VALUES (?, ?, ?, ?, ?, ?)"
_VALUE = "INSERT INTO value (series, run, repeat, value, error, problem) VALUES (?, ?, ?, ?, ?, ?)"
_THERE = "SELECT value, problem FROM value WHERE series = ? AND run = ?"
