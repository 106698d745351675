"""Tests with discards against tests without, of so few clients that each has to be compared with itself.

Tests are compared within a client and an hour of the day. The p value is that of a permutation of which tests met
discards, within these groups; the interval is of a bootstrap of the tests within them. Both are of these clients
only, and take their tests to be independent of each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_TESTS = 5
"""With discards, and without, in groups that have both."""
DRAWS = 4000

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class WithinClients:
    """How much faster or slower tests with discards are, within the same client and hour of the day."""

    clients: int
    hours: int
    """Groups of a client and an hour that have tests of both kinds."""
    tests_with: int
    tests_without: int
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    """95 %."""
    p_value: float | None = None


def compare_within(tests: Iterable[Mapping[str, Any]], *, seed: int) -> WithinClients:
    """Compare the tests of one site.

    Parameters
    ----------
    tests
        With ``client``, ``hour``, ``with_discards`` and ``log_rate`` (log10 of bit/s).
    seed
        Of the permutations and the bootstrap.

    Examples
    --------
    >>> slow = [{"client": "a", "hour": n % 4, "with_discards": True, "log_rate": 7.9 + n / 1e3} for n in range(20)]
    >>> fast = [{"client": "a", "hour": n % 4, "with_discards": False, "log_rate": 8.2 + n / 1e3} for n in range(20)]
    >>> found = compare_within(slow + fast, seed=1)
    >>> found.hours, round(found.ratio, 2), found.p_value < 0.001
    (4, 0.5, True)
    """
    kinds: defaultdict[tuple[str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for test in tests:
        kinds[test["client"], test["hour"]][not test["with_discards"]].append(test["log_rate"])
    groups = [
        (np.sort(np.array(hit)), np.sort(np.array(free))) for _, (hit, free) in sorted(kinds.items()) if hit and free
    ]
    clients = {client for (client, _), (hit, free) in kinds.items() if hit and free}
    n_with, n_without = (sum(len(group[kind]) for group in groups) for kind in (0, 1))
    counts = WithinClients(clients=len(clients), hours=len(groups), tests_with=n_with, tests_without=n_without)
    if min(n_with, n_without) < LEAST_TESTS:
        return counts
    random = np.random.default_rng(seed)
    weights = np.array([len(hit) * len(free) / (len(hit) + len(free)) for hit, free in groups])
    weights = weights / weights.sum()
    difference = _difference([(hit[None], free[None]) for hit, free in groups], weights)[0]
    mixed, drawn = [], []
    for hit, free in groups:
        both = random.permuted(np.tile(np.concatenate([hit, free]), (DRAWS, 1)), axis=1)
        mixed.append((both[:, : len(hit)], both[:, len(hit) :]))
        drawn.append(tuple(random.choice(kind, (DRAWS, len(kind))) for kind in (hit, free)))
    chance = np.abs(_difference(mixed, weights)) >= abs(difference) - 1e-12
    bounds = np.quantile(_difference(drawn, weights), [0.025, 0.975])
    return replace(
        counts,
        ratio=float(10**difference),
        interval=(float(10 ** bounds[0]), float(10 ** bounds[1])),
        p_value=(1 + int(chance.sum())) / (1 + DRAWS),
    )


def _difference(groups: list[Any], weights: Values) -> Values:
    differences = [hit.mean(axis=1) - free.mean(axis=1) for hit, free in groups]
    whole: Values = sum((weight * one for weight, one in zip(weights, differences, strict=True)), np.zeros(1))
    return whole
