"""A record on discards as reports show it: quantities by site, facets, dates and windows."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from brimful.records import Finding, RunFile

DISTRIBUTIONS = ("download_max", "download_mean", "download_median")
"""Quantities whose points are a density over decades of bit/s; those of all others are of days."""
WITH_VARIANTS = ("tests", *DISTRIBUTIONS)
"""Quantities of which a site has more than one series."""
PLACES = ("figure", "panel", "colour")
PREFIX_OF_SPLITS = "split-"
"""What names of series of own splits begin with; those of all others begin with their quantity."""
QUANTITIES_OF_SPLITS = {
    "download_rate": "Median download rate of clients",
    "upload_rate": "Median upload rate of clients",
    "downloads": "Downloads",
    "uploads": "Uploads",
    "retransmission_ratio": "Retransmission ratio of downloads",
    "download_distribution": "Distribution of downloads: median of each client",
    "uplink_rate": "Median uplink rate",
    "discards": "Discards of the uplink",
    "loss_ratio": "Loss ratio of the uplink",
    "bins_with_discards": "Share of bins with discards",
}
PER_FACET = 7
"""The most sites that share a panel."""
DAY_S = 86400.0

Point = tuple[float, float]
_MLAB_SITE = re.compile(r"[a-z]{3}[0-9]{2}")
_LARGEST = 1e30
"""Values beyond it are not drawn."""
_DAYS, _DECADES = (0.0, 1e11), (-30.0, 30.0)
"""What x can be: Unix seconds of days that a calendar has, and decades of rates."""


class Change(msgspec.Struct, frozen=True):
    """Discards began or stopped at a site."""

    site: str
    kind: str
    """``begin`` or ``stop``."""
    at_s: float
    """The day, in Unix seconds."""


class Facet(msgspec.Struct, frozen=True):
    """Sites that share a panel."""

    title: str
    sites: list[str]


class Window(msgspec.Struct, frozen=True):
    """Whole days that are compared, from ``start_s`` on and before ``end_s`` (Unix seconds)."""

    name: str
    start_s: float
    end_s: float


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity, split by columns as somebody asked."""

    number: int
    quantity: str
    columns: dict[str, str]
    """By place: ``figure``, ``panel``, ``colour``; absent, where there is no such column."""
    unit: str
    points: dict[tuple[str, str, str], list[Point]]
    """By the values of figure, panel and colour; empty, where there is no such column."""

    @property
    def title(self) -> str:
        """Say what it shows."""
        return f"{QUANTITIES_OF_SPLITS.get(self.quantity, self.quantity)} by {', '.join(self.columns.values())}"

    @property
    def is_distribution(self) -> bool:
        """Whether its points are a density over decades of bit/s."""
        return self.quantity == "download_distribution"

    def values(self, place: str) -> list[str]:
        """Give the different values at a place, sorted."""
        return sorted({key[PLACES.index(place)] for key in self.points})


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a report on discards shows, in the order in which it does."""

    file: RunFile
    mode: str
    """``correct``, or ``report``: the definitions of the published report."""
    sites: list[str]
    days: tuple[float, float] | None
    """First and last day that anything is known of, in Unix seconds."""
    windows: list[Window]
    facets: list[Facet]
    changes: list[Change]
    points: dict[tuple[str, str, str], list[Point]]
    """By quantity, site and variant (empty, where there is but one)."""
    splits: list[Split] = []

    def of(self, quantity: str, site: str, variant: str = "") -> list[Point]:
        """Give the points of a series; none where there is no such series."""
        return self.points.get((quantity, site, variant), [])

    def has(self, *quantities: str) -> bool:
        """Whether there is anything to show of one of these quantities."""
        return any(quantity in quantities and found for (quantity, _, _), found in self.points.items())

    def findings(self, *codes: str) -> list[Finding]:
        """Give the findings with these codes."""
        return [finding for finding in self.file.findings if finding.code in codes]


def build(file: RunFile) -> View:
    """Sort a record for showing.

    Parameters
    ----------
    file
        A record with the subject ``switch-discards``.
    """
    points = {
        name: _drawable(series.points, name[0])
        for series in file.series
        if not series.name.startswith(PREFIX_OF_SPLITS)
        for name in [split_name(series.name)]
    }
    sites = sorted({*map(str, _list(file.run.source.get("sites"))), *(site for _, site, _ in points)})
    return View(
        file=file,
        mode=str(file.run.source.get("mode", "correct")),
        sites=sites,
        days=_days(file.run.source, points),
        windows=_windows(file.run.source),
        facets=make_facets(sites),
        changes=_changes(file.findings),
        points=points,
        splits=list(_splits(file)),
    )


def split_name(name: str) -> tuple[str, str, str]:
    """Take the name of a series apart: quantity, site, variant. Sites may have any name.

    >>> split_name("uplink_rate/dfw02"), split_name("tests/xe-0/0/1/non-zero")
    (('uplink_rate', 'dfw02', ''), ('tests', 'xe-0/0/1', 'non-zero'))
    """
    quantity, _, site = name.partition("/")
    if quantity not in WITH_VARIANTS:
        return quantity, site, ""
    site, _, variant = site.rpartition("/")
    return quantity, site, variant


def make_facets(sites: Sequence[str]) -> list[Facet]:
    """Group sites: by metro where all are named as M-Lab names them, otherwise as they come.

    >>> [(facet.title, len(facet.sites)) for facet in make_facets(["dfw01", "dfw02", "lga02"])]
    [('DFW', 2), ('LGA', 1)]
    >>> [facet.title for facet in make_facets(["core 1", "core 2"])]
    ['core 1 … core 2']
    """
    by_metro = all(_MLAB_SITE.fullmatch(site) for site in sites)
    groups = itertools.groupby(sites, key=lambda site: site[:3].upper() if by_metro else "")
    facets = []
    for metro, members in groups:
        together = list(members)
        pages = [together[start : start + PER_FACET] for start in range(0, len(together), PER_FACET)]
        for place, page in enumerate(pages, start=1):
            title = f"{metro} ({place} of {len(pages)})" if len(pages) > 1 else metro
            facets.append(Facet(title if metro else _span(page), page))
    return facets


def parse_day(value: object) -> float | None:
    """Give a day of a record, ``2018-02-11``, in Unix seconds; nothing where it is none."""
    try:
        day = datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
    return (day - datetime.date(1970, 1, 1)).days * DAY_S


def format_day(seconds: float) -> str:
    """Write the day of a time.

    >>> format_day(1518307200.0)
    '2018-02-11'
    """
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=math.floor(seconds / DAY_S))).isoformat()


def number(value: object) -> float | None:
    """Give a finite number of a record; nothing where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _span(sites: Sequence[str]) -> str:
    return sites[0] if len(sites) == 1 else f"{sites[0]} … {sites[-1]}"


def _splits(file: RunFile) -> Iterator[Split]:
    for number, asked in enumerate(_list(file.run.source.get("splits")), start=1):
        if not isinstance(asked, dict):
            continue
        quantity = str(asked.get("quantity", ""))
        kind = DISTRIBUTIONS[0] if quantity == "download_distribution" else quantity
        points, unit = {}, ""
        for series in file.series:
            name, *texts = series.name.split("/")
            if name == f"{PREFIX_OF_SPLITS}{number}" and len(texts) == len(PLACES):
                figure, panel, colour = map(unquote, texts)
                points[figure, panel, colour] = _drawable(series.points, kind)
                unit = series.y_unit
        columns = {place: str(asked[place]) for place in PLACES if asked.get(place)}
        yield Split(number=number, quantity=quantity, columns=columns, unit=unit, points=points)


def _drawable(points: Iterable[Point], quantity: str) -> list[Point]:
    low, high = _DECADES if quantity in DISTRIBUTIONS else _DAYS
    return sorted((x, y) for x, y in points if low <= x <= high and abs(y) < _LARGEST)


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _days(source: Mapping[str, Any], points: Mapping[tuple[str, str, str], Sequence[Point]]) -> Point | None:
    given = [day for day in map(parse_day, _list(source.get("days"))) if day is not None]
    seen = [x for (quantity, _, _), found in points.items() if quantity not in DISTRIBUTIONS for x, _ in found]
    days = [*given, *seen]
    return (min(days), max(days)) if days else None


def _windows(source: Mapping[str, Any]) -> list[Window]:
    windows = []
    for name in ("before", "after"):
        ends = [day for day in map(parse_day, _list(source.get(name))) if day is not None]
        if len(ends) == 2:
            windows.append(Window(name, ends[0], ends[1] + DAY_S))
    return windows


def _changes(findings: Iterable[Finding]) -> list[Change]:
    changes = []
    for finding in findings:
        day = parse_day(finding.data.get("day"))
        if finding.code in {"discards-begin", "discards-stop"} and finding.subject and day is not None:
            changes.append(Change(finding.subject, finding.code.removeprefix("discards-"), day))
    return sorted(changes, key=lambda change: (change.at_s, change.site))
