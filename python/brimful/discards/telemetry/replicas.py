"""Two series of one counter: the same one seen twice, or two ports under one name.

Two servers of Prometheus that scrape one device differ in a label that says nothing of the port, and their samples lie
between each other's. Thanos and its like show one of such a pair, and the other where the first has a gap; so does
this. Two ports do not look like that unless both stand still; then either shows what was counted: nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry.seen import Known, Value, counter_of
from brimful.discards.telemetry.vocabularies import NAMING_PORTS

GAP = 2.5
"""Of this number of usual distances without a sample, the samples of the other are taken."""

Numbers = NDArray[np.float64]


def as_one(group: list[Known]) -> Known | None:
    """Give series of one counter as one; nothing where they are not the same counter.

    The one whose labels come first is taken: then it is the same in each file.
    """
    best, *others = sorted(group, key=lambda one: sorted(one.series.metric.items()))
    if not all(_agree(best, one) for one in others):
        return None
    for other in others:
        best.series.values = _filled(best, other)
    times = [at for at, _ in best.series.values]
    best.first_s, best.last_s = min(times), max(times)
    return best


def _agree(first: Known, second: Known) -> bool:
    """Say whether the samples of each lie between those of the other."""
    labels, others = first.series.metric, second.series.metric
    if any(label in labels and label in others and labels[label] != others[label] for label in NAMING_PORTS):
        return False
    return _lies_between(_samples(first), _samples(second)) and _lies_between(_samples(second), _samples(first))


def _samples(one: Known) -> tuple[Numbers, Numbers]:
    numbered = [(at, counter_of(text)) for at, text in one.series.values]
    found = sorted((at, float(number)) for at, number in numbered if number is not None and number >= 0)
    return np.array([at for at, _ in found]), np.array([number for _, number in found])


def _lies_between(inner: tuple[Numbers, Numbers], outer: tuple[Numbers, Numbers]) -> bool:
    """Say whether samples are at least what the others were two samples before, and at most what they are two after.

    The clocks of two servers differ a little, and what they scrape takes its time.
    """
    times, numbers = outer
    if len(times) < 2:
        return False
    after = np.searchsorted(times, inner[0])
    chosen = (after >= 1) & (after < len(times))
    least, most = np.maximum(after - 2, 0)[chosen], np.minimum(after + 1, len(times) - 1)[chosen]
    # Where the counter itself fell, anything may lie between.
    falls = np.concatenate([[0], np.cumsum(np.diff(numbers) < 0)])
    fell = falls[most] > falls[least]
    number = inner[1][chosen]
    apart = ~fell & ((number < numbers[least]) | (number > numbers[most]))
    return bool(chosen.any()) and not bool(apart.any())


def _filled(one: Known, other: Known) -> list[tuple[float, Value]]:
    """Give the samples of one, and those of the other where it has none for long."""
    times = np.sort([at for at, _ in one.series.values])
    usual_s = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    added = []
    for at, value in other.series.values:
        after = int(np.searchsorted(times, at))
        before_s = times[after - 1] if after else -np.inf
        after_s = times[after] if after < len(times) else np.inf
        # Beside the ends of a gap, the own samples say enough.
        if after_s - before_s > GAP * usual_s and min(at - before_s, after_s - at) >= usual_s / 2:
            added.append((at, value))
    return one.series.values + added
