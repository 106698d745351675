"""How much results of the same search differ from repeat to repeat. Pure statistics: numbers in, structs out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from brimful.statistics.student import CONFIDENCE, student_quantile


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """What repeats of one search say together."""

    runs: int
    mean: float
    deviation: float | None
    """Standard deviation of one run (of the sample, n - 1); null with one run."""
    variation: float | None
    """Coefficient of variation: deviation / mean; null with one run."""
    interval: tuple[float, float] | None
    """Of the mean, 95 % by Student's t; null with one run. That of throughputs is `comparison.interval`."""
    least: float
    most: float

    @property
    def margin(self) -> float | None:
        """Half the width of the interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2


def arithmetic_mean(values: Sequence[float]) -> float:
    """Give the mean that is stated of several runs.

    >>> arithmetic_mean([9.0, 10.0, 14.0])
    11.0
    """
    return math.fsum(values) / len(values)


def summarise(values: Sequence[float]) -> Spread | None:
    """Summarise the results of repeats; none where there are none.

    >>> spread = summarise([9.0, 10.0, 11.0])
    >>> spread.mean, spread.deviation, [round(end, 3) for end in spread.interval]
    (10.0, 1.0, [7.516, 12.484])
    """
    if not values:
        return None
    runs = len(values)
    mean = arithmetic_mean(values)
    deviation = interval = None
    if runs > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (runs - 1))
        margin = student_quantile(0.5 + CONFIDENCE / 2, runs - 1) * deviation / math.sqrt(runs)
        interval = (mean - margin, mean + margin)
    return Spread(
        runs=runs,
        mean=mean,
        deviation=deviation,
        variation=deviation / mean if deviation is not None and mean else None,
        interval=interval,
        least=min(values),
        most=max(values),
    )
