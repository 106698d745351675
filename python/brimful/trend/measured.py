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
