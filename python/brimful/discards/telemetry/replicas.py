"""Two series of one counter: the same one seen twice, or two ports under one name.

Two servers of Prometheus that scrape one device differ in a label that says nothing of the port, and their samples lie
between each other's. Thanos and its like show one of such a pair, and the other where the first has a gap; so does
this. Two ports do not look like that unless both stand still; then either shows what was counted: nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry.seen import Known, Value, counter_of
from brimful.discards.telemetry.vocabularies import NAMING_PORTS, Labels

GAP = 2.5
"""Of this number of usual distances without a sample, the samples of the other are taken."""

Numbers = NDArray[np.float64]
Samples = tuple[Numbers, Numbers]
"""Times, sorted, and what the counter was."""
CLOSER = 0.75
"""By this factor samples lie closer together where those of another server are between them."""
FEWEST_BETWEEN = 3
"""Samples of each, before that is said of samples with the same labels."""
MOST_EVEN = 0.75
"""Share of the distances of a poller that are like its usual one: some of its samples alone lie unevenly."""


def as_one(group: list[Known]) -> Known | None:
    """Give series of one counter as one; nothing where they are not the same counter.

    The one whose labels come first is taken: then it is the same in each file.
    """
    best, *others = sorted(group, key=lambda one: sorted(one.series.metric.items()))
    if not all(_agree(best, one) for one in others):
        return None
    for other in others:
        best.series.values = best.series.values + filling(samples_of(best)[0], other)
    times = [at for at, _ in best.series.values]
    best.first_s, best.last_s = min(times), max(times)
    return best


def _agree(first: Known, second: Known) -> bool:
    labels = (first.series.metric, second.series.metric)
    return not name_two_ports(*labels) and agree(samples_of(first), samples_of(second))


def name_two_ports(labels: Labels, others: Labels) -> bool:
    """Say whether a label that both have is of another port."""
    return any(label in labels and label in others and labels[label] != others[label] for label in NAMING_PORTS)


def agree(first: Samples, second: Samples) -> bool:
    """Say whether the samples of each lie between those of the other."""
    return _lies_between(first, second) and _lies_between(second, first)


def are_between(first: Numbers, second: Numbers) -> bool:
    """Say whether sorted times are of two pollers: each are even, and lie closer together than those of one alone."""
    begin, end = max(first[0], second[0]), min(first[-1], second[-1])
    inside = [times[(times >= begin) & (times <= end)] for times in (first, second)]
    if min(map(len, inside)) < FEWEST_BETWEEN:
        return False
    distances = [np.diff(times) for times in (np.union1d(*inside), *inside)]
    usual_s, *each_s = (float(np.median(distance)) for distance in distances)
    even = [
        (np.abs(distance - median_s) <= (1 - CLOSER) * median_s).mean() >= MOST_EVEN
        for distance, median_s in zip(distances[1:], each_s, strict=True)
    ]
    return all(even) and usual_s < CLOSER * min(each_s)


def samples_of(one: Known) -> Samples:
    """Give the samples of a series that are counters."""
    numbered = [(at, counter_of(text)) for at, text in one.series.values]
    found = sorted((at, float(number)) for at, number in numbered if number is not None and number >= 0)
    return np.array([at for at, _ in found]), np.array([number for _, number in found])


def _lies_between(inner: Samples, outer: Samples) -> bool:
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


def filling(times: Numbers, other: Known) -> list[tuple[float, Value]]:
    """Give the samples of a series where another has none for long, which has some at these times."""
    taken = fills(times, np.array([at for at, _ in other.series.values]))
    return [value for value, is_taken in zip(other.series.values, taken, strict=True) if is_taken]


def fills(times: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Say which of some other times are in gaps of these, which are sorted."""
    usual_s = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    after = np.searchsorted(times, others)
    edges = np.concatenate([[-np.inf], times, [np.inf]])
    before_s, after_s = edges[after], edges[after + 1]
    # Beside the ends of a gap, the own samples say enough.
    taken: NDArray[np.bool_] = (after_s - before_s > GAP * usual_s) & (
        np.minimum(others - before_s, after_s - others) >= usual_s / 2
    )
    return taken


def told(place: tuple[str, str], first: Labels, second: Labels) -> str:
    """Say how the labels of two series of one port differ."""
    labels = " and ".join(differing(first, second))
    return (
        f"is one of two series of {place[0]} {place[1]}, {labels}: save one of them, or give each port a name of its "
        "own"
    )[:400]


def differing(first: Labels, second: Labels) -> list[str]:
    """Give the labels in which two series differ, as Prometheus writes them."""
    differing = sorted(label for label in first.keys() | second.keys() if first.get(label) != second.get(label))
    return ["{" + ", ".join(f'{label}="{one.get(label, "")}"' for label in differing) + "}" for one in (first, second)]
