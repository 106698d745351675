"""What a page shows of one series. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful.trend.judgement import Judgement
from brimful.trend.series import Series
from brimful.trend.store import Reading

Link = Callable[[str], str]
"""Gives the address of a report as seen from the page; empty: it is not there."""
_DIGITS = 7
_LAST_SECOND = 253402300800
"""Beyond it no date has four digits of a year."""


def content(reading: Reading, link: Link) -> dict[str, Any]:
    """Give all that the page of a series shows; columns that say nothing are empty."""
    series = reading.series
    return {
        "name": series.name,
        "key": series.key,
        "unit": series.unit,
        "worse": series.worse,
        "ratio": series.is_ratio,
        "versions": series.versions,
        "values": _short(series.values),
        **_spread(series),
        "times": _column([moment(at) for at in series.times]),
        "labels": _labels(series),
        "reports": _column(series.reports),
        "links": _column([link(report) for report in series.reports]),
        "problems": {index: text for index, text in enumerate(series.problems) if text is not None},
        "words": msgspec.to_builtins(reading.words),
        "judgement": None if reading.judgement is None else _judgement(series, reading.judgement),
    }


def moment(at: float | None) -> int | None:
    """Give whole seconds since 1970; null for what no calendar has."""
    return int(at) if at is not None and 0 <= at < _LAST_SECOND else None


def is_current(series: Series, judgement: Judgement | None) -> bool:
    """Say whether a judgement is of the newest version."""
    return judgement is not None and judgement.version == (series.versions[-1] if series.versions else "")


def _judgement(series: Series, judgement: Judgement) -> dict[str, Any]:
    """Give what was said; versions that came in before others since then have moved the indices."""
    places = {version: index for index, version in enumerate(series.versions)}
    changes: list[dict[str, Any]] = []
    for change in judgement.changes:
        line = msgspec.to_builtins(change)
        line["index"] = places.get(change.first_bad, change.index)
        line["earliest"] = places.get(change.earliest_version, change.earliest)
        line["latest"] = places.get(change.latest_version, change.latest)
        line["earliest_at"], line["latest_at"] = moment(change.earliest_at), moment(change.latest_at)
        changes.append(line)
    starts = [level.start for level in judgement.levels[:1]] + [line["index"] for line in changes]
    last = places.get(judgement.version, len(series) - 1) + 1
    return {
        "version": judgement.version,
        "current": is_current(series, judgement),
        "state": judgement.state,
        "text": judgement.text,
        "confirmation": judgement.confirmation,
        "method": judgement.method,
        "deviation": judgement.deviation,
        "tolerance": judgement.settings.tolerance,
        "levels": [
            (start, end, level.value)
            for level, start, end in zip(judgement.levels, starts, [*starts[1:], last], strict=False)
        ],
        "changes": changes,
    }


def _spread(series: Series) -> dict[str, Any]:
    """Give how many values each version has, and their ends, where any has several."""
    spread = {"least": series.least, "most": series.most} if max(series.counts, default=0) > 1 else {}
    return {
        "least": _short(spread.get("least", [])),
        "most": _short(spread.get("most", [])),
        "counts": series.counts if spread else [],
        "errors": _short(series.errors) if any(series.errors) else [],
    }


def _labels(series: Series) -> list[tuple[int, dict[str, str]]]:
    """Give the labels and the index of the version from which on they hold; one that names the version is none."""
    found: list[tuple[int, dict[str, str]]] = []
    before: dict[str, str] | None = None
    for index, labels in enumerate(series.labels):
        if labels is before:
            continue
        before = labels
        kept = {name: text for name, text in labels.items() if text != series.versions[index]}
        if not found or kept != found[-1][1]:
            found.append((index, kept))
    return found


def _short(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{_DIGITS}g}") for value in values]


def _column(values: list[Any]) -> list[Any]:
    return values if any(value not in ("", None) for value in values) else []
