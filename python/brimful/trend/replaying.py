"""What would have been reported after each version of a series. Pure."""

from __future__ import annotations

import msgspec

from brimful.trend.judgement import ANOTHER_UNIT, OPEN, UNDONE, ChangeLine, Settings
from brimful.trend.judging import judge
from brimful.trend.series import Series

NEAR = 3
"""Changes of one kind that lie no more versions apart are one report: more values move the place a little."""
_REPORTED = (OPEN, UNDONE, ANOTHER_UNIT)


class Report(msgspec.Struct, kw_only=True):
    """A change as it would have been reported."""

    after: str
    """The version after which it was first reported."""
    delay: int
    """Versions of the new level that were known by then."""
    change: ChangeLine
    """As it was first reported."""
    gone_after: str | None = None
    """The version after which it was not reported any more; null: it still is."""


class Replay(msgspec.Struct, frozen=True):
    """A series with its reports, in the order in which they came."""

    name: str
    judged: int
    """Versions after which it was judged."""
    reports: list[Report]


def replay(series: Series, settings: Settings, *, all_series: int) -> Replay:
    """Judge a series after each version."""
    reports: list[Report] = []
    judged = range(settings.fewest, len(series) + 1)
    for count in judged:
        changes = judge(series, (), settings, all_series=all_series, today="", upto=count).changes
        standing = [change for change in changes if change.standing in _REPORTED]
        version = series.versions[count - 1]
        for report in reports:
            there = any(_is_same(report.change, change) for change in standing)
            report.gone_after = None if there else report.gone_after or version
        for change in standing:
            if not any(_is_same(report.change, change) for report in reports):
                reports.append(Report(after=version, delay=count - change.index, change=change))
    return Replay(series.name, len(judged), reports)


def _is_same(first: ChangeLine, second: ChangeLine) -> bool:
    return first.kind == second.kind and abs(first.index - second.index) <= NEAR
