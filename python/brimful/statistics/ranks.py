"""Shifts and medians with their intervals and the signed-rank test, without assuming a distribution.

The order statistics of all pairwise differences or means are found by bisection on sorted values: n log n a step, and
no matrix of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
RESOLUTION = 1e-12
"""How near bisection comes to the order statistic, in the unit of the values (here: decades)."""


def shift(before: Values, after: Values) -> tuple[float, Interval]:
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
    return _middle(count, pairs, deviation, span)


def pseudomedian(values: Values) -> tuple[float, Interval]:
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
    return _middle(count, pairs, deviation, (float(ordered[0]), float(ordered[-1])))


def _middle(count: Callable[[float], int], pairs: int, deviation: float, span: Interval) -> tuple[float, Interval]:
    """Give the median of ``pairs`` numbers within ``span``, and those ``deviation`` ranks about it as an interval."""
    lower, upper = (_order_statistic(count, rank, span) for rank in ((pairs + 1) // 2, pairs // 2 + 1))
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * deviation
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
    rank = max(1, _least_heads(ordered.size, (1 - confidence) / 2))
    return float(ordered[rank - 1]), float(ordered[-rank])


def _least_heads(coins: int, chance: float) -> int:
    """Give the least number of heads that fair coins do not exceed with at least this chance."""
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1.0, coins + 1)))))
    each = np.exp(factorials[-1] - factorials - factorials[::-1] - coins * math.log(2))
    return int(np.searchsorted(np.cumsum(each), chance))


EXACT_RANKS = 50
"""Up to so few differences, none alike and none zero, the p value is exact."""


def signed_rank_p(differences: Values, alternative: str = "two-sided") -> float:
    """Give the p value of Wilcoxon's signed-rank test of differences of pairs about zero.

    Exact for few differences without ties; else by the normal distribution, zeros ranked and dropped (Pratt), with a
    correction for continuity.

    Parameters
    ----------
    differences
        One a pair.
    alternative
        ``two-sided``, or that they are ``greater`` or ``less`` than zero.

    Examples
    --------
    >>> signed_rank_p(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), signed_rank_p(np.array([1.0, -2.0, 3.0]), "greater")
    (0.0625, 0.375)
    """
    sizes = np.abs(differences)
    if not sizes.any():
        return 1.0
    _, place, alike = np.unique(sizes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(alike) - (alike - 1) / 2)[place]
    upwards = float(ranks[differences > 0].sum())
    if sizes.size <= EXACT_RANKS and sizes.all() and alike.size == sizes.size:
        below, above = _exact_tails(sizes.size, round(upwards))
    else:
        below, above = _normal_tails(sizes, alike, upwards)
    return min(1.0, {"less": below, "greater": above}.get(alternative, 2 * min(below, above)))


def _exact_tails(pairs: int, rank_sum: int) -> Interval:
    """Give the chances of a sum of ranks of at most and of at least this, where every sign is a fair coin's."""
    ways = np.ones(1)
    for rank in range(1, pairs + 1):
        ways = np.concatenate((ways, np.zeros(rank))) + np.concatenate((np.zeros(rank), ways))
    chances = ways / 2.0**pairs
    return float(chances[: rank_sum + 1].sum()), float(chances[rank_sum:].sum())


def _normal_tails(sizes: Values, alike: NDArray[np.intp], rank_sum: float) -> Interval:
    """Give about these chances where there are ties or zeros, or many ranks."""
    zeros = int((sizes == 0).sum())
    of_ranks = [(count * (count + 1) / 4, count * (count + 1) * (2 * count + 1)) for count in (sizes.size, zeros)]
    middle = of_ranks[0][0] - of_ranks[1][0]
    ties = (alike[1:] if zeros else alike).astype(np.float64)
    variance = (of_ranks[0][1] - of_ranks[1][1] - float((ties * (ties**2 - 1)).sum()) / 2) / 24
    scale = math.sqrt(2 * variance)
    below = math.erfc((middle - rank_sum - 0.5) / scale) / 2
    above = math.erfc((rank_sum - middle - 0.5) / scale) / 2
    return below, above


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
