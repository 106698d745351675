"""What becomes of ports from row to row of a table: differences below zero, and ports that get another name."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry import clocks

Count = tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.uint64]]
"""Of a column, as `cells.counts_of` gives it."""
BRIDGED = "differences below zero that the next one makes up for: both count as one"
SET_BACK = "differences below zero: a counter was set back"
"""Why samples are left out."""
FEWEST_PAIRS, MOST_PAIRS = 3, 0.25
"""Of this number of times with two numbers on, in a larger share of all times, these are two ports."""


def bridge(
    number: NDArray[np.uint64], debt: NDArray[np.uint64], there: NDArray[np.bool_], order: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], Counter[str]]:
    """Take what a counter fell by off the difference that follows, where that is as large.

    A poll that reads too little gives a difference below zero, and the next one has all of it again.

    Parameters
    ----------
    number
        What each row counted; 0 where it is below zero.
    debt
        How far below zero each row is.
    there
        Rows that have a number that is not below zero.
    order
        Rows of one counter in the order of their times.

    Returns
    -------
        The numbers, and how many rows below zero there were, by what became of them.
    """
    number = number.copy()
    found: Counter[str] = Counter()
    owed, rows = 0, 0
    for row in order:
        if debt[row]:
            owed, rows = owed + int(debt[row]), rows + 1
        elif owed and there[row]:
            made_up = int(number[row]) >= owed
            number[row] -= np.uint64(owed if made_up else 0)
            found[BRIDGED if made_up else SET_BACK] += rows
            owed, rows = 0, 0
    if rows:
        found[SET_BACK] += rows
    return number, found


class SetBack(NamedTuple):
    """What a clock that was set back did to the rows of a table."""

    twice: NDArray[np.bool_]
    """Rows of a time that is there twice."""
    behind: NDArray[np.bool_]
    """The first rows after it."""
    of_two: NDArray[np.bool_]
    """Rows of two pollers, one after the other."""


def set_back(
    ways: NDArray[np.int64],
    devices: NDArray[np.int64],
    seconds: NDArray[np.float64],
    good: NDArray[np.bool_],
    counts: Sequence[Count],
    *,
    are_counters: bool,
) -> SetBack:
    """Find the times of a device that are there twice in the order of its rows.

    Parameters
    ----------
    ways, seconds, good, counts
        See `doubled`.
    devices
        Which device each row is of.
    are_counters
        Not what was counted since the row before.
    """
    found = SetBack(*(np.zeros(len(ways), bool) for _ in range(3)))
    rows = np.flatnonzero(good)
    if (seconds[rows[1:]] >= seconds[rows[:-1]]).all():
        return found
    rows = rows[np.argsort(ways[rows], kind="stable")]
    back = (ways[rows[1:]] == ways[rows[:-1]]) & (seconds[rows[1:]] < seconds[rows[:-1]])
    if not back.any():
        return found
    edges = np.flatnonzero(np.diff(ways[rows])) + 1
    parts = np.split(rows, edges)
    spans: dict[int, list[clocks.Span]] = {}
    for part in parts:
        steps = np.diff(seconds[part])
        if not ((steps < 0).any() and (steps > 0).any()):
            continue
        for number, there, _, _ in counts:
            numbers = np.where(there[part], number[part].astype(np.float64), np.nan)
            stepped = spans.setdefault(int(devices[part[0]]), [])
            if are_counters:
                stepped += clocks.times_twice(seconds[part], numbers)
            else:
                twice, of_two = clocks.differences_twice(seconds[part], numbers)
                stepped += twice
                found.of_two[part[clocks.inside_any(seconds[part], of_two)]] = True
    for part in parts:
        times = spans.get(int(devices[part[0]]), [])
        found.twice[part[clocks.inside_any(seconds[part], times)]] = True
        found.behind[part[clocks.firsts_behind(seconds[part], times)]] = True
    return found


def doubled(
    ways: NDArray[np.int64],
    seconds: NDArray[np.float64],
    good: NDArray[np.bool_],
    counts: Sequence[Count],
) -> NDArray[np.bool_]:
    """Say which rows are of two ports under one name: they have two numbers at more than a quarter of their times.

    Parameters
    ----------
    ways
        Which port and direction each row is of.
    seconds
        When each row was, in Unix seconds.
    good
        Rows that are looked at.
    counts
        Of each column.
    """
    rows = np.flatnonzero(good)
    order = rows[_by_way(ways[rows], seconds[rows])]
    before, after = order[:-1], order[1:]
    again = (ways[after] == ways[before]) & (seconds[after] == seconds[before])
    if not again.any():
        return np.zeros(len(good), bool)
    differs = np.logical_or.reduce(
        [there[after] & there[before] & (number[after] != number[before]) for number, there, _, _ in counts]
    )
    most = int(ways.max()) + 1
    pairs = np.bincount(ways[after], again & differs, most)
    times = np.bincount(ways[order], minlength=most) - np.bincount(ways[after], again, most)
    found: NDArray[np.bool_] = good & ((pairs >= FEWEST_PAIRS) & (pairs > MOST_PAIRS * times))[ways]
    return found


def _by_way(ways: NDArray[np.int64], seconds: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give the order by way, then by time; of rows in the order of their times, small numbers are sorted at once."""
    if len(ways) and int(ways.max()) < 2**16 and (seconds[1:] >= seconds[:-1]).all():
        return np.argsort(ways.astype(np.uint16), kind="stable")
    return np.lexsort((seconds, ways))


def renamed(
    devices: Sequence[str], ports: Sequence[str], codes: dict[str, NDArray[np.int64]], seconds: NDArray[np.float64]
) -> Iterator[str]:
    """Say which ports of one index have another name from some time on.

    Parameters
    ----------
    devices, ports
        Their names.
    codes
        Of each row its ``device``, ``port`` and ``index``.
    seconds
        When each row was, in Unix seconds.
    """
    keys = np.stack([codes["device"], codes["index"], codes["port"]], axis=1)
    each, group = np.unique(keys, axis=0, return_inverse=True)
    first, last = np.full(len(each), np.inf), np.full(len(each), -np.inf)
    np.minimum.at(first, group.ravel(), seconds)
    np.maximum.at(last, group.ravel(), seconds)
    spans = sorted(
        zip(each.tolist(), first.tolist(), last.tolist(), strict=True), key=lambda span: (span[0][:2], span[1])
    )
    for (old, _, end), (new, begin, _) in itertools.pairwise(spans):
        if old[:2] == new[:2] and end < begin:
            since = datetime.datetime.fromtimestamp(begin, datetime.UTC)
            yield (
                f"{devices[new[0]]}: port {ports[old[2]]} is called {ports[new[2]]} from {since:%Y-%m-%d %H:%M:%S} on "
                "(its ifIndex is the same): these are two ports in the store; to join them, give them one name in the "
                "table"
            )
