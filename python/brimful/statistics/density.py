"""Densities of the logarithm of values, as lines to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brimful.statistics.ranks import Values


@dataclass(frozen=True, kw_only=True)
class Density:
    """A histogram of log10 of values. Empty where there are no values."""

    edges: list[float]
    """Left edges of the bins, log10 of the unit of the values."""
    density: list[float]
    """Share per decade: the area is 1."""
    cumulated: list[float]
    """Share up to the right edge of the bin."""
    values: int
    excluded: int
    """Not above 0 or not finite: these have no logarithm."""


def density(values: Values) -> Density:
    """Give the density over bins of its own: the root of the number of values, rounded down, over their range.

    >>> density(np.array([1e6, 1e7, 1e8, 0.0, 1e6])).edges
    [6.0, 7.0]
    """
    logs = logarithms(values)
    return _histogram(logs, _edges(logs, logs.size), values.size)


def common_densities(before: Values, after: Values) -> tuple[Density, Density]:
    """Give two densities over the same bins, so that they can be compared bin by bin.

    There are as many bins as the smaller sample would get for itself, over the range of both.
    """
    logs = logarithms(before), logarithms(after)
    smaller = min((sample.size for sample in logs if sample.size), default=0)
    edges = _edges(np.concatenate(logs), smaller)
    return _histogram(logs[0], edges, before.size), _histogram(logs[1], edges, after.size)


def logarithms(values: Values) -> Values:
    """Give log10 of the values which have one."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    return np.log10(numbers[np.isfinite(numbers) & (numbers > 0)])


def _edges(logs: Values, size: int) -> Values:
    return np.histogram_bin_edges(logs, max(1, math.isqrt(size)))


def _histogram(logs: Values, edges: Values, given: int) -> Density:
    if not logs.size:
        return Density(edges=[], density=[], cumulated=[], values=0, excluded=given)
    counts, _ = np.histogram(logs, edges)
    return Density(
        edges=edges[:-1].tolist(),
        density=(counts / (logs.size * np.diff(edges))).tolist(),
        cumulated=(np.cumsum(counts) / logs.size).tolist(),
        values=logs.size,
        excluded=given - logs.size,
    )
