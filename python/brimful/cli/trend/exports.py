"""What a check found, for CI servers and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from brimful.report import junit
from brimful.trend.judgement import EXIT_CODES, NORMAL, STATES

if TYPE_CHECKING:
    from brimful.trend.checking import Row

_METRICS = {
    "brimful_trend_state": "1 for the state that the series is in.",
    "brimful_trend_value": "Newest value, in the unit of the series.",
    "brimful_trend_level": "Level that the newest value belongs to, in the unit of the series.",
    "brimful_trend_open_change_ratio": "New level / old level of each open change, by its first bad version.",
}


def as_junit(rows: Sequence[Row]) -> bytes:
    """Give a test case for each series: one that is suspected, worse or without a value fails."""
    cases = [
        junit.Case(
            name=row.name,
            problem=f"{row.judgement.state}: {row.judgement.text}" if row.judgement.state in EXIT_CODES else None,
            said="" if row.judgement.state == NORMAL and row.judgement.levels else row.judgement.text,
        )
        for row in rows
    ]
    return junit.render([junit.Suite(name="trend check", cases=cases, duration_s=0.0, command="trend")])


def as_prometheus(rows: Sequence[Row]) -> bytes:
    """Give the text format of Prometheus."""
    lines = []
    for metric, text in _METRICS.items():
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} gauge"]
        lines += [f"{metric}{{{labels}}} {float(value)!r}" for row in rows for labels, value in _samples(metric, row)]
    return "\n".join([*lines, ""]).encode()


def _samples(metric: str, row: Row) -> Iterator[tuple[str, float]]:
    judgement = row.judgement
    series = f"series={_quoted(row.name)}"
    if metric == "brimful_trend_state":
        yield from ((f"{series},state={_quoted(state)}", state == judgement.state) for state in STATES)
    elif metric == "brimful_trend_value":
        if judgement.value is not None:
            yield series, judgement.value
    elif metric == "brimful_trend_level":
        if judgement.levels:
            yield series, judgement.levels[-1].value
    else:
        for change in judgement.changes:
            if change.standing == "open":
                yield f"{series},version={_quoted(change.first_bad)},kind={_quoted(change.kind)}", change.ratio


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
