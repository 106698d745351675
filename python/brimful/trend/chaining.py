"""Ratios to an anchor that was itself measured against an earlier one: the product goes on with the earlier series."""

from __future__ import annotations

import json
import math
import sqlite3
from statistics import median

import msgspec

from brimful.trend.measured import Point


def with_anchor(connection: sqlite3.Connection, point: Point) -> Point:
    """Give a ratio as a value of the series that it belongs to.

    That is the series of its anchor if there is one; else a series, alike but for its anchor, in which the anchor of
    the ratio is a version: there the ratio is multiplied with that of its anchor. Else it begins a series.

    Parameters
    ----------
    connection
        The store.
    point
        With an `anchor`, which its key does not have yet.
    """
    own = {**point.key, "anchor": point.anchor or ""}
    begun = None
    for id, text in connection.execute("SELECT id, key FROM series WHERE key LIKE '%\"anchor\"%' ORDER BY id"):
        key = json.loads(text)
        if key == own:
            begun = None
            break
        if begun is None and {**key, "anchor": own["anchor"]} == own:
            links = connection.execute(_LINKS, (id, point.anchor)).fetchall()
            begun = (key, links) if links else None
    if begun is None:
        return msgspec.structs.replace(point, key=own)
    key, links = begun
    # The values of one version share its level, so more of them do not make the link better known.
    error = math.hypot(point.error, median(error for _, error in links))
    value = None if point.value is None else point.value * median(value for value, _ in links)
    return msgspec.structs.replace(point, key=key, value=value, error=error)


_LINKS = """SELECT value.value, value.error FROM value JOIN run ON run.id = value.run
WHERE value.series = ? AND run.version = ? AND value.value IS NOT NULL"""
