"""The questions as the notebook of the 2018 report defines them, to compare with what it published.

Values are taken as they were delivered, of one machine; the middle is the quantile 49/101 by nearest rank; a test is
judged by two bins, the second and the third; what is unknown counts as no discards. See `brimful.discards.analysis` for
the same questions with definitions of our own, and for what the tables are.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis
from ibis import _
from ibis.expr.types import Table

from brimful.discards.expressions import (
    BIN_S,
    DISCARDS,
    FEWEST_TESTS,
    OCTETS,
    TEST,
    UNICAST,
    Days,
    classified,
    cohort,
    in_periods,
    large_enough,
    long_enough,
    mean_of_groups,
    numbered,
    seconds,
    small_numbers,
    spread_of_rates,
)

MACHINE = "mlab1"
MONITORING_CLIENTS = (
    "45.56.98.222",
    "2600:3c03::f03c:91ff:fe33:819",
    "35.225.75.192",
    "35.192.37.249",
    "35.193.254.117",
)
"""Addresses of the operator's own monitoring, which the report excludes."""


def daily_uplink_rate(samples: Table) -> Table:
    """Give the middle of the rates of the uplink of each site and day."""
    delivered = _delivered(samples, OCTETS).select("site", "day", rate_bps=_.value * 8 / BIN_S)
    return _middle(delivered, ["site", "day"], "rate_bps").rename(bins="rows")


def daily_download_rate(tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table:
    """Give the middle over clients of each one's best test of a site and day."""
    downloads = _valid_downloads(tests, excluded_clients)
    rates = downloads.group_by(["site", "day", "client"]).agg(rate_bps=_.rate_bps.max())
    return _middle(rates, ["site", "day"], "rate_bps").rename(clients="rows")


def daily_loss_ratio(samples: Table) -> Table:
    """Give discards over packets of each site and day; days of 1 % and more are left out."""
    sums = (
        _delivered(samples, DISCARDS, UNICAST)
        .group_by(["site", "day", "machine"])
        .agg(
            discards=_.value.sum(where=_.metric == DISCARDS),
            packets=_.value.sum(where=_.metric == UNICAST),
            bins=(_.metric == DISCARDS).sum(),
            bins_with_discards=((_.metric == DISCARDS) & (_.value > 0)).sum(),
        )
    )
    ratios = sums.mutate(
        covered_s=_.bins * float(BIN_S),
        excluded_bins=ibis.literal(0, "int64"),
        loss_ratio=_.discards / _.packets.nullif(0),
    )
    return ratios.filter(_.discards < _.packets, _.loss_ratio < 0.01)


def daily_retransmission_ratio(tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table:
    """Give how much was sent again, for each ``server_name`` and day: the middle over clients of each one's worst."""
    keys = ["site", "day", "server_name"]
    downloads = _valid_downloads(tests, excluded_clients).filter(_.retransmitted.notnull(), _.sent > 0)
    ratios = downloads.mutate(ratio=_.retransmitted / _.sent)
    worst = ratios.group_by([*keys, "client"]).agg(worst_ratio=_.ratio.max())
    totals = ratios.group_by(keys).agg(total_ratio=_.retransmitted.sum() / _.sent.sum())
    return _middle(worst, keys, "worst_ratio").rename(clients="rows").join(totals, keys)


def clients_before_after(
    tests: Table,
    before: Days,
    after: Days,
    minimum_tests: int = FEWEST_TESTS,
    *,
    excluded_clients: Sequence[str] | None = None,
) -> Table:
    """Give what each client of a cohort saw at each machine before and after a change.

    Tests are counted at all sites of a metro; what has one test only is dropped.
    """
    downloads = in_periods(_valid_downloads(tests, excluded_clients), before, after)
    origin = ["server_name", "logged", "client", "client_port", "server", "server_port"]
    kept = ["site", "machine", "period", "metro", "rate_bps"]
    downloads = downloads.mutate(metro=_.site.substr(0, 3).upper()).select(*origin, *kept).distinct()
    chosen = cohort(downloads, "metro", minimum_tests)
    keys = ["site", "machine", "period", "client"]
    medians = _middle(chosen.rename(median_bps="rate_bps"), keys, "median_bps").drop("rows")
    return spread_of_rates(chosen, keys).filter(_.tests > 1).join(medians, keys)


def test_overlap(tests: Table, samples: Table) -> Table:
    """Give for each download of one machine what two bins have, labelled 10 s and 20 s after its start.

    Unknown is zero. Downloads are those of a million bytes and more that sent for 9 s and more, but less than 600 s.
    """
    downloads = tests.filter(_.direction == "download", _.machine == MACHINE, large_enough(), long_enough(_.sending_s))
    downloads = _as_reported(downloads)
    delivered = _delivered(samples, DISCARDS).filter(seconds(_.bin_start) % BIN_S == 0)
    labelled = delivered.select("site", cell=seconds(_.bin_start) // BIN_S, value=_.value)
    timed = downloads.select(*TEST, first=seconds(_.start) // BIN_S)
    probes = timed.cross_join(small_numbers().filter(_.number.isin([1, 2]))).mutate(cell=_.first + _.number)
    hits = probes.join(labelled, ["site", "cell"])
    known = hits.group_by(TEST).agg(
        coverage=ibis.least(_.count(), 2) / 2,
        intervals=_.count(),
        intervals_with_discards=(_.value > 0).sum(),
        discards=_.value.sum(),
        worst_discards=_.value.max(),
    )
    return classified(downloads, known, "zero")


def _valid_downloads(tests: Table, excluded_clients: Sequence[str] | None) -> Table:
    excluded = MONITORING_CLIENTS if excluded_clients is None else excluded_clients
    valid = tests.filter(
        _.direction == "download",
        _.client.notnull(),
        _.client.notin(list(excluded)),
        large_enough(),
        long_enough(_.sending_s),
    )
    return _as_reported(valid)


def _as_reported(tests: Table) -> Table:
    """File tests under the day of their logged time, with bytes over the time of sending for a rate."""
    return tests.mutate(day=_.logged.date(), rate_bps=tests.bytes * 8 / tests.sending_s.nullif(0))


def _delivered(samples: Table, *metrics: str) -> Table:
    """Give what was summed up: the values of one machine as they were delivered, right or wrong."""
    rows = samples.filter(_.machine == MACHINE, _.metric.isin(metrics))
    return rows.mutate(value=ibis.coalesce(_.reported.cast("float64"), _.value)).filter(_.value.notnull())


def _middle(rows: Table, keys: list[str], column: str) -> Table:
    """Give the smallest value that 49/101 of all do not exceed, and ``rows``."""
    ranked = numbered(rows, keys, column)
    middle = ranked.filter(_["rank"] * 101 >= _.rows * 49, (_["rank"] - 1) * 101 < _.rows * 49)
    return mean_of_groups(middle, keys, column)
