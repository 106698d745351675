"""Runs on their way into a store, within one transaction: what is there already is not added again."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import msgspec

from brimful.errors import UsageError
from brimful.trend.measured import Measured, Point
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


class Adding:
    """Adds runs within one transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection, now: float) -> None:
        self.added = Added()
        self._path = path
        self._connection = connection
        self._now = now
        self._series: dict[str, tuple[int, str, str]] = {}
        self._label_sets: dict[str, int] = {}

    def add(self, run: Measured) -> None:
        """Add a run and its values.

        Raises
        ------
        UsageError
            When a value is in another unit than its series.
        """
        execute = self._connection.execute
        row = (run.source, run.version, run.at, self._label_set(run.labels), run.report, self._now)
        new = execute(
            "INSERT OR IGNORE INTO run (source, version, at, label_set, report, added) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        is_new = new.rowcount == 1
        id = new.lastrowid if is_new else execute("SELECT id FROM run WHERE source = ?", (run.source,)).fetchone()[0]
        self.added.runs += is_new
        there: Counter[tuple[int, float | None, str | None]] = Counter()
        repeats: Counter[int] = Counter()
        points = [(self._series_of(point), point) for point in run.points]
        if not is_new:
            for series in {series for series, _ in points}:
                query = "SELECT value, problem FROM value WHERE series = ? AND run = ?"
                found = execute(query, (series, id)).fetchall()
                there.update((series, value, problem) for value, problem in found)
                repeats[series] = len(found)
        for series, point in points:
            if there[series, point.value, point.problem] > 0:
                there[series, point.value, point.problem] -= 1
                self.added.known += 1
                continue
            execute(
                "INSERT INTO value (series, run, repeat, value, error, problem) VALUES (?, ?, ?, ?, ?, ?)",
                (series, id, repeats[series], point.value, point.error, point.problem),
            )
            repeats[series] += 1
            self.added.values += 1
            self.added.missing += point.value is None

    def _label_set(self, labels: dict[str, str]) -> int:
        text = json.dumps(labels, sort_keys=True, ensure_ascii=False)
        if text not in self._label_sets:
            self._connection.execute("INSERT OR IGNORE INTO label_set (labels) VALUES (?)", (text,))
            found = self._connection.execute("SELECT id FROM label_set WHERE labels = ?", (text,)).fetchone()
            self._label_sets[text] = found[0]
        return self._label_sets[text]

    def _series_of(self, point: Point) -> int:
        text = json.dumps(point.key, sort_keys=True, ensure_ascii=False)
        if text not in self._series:
            made = self._connection.execute(
                "INSERT OR IGNORE INTO series (key, unit, worse) VALUES (?, ?, ?)", (text, point.unit, point.worse)
            )
            self.added.new_series += made.rowcount
            query = "SELECT id, unit, worse FROM series WHERE key = ?"
            self._series[text] = self._connection.execute(query, (text,)).fetchone()
        id, unit, worse = self._series[text]
        if (unit, worse) != (point.unit, point.worse):
            message = (
                f"{self._path}: {name_of(point.key)!r} is in {unit or 'no unit'}, {worse} is worse; now it came in"
                f" {point.unit or 'no unit'}, {point.worse} worse: nothing was added; give it another name"
            )
            raise UsageError(message)
        return id
