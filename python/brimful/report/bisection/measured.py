"""What the visits of each build beside the good one give."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from brimful.records import BisectionPlan, Visit
from brimful.statistics.student import CONFIDENCE, student_quantile

_LARGEST = 100.0


class Measured(msgspec.Struct, frozen=True):
    """A build that was visited beside the good one, as a ratio to it."""

    build: int
    ratio: float
    low: float
    high: float
    visits: int


def measured_builds(plan: BisectionPlan, visits: Sequence[Visit]) -> list[Measured]:
    """Give each build that was visited, in the order of the history, with its interval.

    What a visit strays by is that of all visits around the means of their builds, so that one visit has an interval.
    """
    own: dict[int, list[float]] = {}
    for visit in visits:
        if visit.beside == 0 and 0 <= visit.build < len(plan.versions):
            own.setdefault(visit.build, []).append(_within(visit.mean))
    freedom = sum(len(means) - 1 for means in own.values())
    if freedom < 1:
        return []
    squares = sum((mean - math.fsum(means) / len(means)) ** 2 for means in own.values() for mean in means)
    factor = student_quantile(0.5 + CONFIDENCE / 2, freedom) * math.sqrt(squares / freedom)
    found = []
    for build in sorted(own):
        mean, margin = math.fsum(own[build]) / len(own[build]), factor / math.sqrt(len(own[build]))
        found.append(Measured(build, ratio(mean), ratio(mean - margin), ratio(mean + margin), len(own[build])))
    return found


def ratio(logarithm: float) -> float:
    """Give the ratio of a logarithm; a record may have any number in its place."""
    return math.exp(_within(logarithm))


def _within(logarithm: float) -> float:
    return max(-_LARGEST, min(_LARGEST, logarithm))
