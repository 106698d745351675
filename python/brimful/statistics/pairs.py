"""Differences of pairs: how well their mean is known at any time, when enough is known, and what it decides.

The interval of Student's t distribution is right for a number of pairs that was fixed before. One that holds at all
numbers at once, however the run is stopped, comes from a mixture over the size of the effect (Lai 1976; Wang and
Ramdas, arXiv 2310.03722). Stopping on the width of Student's interval alone leaves it nearly nominal (Chow and
Robbins 1965). The rule uses both.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from brimful.statistics.student import student_quantile

LEAST_UNITS = 4
"""Restarts from which on their spread counts too: with fewer, Student's factor would leave nothing known."""
_MOST_PAIRS = 10_000_000
REGRESSION, NO_REGRESSION, AT_THRESHOLD, UNDECIDED = "regression", "no-regression", "at-threshold", "undecided"


class Rule(msgspec.Struct, frozen=True):
    """When to stop, and what to conclude. Differences are of logarithms: B / A = exp(mean)."""

    tolerance: float
    """A loss of more than this share is a regression."""
    precision: float
    """Half width of the interval, in the logarithm, that always ends the run."""
    early_alpha: float = 0.01
    final_alpha: float = 0.04
    any_alpha: float = 0.05
    least_pairs: int = 40
    effect_prior: float = 10.0
    """Pairs after which the mixture is tightest: larger values suit longer runs."""
    are_fresh: bool = False
    """Whether the device is made anew for each pair, so that pairs do not depend on each other."""

    @property
    def threshold(self) -> float:
        """The mean difference at which B is slower by exactly the tolerance."""
        return math.log1p(-self.tolerance)

    def shared_by(self, devices: int) -> Rule:
        """Give the rule for each of some devices that are held against the first: errors are divided among them."""
        share = 1 / max(1, devices)
        return msgspec.structs.replace(
            self,
            early_alpha=self.early_alpha * share,
            final_alpha=self.final_alpha * share,
            any_alpha=self.any_alpha * share,
        )


class Estimate(msgspec.Struct, frozen=True):
    """What some pairs say of the mean difference; half widths are infinite where nothing is known."""

    pairs: int
    mean: float
    deviation: float
    """Standard deviation of one difference."""
    tau: float
    """Integrated autocorrelation time, in pairs: 1 for independent ones."""
    early: float
    """Half width that holds at all numbers of pairs at once, at the small error for verdicts before the end."""
    final: float
    """Half width of Student's interval, for a run that ends by its width."""
    anytime: float
    """As ``early``, at the error of a run that was ended from outside."""
    plain_final: float
    """``final`` without what other runs and restarts add: the width that ends the run."""


class Decision(msgspec.Struct, frozen=True):
    """A verdict with the interval that it was made by."""

    verdict: str
    """``regression``, ``no-regression``, ``at-threshold`` or ``undecided``."""
    half_width: float
    by: str
    """``early``, ``precision`` or ``end``."""


def mixture_half_width(pairs: int, deviation: float, alpha: float, effect_prior: float = 10.0) -> float:
    """Give the half width of an interval for the mean that holds at all numbers of pairs at once.

    >>> round(mixture_half_width(100, 1.0, 0.05), 4), mixture_half_width(5, 1.0, 0.05)
    (0.3101, inf)
    """
    if pairs < 2:
        return math.inf
    share = effect_prior / (effect_prior + pairs)
    log_ratio = -(2 * math.log(alpha) + math.log(share)) / pairs
    if log_ratio + math.log(share) >= 0:
        return math.inf
    ratio = math.exp(log_ratio)
    return deviation * math.sqrt((pairs - 1) / pairs * (ratio - 1) / (1 - ratio * share))


def student_half_width(pairs: int, deviation: float, tau: float, alpha: float) -> float:
    """Give the half width of Student's interval for as many independent differences as dependent ones are worth."""
    freedom = pairs / tau - 1
    if freedom <= 0:
        return math.inf
    return _student_factor(1 - alpha / 2, freedom) * deviation * math.sqrt(tau / pairs)


def autocorrelation_time(values: Sequence[float]) -> float:
    """Give how many differences are worth one that is independent, at least 1: Geyer's initial positive sequence.

    >>> autocorrelation_time([1.0, -1.0] * 20)
    1.0
    """
    centred = np.asarray(values, dtype=float)
    count = len(centred)
    if count < 4:
        return 1.0
    centred = centred - centred.mean()
    spectrum = np.fft.rfft(centred, 1 << (2 * count - 1).bit_length())
    covariances = np.fft.irfft(spectrum.real**2 + spectrum.imag**2)[:count]
    if covariances[0] <= 0:
        return 1.0
    sums = covariances[: count // 2 * 2].reshape(-1, 2).sum(axis=1) / covariances[0]
    positive = len(sums) if (sums > 0).all() else int(np.argmax(sums <= 0))
    return max(1.0, 2 * float(sums[:positive].sum()) - 1)


def estimate(differences: Sequence[float], rule: Rule, *, units: Sequence[int] = (), floor: float = 0.0) -> Estimate:
    """Say what is known of the mean of some differences.

    Parameters
    ----------
    differences
        Of the logarithms, in the order of the pairs.
    rule
        Its errors.
    units
        For each difference the number of the restart that it was measured in: where restarts differ by more than the
        pairs within them explain, the interval is that of their means. Empty: there are none.
    floor
        Half width that no number of pairs of this run can remove.
    """
    count = len(differences)
    if count < 2:
        mean = differences[0] if differences else 0.0
        return Estimate(count, mean, 0.0, 1.0, math.inf, math.inf, math.inf, math.inf)
    mean, deviation = float(np.mean(differences)), float(np.std(differences, ddof=1))
    tau = 1.0 if rule.are_fresh else autocorrelation_time(differences)
    plain = student_half_width(count, deviation, tau, rule.final_alpha)
    wider = _widening(differences, units, rule, plain)
    root = math.sqrt(tau) * wider

    def with_floor(half_width: float) -> float:
        return math.hypot(half_width, floor)

    return Estimate(
        pairs=count,
        mean=mean,
        deviation=deviation,
        tau=tau,
        early=with_floor(root * mixture_half_width(count, deviation, rule.early_alpha, rule.effect_prior)),
        final=with_floor(wider * plain),
        anytime=with_floor(root * mixture_half_width(count, deviation, rule.any_alpha, rule.effect_prior)),
        plain_final=plain,
    )


def decide(found: Estimate, rule: Rule, *, is_ended: bool = False) -> Decision | None:
    """Apply the stopping rule; None: go on.

    Parameters
    ----------
    found, rule
        What is known, and the rule.
    is_ended
        Whether the run ends here whatever is known: by its budget, or a person.
    """
    if found.pairs >= rule.least_pairs:
        verdict = _beyond(found.mean, found.early, rule)
        if verdict is not None:
            return Decision(verdict, found.early, "early")
        if found.plain_final <= rule.precision:
            return Decision(_beyond(found.mean, found.final, rule) or AT_THRESHOLD, found.final, "precision")
    if is_ended:
        return Decision(_beyond(found.mean, found.anytime, rule) or UNDECIDED, found.anytime, "end")
    return None


def pairs_needed(found: Estimate, rule: Rule) -> int | None:
    """Give how many pairs the rule will need in all, if the later ones are like those so far; None: beyond any run."""
    if found.pairs < 2:
        return None
    distance = abs(found.mean - rule.threshold)

    def is_enough(pairs: int) -> bool:
        early = math.sqrt(found.tau) * mixture_half_width(pairs, found.deviation, rule.early_alpha, rule.effect_prior)
        if early < distance:
            return True
        return student_half_width(pairs, found.deviation, found.tau, rule.final_alpha) <= rule.precision

    high = max(rule.least_pairs, found.pairs)
    while not is_enough(high):
        high *= 2
        if high > _MOST_PAIRS:
            return None
    low = max(rule.least_pairs, found.pairs)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return high


def floor_of_repeats(ratios: Sequence[float], errors: Sequence[float]) -> float:
    """Give the half width that differences between runs add, from ratios of a device to itself in earlier runs.

    Parameters
    ----------
    ratios
        Logarithms of the ratios: all would be 0 if runs did not differ.
    errors
        The standard error of each within its run, which is not counted twice.
    """
    if len(ratios) < 3:
        return 0.0
    excess = sum(ratio**2 - error**2 for ratio, error in zip(ratios, errors, strict=True)) / len(ratios)
    return 2 * math.sqrt(max(0.0, excess))


def _beyond(mean: float, half_width: float, rule: Rule) -> str | None:
    if mean + half_width < rule.threshold:
        return REGRESSION
    return NO_REGRESSION if mean - half_width > rule.threshold else None


def _widening(differences: Sequence[float], units: Sequence[int], rule: Rule, plain: float) -> float:
    """Give by how much an interval is to be wider as restarts differ, 1 or more."""
    groups: dict[int, list[float]] = {}
    for unit, difference in zip(units, differences, strict=False):
        groups.setdefault(unit, []).append(difference)
    # A restart that has just begun says too little to stand beside whole ones.
    longest = max(map(len, groups.values()), default=0)
    means = [float(np.mean(group)) for group in groups.values() if 2 * len(group) >= longest]
    if len(means) < LEAST_UNITS or plain <= 0:
        return 1.0
    return max(1.0, student_half_width(len(means), float(np.std(means, ddof=1)), 1.0, rule.final_alpha) / plain)


def _student_factor(probability: float, freedom: float) -> float:
    """Give a quantile of Student's distribution, for the whole number below where there are 20 degrees of freedom.

    One below is the wider side, by less than a tenth of a per cent from 40 on.
    """
    return _remembered_quantile(probability, freedom if freedom < 20 else min(2000, math.floor(freedom)))


_remembered_quantile = functools.lru_cache(maxsize=10_000)(student_quantile)
