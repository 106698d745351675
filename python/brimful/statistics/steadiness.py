"""Whether what was measured stayed the same meanwhile. Pure statistics: numbers in, structs out.

The null hypothesis of `find_move` says nothing of the shape of a system: of trials of one length the chance to be lossy
never falls with the load, and does not change with time. So soft knees, jitter and noise are steady.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median, stdev

import msgspec


class Outcome(msgspec.Struct, frozen=True):
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
_ALIKE = 1e-6
"""Places of equal evidence: no trial between them tells which it is."""
_LEAST_SIDE = 4
"""Trials before and after."""


def find_move(outcomes: Sequence[Outcome]) -> Move | None:
    """Find the time at which the chance of trials to be lossy changed most, if it did."""
    count = len(outcomes)
    places = range(_LEAST_SIDE, count - _LEAST_SIDE + 1)
    if not places:
        return None
    whole = _likelihood(outcomes)
    step = math.ceil(len(places) / _MOST_PLACES)
    gains = [(_split_gain(outcomes, place, whole), place) for place in places[::step]]
    if step > 1:
        near = max(gains)[1]
        gains += [(_split_gain(outcomes, place, whole), place) for place in places if abs(place - near) < step]
    evidence = max(gains)[0]
    if evidence < MOVE_EVIDENCE * math.log(count):
        return None
    alike = [place for gain, place in gains if gain > evidence - _ALIKE]
    first, last = min(alike), max(alike)
    before, after = _threshold(outcomes[:first]), _threshold(outcomes[last:])
    return Move(outcomes[first].at_s, outcomes[last].at_s, before, after, evidence)


def _split_gain(outcomes: Sequence[Outcome], place: int, whole: float) -> float:
    return _likelihood(outcomes[:place]) + _likelihood(outcomes[place:]) - whole


def _likelihood(outcomes: Iterable[Outcome]) -> float:
    """Give the greatest logarithmic likelihood over all chances of loss that do not fall with the load."""
    lengths: dict[float, dict[float, list[int]]] = {}
    for outcome in outcomes:
        counts = lengths.setdefault(outcome.duration_s, {}).setdefault(outcome.load, [0, 0])
        counts[outcome.lossy] += 1
    return math.fsum(_isotonic_likelihood(loads) for loads in lengths.values())


def _isotonic_likelihood(loads: dict[float, list[int]]) -> float:
    """Pool adjacent violators: the best fit of chances that rise with the load is a mean a block."""
    blocks: list[tuple[int, int]] = []
    for load in sorted(loads):
        clean, lossy = loads[load]
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
    cuts = [*sorted({bisect.bisect_left(loads, load) for load in loads}), len(loads)]
    wrong = {
        cut: sum(outcome.lossy for outcome in ordered[:cut]) + sum(not outcome.lossy for outcome in ordered[cut:])
        for cut in cuts
    }
    best = [cut for cut in cuts if wrong[cut] == min(wrong.values())]
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
    found = [modes for load, _ in loads if (modes := _modes_near(outcomes, load))]
    return max(found, key=lambda modes: (len(modes.in_lower) + len(modes.in_upper), modes.upper), default=None)


def _modes_near(outcomes: Sequence[Outcome], load: float) -> TwoModes | None:
    chosen = [(index, outcome) for index, outcome in enumerate(outcomes) if abs(outcome.load - load) <= _NEAR * load]
    lower = [(index, outcome) for index, outcome in chosen if outcome.forwarded < (1 - MODE_DISTANCE) * outcome.load]
    upper = [(index, outcome) for index, outcome in chosen if outcome.forwarded >= (1 - MODE_DISTANCE) * outcome.load]
    least = max(MODE_TRIALS, MODE_SHARE * len(chosen))
    if min(len(lower), len(upper)) < least:
        return None
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
