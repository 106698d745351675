"""Levels of a series and dated changes between them, with sizes and intervals. Pure.

Everything is done on logarithms, so differences are ratios. The levels come from `brimful._core.fit_levels`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import msgspec

from brimful import _core
from brimful.statistics.student import CONFIDENCE, student_quantile
from brimful.trend.judgement import Settings

METHOD = "levels 1"
"""Name and version of the detector."""
FALSE_PER_RUN = 0.0011
"""Changes that it reports falsely for each new run of a series of independent values without any, at most, with the
penalty 16; see `bench/run trend`."""
_PENALTY_FOR_E = 3.0
"""This much more penalty makes false reports rarer by a factor of e: `bench/run trend`."""


class Level(msgspec.Struct, frozen=True):
    """Values from one index to before another at one level."""

    start: int
    end: int
    mean: float
    """Of the values near it; a logarithm."""
    kept: int
    """How many these are."""
    squares: float
    """Sum of their squared distances from the mean."""


class Change(msgspec.Struct, frozen=True):
    """A change of level; indices are of the first value of the new level."""

    index: int
    earliest: int
    latest: int
    """The interval holds 95 % of the relative likelihood."""
    size: float
    """Logarithm of new level / old level."""
    margin: float
    """Half width of its 95 % interval."""

    def is_beyond(self, tolerance: float) -> bool:
        """Say whether the whole interval of the size is beyond a relative tolerance, to either side."""
        return self.size - self.margin > math.log1p(tolerance) or self.size + self.margin < math.log1p(-tolerance)


class Analysis(msgspec.Struct, frozen=True):
    """A series as levels."""

    deviation: float
    """Standard deviation of the noise of logarithms."""
    correlation: float
    """Of the noise of neighbours."""
    levels: list[Level]
    changes: list[Change]


def analyse(values: Sequence[float], errors: Sequence[float], penalty: float, cap: float) -> Analysis:
    """Find the levels of a series.

    Parameters
    ----------
    values
        Logarithms, in order; finite.
    errors
        Their standard errors; 0 where unknown.
    penalty, cap
        What a level costs, and a value at most, in units of the variance of the noise.

    Examples
    --------
    >>> found = analyse([0.0, 0.01] * 10 + [0.1, 0.11] * 5, [0.0] * 30, 16.0, 9.0)
    >>> [(change.index, round(change.size, 6)) for change in found.changes]
    [(20, 0.1)]
    """
    deviation, correlation, levels, jumps = _core.fit_levels(list(values), list(errors), penalty, cap)
    inflation = (1 + correlation) / (1 - correlation)
    found = [Level(*level) for level in levels]
    changes = [
        Change(at, earliest, latest, after.mean - before.mean, _margin(before, after, inflation))
        for (at, earliest, latest), before, after in zip(jumps, found, found[1:], strict=False)
    ]
    return Analysis(deviation, correlation, found, changes)


def _margin(before: Level, after: Level, inflation: float) -> float:
    """Give the half width of the interval of a difference of levels: Student's, with the effective number of values."""
    freedom = before.kept + after.kept - 2
    if freedom < 1 or not before.kept or not after.kept:
        return math.inf
    variance = (before.squares + after.squares) / freedom
    error = math.sqrt(variance * inflation * (1 / before.kept + 1 / after.kept))
    return _quantile(round(max(1.0, (before.kept + after.kept) / inflation - 2), 1)) * error


@functools.lru_cache(maxsize=4096)
def _quantile(freedom: float) -> float:
    return student_quantile(0.5 + CONFIDENCE / 2, min(freedom, 1000.0))


def penalty_for(settings: Settings, series: int) -> float:
    """Give the penalty with which a check of this number of series has no more false alarms than the settings allow.

    >>> penalty_for(Settings(), 1), round(penalty_for(Settings(), 7500))
    (16.0, 31)
    """
    return settings.penalty + _PENALTY_FOR_E * math.log(_strictness(settings, series))


def expected_false_alarms(settings: Settings, series: int) -> float:
    """Give the number of changes that a check of series without any reports falsely, on average."""
    return series * FALSE_PER_RUN / _strictness(settings, series)


def suspected_at(settings: Settings, series: int) -> float:
    """Give the distance from its level, in standard deviations, from which on a value is suspected.

    >>> suspected_at(Settings(), 1), round(suspected_at(Settings(), 7500), 1)
    (3.0, 4.5)
    """
    beyond = math.erfc(settings.suspected_at / math.sqrt(2))
    allowed = settings.false_alarms / series
    return settings.suspected_at if beyond <= allowed else _normal_quantile(allowed)


def _strictness(settings: Settings, series: int) -> float:
    return max(1.0, series * FALSE_PER_RUN / settings.false_alarms)


@functools.lru_cache(maxsize=64)
def _normal_quantile(beyond: float) -> float:
    """Give the distance that a normal variable exceeds, to either side, with a probability."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > beyond else (low, middle)
    return high
