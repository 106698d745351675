"""What became of each change of a series: open, accepted, undone, too small, or another unit. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from brimful.trend.detection import Analysis, Change
from brimful.trend.judgement import (
    ACCEPTED,
    ANOTHER_UNIT,
    OPEN,
    PROGRESSION,
    REGRESSION,
    UNDONE,
    WITHIN,
    ChangeLine,
    Settings,
    Word,
)
from brimful.trend.series import HIGHER, Series

_UNIT_STEPS = [math.log(base) * power for base in (1000, 1024) for power in (1, 2, 3)]
"""Logarithms of what units of one quantity differ by."""
_UNIT_SLACK = 0.02


class _Judged(msgspec.Struct, frozen=True):
    """A series as levels, and where in the series its values are."""

    series: Series
    analysis: Analysis
    places: list[int]
    """Index of each value among the versions."""

    def version(self, value: int) -> str:
        return self.series.versions[self.places[value]]

    def time(self, value: int) -> float | None:
        return self.series.times[self.places[value]]


def lines(
    series: Series, analysis: Analysis, places: list[int], words: Sequence[Word], settings: Settings, today: str
) -> list[ChangeLine]:
    """Describe the changes of a series; ``today`` is a date as in ISO 8601."""
    judged = _Judged(series, analysis, places)
    return [_line(judged, number, change, words, settings, today) for number, change in enumerate(analysis.changes)]


def _line(
    judged: _Judged, number: int, change: Change, words: Sequence[Word], settings: Settings, today: str
) -> ChangeLine:
    series, places = judged.series, judged.places
    worse = change.size > 0 if series.worse == HIGHER else change.size < 0
    kind = REGRESSION if worse else PROGRESSION
    versions = series.versions[places[change.earliest] : places[change.latest] + 1]
    return ChangeLine(
        kind=kind,
        standing=_standing(judged, number, change, versions, words, settings, today),
        index=places[change.index],
        earliest=places[change.earliest],
        latest=places[change.latest],
        last_good=judged.version(change.earliest - 1),
        first_bad=judged.version(change.index),
        earliest_version=versions[0],
        latest_version=versions[-1],
        earliest_at=judged.time(change.earliest),
        latest_at=judged.time(change.latest),
        ratio=math.exp(change.size),
        ratio_low=_exp(change.size - change.margin),
        ratio_high=_exp(change.size + change.margin),
        changed_labels=_changed(series.labels[places[change.index - 1]], series.labels[places[change.index]]),
    )


def _standing(
    judged: _Judged,
    number: int,
    change: Change,
    versions: list[str],
    words: Sequence[Word],
    settings: Settings,
    today: str,
) -> str:
    if not change.is_beyond(settings.tolerance):
        return WITHIN
    now, before = judged.analysis.levels[-1].mean, judged.analysis.levels[number].mean
    left = (now - before) if change.size > 0 else (before - now)
    if left <= math.log1p(settings.tolerance):
        return UNDONE
    if any(_accepts(word, versions, today) for word in words):
        return ACCEPTED
    slack = max(_UNIT_SLACK, 3 * judged.analysis.deviation)
    if any(abs(abs(change.size) - step) < slack for step in _UNIT_STEPS):
        return ANOTHER_UNIT
    return OPEN


def _accepts(word: Word, versions: list[str], today: str) -> bool:
    holds = word.kind == "accept" and (word.until is None or today <= word.until)
    return holds and not set(versions).isdisjoint([word.version, *word.versions])


def _changed(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, str]]:
    names = sorted(before.keys() & after.keys())
    return {name: (before[name], after[name]) for name in names if before[name] != after[name]}


def _exp(value: float) -> float:
    return 0.0 if value == -math.inf else math.exp(min(value, 700.0))
