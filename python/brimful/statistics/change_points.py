"""When did discards begin, change their level, and stop? Change points of daily shares of bins with discards.

The days are cut into segments. Each has a level (expected share of bins with discards) of a grid, or none at all, and
a scatter from day to day; the numbers of bins are negative binomial about it. A share of days is false: their number
says nothing. The segmentation is the best one of all there are, found by dynamic programming over days, levels and
scatters: the greatest likelihood, less a penalty for every change. Where days resemble the days before, a change of
level costs more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray
from scipy import special

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

LEVELS_PER_OCTAVE = 4
LEAST_FACTOR = 2.0
"""Levels that differ by less are one level."""
SCATTERS = (1 / 3, 0.8, 2.0, 5.0, 15.0, 50.0, 1e6)
"""Sizes of the negative binomial distribution: the variance from day to day is mean + mean^2 / size."""
FALSE_DAYS = 1e-3
"""Share of days whose number of bins with discards can be anything."""
FALSE_DAY_WORTH = 10.0
"""Log likelihood, at least, that a false day without discards costs."""
PENALTY = 4.0
"""Log likelihood that a begin or a change of level costs, times the logarithm of the number of days.

A stop costs half of it, and so does a series that begins with discards: no discards is the simpler thing to say, and
otherwise one false day among days with none would be a level of its own.
"""
LARGEST_INFLATION = 4.0
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A day from which on the level is another one."""

    day: date
    """First day of the new level."""
    kind: str
    """``begin`` (none before), ``stop`` (none since) or ``level``."""
    before: float
    """Share of bins with discards, from the change before to this one."""
    after: float
    """From this change to the next."""
    first_day: date
    """The change lies between this day and ..."""
    last_day: date
    """... this one with 95 % confidence, given the levels."""
    evidence: float
    """Log likelihood ratio: two levels against one for the days from the change before to the next."""
    until: date
    """First day of the next change, or the day after the last one."""
    bins_after: int
    """Bins with telemetry from this change to the next."""
    bins_with_discards_after: int
    log10_chance: float | None = None
    """For a stop with no discards at all since: of that, if the level had stayed."""


def change_points(
    days: Sequence[date], bins_with_discards: Sequence[int], bins: Sequence[int], *, penalty: float = PENALTY
) -> list[ChangePoint]:
    """Find when discards began, changed their level and stopped.

    Parameters
    ----------
    days
        In any order, each at most once; days that are not there have no telemetry.
    bins_with_discards, bins
        Of each day: bins with discards, bins with telemetry.
    penalty
        What a change costs, in units of the logarithm of the number of days with telemetry.

    Examples
    --------
    >>> first = date(2018, 1, 1)
    >>> days = [first + timedelta(number) for number in range(60)]
    >>> [point.kind for point in change_points(days, [0] * 20 + [900] * 20 + [0] * 20, [8640] * 60)]
    ['begin', 'stop']
    """
    calendar = _Calendar.of(days, bins_with_discards, bins)
    if calendar.seen < 2 or not calendar.hits.any():
        return []
    levels = _levels(calendar)
    likelihoods = _likelihoods(calendar, levels)
    cost = penalty * math.log(calendar.seen)
    path = _segment(calendar, likelihoods, levels, cost, cost)
    inflation = _inflation(calendar, path, levels)
    if inflation > 1:
        # A stop and a begin around one day without discards must not be the cheaper way to another level.
        begin_cost = max(cost, (cost * inflation + FALSE_DAY_WORTH) / 1.5)
        path = _segment(calendar, likelihoods, levels, begin_cost, cost * inflation)
    states = likelihoods.reshape(len(likelihoods), -1)
    starts = np.flatnonzero(np.diff(path)) + 1
    bounds = [0, *starts.tolist(), len(path)]
    return [
        _change_point(calendar, states, path, levels, previous, start, following)
        for previous, start, following in zip(bounds, bounds[1:-1], bounds[2:], strict=False)
    ]


@dataclass(frozen=True)
class _Calendar:
    """Every day from the first to the last; those without telemetry have no bins."""

    first: date
    hits: Counts
    bins: Counts

    @classmethod
    def of(cls, days: Sequence[date], bins_with_discards: Sequence[int], bins: Sequence[int]) -> _Calendar:
        if not len(days):
            return cls(date.min, np.zeros(0, np.int64), np.zeros(0, np.int64))
        first = min(days)
        positions = np.array([(day - first).days for day in days])
        hits, whole = (np.zeros(int(positions.max()) + 1, np.int64) for _ in range(2))
        whole[positions] = np.maximum(np.asarray(bins, np.int64), 0)
        hits[positions] = np.asarray(bins_with_discards, np.int64)
        return cls(first, np.clip(hits, 0, whole), whole)

    @property
    def seen(self) -> int:
        """Days with telemetry."""
        return int(np.count_nonzero(self.bins))

    def day(self, position: int) -> date:
        return self.first + timedelta(days=position)

    def share(self, start: int, end: int) -> float:
        return float(self.hits[start:end].sum() / max(1, self.bins[start:end].sum()))


def _levels(calendar: _Calendar) -> Numbers:
    """Give the grid: none, then from one bin in the whole series to the greatest share of a day."""
    greatest = float(np.max(calendar.hits / np.maximum(calendar.bins, 1)))
    octaves = math.log2(greatest * max(1, int(calendar.bins.sum())))
    return np.concatenate([[0.0], greatest * np.exp2(-np.arange(math.ceil(octaves * LEVELS_PER_OCTAVE), -1, -1) / 4)])


def _likelihoods(calendar: _Calendar, levels: Numbers) -> Numbers:
    """Give the log likelihood of each day at each level and scatter; 0 where there is no telemetry.

    Constants of a day are left out of neither part: a false day has to compete with an ordinary one.
    """
    hits, bins = (column[:, None, None].astype(np.float64) for column in (calendar.hits, calendar.bins))
    sizes = np.array(SCATTERS)[None, None, :]
    means = bins * levels[1:][None, :, None]
    tables = special.gammaln(hits + sizes) - special.gammaln(sizes) - special.gammaln(hits + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ordinary = tables + special.xlogy(hits, means / (means + sizes)) - sizes * np.log1p(means / sizes)
    none = np.where(hits == 0, 0.0, -np.inf) + np.zeros_like(sizes)
    # A false day: small numbers are likelier than large ones, none is impossible.
    false = -np.log1p(hits) - np.log(np.log1p(bins) + 0.5772)
    mixed = np.logaddexp(
        np.concatenate([none, ordinary], axis=1) + math.log1p(-FALSE_DAYS), false + math.log(FALSE_DAYS)
    )
    return np.where(bins > 0, mixed, 0.0)


def _segment(
    calendar: _Calendar, likelihoods: Numbers, levels: Numbers, begin_cost: float, level_cost: float
) -> Counts:
    """Give the state (level and scatter, as one number) of each day in the best of all segmentations.

    A stop, and to begin with discards, cost half of ``begin_cost``; a change between two levels ``level_cost``.
    """
    days, rows, columns = likelihoods.shape
    nearest = round(math.log2(LEAST_FACTOR) * LEVELS_PER_OCTAVE)
    came_from = np.zeros((days, rows * columns), dtype=np.int32)
    best = (likelihoods[0] - np.where(levels > 0, begin_cost / 2, 0.0)[:, None]).ravel()
    stay = np.arange(rows * columns, dtype=np.int32)
    for day in range(1, days):
        table = best.reshape(rows, columns)
        column = table.argmax(axis=1)
        heights = table[np.arange(rows), column]
        source, entered = _best_elsewhere(heights, nearest, begin_cost, level_cost)
        if calendar.hits[day]:
            entered[0] = -np.inf  # Discards do not stop on a day that has some.
        if not calendar.bins[day]:
            entered[:] = -np.inf  # Nothing shows on a day without telemetry.
        origin = (source * columns + column[source]).astype(np.int32)
        change = np.repeat(entered, columns) > best
        came_from[day] = np.where(change, np.repeat(origin, columns), stay)
        best = np.where(change, np.repeat(entered, columns), best) + likelihoods[day].ravel()
    path = np.zeros(days, dtype=np.int64)
    path[-1] = best.argmax()
    for day in range(days - 1, 0, -1):
        path[day - 1] = came_from[day, path[day]]
    return path


def _inflation(calendar: _Calendar, path: Counts, levels: Numbers) -> float:
    """Give by how much days that resemble the day before make chance look like a change of level.

    (1 + r) / (1 - r), where r is the correlation of a day with the next one, within segments: that number of dependent
    days says as much as one independent day.
    """
    means = calendar.bins * levels[path // len(SCATTERS)]
    sizes = np.array(SCATTERS)[path % len(SCATTERS)]
    usable = means > 0
    residuals = np.zeros(len(path))
    residuals[usable] = (calendar.hits - means)[usable] / np.sqrt(means + means**2 / sizes)[usable]
    for state in np.unique(path):
        within = usable & (path == state)
        residuals[within] -= residuals[within].mean() if within.any() else 0.0
    residuals = np.clip(residuals, -3, 3)
    pairs = usable[:-1] & usable[1:] & (path[:-1] == path[1:])
    spread = float(residuals[usable] @ residuals[usable])
    if pairs.sum() < 10 or spread == 0:
        return 1.0
    correlation = float(residuals[:-1][pairs] @ residuals[1:][pairs]) / spread * usable.sum() / pairs.sum()
    correlation = min(max(correlation, 0.0), 0.99)
    return float(min((1 + correlation) / (1 - correlation), LARGEST_INFLATION))


def _best_elsewhere(heights: Numbers, nearest: int, begin_cost: float, level_cost: float) -> tuple[Counts, Numbers]:
    """Give for each level the best one to come from and the likelihood then, less the cost of the change.

    Levels that are too near do not count; no discards at all is far from any level.
    """
    rows = heights.size
    positions = np.arange(rows)
    source = np.zeros(rows, dtype=np.int64)
    source[0] = 1 + heights[1:].argmax()
    entered = heights[source] - np.where(positions == 0, begin_cost / 2, begin_cost)
    below = _running_best(heights[1:]) + 1
    above = rows - 1 - _running_best(heights[1:][::-1])[::-1]
    for candidates, neighbours in ((below, positions - nearest), (above, positions + nearest)):
        reachable = (positions >= 1) & (neighbours >= 1) & (neighbours < rows)
        candidate = np.where(reachable, candidates[np.clip(neighbours - 1, 0, rows - 2)], source)
        better = reachable & (heights[candidate] - level_cost > entered)
        source = np.where(better, candidate, source)
        entered = np.where(better, heights[candidate] - level_cost, entered)
    return source, entered


def _running_best(heights: Numbers) -> Counts:
    """Give the position of the greatest value so far."""
    greatest = np.maximum.accumulate(heights)
    new = np.concatenate([[True], heights[1:] > greatest[:-1]])
    return np.asarray(np.maximum.accumulate(np.where(new, np.arange(heights.size), 0)))


def _change_point(
    calendar: _Calendar, states: Numbers, path: Counts, levels: Numbers, previous: int, start: int, following: int
) -> ChangePoint:
    level, new_level = (int(state) // len(SCATTERS) for state in (path[start - 1], path[start]))
    first, last = _interval(states[previous:following, path[start - 1]], states[previous:following, path[start]])
    span = states[previous:following]
    apart = span[: start - previous, path[start - 1]].sum() + span[start - previous :, path[start]].sum()
    hits_after = int(calendar.hits[start:following].sum())
    return ChangePoint(
        day=calendar.day(start),
        kind="begin" if level == 0 else "stop" if new_level == 0 else "level",
        before=calendar.share(previous, start),
        after=calendar.share(start, following),
        first_day=calendar.day(previous + first),
        last_day=calendar.day(previous + last),
        evidence=float(apart - span.sum(axis=0).max()),
        until=calendar.day(following),
        bins_after=int(calendar.bins[start:following].sum()),
        bins_with_discards_after=hits_after,
        log10_chance=(
            _chance_of_none(calendar, path[start - 1], levels, start, following)
            if new_level == 0 and not hits_after
            else None
        ),
    )


def _interval(before: Numbers, after: Numbers) -> tuple[int, int]:
    """Give the first and the last position of the likeliest days that hold 95 % of the likelihood of the change."""
    profile = np.concatenate([[0.0], np.cumsum(before)])[1:-1] + np.cumsum(after[::-1])[::-1][1:]
    shares = np.exp(profile - profile.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")
    needed = int(np.searchsorted(np.cumsum(shares[order]), CONFIDENCE)) + 1
    chosen = order[:needed] + 1
    return int(chosen.min()), int(chosen.max())


def _chance_of_none(calendar: _Calendar, state: int, levels: Numbers, start: int, following: int) -> float:
    size = SCATTERS[int(state) % len(SCATTERS)]
    means = calendar.bins[start:following] * levels[int(state) // len(SCATTERS)]
    return float(-size * np.log1p(means / size).sum() / math.log(10))
