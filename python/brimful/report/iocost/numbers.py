"""Numbers as reports on block devices have them: short, and of a known greatest width.

They follow the text of resctl-bench, which people compare with. `brimful.units` writes for sentences instead.
"""

from __future__ import annotations

_DURATION_UNITS = (
    ("n", 1, 1000),
    ("u", 10**3, 1000),
    ("m", 10**6, 1000),
    ("s", 10**9, 60),
    ("M", 60 * 10**9, 60),
    ("H", 3600 * 10**9, 24),
    ("D", 86400 * 10**9, 365),
)
"""Suffix, nanoseconds in it, and how many of them make the next."""
_YEAR_NS = 365 * 86400 * 10**9

_SIZE_UNITS = "KMGTPE"

_ONE_DECIMAL_BELOW = 99.95
"""Above it one decimal would make the number wider than four characters."""


def duration(seconds: float) -> str:
    """Write a time in at most five characters; ``M`` is minutes, ``m`` milliseconds.

    >>> [duration(value) for value in (0.0, 5e-9, 220.6e-6, 0.0072, 0.0999, 0.1, 1.24, 90.0)]
    ['0', '5.0n', '221u', '7.2m', '99.9m', '100m', '1.2s', '1.5M']
    >>> duration(86400 * 36.5), duration(86400 * 730), duration(-0.0072)
    ('36.5D', '2.0Y', '-7.2m')
    """
    if seconds < 0:
        return f"-{duration(-seconds)}"
    nanoseconds = seconds * 1e9
    # A float can be so large that it has no nanoseconds.
    if nanoseconds != float("inf"):
        nanoseconds = float(int(nanoseconds + 0.5))
    if nanoseconds == 0:
        return "0"
    for suffix, unit, limit in _DURATION_UNITS:
        count = nanoseconds / unit
        # A count that would round up to the next unit is written in that.
        if count < limit - (0.5 if limit == 1000 else 0.05):
            return f"{_short(count)}{suffix}"
    return f"{_short(nanoseconds / _YEAR_NS)}Y"


def percent(ratio: float) -> str:
    """Write a ratio in per cent, without the sign.

    >>> [percent(value) for value in (0.0, 0.04321, 0.99994, 0.99996, 1.0, 9.9996, 1234.5)]
    ['0', '4.32', '99.99', '100.0', '100.0', '1000', '123k']
    >>> percent(-0.01)
    'NEG'
    """
    value = ratio * 100
    if value < 0:
        return "NEG"
    if value == 0:
        return "0"
    if value < 99.995:
        return f"{value:.2f}"
    if value < 999.95:
        return f"{value:.1f}"
    if value < 99999.5:
        return f"{value:.0f}"
    return f"{value / 1000:.0f}k"


def size(count_bytes: float) -> str:
    """Write a number of bytes with a binary prefix.

    >>> [size(value) for value in (0, 9998, 10240, 14602888806, 512110190592, 2000398934016, 2**50)]
    ['0', '9998', '10.0K', '13.6G', '477G', '1.8T', '1.0P']
    """
    # The reference knows no T: it takes P for 2^40, and a disk of 2 TB has 1.8P there.
    if abs(count_bytes) < 9999:
        return f"{count_bytes:.0f}"
    value = count_bytes / 1024
    for suffix in _SIZE_UNITS[:-1]:
        if abs(value) < 1023.5:
            return f"{_short(value)}{suffix}"
        value /= 1024
    return f"{_short(value)}{_SIZE_UNITS[-1]}"


def rate(per_second: float) -> str:
    """Write a rate of operations with a decimal prefix.

    >>> [rate(value) for value in (0, 999, 9678, 98123, 417230, 1.25e6)]
    ['0', '999', '9.7k', '98.1k', '417k', '1.2M']
    """
    if abs(per_second) < 999.5:
        return f"{per_second:.0f}"
    if abs(per_second) < 999_500:
        return f"{_short(per_second / 1e3)}k"
    return f"{_short(per_second / 1e6)}M"


def _short(value: float) -> str:
    return f"{value:.1f}" if abs(value) < _ONE_DECIMAL_BELOW else f"{value:.0f}"
