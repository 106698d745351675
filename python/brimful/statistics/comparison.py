"""Are two sets of runs the same or different? Pure statistics: arrays in, structs out.

Everything is done on logarithms of conditional throughput, so differences are ratios. A run does not give an exact
value: the true one lies between its conditional throughput and its upper bound. The interval of a comparison adds that
to the spread between runs. One run a side shows no spread: it is judged only by a tolerance that somebody chose.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import msgspec

from brimful.statistics.repeatability import arithmetic_mean
from brimful.statistics.student import CONFIDENCE, student_cdf, student_quantile

POWER = 0.80
EXACT_PERMUTATIONS = 200_000
"""Up to this number of arrangements the permutation test tries all of them; beyond, it is left out."""

REGRESSION, IMPROVEMENT, SAME, UNCLEAR = "regression", "improvement", "same", "unclear"
DEFAULT_TOLERANCE = 0.01
BOUNDS_ONLY = "bounds only"
"""The method where no spread is known: a range, of no stated confidence."""


class Sample(msgspec.Struct, frozen=True):
    """Values of the runs of one side: each lies between ``least`` (conditional throughput) and ``most`` (upper bound).

    ``most`` is infinite where no upper bound is known, ``least`` is 0 where no lower bound is.
    """

    least: tuple[float, ...]
    most: tuple[float, ...]
    unit: float = 0.0
    """What a value changes by when a trial counts one more: nothing is known better than to that."""

    @property
    def size(self) -> int:
        """How many runs."""
        return len(self.least)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """How the values of one side compare with those of a baseline."""

    runs: int
    baseline_runs: int
    mean: float | None
    """Arithmetic mean of the conditional throughputs; null where a run has none."""
    baseline_mean: float | None
    ratio: float | None
    """Of the geometric means, new to baseline; null where one is missing or only a least value."""
    ratio_least: float
    """Lower end of the interval of the ratio."""
    ratio_most: float | None
    """Upper end; null: no upper end is known."""
    spread: float | None
    """Pooled standard deviation of one run, relative; null with one run a side."""
    resolution: float | None
    """How far apart the bounds of a run are, relative, mean of both sides; null where some are missing."""
    method: str
    welch_p: float | None
    permutation_p: float | None
    smallest_permutation_p: float | None
    """The least p value that a permutation test of so few runs could give."""
    detectable: float | None
    """The smallest relative loss that these runs show with a power of 80 %; null where the spread is not known."""
    verdict: str

    @property
    def by_bounds(self) -> bool:
        """Whether only the bounds of the runs speak, so that the range of the ratio has no confidence."""
        return self.method == BOUNDS_ONLY


def compare(new: Sample, baseline: Sample, *, tolerance: float | None = None) -> Comparison:
    """Compare runs with a baseline.

    It is a regression when the ratio is below ``1 - tolerance`` and its whole interval below 1; where only the bounds
    speak, when the whole range is below ``1 - tolerance``, and with one run a side only if a tolerance above 0 was
    given. Improvements likewise upwards. It is the same when the whole interval is within the tolerance. Otherwise the
    comparison is inconclusive.

    Parameters
    ----------
    new, baseline
        Values of the runs.
    tolerance
        Relative difference that does not matter; none: 1 %.

    Raises
    ------
    ValueError
        When a side has no runs.

    Examples
    --------
    >>> new, baseline = Sample((9.7e6,), (9.75e6,)), Sample((10.0e6,), (10.05e6,))
    >>> compare(new, baseline).verdict, compare(new, baseline, tolerance=0.02).verdict
    ('unclear', 'regression')
    """
    if not new.size or not baseline.size:
        message = "both sides need at least one run"
        raise ValueError(message)
    low, high = _mean_logs(new)
    base_low, base_high = _mean_logs(baseline)
    noise = _Noise.of(new, baseline)
    margin = noise.margin(_confidence_t)
    ratio = _ratio(low, base_low, high, base_high)
    (lowest, highest), (base_lowest, base_highest) = _mean_ends(new), _mean_ends(baseline)
    least, most = _exp(lowest - base_highest - margin), _exp(highest - base_lowest + margin)
    resolution = _resolution(new, baseline)
    return Comparison(
        runs=new.size,
        baseline_runs=baseline.size,
        mean=_stated(new),
        baseline_mean=_stated(baseline),
        ratio=ratio,
        ratio_least=least,
        ratio_most=_finite(most, zero=True),
        spread=noise.spread,
        resolution=resolution,
        method=noise.method,
        welch_p=noise.p_value(low - base_low) if ratio is not None else None,
        permutation_p=permutation_p(new.least, baseline.least) if ratio is not None else None,
        smallest_permutation_p=smallest_permutation_p(new.size, baseline.size),
        detectable=_detectable(noise, resolution),
        verdict=_verdict(None if noise.spread is None else ratio, least, most, _tolerances(new, baseline, tolerance)),
    )


def interval(sample: Sample) -> tuple[float, float] | None:
    """Give the 95 % interval of the throughput that repeated runs measured.

    It is the interval of Student's t on logarithms, widened by the bounds: from that of the mean conditional throughput
    down to that of the mean upper bound up, and by a unit of a trial. So runs that all end at the same bounds leave the
    distance of these bounds open, and not nothing. The interval of a comparison is made of the same parts.

    Parameters
    ----------
    sample
        Of regular runs.

    Returns
    -------
    tuple or None
        Both ends, in the unit of the sample; none with one run, which shows no spread, or where a bound is missing.

    Examples
    --------
    >>> [round(end, 1) for end in interval(Sample((997.2, 997.2, 997.2), (1002.2, 1002.2, 1002.2)))]
    [997.2, 1002.2]
    """
    lowest, highest = _mean_ends(sample)
    if sample.size < 2 or not math.isfinite(lowest) or not math.isfinite(highest):
        return None
    error = math.sqrt(_squares([math.log(value) for value in sample.least]) / (sample.size - 1) / sample.size)
    margin = _confidence_t(sample.size - 1) * error if error else 0.0
    return _exp(lowest - margin), _exp(highest + margin)


def permutation_p(new: Sequence[float], baseline: Sequence[float]) -> float | None:
    """Give the two-sided p value of an exact permutation test on the difference of mean logarithms.

    Null when there are too many arrangements to try them all, or a value is not above 0.

    >>> permutation_p([1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    0.1
    """
    values = [*new, *baseline]
    arrangements = math.comb(len(values), len(new))
    if arrangements > EXACT_PERMUTATIONS or min(values) <= 0 or len(values) < 3:
        return None
    logs = [math.log(value) for value in values]
    centre = math.fsum(logs) * len(new) / len(logs)
    seen = abs(math.fsum(logs[: len(new)]) - centre)
    slack = 1e-12 * (1 + seen)
    as_far = sum(abs(math.fsum(chosen) - centre) >= seen - slack for chosen in itertools.combinations(logs, len(new)))
    return as_far / arrangements


def smallest_permutation_p(new: int, baseline: int) -> float:
    """Give the least two-sided p value that a permutation test of this number of runs can give.

    >>> smallest_permutation_p(3, 3), smallest_permutation_p(5, 5) < 0.01
    (0.1, True)
    """
    both_ways = 2 if new == baseline else 1
    return both_ways / math.comb(new + baseline, new)


def would_show(comparison: Comparison, loss: float) -> bool:
    """Say whether a relative loss of this size would have been seen.

    Either its power is 80 %, or the interval of the ratio excludes it. Bounds alone have no confidence: one run a side
    shows no loss of any size.
    """
    if comparison.by_bounds:
        return False
    has_power = comparison.detectable is not None and comparison.detectable <= loss
    return has_power or comparison.ratio_least >= 1 - loss


class _Noise(msgspec.Struct, frozen=True):
    """What is known of the spread between runs, on logarithms."""

    method: str
    error: float
    """Standard error of the difference of means."""
    freedom: float
    spread: float | None

    @classmethod
    def of(cls, new: Sample, baseline: Sample) -> _Noise:
        sides = [[math.log(value) for value in side.least] for side in (new, baseline) if min(side.least) > 0]
        if len(sides) < 2 or max(new.size, baseline.size) < 2:
            return cls(BOUNDS_ONLY, 0.0, math.inf, None)
        (first, second), (n, m) = sides, (new.size, baseline.size)
        squares, other_squares = _squares(first), _squares(second)
        pooled = math.sqrt((squares + other_squares) / (n + m - 2))
        if min(n, m) < 2:
            return cls("Student (spread of the repeated side)", pooled * math.sqrt(1 / n + 1 / m), n + m - 2, pooled)
        parts = squares / (n - 1) / n, other_squares / (m - 1) / m
        total = sum(parts)
        if total == 0:
            return cls("Welch", 0.0, n + m - 2, 0.0)
        freedom = total**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
        return cls("Welch", math.sqrt(total), freedom, pooled)

    def margin(self, factor: Callable[[float], float]) -> float:
        return factor(self.freedom) * self.error if self.error else 0.0

    def p_value(self, difference: float) -> float | None:
        if self.spread is None or not self.error:
            return None
        return 2 * student_cdf(-abs(difference) / self.error, self.freedom)


def _confidence_t(freedom: float) -> float:
    return student_quantile(0.5 + CONFIDENCE / 2, freedom)


def _detectable(noise: _Noise, resolution: float | None) -> float | None:
    if noise.spread is None or resolution is None:
        return None
    distance = noise.margin(lambda freedom: _confidence_t(freedom) + student_quantile(POWER, freedom))
    return -math.expm1(-(distance + resolution))


def _tolerances(new: Sample, baseline: Sample, given: float | None) -> tuple[float, float]:
    """Give how far a difference must go to count as one, and how far it may go to count as none."""
    tolerance = DEFAULT_TOLERANCE if given is None else given
    never = new.size == baseline.size == 1 and not given
    return math.inf if never else tolerance, tolerance


def _verdict(ratio: float | None, least: float, most: float, tolerances: tuple[float, float]) -> str:
    different, same = tolerances
    if most < 1 - different or (ratio is not None and ratio < 1 - different and most < 1):
        return REGRESSION
    if least > 1 + different or (ratio is not None and ratio > 1 + different and least > 1):
        return IMPROVEMENT
    if least >= 1 - same and most <= 1 + same:
        return SAME
    return UNCLEAR


def _stated(sample: Sample) -> float | None:
    return arithmetic_mean(sample.least) if min(sample.least) > 0 else None


def _mean_logs(sample: Sample) -> tuple[float, float]:
    return _mean_log(sample.least), _mean_log(sample.most)


def _mean_ends(sample: Sample) -> tuple[float, float]:
    """Give how low and how high the mean may be by the bounds and the unit."""
    return _mean_log([value - sample.unit for value in sample.least]), _mean_log(
        [at + sample.unit for at in sample.most]
    )


def _mean_log(values: Sequence[float]) -> float:
    if min(values) <= 0:
        return -math.inf
    return math.inf if math.inf in values else math.fsum(math.log(value) for value in values) / len(values)


def _ratio(low: float, base_low: float, high: float, base_high: float) -> float | None:
    """Give the ratio of the means where both are values, not only limits."""
    known = all(math.isfinite(value) for value in (low, base_low, high, base_high))
    return math.exp(low - base_low) if known else None


def _resolution(new: Sample, baseline: Sample) -> float | None:
    sides = [high - low for low, high in (_mean_logs(new), _mean_logs(baseline))]
    mean = sum(sides) / 2
    return mean if math.isfinite(mean) else None


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _exp(value: float) -> float:
    return math.inf if value > 700 or math.isnan(value) else math.exp(value)


def _finite(value: float, *, zero: bool = False) -> float | None:
    return value if math.isfinite(value) and (value > 0 or zero) else None
