"""The questions, as Ibis expressions: what the switch dropped, what users saw, and which tests are tainted.

Every function takes the tables ``samples`` and ``tests`` of `brimful.discards.schema`, with ``site`` and ``day``, and
gives an expression that DuckDB, Spark and BigQuery compute alike: equality joins, counts and ranks only. What the 2018
report made of the same questions is in `brimful.discards.report_2018`.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis
from ibis import _
from ibis.expr.types import Table, Value

from brimful.discards import report_2018
from brimful.discards.expressions import (
    BIN_S,
    DISCARDS,
    FEWEST_TESTS,
    FROM_MACHINES,
    INBOUND,
    OCTETS,
    PAUSES,
    TO_MACHINES,
    UNICAST,
    Days,
    classified,
    cohort,
    in_periods,
    large_enough,
    lasting_us,
    long_enough,
    mean_of_groups,
    numbered,
    parts,
    spread_of_rates,
    without,
)
from brimful.discards.overlap import LONGEST_SAMPLE_S, known_of_tests
from brimful.discards.schema import Flag

MOST_BINS_OF_A_SAMPLE = LONGEST_SAMPLE_S // BIN_S
"""A sample of a longer span counts in sums of a day, but does not say when within its span."""
MONITORING_CLIENTS = (
    *report_2018.MONITORING_CLIENTS,
    "23.228.128.99",
    "2605:a601:f1ff:fffe::99",
    "35.202.153.90",
    "35.188.150.110",
)
"""Addresses of the operator's own monitoring: those that the report excludes, and those listed since."""


def daily_uplink_rate(samples: Table, capacities: Table | None = None) -> Table:
    """Give the median rate of the uplink over the bins of each site and day.

    Of the machines of a site, which all poll the same port, the one with the most usable samples of the day counts.

    Parameters
    ----------
    capacities
        ``site``, ``since`` (a day) and ``capacity_bps``; with them there is a ``utilisation`` (0..1).
    """
    bins = pieces(samples.filter(_.metric == OCTETS, _.usable)).filter(_.in_bin)
    keys = ["site", "day", "machine"]
    rates = median(bins.select(*keys, rate_bps=_.value_per_s * 8), keys, "rate_bps")
    rates = _of_one_machine(rates.rename(bins="rows"), samples)
    if capacities is None:
        return rates
    return _with_utilisation(rates, capacities)


def daily_download_rate(tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table:
    """Give the median over clients of each client's median download rate of a site and day."""
    of_client = ["site", "day", "client"]
    rates = median(_valid_downloads(tests, excluded_clients), of_client, "rate_bps")
    return median(rates, ["site", "day"], "rate_bps").rename(clients="rows")


def daily_loss_ratio(samples: Table) -> Table:
    """Give the packets that the uplink discarded, of those it was given, for each site and day.

    ``discards`` are all that are known, whether packets are known or not; ``loss_ratio`` is over the bins of which both
    are, and null where no packets were counted. ``bins``, ``covered_s`` (their time) and ``bins_with_discards`` are of
    the discards; ``excluded_bins`` are those without a usable value of them.
    """
    sums = (
        loss_bins(samples)
        .group_by(["site", "day", "machine"])
        .agg(
            discards=_.bin_discards.sum(),
            packets=_.bin_packets.sum(where=_.known),
            paired=_.bin_discards.sum(where=_.paired.notnull()),
            bins=(_.known & _.in_bin).sum(),
            bins_with_discards=(_.known & _.in_bin & (_.bin_discards > 0)).sum(),
            covered_s=_.covered_s.sum(where=_.known & _.in_bin).coalesce(0.0),
            excluded_bins=(~_.known).sum(),
        )
    )
    return _of_one_machine(without(sums.mutate(loss_ratio=_.paired / _.packets.nullif(0)), "paired"), samples)


def loss_bins(samples: Table) -> Table:
    """Give the bins of each machine with what was discarded and sent in them; null where that is not known."""
    return (
        pieces(samples.filter(_.metric.isin([DISCARDS, UNICAST])))
        .group_by(["site", "machine", "start"])
        .agg(
            bin_discards=_.value.sum(where=_.metric == DISCARDS),
            bin_packets=_.value.sum(where=_.metric == UNICAST),
            covered_s=_.covered_s.min(),
            in_bin=_.in_bin.cast("int64").min() == 1,
            day=_.day.max(),
        )
        .mutate(known=_.bin_discards.notnull(), paired=_.bin_discards + _.bin_packets)
    )


def daily_other_counts(samples: Table) -> Table:
    """Give what else was counted of each site, day, machine and metric: discards on other ways, and pause frames.

    ``samples_with`` of ``samples`` counted any.
    """
    chosen = samples.filter(_.metric.isin([INBOUND, TO_MACHINES, FROM_MACHINES, *PAUSES]), _.usable)
    dated = chosen.mutate(day=ibis.ifelse(_assumed(), _.bin_end.date(), _.day))
    return dated.group_by(["site", "day", "machine", "metric"]).agg(
        counted=_.value.sum(), samples=_.count(), samples_with=(_.value > 0).sum()
    )


def daily_retransmission_ratio(tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table:
    """Give how much of what was sent to clients was sent again, for each site and day.

    ``worst_ratio`` is the median over clients of each one's worst test; ``total_ratio`` is the sum of what was
    retransmitted over the sum of what was sent, which compares with `daily_loss_ratio`. Tests that count segments and
    such that count bytes have rows of their own.
    """
    keys = ["site", "day", "retransmission_unit"]
    downloads = _valid_downloads(tests, excluded_clients).filter(_.retransmitted.notnull(), _.sent > 0)
    ratios = downloads.mutate(ratio=_.retransmitted / _.sent)
    worst = ratios.group_by([*keys, "client"]).agg(worst_ratio=_.ratio.max())
    totals = ratios.group_by(keys).agg(total_ratio=_.retransmitted.sum() / _.sent.sum())
    return median(worst, keys, "worst_ratio").rename(clients="rows").join(totals, keys)


def clients_before_after(
    tests: Table,
    before: Days,
    after: Days,
    minimum_tests: int = FEWEST_TESTS,
    *,
    excluded_clients: Sequence[str] | None = None,
) -> Table:
    """Give what each client of a cohort saw before and after a change.

    The cohort of a site are the clients with ``minimum_tests`` in both periods at this site.
    """
    chosen = cohort(in_periods(_valid_downloads(tests, excluded_clients), before, after), "site", minimum_tests)
    keys = ["site", "period", "client"]
    medians = median(chosen.rename(median_bps="rate_bps"), keys, "median_bps").drop("rows")
    return spread_of_rates(chosen, keys).join(medians, keys)


def test_overlap(tests: Table, samples: Table) -> Table:
    """Give for each download what the uplink discarded while it ran.

    A test overlaps an interval if it begins before the interval ends and ends after the interval begins. Of the
    machines of the site, that which knows most of the test counts. ``overlap`` is ``non-zero``, ``zero`` where all of
    the test is known, else ``unknown``; ``coverage`` is the share of its time that is known.
    """
    return _overlap(tests, samples, "download", DISCARDS)


def upload_overlap(tests: Table, samples: Table) -> Table:
    """Give for each upload what the uplink discarded of what it received while it ran; otherwise as `test_overlap`."""
    return _overlap(tests, samples, "upload", INBOUND)


def _overlap(tests: Table, samples: Table, direction: str, metric: str) -> Table:
    chosen = tests.filter(_.direction == direction)
    known = known_of_tests(chosen, samples.filter(_.metric == metric, _.usable))
    return classified(chosen, known, "unknown")


def daily_test_counts(overlap: Table) -> Table:
    """Count the tests of `test_overlap` of each site, day and class."""
    return overlap.group_by(["site", "day", "overlap"]).agg(tests=_.count())


def dose_response(overlap: Table) -> Table:
    """Give for each client that has tests of both classes at a site: its rates with and without discards.

    Tests are compared with such of the same hour of the day (UTC), and only from the first day to the last on which a
    test at the site met discards: what is better since a fix is not better without discards. Rates are means of log10
    of bit/s over the hours with tests of both classes, each weighted as its numbers of tests allow. Tests of which the
    overlap is unknown say nothing.
    """
    told = _told(overlap)
    days = told.filter(_.with_discards).group_by("site").agg(first_day=_.day.min(), last_day=_.day.max())
    during = told.join(days, "site").filter(_.day.between(_.first_day, _.last_day))
    hours = during.group_by(["site", "client", "hour"]).agg(
        n_with=_.with_discards.sum(),
        n_without=(~_.with_discards).sum(),
        mean_with=_.log_rate.mean(where=_.with_discards),
        mean_without=_.log_rate.mean(where=~_.with_discards),
        dropped=_.discards.sum(where=_.with_discards),
    )
    both = hours.filter(_.n_with > 0, _.n_without > 0)
    weighted = both.mutate(weight=_.n_with * _.n_without / (_.n_with + _.n_without))
    return weighted.group_by(["site", "client"]).agg(
        tests_with=_.n_with.sum(),
        tests_without=_.n_without.sum(),
        mean_log10_bps_with=(_.weight * _.mean_with).sum() / _.weight.sum(),
        mean_log10_bps_without=(_.weight * _.mean_without).sum() / _.weight.sum(),
        discards_per_test_with=_.dropped.sum() / _.n_with.sum(),
    )


def tests_of_few(overlap: Table, fewer_than: int) -> Table:
    """Give the tests of sites with so few clients that have tests of both classes, to compare each with itself.

    All days count, unlike in `dose_response`: a site of one client may have tests without discards only before they
    began.
    """
    told = _told(overlap)
    clients = told.group_by(["site", "client"]).agg(hit=_.with_discards.sum(), free=(~_.with_discards).sum())
    few = clients.filter(_.hit > 0, _.free > 0).group_by("site").agg(clients=_.count()).filter(_.clients < fewer_than)
    return told.semi_join(few, "site").select("site", "client", "hour", "with_discards", "log_rate")


def _told(overlap: Table) -> Table:
    return overlap.filter(_.overlap != "unknown", _.rate_bps > 0, _.client.notnull()).mutate(
        with_discards=_.overlap == "non-zero", log_rate=_.rate_bps.log10(), hour=_.start.hour()
    )


def counted_downloads(
    tests: Table, excluded_clients: Sequence[str] | None = None, *, direction: str = "download"
) -> Table:
    """Give the downloads that measured something: a million bytes, 9 s to under 600 s, not of the monitoring.

    Sources that do not say bytes or clients are believed; where they do not say how long was sent, the test lasted from
    its start to its end.
    """
    excluded = MONITORING_CLIENTS if excluded_clients is None else excluded_clients
    lasted_s = _.sending_s.coalesce(lasting_us(_.start, _.end) / 1e6)
    return tests.filter(
        _.direction == direction,
        _.client.isnull() | _.client.notin(list(excluded)),
        _.bytes.isnull() | large_enough(),
        long_enough(lasted_s),
    )


def _valid_downloads(tests: Table, excluded_clients: Sequence[str] | None) -> Table:
    """Give the downloads that count, whose they are and how fast."""
    return counted_downloads(tests, excluded_clients).filter(_.client.notnull(), _.rate_bps.notnull())


def pieces(samples: Table) -> Table:
    """Cut samples into bins of 10 s; one that covers several, because polls were missed, counts in equal parts.

    ``in_bin`` is false for a sample of a span that is too long for this: it stays whole. A sample that is not usable
    has no value.
    """
    spans = (_.span_s / BIN_S + 0.5).floor().cast("int64")
    spanned = samples.mutate(
        value=ibis.ifelse(_.usable, _.value, ibis.null("float64")),
        parts=ibis.ifelse(spans > MOST_BINS_OF_A_SAMPLE, 0, ibis.greatest(spans, 1)),
    )
    cut = spanned.join(parts(MOST_BINS_OF_A_SAMPLE), "parts")
    begun = cut.mutate(start=_.bin_start + (_.part * BIN_S).as_interval("s"))
    return begun.select(
        "site",
        "machine",
        "metric",
        "start",
        day=ibis.ifelse(_assumed(), _.bin_end.date(), _.start.date()),
        value=_.value / ibis.greatest(_.parts, 1),
        value_per_s=_.value / _.span_s,
        covered_s=_.span_s / ibis.greatest(_.parts, 1),
        in_bin=_.parts > 0,
    )


def _assumed() -> Value:
    """Mark samples of which the begin is assumed: they count on the day of their end.

    What may lie on the day before would make a day with telemetry of it.
    """
    return (_.flags & int(Flag.UNANCHORED)) != 0


def median(rows: Table, keys: list[str], column: str) -> Table:
    """Give the median of a column, and ``rows``.

    By rank, because the quantiles of engines are of different definitions or approximate.
    """
    ranked = numbered(rows, keys, column)
    middle = ranked.filter(_["rank"] * 2 >= _.rows, _["rank"] * 2 <= _.rows + 2)
    return mean_of_groups(middle, keys, column)


def _of_one_machine(rows: Table, samples: Table) -> Table:
    """Give for each site and day the row of one machine, the same for all questions.

    It is the one with the most usable samples of all that is asked about: of equals, that with the most bins here, then
    the first by name. One without a row is passed over.
    """
    usable = samples.filter(_.metric.isin([OCTETS, UNICAST, DISCARDS]), _.usable)
    keys = ["site", "day", "machine"]
    polls = usable.group_by(keys).agg(polls=_.count())
    order = ibis.window(group_by=["site", "day"], order_by=[ibis.desc("polls"), ibis.desc("bins"), "machine"])
    counted = rows.left_join(polls, keys).select(*rows.columns, polls=_.polls.coalesce(0))
    first = counted.mutate(place=ibis.row_number().over(order)).filter(_.place == 0)
    return without(first, "place", "polls")


def _with_utilisation(rates: Table, capacities: Table) -> Table:
    """Add the share of the capacity that held on the day; nothing where none is known."""
    keys = ["site", "day"]
    candidates = rates.select(*keys).join(capacities, "site").filter(_.since <= _.day)
    latest = ibis.window(group_by=keys, order_by=ibis.desc("since"))
    holding = candidates.mutate(place=ibis.row_number().over(latest)).filter(_.place == 0)
    joined = rates.left_join(holding.select(*keys, "capacity_bps"), keys)
    return joined.select(*rates.columns, utilisation=_.rate_bps / _.capacity_bps)
