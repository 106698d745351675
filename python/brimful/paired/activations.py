"""How many trials an activation of a build is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from brimful.statistics.pairs import Estimate, Rule, pairs_needed

LEAST_PAIRS = 8
"""Activations of each build before a verdict: each is made anew, so that fewer are needed than of trials in turns."""
EFFECT_PRIOR = 1.0
FIRST_SHARE = 0.15
"""Of the time of switching that the trials of the first activations take."""
LEAST_TRIALS, MOST_TRIALS = 2, 1000
_STEP = 1.25


class Activated(msgspec.Struct, frozen=True):
    """What is known of activations."""

    switch_s: float
    trial_s: float
    """Time of a trial, waits included."""
    within: float
    """Variance of the logarithm of one trial within its activation."""
    between: float
    """Variance of activations of one build, beyond that."""


def first_trials(switch_s: float, trial_s: float) -> int:
    """Give the trials of an activation while nothing is known of their spread.

    >>> first_trials(30.0, 1.0), first_trials(0.0, 1.0)
    (4, 2)
    """
    return min(MOST_TRIALS, max(LEAST_TRIALS, round(FIRST_SHARE * switch_s / trial_s)))


def best_trials(known: Activated, found: Estimate, rule: Rule) -> int:
    """Give the number of trials of an activation with which the rule ends soonest, if all goes on as it was.

    With m trials a pair of activations takes ``2 (switch + m trial)`` and its difference has the variance
    ``2 (between + within / m)``. Where nothing else limits, the product is least at
    ``m = sqrt(switch / trial * within / between)``; here the pairs that the rule needs at least limit as well.
    """
    best, least_s = LEAST_TRIALS, math.inf
    trials = float(LEAST_TRIALS)
    while trials <= MOST_TRIALS:
        count = round(trials)
        deviation = math.sqrt(2 * (known.between + known.within / count))
        pairs = pairs_needed(msgspec.structs.replace(found, pairs=LEAST_PAIRS, deviation=deviation, tau=1.0), rule)
        needed_s = math.inf if pairs is None else 2 * pairs * (known.switch_s + count * known.trial_s)
        if needed_s < least_s:
            best, least_s = count, needed_s
        trials = max(trials * _STEP, trials + 1)
    return best


def within_variance(turns: Sequence[Sequence[float]]) -> float:
    """Give the variance of trials around the mean of their own activation."""
    freedom = sum(len(turn) - 1 for turn in turns)
    squares = sum((value - math.fsum(turn) / len(turn)) ** 2 for turn in turns for value in turn)
    return squares / freedom if freedom else 0.0


def between_variance(differences: Sequence[float], sizes: Sequence[int], within: float) -> float:
    """Give the variance of activations beyond that of their trials, from differences of pairs of them."""
    count = len(differences)
    mean = math.fsum(differences) / count
    variance = math.fsum((each - mean) ** 2 for each in differences) / max(1, count - 1)
    return max(0.0, variance / 2 - within * sum(1 / size for size in sizes) / count)


def mean_values(values: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Give the mean of each turn."""
    return {device: math.fsum(turn) / len(turn) for device, turn in values.items()}
