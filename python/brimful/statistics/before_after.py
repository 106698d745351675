"""Did a change do anything to what users see? Pure statistics: arrays in, dataclasses out.

Rates differ by factors, so everything is done on log10 of them and stated as ratios, after to before.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from brimful.statistics import power, ranks
from brimful.statistics.density import logarithms
from brimful.statistics.ranks import Interval, Values

SIGNIFICANCE = 0.01
"""A test rejects below this p value."""
EQUIVALENCE = 0.05
"""Two samples are equivalent below this p value of the two one-sided tests."""
MARGIN = 0.05
"""Relative change that does not matter: a ratio from 1 / 1.05 to 1.05."""
POWERS = (0.8, 0.95)
LEAST_VALUES = 5
"""A side. With fewer, not even samples that do not overlap have p < 0.01."""
LEAST_PAIRS = 8
"""With fewer, not even differences of the same sign have p < 0.01."""
LEAST_CLIENTS = 5
RESAMPLES = 4000
LARGEST_LOG = 300.0
LARGEST_COUNT = 2**53


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a comparison found. All results are null where ``reason`` says why there are none."""

    p_value: float | None = None
    """Two-sided; not corrected for other tests."""
    shift_ratio: float | None = None
    shift_interval: Interval | None = None
    """95 %."""
    margin: float = MARGIN
    equivalence_p: float | None = None
    """The greater one of two one-sided tests against the margins."""
    equivalent: bool = False
    detectable_80: float | None = None
    """Least relative change, up or down, that the test finds with a power of 80 %; null: none."""
    detectable_95: float | None = None
    significance: float = SIGNIFICANCE
    """A test rejects below this p value, corrected."""
    detectable_level: float = SIGNIFICANCE
    """The least of the p values corrected together has to be below this, as it is, to be below the significance."""
    reason: str | None = None
    """Why there are no results."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Judgement):
    """Two samples of values, before and after: Kolmogorov-Smirnov, and Mann-Whitney against the margins.

    ``shift_ratio`` is that of Hodges and Lehmann: the median of the ratios of all pairs.
    """

    n_before: int
    n_after: int
    excluded_before: int
    """Not above 0 or not finite."""
    excluded_after: int
    median_before: float | None = None
    median_after: float | None = None
    ks_statistic: float | None = None
    ratio_of_medians: float | None = None
    ratio_interval: Interval | None = None
    """95 %, percentiles of the bootstrap."""


@dataclass(frozen=True, kw_only=True)
class PairedComparison(Judgement):
    """Ratios of the same clients, after to before: signed ranks, zeros after Pratt.

    ``shift_ratio`` is the pseudomedian of the ratios.
    """

    pairs: int
    excluded: int
    """A value is not finite, or not above 0, or not there."""
    zeros: int = 0
    """Clients whose value did not change at all."""
    median_ratio: float | None = None
    median_interval: Interval | None = None
    """95 %, between order statistics."""


@dataclass(frozen=True, kw_only=True)
class DoseResponse:
    """How much faster or slower tests with discards are than tests of the same client without."""

    clients: int
    excluded: int
    """Without tests of both kinds."""
    tests_with: int
    tests_without: int
    least_dose: float | None = None
    """Discards per test, from here ..."""
    most_dose: float | None = None
    """... to below here; null: all."""
    ratio: float | None = None
    """With to without."""
    interval: Interval | None = None
    """95 %."""
    p_value: float | None = None
    effective_clients: float | None = None
    """This number of clients of equal weight would say as much."""
    reason: str | None = None


def compare_samples(
    before: Values,
    after: Values,
    *,
    seed: int,
    margin: float = MARGIN,
    significance: float = SIGNIFICANCE,
    family_size: int = 1,
) -> Comparison:
    """Compare two samples of values above 0.

    Parameters
    ----------
    before, after
        One value a client. Zeros, negative and not finite ones are excluded and counted.
    seed
        Of the bootstrap and the simulation of the power.
    margin
        Relative change that does not matter.
    significance
        A test rejects below this p value.
    family_size
        How many tests are corrected together: the detectable change holds for the least of their p values after Holm.

    Examples
    --------
    >>> values = np.linspace(1e6, 2e6, 400)
    >>> found = compare_samples(values, values * 0.5, seed=1)
    >>> found.p_value < 1e-9, round(found.shift_ratio, 3), found.equivalent
    (True, 0.5, False)
    """
    first, second = logarithms(before), logarithms(after)
    sizes = Comparison(
        n_before=first.size,
        n_after=second.size,
        excluded_before=np.size(before) - first.size,
        excluded_after=np.size(after) - second.size,
        margin=margin,
        significance=significance,
        detectable_level=significance / max(1, family_size),
    )
    if min(first.size, second.size) < LEAST_VALUES:
        return replace(sizes, reason=f"fewer than {LEAST_VALUES} values in one of the periods")
    with warnings.catch_warnings():
        # An exact p value that underflows is recomputed from the asymptotic distribution, with a warning.
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ks_2samp(first, second, method=power.ks_method(first.size + second.size))
    generator = np.random.default_rng(seed)
    ratios = ranks.resampled_medians(second, RESAMPLES, generator) - ranks.resampled_medians(
        first, RESAMPLES, generator
    )
    shift, interval = ranks.shift(first, second)
    equivalence_p = _equivalence_p(first, second, math.log10(1 + margin))
    detectable = power.detectable_shift(first, second, level=sizes.detectable_level, powers=POWERS, seed=seed)
    medians = float(np.median(first)), float(np.median(second))
    return replace(
        sizes,
        median_before=10 ** medians[0],
        median_after=10 ** medians[1],
        ks_statistic=float(test.statistic),
        p_value=float(test.pvalue),
        ratio_of_medians=_ratio(medians[1] - medians[0]),
        ratio_interval=_ratios(tuple(np.quantile(ratios, [0.025, 0.975]).tolist())),
        shift_ratio=_ratio(shift),
        shift_interval=_ratios(interval),
        equivalence_p=equivalence_p,
        equivalent=equivalence_p < EQUIVALENCE,
        detectable_80=_change(detectable[0]),
        detectable_95=_change(detectable[1]),
    )


def compare_paired(
    before: Values,
    after: Values,
    *,
    seed: int,
    margin: float = MARGIN,
    significance: float = SIGNIFICANCE,
    family_size: int = 1,
) -> PairedComparison:
    """Compare the values of the same clients (same position in both arrays) before and after.

    The parameters are those of `compare_samples`. Clients whose value did not change are ranked, then left out (Pratt):
    they speak against a change.

    >>> before = np.linspace(1e6, 2e6, 100)
    >>> found = compare_paired(before, before * np.linspace(1.0, 1.02, 100), seed=1)
    >>> round(found.shift_ratio, 3), found.p_value < 1e-9, found.equivalent
    (1.01, True, True)
    """
    first, second = (np.asarray(values, dtype=np.float64).ravel() for values in (before, after))
    usable = np.isfinite(first) & np.isfinite(second) & (first > 0) & (second > 0)
    differences = np.log10(second[usable]) - np.log10(first[usable])
    sizes = PairedComparison(
        pairs=differences.size,
        excluded=int(first.size - differences.size),
        zeros=int(np.sum(differences == 0)),
        margin=margin,
        significance=significance,
        detectable_level=significance / max(1, family_size),
    )
    if differences.size < LEAST_PAIRS:
        return replace(sizes, reason=f"fewer than {LEAST_PAIRS} clients in both periods")
    shift, interval = ranks.pseudomedian(differences)
    reach = math.log10(1 + margin)
    equivalence_p = max(
        ranks.signed_rank_p(differences + reach, "greater"), ranks.signed_rank_p(differences - reach, "less")
    )
    detectable = power.detectable_paired_shift(differences, level=sizes.detectable_level, powers=POWERS, seed=seed)
    return replace(
        sizes,
        p_value=ranks.signed_rank_p(differences, "two-sided"),
        median_ratio=_ratio(float(np.median(differences))),
        median_interval=_ratios(ranks.median_interval(differences)),
        shift_ratio=_ratio(shift),
        shift_interval=_ratios(interval),
        equivalence_p=equivalence_p,
        equivalent=equivalence_p < EQUIVALENCE,
        detectable_80=_change(detectable[0]),
        detectable_95=_change(detectable[1]),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p values of a family of tests (Holm 1979): the chance of any false rejection stays below the level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    scaled = np.minimum(1.0, values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(scaled)
    return [float(value) for value in adjusted]


def dose_response(
    with_discards: Values,
    without_discards: Values,
    tests_with: Values,
    tests_without: Values,
) -> DoseResponse:
    """Estimate the change of rates in tests that discards overlapped, within clients.

    Each client counts once, with the weight that its numbers of tests give to a difference of two means. The interval
    takes the scatter from client to client as it is (a robust standard error), whatever its cause.

    Parameters
    ----------
    with_discards, without_discards
        Mean log10 of the rates of each client, in its tests with discards and without.
    tests_with, tests_without
        How many tests each has of both.

    Examples
    --------
    >>> base = np.linspace(6, 8, 50)
    >>> found = dose_response(base - 0.1, base, np.full(50, 4), np.full(50, 9))
    >>> round(found.ratio, 3)
    0.794
    """
    first, second, n_with, n_without = (
        np.asarray(column, dtype=np.float64).ravel()
        for column in (with_discards, without_discards, tests_with, tests_without)
    )
    usable = (np.abs(first) <= LARGEST_LOG) & (np.abs(second) <= LARGEST_LOG)
    usable &= (n_with >= 1) & (n_without >= 1) & (n_with <= LARGEST_COUNT) & (n_without <= LARGEST_COUNT)
    differences = first[usable] - second[usable]
    n_with, n_without = n_with[usable], n_without[usable]
    counts = DoseResponse(
        clients=differences.size,
        excluded=first.size - differences.size,
        tests_with=int(n_with.sum()),
        tests_without=int(n_without.sum()),
    )
    if differences.size < LEAST_CLIENTS:
        return replace(counts, reason=f"fewer than {LEAST_CLIENTS} clients have tests of both kinds")
    weights = n_with * n_without / (n_with + n_without)
    weights = weights / weights.sum()
    mean = float(weights @ differences)
    effective = 1 / float(weights @ weights)
    # The residual of a client of great weight is small because of its weight: scaled as in HC3.
    error = math.sqrt(float(np.sum((weights * (differences - mean) / np.maximum(1 - weights, 1e-9)) ** 2)))
    freedom = max(1.0, effective - 1)
    reach = float(stats.t.ppf(0.975, freedom)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, freedom)) if error > 0 else float(mean == 0)
    return replace(
        counts,
        ratio=_ratio(mean),
        interval=_ratios((mean - reach, mean + reach)),
        p_value=p_value,
        effective_clients=effective,
    )


def dose_classes(
    with_discards: Values,
    without_discards: Values,
    tests_with: Values,
    tests_without: Values,
    doses: Values,
    *,
    edges: Sequence[float] = (0, 10, 100, 1000, math.inf),
) -> list[DoseResponse]:
    """Estimate as `dose_response` does, apart for clients by their discards per test that has any (``doses``)."""
    columns = [np.asarray(column) for column in (with_discards, without_discards, tests_with, tests_without)]
    amounts = np.asarray(doses, dtype=np.float64)
    found = []
    for least, most in itertools.pairwise(edges):
        chosen = (amounts >= least) & (amounts < most)
        response = dose_response(*(column[chosen] for column in columns))
        found.append(replace(response, least_dose=float(least), most_dose=float(most) if math.isfinite(most) else None))
    return found


def _equivalence_p(before: Values, after: Values, reach: float) -> float:
    def p_value(shifted: Values, alternative: str) -> float:
        both = np.concatenate([before, shifted])
        exact = max(before.size, shifted.size) <= ranks.EXACT_RANKS and np.unique(both).size == both.size
        found = stats.mannwhitneyu(
            shifted, before, alternative=alternative, method="exact" if exact else "asymptotic"
        ).pvalue
        # Not a number where all values are equal after the shift: exactly at the margin.
        return float(found) if math.isfinite(found) else 1.0

    return max(p_value(after + reach, "greater"), p_value(after - reach, "less"))


def _ratio(decades: float) -> float:
    """Give the ratio; one that no number can hold is the largest there is."""
    return float(10 ** min(max(decades, -LARGEST_LOG), LARGEST_LOG))


def _ratios(interval: tuple[float, ...]) -> Interval:
    return _ratio(interval[0]), _ratio(interval[1])


def _change(shift: float | None) -> float | None:
    """Give the relative change; of the two that belong to a shift, the one upwards is larger."""
    return None if shift is None else float(10**shift - 1)
