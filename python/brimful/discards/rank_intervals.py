"""Shifts and medians with their intervals, without assuming a distribution.

The order statistics of all pairwise differences or means are found by bisection on sorted values: n log n a step, and
no matrix of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Values = NDArray[np.float64]
Interval = tuple[float, float]

RESOLUTION = 1e-12
"""How near bisection comes to the order statistic, in the unit of the values (here: decades)."""


def shift(before: Values, after: Values, *, confidence: float = 0.95) -> tuple[float, Interval]:
    """Give the Hodges-Lehmann shift, the median of all differences ``after - before``, and its interval.

    The interval inverts the Mann-Whitney test (normal approximation, no correction for ties, which makes it wider).

    >>> shift(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    (1.0, (-1.0, 3.0))
    """
    first, second = np.sort(before), np.sort(after)
    pairs = first.size * second.size

    def count(bound: float) -> int:
        return int(np.searchsorted(second, first + bound, side="right").sum())

    deviation = math.sqrt(pairs * (first.size + second.size + 1) / 12)
    span = (float(second[0] - first[-1]), float(second[-1] - first[0]))
    return _middle(count, pairs, deviation, span, confidence)


def pseudomedian(values: Values, *, confidence: float = 0.95) -> tuple[float, Interval]:
    """Give the median of all means of two (each with itself, too) and its interval, which inverts the signed-rank test.

    >>> pseudomedian(np.array([1.0, 2.0, 6.0]))[0]
    2.75
    """
    ordered = np.sort(values)
    pairs = ordered.size * (ordered.size + 1) // 2

    def count(bound: float) -> int:
        # Every pair of two values is counted twice, a value with itself once.
        within = int(np.searchsorted(ordered, 2 * bound - ordered, side="right").sum())
        return (within + int(np.searchsorted(ordered, bound, side="right"))) // 2

    deviation = math.sqrt(pairs * (2 * ordered.size + 1) / 12)
    return _middle(count, pairs, deviation, (float(ordered[0]), float(ordered[-1])), confidence)


def _middle(
    count: Callable[[float], int], pairs: int, deviation: float, span: Interval, confidence: float
) -> tuple[float, Interval]:
    """Give the median of ``pairs`` numbers within ``span``, and those ``deviation`` ranks about it as an interval."""
    lower, upper = (_order_statistic(count, rank, span) for rank in ((pairs + 1) // 2, pairs // 2 + 1))
    reach = float(stats.norm.ppf((1 + confidence) / 2)) * deviation
    rank = max(1, math.floor(pairs / 2 - reach))
    interval = _order_statistic(count, rank, span), _order_statistic(count, pairs - rank + 1, span)
    return (lower + upper) / 2, interval


def _order_statistic(count: Callable[[float], int], rank: int, span: Interval) -> float:
    """Give the number of this rank (from 1), where ``count`` says how many are not above a bound."""
    low, high = span
    if count(low) >= rank:
        return low
    while high - low > RESOLUTION:
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if count(middle) >= rank:
            high = middle
        else:
            low = middle
    return _snap(high)


def _snap(value: float) -> float:
    """Take a number that is as near to a round one as bisection comes for it."""
    rounded = round(value, 11)
    return rounded if abs(rounded - value) <= 2 * RESOLUTION else value


def median_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """Give the interval of the median between two order statistics, by the binomial distribution.

    >>> median_interval(np.arange(1.0, 12.0))
    (2.0, 10.0)
    """
    ordered = np.sort(values)
    rank = max(1, int(stats.binom.ppf((1 - confidence) / 2, ordered.size, 0.5)))
    return float(ordered[rank - 1]), float(ordered[-rank])


def resampled_medians(values: Values, resamples: int, generator: np.random.Generator) -> Values:
    """Give the medians of samples drawn with replacement.

    Drawn from their exact distribution: the middle order statistics of uniform numbers, which are beta distributed,
    say which of the sorted values the middle of a sample is. So a sample costs the same, however many values there are.
    """
    ordered = np.sort(values)
    size = ordered.size
    rank = (size + 1) // 2
    lower = generator.beta(rank, size - rank + 1, resamples)
    upper = lower
    if size % 2 == 0:
        upper = lower + (1 - lower) * generator.beta(1, size - rank, resamples)
    last = size - 1
    chosen = [np.minimum((position * size).astype(np.int64), last) for position in (lower, upper)]
    return np.asarray((ordered[chosen[0]] + ordered[chosen[1]]) / 2)
