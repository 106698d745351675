"""Ratios to an anchor that was itself measured against an earlier one: the product goes on with the earlier series."""

from __future__ import annotations

import json
import math
import sqlite3
from statistics import median

import msgspec

from brimful.trend.measured import Point

_ANCHOR = "anchor"


class Anchors:
    """The series of ratios of a store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.series: set[int] = set()
        """Their ids."""
        self._alike: dict[str, dict[str, int]] = {}
        """By the rest of the key: the series of each anchor, in the order in which they were begun."""
        for id, text in connection.execute("SELECT id, key FROM series WHERE key LIKE '%\"anchor\"%' ORDER BY id"):
            self.begin(id, json.loads(text))

    def begin(self, id: int, key: dict[str, str]) -> None:
        """Take notice of a series; one without an anchor is of no concern."""
        if _ANCHOR in key:
            self.series.add(id)
            self._alike.setdefault(_rest(key), {})[key[_ANCHOR]] = id

    def placed(self, point: Point) -> Point:
        """Give a ratio as a value of the series that it belongs to.

        That is the series of its anchor if there is one; else the first series, alike but for its anchor, in which the
        anchor of the ratio is a version: there the ratio is multiplied with that of its anchor. Else it begins a
        series.

        Parameters
        ----------
        point
            With an `anchor`, which its key does not have yet.
        """
        own = point.anchor or ""
        alike = self._alike.get(_rest(point.key), {})
        if own not in alike:
            for anchor, id in alike.items():
                links = self._connection.execute(_LINKS, (id, own)).fetchall()
                if links:
                    return _chained(point, anchor, links)
        return msgspec.structs.replace(point, key={**point.key, _ANCHOR: own})


def _chained(point: Point, anchor: str, links: list[tuple[float, float]]) -> Point:
    # The values of one version share its level, so more of them do not make the link better known.
    error = math.hypot(point.error, median(error for _, error in links))
    value = None if point.value is None else point.value * median(value for value, _ in links)
    return msgspec.structs.replace(point, key={**point.key, _ANCHOR: anchor}, value=value, error=error)


def _rest(key: dict[str, str]) -> str:
    return json.dumps({name: text for name, text in key.items() if name != _ANCHOR}, sort_keys=True)


_LINKS = """SELECT value.value, value.error FROM value JOIN run ON run.id = value.run
WHERE value.series = ? AND run.version = ? AND value.value IS NOT NULL"""
