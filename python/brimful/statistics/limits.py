"""What the mean of values between 0 and 1 is not above, however they are distributed."""

from __future__ import annotations

import math

CONFIDENCE = 0.95
_HALVINGS = 60


def mean_limit(mean: float, number: int) -> float:
    """Give the upper 95 % limit of the expected mean of values from 0 to 1, of which ``number`` have this mean.

    They must be independent. By the relative entropy (Hoeffding 1963, theorem 1), so it holds for any distribution, and
    where each value has one of its own: the limit is then that of the mean of their expectations. Where all are 0, it
    is about 3 / number.

    >>> round(mean_limit(0.0, 30), 4), round(mean_limit(0.01, 30), 4), mean_limit(1.0, 30)
    (0.095, 0.1277, 1.0)
    """
    reach = -math.log(1 - CONFIDENCE) / number
    low, high = mean, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _relative_entropy(mean, middle) < reach:
            low = middle
        else:
            high = middle
    return high


def _relative_entropy(mean: float, other: float) -> float:
    """Of two coins, where 0 <= mean <= other <= 1."""
    if other >= 1:
        return 0.0 if mean >= 1 else math.inf
    ones = mean * math.log(mean / other) if mean else 0.0
    return ones + (1 - mean) * math.log((1 - mean) / (1 - other)) if mean < 1 else ones
