"""Clocks of pollers that are set while they poll: seen where the times of a file go back, though its counters go on.

Local times without a zone do the same once a year. In the time that is there twice nothing is known of rates, and how
long it was until the next poll is not known, either. Forwards, a step looks like polls that failed: only the age of the
device (`chains`) shows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SET_BACK = "are of a time that is there twice, as a clock was set back (of local times, say --timezone)"
"""Why samples are left out."""
MOST_STEPS, MOST_STEPS_AT_ALL = 0.05, 50
"""Share of rows, and number; times that go back more often are in no order."""
FEWEST_BEHIND = 2
"""Differences of fewer rows are corrections, or late."""
CROWDED = 0.75
"""Of the usual distance: rows closer to one on the other side do not fill a gap there, as late ones do."""
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
    return [
        span
        for span, before, after in _overlaps(times, counters)
        # Ranges that overlap, one behind the other, begin again at what was counted before.
        if before.edge <= after.edge
        and before.counts.max() <= after.counts.min()
        and before.counts.min() < after.counts.max()
    ]


def differences_twice(times: Numbers, numbers: Numbers) -> tuple[list[Span], list[Span]]:
    """Give the same of what was counted since the row before; and the times that two pollers have written."""
    stepped: list[Span] = []
    doubled: list[Span] = []
    for span, before, after in _overlaps(times, numbers):
        if (len(after.times) >= FEWEST_BEHIND or after.is_crowded) and not _is_repeated(before, after):
            (doubled if min(before.share, after.share) > MOST_TWICE else stepped).append(span)
    return stepped, doubled


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


class _Part(NamedTuple):
    """The rows on one side of a step that lie in times that both sides have."""

    times: Numbers
    counts: Numbers
    share: float
    """Of all rows on that side."""
    edge: float
    """What was counted in the row beside the step."""
    is_crowded: bool
    """One of its rows lies close to one on the other side, but not at the same time."""


def _overlaps(times: Numbers, counts: Numbers) -> Iterator[tuple[Span, _Part, _Part]]:
    """Give the times that are there both before each step back and from it to the next one, and their rows."""
    there = ~np.isnan(counts)
    times, counts = times[there], counts[there]
    if _mostly_back(times):
        times, counts = times[::-1], counts[::-1]
    back = np.flatnonzero(np.diff(times) < 0) + 1
    if len(back) > min(1 + MOST_STEPS * len(times), MOST_STEPS_AT_ALL):
        return
    usual_s = float(np.median(np.abs(np.diff(times)))) if len(times) > 1 else 0.0
    for step, last in itertools.pairwise([*back, len(times)]):
        begin, end = max(times[:step].min(), times[step]), min(times[:step].max(), times[last - 1])
        parts = []
        sides = slice(0, step), slice(step, last)
        for side, other, edge in zip(sides, sides[::-1], (step - 1, step), strict=True):
            inside = (times[side] >= begin) & (times[side] <= end)
            found = times[side][inside]
            is_crowded = _are_close(found, times[other], CROWDED * usual_s)
            parts.append(_Part(found, counts[side][inside], float(inside.mean()), float(counts[edge]), is_crowded))
        if all(len(part.times) for part in parts):
            yield (float(begin), float(end)), parts[0], parts[1]


def _are_close(times: Numbers, others: Numbers, limit_s: float) -> bool:
    """Say whether one of some times is closer to one of the others than this, but not the same."""
    edges = np.concatenate([[-np.inf], np.unique(others), [np.inf]])
    place = np.searchsorted(edges, times)
    apart = np.minimum(times - edges[place - 1], edges[place] - times)
    return bool(((apart > 0) & (apart < limit_s)).any())


def _is_repeated(before: _Part, after: _Part) -> bool:
    """Say whether rows are there again: most of those of the same times have the same numbers."""
    order = np.argsort(before.times, kind="stable")
    place = order[np.minimum(np.searchsorted(before.times[order], after.times), len(order) - 1)]
    same = before.times[place] == after.times
    return bool(((before.counts[place] == after.counts) & same).sum() > MOST_TWICE * max(same.sum(), 1))
