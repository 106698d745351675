"""A list of runs as one HTML file: those of one measurer together, with each value of theirs over time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.report.web_page import TEMPLATES, render_page
from brimful.units import format_delay, format_load

REPORT_NAME = "report.html"
_WIDTH, _HEIGHT, _MARGIN = 240.0, 40.0, 5.0
"""Of a line, in pixels."""
_LEAST_RANGE = 0.05
"""From the bottom of a line to its top, as a share of the greatest value; values are above 0."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    name: str
    apart: str
    """What else has to be equal for it to be the same value: machine and settings."""
    unit: str
    value: float


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one measurer."""

    name: str
    lines: list[dict[str, Any]]
    """Of each value: ``name``, ``newest``, ``least``, ``most``, ``count``, and where the ``points`` of its line are."""
    runs: list[dict[str, Any]]


def page(runs: Sequence[Mapping[str, Any]], directory: Path) -> str:
    """Write the page.

    Parameters
    ----------
    runs
        ``path``, ``started``, ``subject``, ``what``, ``result``, ``problem`` and ``values`` of each, newest first.
    directory
        Where the page will lie: links to reports beside the records lead from there.
    """
    grouped: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        name = run["what"] or run["subject"] or "cannot be read"
        grouped.setdefault(name, []).append({**run, "link": _link(Path(run["path"]), directory)})
    groups = [Group(name=name, lines=_lines(members), runs=members) for name, members in grouped.items()]
    return render_page(TEMPLATES / "run_list.html", groups=groups, total=len(runs), width=_WIDTH, height=_HEIGHT)


def _link(run: Path, directory: Path) -> str | None:
    report = run / REPORT_NAME
    return os.path.relpath(report, directory) if report.exists() else None


def _lines(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for run in reversed(runs):
        for value in run["values"]:
            found.setdefault((value.name, value.apart, value.unit), []).append((value.value, run["started"]))
    names = [name for name, _, _ in found]
    return [
        {
            "name": name if names.count(name) == 1 else f"{name} ({apart})",
            "newest": _shown(values[-1][0], unit),
            "least": _shown(min(values)[0], unit),
            "most": _shown(max(values)[0], unit),
            "count": len(values),
            "points": _points(values, unit),
        }
        for (name, apart, unit), values in found.items()
    ]


def _points(values: Sequence[tuple[float, str]], unit: str) -> list[dict[str, Any]]:
    """Give where each value is drawn, oldest at the left, and what is said there."""
    least, most = min(values)[0], max(values)[0]
    # Differences of less than the least range are to look small.
    room = max(0.0, _LEAST_RANGE * most - (most - least)) / 2
    least, most = least - room, most + room
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(values) - 1)
    height = _HEIGHT - 2 * _MARGIN
    return [
        {
            "x": round(_MARGIN + place * step, 1),
            "y": round(_MARGIN + height * (most - value) / (most - least), 1),
            "text": f"{started[:19].replace('T', ' ')}: {_shown(value, unit)}",
        }
        for place, (value, started) in enumerate(values)
    ]


def _shown(value: float, unit: str) -> str:
    if unit == "s":
        return format_delay(value)
    return format_load(value, unit) if unit else f"{value:.4g}"
