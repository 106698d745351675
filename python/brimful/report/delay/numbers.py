"""Delays as reports have them: with the digits that their interval leaves."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from brimful.records import DelayInterval, RunFile
from brimful.report import facts

DIRECTIONS = ("all", "to", "from")
_FOUR_DIGITS = 1e-2
"""Of a value: its second digit is the fourth of the value itself."""
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def delay(seconds: float | None) -> str:
    """Write a delay with three digits that matter.

    >>> delay(3.5234e-6), delay(0.0), delay(-12.34e-9), delay(None), delay(0.0012)
    ('3.52 us', '0 ns', '-12.3 ns', '–', '1.20 ms')
    """
    if seconds is None:
        return "–"
    if seconds == 0:
        return "0 ns"
    factor, unit = unit_of([seconds])
    scaled = seconds / factor
    digits = max(0, 2 - floor(log10(abs(scaled))))
    return f"{scaled:.{min(digits, 3)}f} {unit}"


def mean(interval: DelayInterval) -> str:
    """Write a mean and half of its interval, whose second digit is the last of both.

    >>> mean(DelayInterval(3.5234e-6, 3.141e-6, 3.905e-6, 0.0, "paired", 10))
    '3.52 ± 0.38 us'
    >>> mean(DelayInterval(3.5234e-6, None, None, 0.0, "paired", 1))
    '3.52 us ± unknown'
    """
    if interval.low_s is None or interval.high_s is None:
        return f"{delay(interval.value_s)} ± unknown"
    half = (interval.high_s - interval.low_s) / 2
    factor, unit = unit_of([interval.value_s, half])
    digits = _digits(half / factor)
    return f"{interval.value_s / factor:.{digits}f} ± {half / factor:.{digits}f} {unit}"


def median(interval: DelayInterval | None) -> str:
    """Write a median and the ends of its interval.

    The nearer end decides the digits: with a far one, those of the whole interval would say nothing of the median.

    >>> median(DelayInterval(3.5e-6, 3.14e-6, 4.2e-6, 0.0, "sign", 10)), median(None)
    ('3.50 (3.14 … 4.20) us', '–')
    >>> median(DelayInterval(31.2e-6, 29.9e-6, 1.15e-3, 0.0, "sign", 10))
    '31.2 us (29.9 us … 1.15 ms)'
    """
    if interval is None or interval.low_s is None or interval.high_s is None:
        return "–"
    factor, unit = unit_of([interval.value_s, interval.low_s])
    if unit_of([interval.high_s])[1] != unit:
        return f"{delay(interval.value_s)} ({delay(interval.low_s)} … {delay(interval.high_s)})"
    sides = (interval.value_s - interval.low_s, interval.high_s - interval.value_s)
    nearer = min((side for side in sides if side > 0), default=0.0)
    digits = min(_digits(nearer / factor), _digits(abs(interval.value_s) * _FOUR_DIGITS / factor))
    value, low, high = (f"{time / factor:.{digits}f}" for time in (interval.value_s, interval.low_s, interval.high_s))
    return f"{value} ({low} … {high}) {unit}"


def unit_of(times: Sequence[float]) -> tuple[float, str]:
    """Give the unit in which the largest time is at least 1, and its length in seconds.

    >>> unit_of([3e-6, 2e-9]), unit_of([0.0])
    ((1e-06, 'us'), (1e-09, 'ns'))
    """
    largest = max(map(abs, times), default=0.0)
    return next((unit for unit in _UNITS if largest >= unit[0] * 0.9995), _UNITS[-1])


def _digits(half: float) -> int:
    return max(0, min(6, 1 - floor(log10(half)))) if half > 0 else 3


def name_of(file: RunFile, direction: str) -> str:
    """Give what a direction is called, so that a reader knows which it is."""
    names = _OF_DISKS if facts.counts_ios(file.run) else _OF_PORTS
    return names.get(direction, direction)


_OF_DISKS = {"to": "reads", "from": "writes"}
_OF_PORTS = {"to": "to (port 1 to 2)", "from": "from (port 2 to 1)"}
