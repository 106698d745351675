"""What questions are made of on every engine: numbers of rows, times, ranks, and what both definitions share."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import ibis
from ibis import _
from ibis.expr.types import Table, Value

OCTETS = "switch.octets.uplink.tx"
UNICAST = "switch.unicast.uplink.tx"
DISCARDS = "switch.discards.uplink.tx"
INBOUND = "switch.discards.uplink.rx"
"""What the uplink discarded of what it received: this hurts uploads, and downloads of other sites never."""
TO_MACHINES = "switch.discards.local.tx"
"""What the ports of machines discarded of what they were to send: several senders for one port (fan-in)."""
FROM_MACHINES = "switch.discards.local.rx"
PAUSES = tuple(f"switch.pause.{scope}.{way}" for scope in ("uplink", "local") for way in ("rx", "tx"))

BIN_S = 10
FEWEST_TESTS = 11
"""That a client of a cohort has in each period, as in the report."""
TEST = ["site", "day", "test_id"]
"""What distinguishes tests."""

Days = tuple[datetime.date, datetime.date]
"""First and last day, both included."""


def without(table: Table, *names: str) -> Table:
    """Leave columns out; the SQL names those that stay, so that it is the same each time."""
    return table.select(*(name for name in table.columns if name not in names))


def parts(most: int) -> Table:
    """Give (parts, part) with part < parts <= most, and (0, 0): joined on parts, it repeats a row that often."""
    numbers = small_numbers().filter(_.number <= most)
    pairs = numbers.select(parts=_.number).cross_join(numbers.view().select(part=_.number))
    return pairs.filter((_.part < _.parts) | (_.parts + _.part == 0))


def small_numbers() -> Table:
    """Give 0..399; of two lists, for BigQuery writes one out four times."""
    digits = ibis.literal(list(range(20)), type="array<int64>").unnest().name("digit").as_table()
    return digits.cross_join(digits.view().select(high=_.digit)).select(number=_.high * 20 + _.digit)


def seconds(time: Value) -> Value:
    """Give whole Unix seconds."""
    # Engines differ in how they round a fraction, so there must be none.
    return time.truncate("s").epoch_seconds().cast("int64")


def lasting_us(begin: Value, end: Value) -> Value:
    """Give the microseconds between two times."""
    return end.delta(begin, unit="microsecond")


def numbered(rows: Table, keys: Sequence[str], column: str) -> Table:
    """Give the known values of a column with their place in their group (``rank``, from 1) and its size (``rows``)."""
    known = rows.select(*keys, column).filter(_[column].notnull())
    return known.mutate(
        rank=ibis.row_number().over(ibis.window(group_by=keys, order_by=column)) + 1,
        rows=ibis._.count().over(ibis.window(group_by=keys)),
    )


def mean_of_groups(ranked: Table, keys: Sequence[str], column: str) -> Table:
    """Give the mean of a column in each group of `numbered` rows, and ``rows``."""
    return ranked.group_by(keys).agg(**{column: _[column].mean(), "rows": _.rows.max()})


def large_enough() -> Value:
    """Say whether a test is of a million bytes and more."""
    return _.bytes >= 1_000_000


def long_enough(lasted_s: Value) -> Value:
    """Say whether a test is of 9 s to under 600 s."""
    return (lasted_s >= 9) & (lasted_s < 600)


def in_periods(downloads: Table, before: Days, after: Days) -> Table:
    """Keep the downloads of two periods, and mark which they are of (``period``)."""
    in_before, in_after = _.day.between(*before), _.day.between(*after)
    return downloads.filter(in_before | in_after).mutate(period=ibis.ifelse(in_before, "before", "after"))


def cohort(downloads: Table, place: str, minimum_tests: int) -> Table:
    """Keep the downloads of clients with enough of them in both periods at a place."""
    counts = downloads.group_by([place, "client"]).agg(
        tests_before=(_.period == "before").sum(), tests_after=(_.period == "after").sum()
    )
    chosen = counts.filter(_.tests_before >= minimum_tests, _.tests_after >= minimum_tests)
    return downloads.semi_join(chosen, [place, "client"])


def spread_of_rates(downloads: Table, keys: Sequence[str]) -> Table:
    """Give number, extremes, mean and standard deviation (of the sample) of the rates in each group."""
    return downloads.group_by(keys).agg(
        tests=_.count(),
        max_bps=_.rate_bps.max(),
        min_bps=_.rate_bps.min(),
        mean_bps=_.rate_bps.mean(),
        stddev_bps=_.rate_bps.std(how="sample"),
    )


def classified(downloads: Table, known: Table, otherwise: str) -> Table:
    """Give each download with what is known of discards in it, and its class."""
    columns = ("test_id", "site", "day", "machine", "client", "start", "end", "rate_bps")
    rows = downloads.select(*columns).left_join(known, TEST)
    return rows.select(
        *columns,
        intervals=_.intervals.coalesce(0),
        coverage=_.coverage.coalesce(0.0),
        intervals_with_discards=_.intervals_with_discards.coalesce(0),
        discards=_.discards.coalesce(0.0),
        worst_discards=_.worst_discards.coalesce(0.0),
        overlap=ibis.cases((_.discards > 0, "non-zero"), (_.coverage == 1, "zero"), else_=otherwise),
    )
