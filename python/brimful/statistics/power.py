"""What a test would have found: the least shift that it finds with a given power, by seeded simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brimful.statistics.ranks import Values, pseudomedian

EXACT_SIZE = 1000
"""Up to this number of values of both samples together the Kolmogorov-Smirnov test is exact."""
CELLS = 1024
"""Quantiles at which simulated distribution functions are compared."""
SIMULATIONS = 400
LEAST_SHIFT = 1e-6
"""Decades. Less is not distinguished from it."""
LARGEST_SHIFT = 4.0
"""Decades. What is not found then is not found at all."""
PAIRED_SIZE = 500
"""At most this number of pairs are simulated; the shift found goes with the root of the number."""


def ks_method(size: int) -> str:
    """Say how the p value of this number of values of both samples together is computed (a method of scipy).

    Fixed here, because scipy's own choice has changed between versions.
    """
    return "exact" if size <= EXACT_SIZE else "asymp"


def ks_critical(before: int, after: int, level: float) -> float:
    """Give the least Kolmogorov-Smirnov statistic of two samples of these sizes with a p value below ``level``.

    >>> round(ks_critical(10, 10, 0.05), 6), round(ks_critical(10_000, 10_000, 0.05), 4)
    (0.7, 0.0192)
    """
    if ks_method(before + after) == "asymp":
        return float(stats.kstwo.isf(level, round(before * after / (before + after))))
    steps = math.lcm(before, after)
    low, high = 0, steps + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _p_value(before, after, middle / steps) < level:
            high = middle
        else:
            low = middle
    return high / steps


def _p_value(before: int, after: int, statistic: float) -> float:
    """Give the exact chance of a statistic of at least this: paths through the grid of ranks that stay nearer."""
    columns = np.arange(after + 1) / after
    paths = np.zeros(after + 1)
    paths[0] = 1.0
    for row in range(before + 1):
        within = np.flatnonzero(np.abs(columns - row / before) < statistic - 1e-9)
        counted = np.zeros(after + 1)
        if within.size:
            first, last = within[0], within[-1] + 1
            counted[first:last] = np.cumsum(paths[first:last])
        paths = counted
    return 1 - float(paths[-1]) / float(math.comb(before + after, before))


def detectable_shift(
    before: Values, after: Values, *, level: float, powers: Sequence[float], seed: int
) -> list[float | None]:
    """Give, for each power, the least shift that a Kolmogorov-Smirnov test of samples like these finds.

    Samples of both sizes are drawn from all values together, the second one is shifted. None: no shift is found so
    often, or all values are equal.
    """
    values = np.sort(np.concatenate([before, after]))
    if values[0] == values[-1]:
        return [None for _ in powers]
    shares = (np.arange(values.size) + 0.5) / values.size
    edges = np.interp(np.arange(1, CELLS) / CELLS, shares, values)
    critical = ks_critical(before.size, after.size, level) - 1e-9
    generator = np.random.default_rng(seed)
    first, second = (_distribution_functions(size, generator) for size in (before.size, after.size))

    def power(shift: float) -> float:
        cells = np.rint(np.interp(edges - shift, values, shares, left=0.0, right=1.0) * CELLS).astype(np.int64)
        distances = np.abs(first[:, 1:-1] - second[:, cells]).max(axis=1)
        return float(np.mean(distances >= critical))

    return [_least(power, wanted) for wanted in powers]


def _distribution_functions(size: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """Draw samples of uniform numbers, and give the share of each that is below each multiple of 1 / CELLS."""
    counts = generator.multinomial(size, np.full(CELLS, 1 / CELLS), size=SIMULATIONS)
    shares = np.zeros((SIMULATIONS, CELLS + 1), dtype=np.float32)
    np.cumsum(counts, axis=1, out=shares[:, 1:])
    return shares / np.float32(size)


def detectable_paired_shift(
    differences: Values, *, level: float, powers: Sequence[float], seed: int
) -> list[float | None]:
    """Give, for each power, the least shift that a signed-rank test of differences like these finds.

    Beyond 500 pairs, 500 are simulated and the shift is scaled by the root of the number, as it goes for small shifts.
    """
    if np.ptp(differences) == 0:
        return [None for _ in powers]
    size = min(differences.size, PAIRED_SIZE)
    centre, _ = pseudomedian(differences)
    drawn = np.random.default_rng(seed).choice(differences - centre, size=(SIMULATIONS, size))
    deviation = math.sqrt(size * (size + 1) * (2 * size + 1) / 24)
    critical = float(stats.norm.isf(level / 2)) * deviation
    # Nothing but full agreement of the signs can be below a very small level.
    critical = min(critical, size * (size + 1) / 4)
    ranks = np.arange(1, size + 1)

    def power(shift: float) -> float:
        shifted = drawn + shift
        order = np.argsort(np.abs(shifted), axis=1)
        positive = np.take_along_axis(shifted > 0, order, axis=1)
        distances = np.abs(positive @ ranks - size * (size + 1) / 4)
        return float(np.mean(distances >= critical))

    scale = math.sqrt(size / differences.size)
    found = [_least(power, wanted) for wanted in powers]
    return [None if shift is None else shift * scale for shift in found]


def _least(power: Callable[[float], float], wanted: float) -> float | None:
    """Give the least shift with this power."""
    low, high = 0.0, 1e-3
    while power(high) < wanted:
        low, high = high, 2 * high
        if high > LARGEST_SHIFT:
            return None
    while high - low > 0.005 * high + LEAST_SHIFT:
        middle = (low + high) / 2
        if power(middle) >= wanted:
            high = middle
        else:
            low = middle
    return high
