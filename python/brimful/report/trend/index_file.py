"""What the index shows: a short row for each series and each finding. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from brimful.report.trend.reported import Reported
from brimful.report.trend.series_file import is_current, moment
from brimful.trend.findings import Found
from brimful.trend.judgement import STATES
from brimful.trend.store import Reading

NOT_CHECKED = "not checked"


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A series as the index lists it: an array in the file, as there are thousands."""

    id: int
    name: str
    state: str
    value: float | None
    """Of the newest version."""
    unit: str
    version: str
    at: int | None
    text: str
    current: bool
    """Whether it was checked with its newest version."""
    confirmation: str | None


def row_of(reading: Reading) -> Row:
    """Give the row of a series."""
    series, judgement = reading.series, reading.judgement
    return Row(
        id=series.id,
        name=series.name,
        state=NOT_CHECKED if judgement is None else judgement.state,
        value=series.values[-1] if series.values else None,
        unit="ratio" if series.is_ratio else series.unit,
        version=series.versions[-1] if series.versions else "",
        at=moment(series.times[-1]) if series.times else None,
        text="" if judgement is None else judgement.text,
        current=is_current(series, judgement),
        confirmation=None if judgement is None else judgement.confirmation,
    )


def content(rows: Sequence[Row], found: Sequence[Reported]) -> dict[str, Any]:
    """Give all that the index shows: findings by size, the largest first, and series by state, the worst first."""
    states = [*STATES, NOT_CHECKED]
    return {
        "states": states,
        "series": sorted(rows, key=lambda row: states.index(row.state)),
        "findings": [
            {
                "kind": each.finding.kind,
                "version": each.finding.version,
                "reported": moment(each.first.at),
                "changes": [_change(change) for change in each.finding.changes],
            }
            for each in found
        ],
    }


def _change(found: Found) -> dict[str, Any]:
    change = found.change
    return {
        "series": found.series,
        "ratio": change.ratio,
        "low": change.ratio_low,
        "high": change.ratio_high,
        "last_good": change.last_good,
        "earliest": change.earliest_version,
        "latest": change.latest_version,
        "earliest_at": moment(change.earliest_at),
        "latest_at": moment(change.latest_at),
    }
