"""Whether what was measured stayed the same meanwhile. Pure statistics: numbers in, structs out.

The null hypothesis of `find_move` says nothing of the shape of a system: of trials of one length the chance to be lossy
never falls with the load, and does not change with time. So soft knees, jitter and noise are steady.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from statistics import median, stdev

import msgspec


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A trial, as far as steadiness goes."""

    at_s: float
    """When it began."""
    duration_s: float
    load: float
    forwarded: float
    """Units a second, on the scale of the load; equal to the load where nothing was lost."""
    lossy: bool


class Move(msgspec.Struct, frozen=True):
    """A capacity that moved."""

    from_s: float
    """When the first trial began that may have been after it."""
    at_s: float
    """When the first trial began that certainly was."""
    before: float | None
    """The load from which on trials were lossy; null: none was."""
    after: float | None
    evidence: float
    """Gain in logarithmic likelihood over one capacity for the whole time."""


class TwoModes(msgspec.Struct, frozen=True):
    """A capacity that goes to and fro between two values."""

    lower: float
    upper: float
    in_lower: list[int]
    """Which of the values, by index."""
    in_upper: list[int]


MOVE_EVIDENCE = 2.5
"""A move has at least so much times the logarithm of the number of trials: `bench/run steadiness` has how often steady
systems reach that, and moves do not."""
_MOST_PLACES = 100
"""For a change, or loads for two modes, that are tried first: trials may be many."""
_FINER = 10
"""Around the best of places that are tried first, others are tried that are this many times closer."""
_MOST_CELLS = 1000
"""Loads that are distinguished. Of more, neighbours count as one."""
_ALIKE = 1e-6
"""Places of equal evidence: no trial between them shows which it is."""
_LEAST_SIDE = 4
"""Trials before and after."""


def find_move(outcomes: Sequence[Outcome]) -> Move | None:
    """Find the time at which the chance of trials to be lossy changed most, if it did."""
    count = len(outcomes)
    places = range(_LEAST_SIDE, count - _LEAST_SIDE + 1)
    if not places:
        return None
    cells = _cells(outcomes)
    step = math.ceil(len(places) / _MOST_PLACES)
    gains = dict(_split_gains(outcomes, cells, places[::step]))
    while step > 1:
        window, step = step, math.ceil(step / _FINER)
        near = {place for edge in _best(gains) for place in range(edge - window, edge + window + 1, step)}
        gains.update(_split_gains(outcomes, cells, sorted(near.intersection(places))))
    evidence = max(gains.values())
    if evidence < MOVE_EVIDENCE * math.log(count):
        return None
    first, last = _best(gains)
    before, after = _threshold(outcomes[:first]), _threshold(outcomes[last:])
    return Move(outcomes[first].at_s, outcomes[last].at_s, before, after, evidence)


def _best(gains: Mapping[int, float]) -> tuple[int, int]:
    """Give the first and the last of the places with the greatest gain."""
    best = max(gains.values())
    alike = [place for place, gain in gains.items() if gain > best - _ALIKE]
    return min(alike), max(alike)


class _Cells(msgspec.Struct):
    """Neighbouring loads of trials of one length, in the order of lengths and loads, that count as one."""

    of_trial: list[int]
    """The cell of each trial."""
    lengths: list[slice]
    """The cells of each length."""


def _cells(outcomes: Sequence[Outcome]) -> _Cells:
    order = sorted({(outcome.duration_s, outcome.load) for outcome in outcomes})
    pooled = math.ceil(len(order) / _MOST_CELLS)
    cell_of: dict[tuple[float, float], int] = {}
    lengths, cells = [], 0
    for _, group in groupby(order, key=lambda length_and_load: length_and_load[0]):
        first = cells
        for index, key in enumerate(group):
            cell_of[key] = first + index // pooled
            cells = cell_of[key] + 1
        lengths.append(slice(first, cells))
    return _Cells([cell_of[outcome.duration_s, outcome.load] for outcome in outcomes], lengths)


def _split_gains(outcomes: Sequence[Outcome], cells: _Cells, places: Iterable[int]) -> Iterator[tuple[int, float]]:
    """Give for each place, in ascending order, what two fits explain better than one."""
    before = [[0, 0] for _ in range(cells.lengths[-1].stop)]
    after = [[0, 0] for _ in before]
    for cell, outcome in zip(cells.of_trial, outcomes, strict=True):
        after[cell][outcome.lossy] += 1
    whole, passed = _likelihood(after, cells.lengths), 0
    for place in places:
        for index in range(passed, place):
            cell, lossy = cells.of_trial[index], outcomes[index].lossy
            before[cell][lossy] += 1
            after[cell][lossy] -= 1
        passed = place
        yield place, _likelihood(before, cells.lengths) + _likelihood(after, cells.lengths) - whole


def _likelihood(counts: Sequence[list[int]], lengths: Sequence[slice]) -> float:
    """Give the greatest logarithmic likelihood over all chances of loss that do not fall with the load."""
    return math.fsum(_isotonic_likelihood(counts[length]) for length in lengths)


def _isotonic_likelihood(loads: Sequence[list[int]]) -> float:
    """Pool adjacent violators: the best fit of chances that rise with the load is a mean a block."""
    blocks: list[tuple[int, int]] = []
    for clean, lossy in loads:
        if not clean + lossy:
            continue
        while blocks and blocks[-1][1] * (clean + lossy) >= lossy * sum(blocks[-1]):
            clean, lossy = clean + blocks[-1][0], lossy + blocks[-1][1]
            blocks.pop()
        blocks.append((clean, lossy))
    return math.fsum(
        number * math.log(number / (clean + lossy)) for clean, lossy in blocks for number in (clean, lossy) if number
    )


def _threshold(outcomes: Sequence[Outcome]) -> float | None:
    """Give the load that parts lossy trials from clean ones best; none where hardly any was lossy."""
    ordered = sorted(outcomes, key=lambda outcome: outcome.load)
    loads = [outcome.load for outcome in ordered]
    wrong = list(accumulate((1 if outcome.lossy else -1 for outcome in ordered), initial=0))
    cuts = [*sorted({bisect.bisect_left(loads, load) for load in loads}), len(loads)]
    least = min(wrong[cut] for cut in cuts)
    best = [cut for cut in cuts if wrong[cut] == least]
    cut = best[len(best) // 2]
    if cut == len(loads):
        return None
    return loads[0] if cut == 0 else math.sqrt(loads[cut - 1] * loads[cut])


MODE_TRIALS = 5
"""In each mode, at the least."""
MODE_SHARE = 0.2
"""Of the trials of about one load, in each mode, at the least; half as many may lie between the modes."""
MODE_DISTANCE = 0.03
"""Between modes, as a share of the upper one."""
MODE_TIGHTNESS = 6.0
"""Distance between modes / standard deviation within the lower one. Jitter has 1.6, dips that are evenly deep 2.4."""
_NEAR = 0.05
"""Loads so near count as one."""


def find_two_modes(outcomes: Sequence[Outcome]) -> TwoModes | None:
    """Find trials of about one load of which some forwarded nearly all, and the others about the same and much less."""
    loads = Counter(outcome.load for outcome in outcomes).most_common(_MOST_PLACES)
    ordered = sorted(enumerate(outcomes), key=lambda indexed: indexed[1].load)
    in_lower = list(accumulate((_is_in_lower(outcome) for _, outcome in ordered), initial=0))
    found = []
    for load, _ in loads:
        first = bisect.bisect_left(ordered, load - _NEAR * load, key=lambda indexed: indexed[1].load)
        last = bisect.bisect_right(ordered, load + _NEAR * load, key=lambda indexed: indexed[1].load)
        lower = in_lower[last] - in_lower[first]
        least = max(MODE_TRIALS, MODE_SHARE * (last - first))
        if min(lower, last - first - lower) >= least and (modes := _modes(ordered[first:last], least)):
            found.append(modes)
    return max(found, key=lambda modes: (len(modes.in_lower) + len(modes.in_upper), modes.upper), default=None)


def _is_in_lower(outcome: Outcome) -> bool:
    return outcome.forwarded < (1 - MODE_DISTANCE) * outcome.load


def _modes(chosen: Iterable[tuple[int, Outcome]], least: float) -> TwoModes | None:
    chosen = sorted(chosen, key=lambda indexed: indexed[0])
    lower = [(index, outcome) for index, outcome in chosen if _is_in_lower(outcome)]
    upper = [(index, outcome) for index, outcome in chosen if not _is_in_lower(outcome)]
    below = [outcome.forwarded for _, outcome in lower]
    low, high = median(below), median(outcome.forwarded for _, outcome in upper)
    distance = high - low
    between = sum(low + distance / 4 < outcome.forwarded < high - distance / 4 for _, outcome in chosen)
    if distance < max(MODE_DISTANCE * high, MODE_TIGHTNESS * stdev(below)) or between > least / 2:
        return None
    return TwoModes(low, high, [index for index, _ in lower], [index for index, _ in upper])


class TwoGroups(msgspec.Struct, frozen=True):
    """Values that fall into two groups, far apart and each close together."""

    lower: float
    """Its mean."""
    upper: float
    in_lower: list[int]
    """Which of the values, by index."""
    in_upper: list[int]


GROUP_SIZE = 2
"""A value on its own is an outlier."""
_RESOLUTIONS = 3.0
"""Between groups, at the least."""


def _least_distance(count: int) -> float:
    """Give how far apart groups of this many values are at the least, in standard deviations within them.

    Of values drawn from one even distribution the best two groups reach this once in a hundred times with 4, more
    seldom with more, and from a normal one more seldom still; `bench/run steadiness`.
    """
    return 4.0 + 40.0 / (count - 2)


def find_two_groups(values: Sequence[float], resolution: float) -> TwoGroups | None:
    """Find out whether values fall into two groups; ``resolution`` is how far apart two of one may be by themselves.

    >>> found = find_two_groups([6.92, 6.95, 8.01, 6.9, 7.98, 8.0], 0.04)
    >>> round(found.lower, 2), round(found.upper, 2), found.in_lower
    (6.92, 8.0, [0, 1, 3])
    >>> find_two_groups([6.9, 7.1, 7.3, 7.5, 7.6, 7.9], 0.04)
    """
    order = sorted(range(len(values)), key=lambda index: values[index])
    cuts = range(GROUP_SIZE, len(values) - GROUP_SIZE + 1)
    if len(values) <= GROUP_SIZE or not cuts:
        return None
    within, cut = min((_within(values, order[:cut]) + _within(values, order[cut:]), cut) for cut in cuts)
    lower, upper = (math.fsum(values[index] for index in half) / len(half) for half in (order[:cut], order[cut:]))
    deviation = math.sqrt(within / (len(values) - 2))
    if upper - lower < max(_RESOLUTIONS * resolution, _least_distance(len(values)) * deviation):
        return None
    return TwoGroups(lower, upper, sorted(order[:cut]), sorted(order[cut:]))


def _within(values: Sequence[float], half: Sequence[int]) -> float:
    mean = math.fsum(values[index] for index in half) / len(half)
    return math.fsum((values[index] - mean) ** 2 for index in half)
