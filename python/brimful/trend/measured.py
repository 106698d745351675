"""What comes into a store: runs with values. Pure."""

from __future__ import annotations

import msgspec


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a series."""

    key: dict[str, str]
    """Of the series, see `Series.key`; without the anchor."""
    worse: str
    """``higher`` or ``lower``."""
    unit: str = ""
    value: float | None = None
    """Above 0; null: it was to be measured, and was not."""
    error: float = 0.0
    """Standard error of its logarithm; 0 where it is not known."""
    problem: str | None = None
    """Why there is no value."""
    anchor: str | None = None
    """Version that the value is a ratio to; null: it is no ratio."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A run: what was measured of one version at one time."""

    source: str
    """Equal for a run that is added again."""
    version: str
    at: float | None = None
    """In seconds since 1970; null where it is not known."""
    labels: dict[str, str] = {}
    report: str = ""
    """Where its report or its record is."""
    points: list[Point] = []


_EARLIEST_S = 631_152_000.0
"""1990 in seconds since 1970: a clock that was never set is before."""
_DAY_S = 86_400.0


def is_plausible(at: float, now: float) -> bool:
    """Say whether something can have been measured at a time, as far as the clock of this machine knows.

    >>> is_plausible(0.0, now=1.8e9), is_plausible(1.7e9, now=1.8e9), is_plausible(1.9e9, now=1.8e9)
    (False, True, False)
    """
    return _EARLIEST_S <= at <= now + _DAY_S
