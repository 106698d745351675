"""Own splits: a quantity by any columns, one for the figure, one for the panel and one for the colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import ibis
import numpy as np
from ibis import _
from ibis.expr.types import Table, Value

from brimful.discards import analysis
from brimful.discards.daily import PREFIX_OF_SPLITS, Rows, rounded_points, unix_day
from brimful.discards.expressions import DISCARDS, OCTETS, TEST, UNICAST, Days
from brimful.discards.schema import TESTS
from brimful.errors import UsageError
from brimful.records import Record, Series
from brimful.statistics.density import density

PLACES = ("figure", "panel", "colour")
MOST_SERIES = 200
"""More are not read, and a page does not show them."""
NOT_KNOWN = "not known"
"""Stands for what a row does not say."""
_WEEKDAYS = ("1 Monday", "2 Tuesday", "3 Wednesday", "4 Thursday", "5 Friday", "6 Saturday", "7 Sunday")
_FORM = "write it like download_rate:figure=metro,panel=site,colour=protocol"


@dataclass(frozen=True)
class Split:
    """What to show, and by which columns; an empty one does not split."""

    quantity: str
    figure: str = ""
    panel: str = ""
    colour: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """Give the place and name of each column."""
        return {place: name for place in PLACES if (name := getattr(self, place))}

    def __str__(self) -> str:
        """Give it as it is written."""
        return f"{self.quantity}:{','.join(f'{place}={name}' for place, name in self.columns.items())}"


Answer = Callable[[Table, list[str]], Table]
"""From rows of tests, or of samples, with their keys, to a ``value`` of each key."""


def _rates(downloads: Table, keys: list[str]) -> Table:
    known = downloads.filter(_.client.notnull(), _.rate_bps.notnull())
    return analysis.median(known, [*keys, "client"], "rate_bps")


def _median_of_clients(downloads: Table, keys: list[str]) -> Table:
    return analysis.median(_rates(downloads, keys), keys, "rate_bps").rename(value="rate_bps")


def _number_of_tests(tests: Table, keys: list[str]) -> Table:
    return tests.group_by(keys).agg(value=_.count())


def _retransmitted(downloads: Table, keys: list[str]) -> Table:
    known = downloads.filter(_.retransmitted.notnull(), _.sent > 0)
    # Segments and bytes are never added up: a day with both has a value of each.
    of_unit = known.group_by([*keys, "retransmission_unit"])
    return of_unit.agg(value=_.retransmitted.sum() / _.sent.sum()).drop("retransmission_unit")


def _uplink_rate(bins: Table, keys: list[str]) -> Table:
    rates = bins.mutate(rate_bps=_.value_per_s * 8)
    return analysis.median(rates, keys, "rate_bps").rename(value="rate_bps")


def _sum_of_discards(bins: Table, keys: list[str]) -> Table:
    return bins.group_by(keys).agg(value=_.bin_discards.sum())


def _loss_ratio(bins: Table, keys: list[str]) -> Table:
    pairs = bins.filter(_.paired.notnull())
    return pairs.group_by(keys).agg(value=_.bin_discards.sum() / _.bin_packets.sum().nullif(0))


def _share_of_bins(bins: Table, keys: list[str]) -> Table:
    known = bins.filter(_.known, _.in_bin)
    return known.group_by(keys).agg(value=(_.bin_discards > 0).sum() / _.count())


@dataclass(frozen=True)
class _Quantity:
    answer: Answer
    direction: str = ""
    """Of the tests that it is of; empty for samples."""
    unit: str = ""
    is_daily: bool = True


QUANTITIES = {
    "download_rate": _Quantity(_median_of_clients, "download", "bit/s"),
    "upload_rate": _Quantity(_median_of_clients, "upload", "bit/s"),
    "downloads": _Quantity(_number_of_tests, "download", "tests"),
    "uploads": _Quantity(_number_of_tests, "upload", "tests"),
    "retransmission_ratio": _Quantity(_retransmitted, "download"),
    "download_distribution": _Quantity(_rates, "download", is_daily=False),
    "uplink_rate": _Quantity(_uplink_rate, unit="bit/s"),
    "discards": _Quantity(_sum_of_discards, unit="packets"),
    "loss_ratio": _Quantity(_loss_ratio),
    "bins_with_discards": _Quantity(_share_of_bins),
}
"""Those with a direction are of tests, the others of samples of the uplink."""


def _metro(table: Table) -> Value:
    named = table.site.re_search("^[a-z]{3}[0-9]{2}$")
    return ibis.ifelse(named, table.site.substr(0, 3).upper(), table.site)


def _weekday(table: Table) -> Value:
    number = table.day.day_of_week.index()
    return ibis.cases(*((number == place, name) for place, name in enumerate(_WEEKDAYS)))


def _padded(number: Value) -> Value:
    """Write a number of at most two digits so that the order of texts is that of numbers."""
    text = number.cast("string")
    return ibis.ifelse(number < 10, ibis.literal("0") + text, text)


_DERIVED: dict[str, Callable[[Table], Value]] = {
    "metro": _metro,
    "hour": lambda table: _padded(table.start.hour()),
    "weekday": _weekday,
    "month": lambda table: table.day.year().cast("string") + "-" + _padded(table.day.month()),
}
_OF_TESTS = ("site", "day", *TESTS.names, *_DERIVED, "overlap", "period")
_OF_SAMPLES = ("site", "day", "machine", *_DERIVED, "period")


def parse(text: str, *, has_windows: bool) -> Split:
    """Read a split, ``download_rate:figure=metro,panel=site,colour=protocol``.

    Raises
    ------
    UsageError
        When it is none, or names what is not there.

    Examples
    --------
    >>> parse("discards:panel=site,colour=hour", has_windows=False).columns
    {'panel': 'site', 'colour': 'hour'}
    """
    quantity, _colon, rest = text.partition(":")
    if quantity not in QUANTITIES:
        message = f"--by {text}: {quantity or 'nothing'} is no quantity; there are: {', '.join(QUANTITIES)}"
        raise UsageError(message)
    columns: dict[str, str] = {}
    known = _OF_TESTS if QUANTITIES[quantity].direction else _OF_SAMPLES
    for part in rest.split(","):
        place, _equals, name = (word.strip() for word in part.partition("="))
        if place not in PLACES or place in columns:
            message = f"--by {text}: {part or 'nothing'} is no figure, panel or colour, or is one twice; {_FORM}"
            raise UsageError(message)
        if name not in known:
            message = f"--by {text}: {quantity} has no column {name or '(none given)'}; there are: {', '.join(known)}"
            raise UsageError(message)
        columns[place] = name
    if "period" in columns.values() and not has_windows:
        message = f"--by {text}: without windows there are no periods; give --before and --after"
        raise UsageError(message)
    return Split(quantity, **columns)


def keyed(
    split: Split, samples: Table, tests: Table, *, windows: tuple[Days, Days] | None, excluded: Sequence[str] | None
) -> Table:
    """Give the rows that a split is of, each with the texts that it is split by."""
    quantity = QUANTITIES[split.quantity]
    names = set(split.columns.values())
    if quantity.direction:
        rows = analysis.counted_downloads(tests, excluded, direction=quantity.direction)
        if "overlap" in names:
            overlap = analysis.test_overlap if quantity.direction == "download" else analysis.upload_overlap
            rows = rows.join(overlap(rows, samples).select(*TEST, "overlap"), TEST)
    else:
        rows = _bins(split.quantity, samples)
        if "machine" not in names:
            rows = rows.semi_join(_one_machine(samples), ["site", "day", "machine"])
    if windows is not None and "period" in names:
        before, after = (rows.day.between(*window) for window in windows)
        rows = rows.filter(before | after).mutate(period=ibis.ifelse(before, "before", "after"))
    return rows.mutate(**{place: _text(rows, name) for place, name in split.columns.items()})


def _bins(quantity: str, samples: Table) -> Table:
    if quantity == "uplink_rate":
        return analysis.pieces(samples.filter(_.metric == OCTETS, _.usable)).filter(_.in_bin)
    return analysis.loss_bins(samples)


def _one_machine(samples: Table) -> Table:
    """Give the machine of each site and day that counts, for all poll the same uplink: see `daily_uplink_rate`."""
    usable = samples.filter(_.metric.isin([OCTETS, UNICAST, DISCARDS]), _.usable)
    polls = usable.group_by(["site", "day", "machine"]).agg(polls=_.count())
    order = ibis.window(group_by=["site", "day"], order_by=[ibis.desc("polls"), "machine"])
    return polls.mutate(place=ibis.row_number().over(order)).filter(_.place == 0)


def _text(table: Table, name: str) -> Value:
    value = _DERIVED[name](table) if name in _DERIVED else table[name].cast("string")
    return value.coalesce(NOT_KNOWN)


def values(split: Split, rows: Table) -> Table:
    """Give the different texts of a split, one more of them than can be shown."""
    return rows.select(*split.columns).distinct().limit(MOST_SERIES + 1)


def answer(split: Split, rows: Table) -> Table:
    """Give the values of a split: of each day, or of each client for a distribution."""
    quantity = QUANTITIES[split.quantity]
    keys = [*split.columns, *(["day"] if quantity.is_daily else [])]
    return quantity.answer(rows, keys)


def check_number(split: Split, found: Iterable[object]) -> None:
    """Refuse a split of more series than can be shown.

    Raises
    ------
    UsageError
        When there are more.
    """
    if len(list(found)) > MOST_SERIES:
        message = (
            f"--by {split}: gives more than {MOST_SERIES} series, which no figure shows; choose columns with fewer "
            "different values, or give --site"
        )
        raise UsageError(message)


def series(number: int, split: Split, rows: Rows) -> Iterator[Record]:
    """Give each part of a split as a series, with what it is split by in its name."""
    quantity = QUANTITIES[split.quantity]
    groups: defaultdict[tuple[str, ...], Rows] = defaultdict(list)
    for row in rows:
        groups[tuple(str(row.get(place, "")) for place in PLACES)].append(row)
    for key, of_group in sorted(groups.items()):
        # Texts may have slashes in them.
        name = "/".join([f"{PREFIX_OF_SPLITS}{number}", *(quote(text, safe=" ") for text in key)])
        if quantity.is_daily:
            points = [(unix_day(row["day"]), row["value"]) for row in of_group if row["value"] is not None]
            yield Series(
                name=name, points=rounded_points(sorted(points)), x_name="day", x_unit="s", y_unit=quantity.unit
            )
        else:
            found = density(np.sort(np.array([row["rate_bps"] for row in of_group], np.float64)))
            points = rounded_points(zip(found.edges, found.density, strict=True))
            yield Series(name=name, points=points, x_name="rate", x_unit="log10 bit/s", y_unit="per decade")
