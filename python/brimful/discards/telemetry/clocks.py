"""Clocks of pollers that are set while they poll: seen where the times of a file go back, though its counters go on.

Local times without a zone do the same once a year. In the time that is there twice nothing is known of rates, and how
long it was until the next poll is not known, either. Forwards, a step looks like polls that failed: only the age of the
device (`chains`) shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SET_BACK = "are of a time that is there twice, as a clock was set back (of local times, say --timezone)"
"""Why samples are left out."""
MOST_STEPS = 0.05
"""Share of rows; times that go back more often are in no order."""
MOST_TWICE = 0.5
"""Of more than this share of both sides, two pollers have written one after the other, or one the same again."""
TWO_POLLERS = "is of one of two pollers that have counted the same: keep the rows of one of them"

Numbers = NDArray[np.float64]
Span = tuple[float, float]


def times_twice(times: Numbers, counters: Numbers) -> list[Span]:
    """Give from when to when the times of one counter are there twice because the clock was set back.

    Parameters
    ----------
    times, counters
        Of polls, in the order of the file; NaN where there is no number.
    """
    there = ~np.isnan(counters)
    times, counters = times[there], counters[there]
    if _mostly_back(times):
        times, counters = times[::-1], counters[::-1]
    return [
        (begin, end)
        for begin, end, before, after in _overlaps(times)
        # Ranges that overlap, one behind the other, begin again at what was counted before.
        if counters[before.stop - 1] <= counters[after.start]
        and counters[_first_inside(times, before, begin)] < counters[_last_inside(times, after, end)]
    ]


def differences_twice(times: Numbers, numbers: Numbers) -> tuple[list[Span], list[Span]]:
    """Give the same of what was counted since the row before; and the times that two pollers have written."""
    there = ~np.isnan(numbers)
    times, numbers = times[there], numbers[there]
    if _mostly_back(times):
        times, numbers = times[::-1], numbers[::-1]
    stepped: list[Span] = []
    doubled: list[Span] = []
    for begin, end, before, after in _overlaps(times):
        inside = [slice(*np.searchsorted(times[side], [begin, end + 1e-9]) + side.start) for side in (before, after)]
        if any(part.start == part.stop for part in inside) or _are_repeated(times, numbers, *inside):
            continue
        lengths = zip(inside, (before, after), strict=True)
        most = min((part.stop - part.start) / (side.stop - side.start) for part, side in lengths)
        (doubled if most > MOST_TWICE else stepped).append((begin, end))
    return stepped, doubled


def _are_repeated(times: Numbers, numbers: Numbers, part: slice, other: slice) -> bool:
    """Say whether rows are there twice: of the same times, and nearly all with the same numbers."""
    if not np.array_equal(times[part], times[other]):
        return False
    return bool((numbers[part] == numbers[other]).mean() > MOST_TWICE)


def inside_any(times: Numbers, spans: list[Span]) -> NDArray[np.bool_]:
    """Say which times lie in one of these spans."""
    found = np.zeros(len(times), bool)
    for begin, end in spans:
        found |= (times >= begin) & (times <= end)
    return found


def firsts_behind(times: Numbers, spans: list[Span]) -> NDArray[np.intp]:
    """Give the place of the first time behind each of these spans, where there is one."""
    found = []
    for _, end in spans:
        behind = np.where(times > end, times, np.inf)
        if len(times) and np.isfinite(behind.min()):
            found.append(int(behind.argmin()))
    return np.array(sorted(set(found)), np.intp)


def _mostly_back(times: Numbers) -> bool:
    steps = np.diff(times)
    return bool((steps < 0).sum() > (steps > 0).sum())


def _overlaps(times: Numbers) -> Iterator[tuple[float, float, slice, slice]]:
    """Give the times that are there both before and after each step back, and the rows on both sides of it."""
    back = np.flatnonzero(np.diff(times) < 0) + 1
    if len(back) > 1 + MOST_STEPS * len(times):
        return
    edges = [0, *back.tolist(), len(times)]
    for first, step, last in zip(edges, edges[1:], edges[2:], strict=False):
        begin, end = max(times[first], times[step]), min(times[step - 1], times[last - 1])
        if begin <= end:
            yield float(begin), float(end), slice(first, step), slice(step, last)


def _first_inside(times: Numbers, rows: slice, begin: float) -> int:
    return int(rows.start + np.searchsorted(times[rows], begin))


def _last_inside(times: Numbers, rows: slice, end: float) -> int:
    return int(rows.start + np.searchsorted(times[rows], end, "right")) - 1
