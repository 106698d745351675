"""The method of batch means: how well a mean is known from observations that depend on each other.

Neighbouring frames meet the same queue and the same busy processor, so that their delays say less than as many
independent ones would. Means over batches that are long enough hardly depend on each other, and Student's interval of
those is honest (Law, Simulation Modeling and Analysis, section 9.5.3; Schmeiser 1982 for how few batches do).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import msgspec

from brimful.statistics.student import student_quantile

CONFIDENCE = 0.95
FEWEST_ROUNDS = 5
"""With this number of rounds their spread alone says how well the mean is known: it has everything in it that changes
from trial to trial, which batches within a trial never see. With fewer, Student's factor would make it say nothing."""
FEWEST_BATCHES = 10
"""Batches are not merged to fewer: Schmeiser found no gain in more than thirty and little loss down to ten."""
_MERGE_Z = 1.2816
"""Merge where independent batches would look as dependent less than once in ten times."""
DEPENDENT_Z = 2.3263
"""Say that batches depend on each other where independent ones would look so less than once in a hundred times."""


class Spread(msgspec.Struct, frozen=True):
    """A mean with what is known of its error."""

    value: float
    error: float | None
    """Standard error of the mean; null: unknown, there was nothing to compare."""
    freedom: float
    batches: int
    dependence: float
    """How far von Neumann's ratio is from that of independent batches, in standard deviations; above 0: neighbours
    are alike."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval in which the true mean lies with 95 % confidence."""
        if self.error is None:
            return None
        return _student_factor(self.freedom) * self.error


def dependence(values: Sequence[float]) -> float:
    """Say how much neighbours are alike, by von Neumann's ratio: near 0 for independent values, large for a drift.

    The ratio of the mean squared difference of neighbours to the variance is 2 for independent values, with a variance
    of 4 (n - 2) / (n^2 - 1); this is how many standard deviations it lies below.

    >>> round(dependence([1, 2, 3, 4, 5, 6, 7, 8]), 2), dependence([1.0, 1.0, 1.0])
    (2.97, 0.0)
    """
    count = len(values)
    squares = _squares(values)
    if count < 3 or squares == 0:
        return 0.0
    steps = math.fsum((after - before) ** 2 for before, after in itertools.pairwise(values))
    return (2 - steps / squares) / math.sqrt(4 * (count - 2) / (count**2 - 1))


def merge(values: Sequence[float]) -> list[float]:
    """Merge pairs of neighbours to their means; an odd last one is left out.

    >>> merge([1, 3, 10, 20, 7])
    [2.0, 15.0]
    """
    return [(one + other) / 2 for one, other in zip(values[::2], values[1::2], strict=False)]


def spread_of(trials: Sequence[tuple[float, Sequence[float]]]) -> Spread:
    """Give the mean over trials, and its error from the trials or, where they are few, from the batches within them.

    Parameters
    ----------
    trials
        In the order of time: the mean of each (or the difference of two), and the means of its batches.

    Raises
    ------
    ValueError
        When there are no trials.
    """
    means = [mean for mean, _ in trials]
    if not means:
        message = "no trials"
        raise ValueError(message)
    value = math.fsum(means) / len(means)
    if len(means) >= FEWEST_ROUNDS:
        return _spread(value, _independent([means]))
    within = [list(batches) for _, batches in trials]
    if sum(map(len, within)) < FEWEST_BATCHES:
        return _spread(value, means)
    return _spread(value, _independent(within))


def difference(one: Spread, other: Spread) -> Spread:
    """Subtract two means that were not measured side by side: Welch's interval, with Satterthwaite's freedom."""
    value = one.value - other.value
    batches = min(one.batches, other.batches)
    alike = max(one.dependence, other.dependence)
    if one.error is None or other.error is None:
        return Spread(value, None, 0.0, batches, alike)
    squares = one.error**2, other.error**2
    weights = squares[0] ** 2 / one.freedom + squares[1] ** 2 / other.freedom
    freedom = sum(squares) ** 2 / weights if weights else one.freedom + other.freedom
    return Spread(value, math.sqrt(sum(squares)), freedom, batches, alike)


def median_interval(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Give the median and the interval in which that of all such values lies with at least 95 % confidence.

    The interval is that of the sign test, from one ordered value to another: it asks nothing of the distribution.

    >>> median_interval([5, 1, 4, 2, 3, 6]), median_interval([1, 2, 3, 4, 5])
    ((3.5, 1, 6), None)
    """
    ordered = sorted(values)
    count = len(ordered)
    outside, rank = 0.0, 0
    # The most values that may be left out on each side: twice their binomial tail stays within 5 %.
    while (outside := outside + math.comb(count, rank) / 2**count) <= (1 - CONFIDENCE) / 2:
        rank += 1
    if rank == 0:
        return None
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return middle, ordered[rank - 1], ordered[count - rank]


def _independent(trials: list[list[float]]) -> list[float]:
    """Merge neighbours of the same trial until they no longer look alike, or too few would be left."""
    while True:
        values = [value for trial in trials for value in trial]
        merged = [merge(trial) for trial in trials]
        if dependence(values) <= _MERGE_Z or sum(map(len, merged)) < FEWEST_BATCHES:
            return values
        trials = merged


def _spread(value: float, values: Sequence[float]) -> Spread:
    count = len(values)
    if count < 2:
        return Spread(value, None, 0.0, count, 0.0)
    return Spread(value, math.sqrt(_squares(values) / (count - 1) / count), count - 1, count, dependence(values))


@functools.lru_cache(maxsize=256)
def _student_factor(freedom: float) -> float:
    return student_quantile(0.5 + CONFIDENCE / 2, freedom)


def _squares(values: Sequence[float]) -> float:
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values)
