"""The questions, as Ibis expressions: what the switch dropped, what users saw, and which tests are tainted.

Every function takes the tables ``samples`` and ``tests`` of `brimful.discards.schema`, with ``site`` and ``day``, and
gives an expression that DuckDB, Spark and BigQuery compute alike: equality joins, counts and ranks only.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Sequence

import ibis
from ibis import _
from ibis.expr.types import Table, Value

from brimful.discards.overlap import LONGEST_SAMPLE_S, TEST, known_of_tests, microseconds, parts, seconds, small_numbers

OCTETS = "switch.octets.uplink.tx"
UNICAST = "switch.unicast.uplink.tx"
DISCARDS = "switch.discards.uplink.tx"

BIN_S = 10
MOST_BINS_OF_A_SAMPLE = LONGEST_SAMPLE_S // BIN_S
"""A sample of a longer span counts in sums of a day, but does not say when within its span."""
FEWEST_TESTS = 11
"""That a client of a cohort has in each period, as in the report."""

REPORT_MACHINE = "mlab1"
REPORT_MONITORING_CLIENTS = (
    "45.56.98.222",
    "2600:3c03::f03c:91ff:fe33:819",
    "35.225.75.192",
    "35.192.37.249",
    "35.193.254.117",
)
"""Addresses of the operator's own monitoring, which the report excludes."""
MONITORING_CLIENTS = (
    *REPORT_MONITORING_CLIENTS,
    "23.228.128.99",
    "2605:a601:f1ff:fffe::99",
    "35.202.153.90",
    "35.188.150.110",
)
"""The same as it is listed since."""

Days = tuple[datetime.date, datetime.date]
"""First and last day, both included."""


class Mode(enum.Enum):
    """Whose definitions hold."""

    CORRECT = "correct"
    """Those of brimful."""
    REPORT = "report"
    """Those of the notebook of the 2018 report, to compare with what it published."""


def daily_uplink_rate(samples: Table, capacities: Table | None = None, *, mode: Mode = Mode.CORRECT) -> Table:
    """Give the median rate of the uplink over the bins of each site and day.

    Of the machines of a site, which all poll the same port, the one with the most usable samples of the day counts.

    Parameters
    ----------
    capacities
        ``site``, ``since`` (a day) and ``capacity_bps``; with them there is a ``utilisation`` (0..1).
    """
    if mode is Mode.REPORT:
        delivered = _delivered(samples, OCTETS).select("site", "day", rate_bps=_.value * 8 / BIN_S)
        rates = _middle(delivered, ["site", "day"], "rate_bps", mode).rename(bins="rows")
    else:
        pieces = _pieces(samples.filter(_.metric == OCTETS, _.usable)).filter(_.in_bin)
        rates = _middle(
            pieces.select("site", "day", "machine", rate_bps=_.value_per_s * 8),
            ["site", "day", "machine"],
            "rate_bps",
            mode,
        )
        rates = _of_one_machine(rates.rename(bins="rows"), samples)
    if capacities is None:
        return rates
    return _with_utilisation(rates, capacities)


def daily_download_rate(
    tests: Table, *, excluded_clients: Sequence[str] | None = None, mode: Mode = Mode.CORRECT
) -> Table:
    """Give the median over clients of each client's median download rate (the report: best one) of a site and day."""
    downloads = _valid_downloads(tests, excluded_clients, mode)
    of_client = ["site", "day", "client"]
    if mode is Mode.REPORT:
        rates = downloads.group_by(of_client).agg(rate_bps=_.rate_bps.max())
    else:
        rates = _middle(downloads, of_client, "rate_bps", mode)
    return _middle(rates, ["site", "day"], "rate_bps", mode).rename(clients="rows")


def daily_loss_ratio(samples: Table, *, mode: Mode = Mode.CORRECT) -> Table:
    """Give the packets that the uplink discarded, of those it was given, for each site and day.

    ``covered_s`` is the time of its bins; ``excluded_bins`` are those without a usable value of both counters. The
    report excludes whole days instead: those of 1 % and more.
    """
    keys = ["site", "day", "machine"]
    if mode is Mode.REPORT:
        delivered = _delivered(samples, DISCARDS, UNICAST)
        sums = delivered.group_by(keys).agg(
            discards=_.value.sum(where=_.metric == DISCARDS),
            packets=_.value.sum(where=_.metric == UNICAST),
            bins=(_.metric == DISCARDS).sum(),
            bins_with_discards=((_.metric == DISCARDS) & (_.value > 0)).sum(),
        )
        ratios = sums.mutate(
            covered_s=_.bins * float(BIN_S),
            excluded_bins=ibis.literal(0, "int64"),
            loss_ratio=_.discards / _.packets.nullif(0),
        )
        return ratios.filter(_.discards < _.packets, _.loss_ratio < 0.01)
    bins = (
        _pieces(samples.filter(_.metric.isin([DISCARDS, UNICAST])))
        .group_by(["site", "machine", "start"])
        .agg(
            bin_discards=_.value.sum(where=_.metric == DISCARDS),
            bin_packets=_.value.sum(where=_.metric == UNICAST),
            covered_s=_.covered_s.min(),
            in_bin=_.in_bin.cast("int64").min() == 1,
        )
        .mutate(day=_.start.date(), known=_.bin_discards.notnull() & _.bin_packets.notnull())
    )
    sums = bins.group_by(keys).agg(
        discards=_.bin_discards.sum(where=_.known).coalesce(0.0),
        packets=_.bin_packets.sum(where=_.known).coalesce(0.0),
        bins=(_.known & _.in_bin).sum(),
        bins_with_discards=(_.known & _.in_bin & (_.bin_discards > 0)).sum(),
        covered_s=_.covered_s.sum(where=_.known & _.in_bin).coalesce(0.0),
        excluded_bins=(~_.known).sum(),
    )
    return _of_one_machine(sums.mutate(loss_ratio=_.discards / _.packets.nullif(0)), samples)


def daily_retransmission_ratio(
    tests: Table, *, excluded_clients: Sequence[str] | None = None, mode: Mode = Mode.CORRECT
) -> Table:
    """Give how much of what was sent to clients was sent again, for each site and day.

    ``worst_ratio`` is the median over clients of each one's worst test; ``total_ratio`` is the sum of what was
    retransmitted over the sum of what was sent, which compares with `daily_loss_ratio`. Tests that count segments and
    such that count bytes have rows of their own. The report has one for each ``server_name``.
    """
    keys = ["site", "day", "server_name" if mode is Mode.REPORT else "retransmission_unit"]
    downloads = _valid_downloads(tests, excluded_clients, mode).filter(_.retransmitted.notnull(), _.sent > 0)
    ratios = downloads.mutate(ratio=_.retransmitted / _.sent)
    worst = ratios.group_by([*keys, "client"]).agg(worst_ratio=_.ratio.max())
    totals = ratios.group_by(keys).agg(total_ratio=_.retransmitted.sum() / _.sent.sum())
    return _middle(worst, keys, "worst_ratio", mode).rename(clients="rows").join(totals, keys)


def clients_before_after(
    tests: Table,
    before: Days,
    after: Days,
    minimum_tests: int = FEWEST_TESTS,
    *,
    excluded_clients: Sequence[str] | None = None,
    mode: Mode = Mode.CORRECT,
) -> Table:
    """Give what each client of a cohort saw before and after a change.

    The cohort of a site are the clients with ``minimum_tests`` in both periods at this site. The report counts the
    tests at all sites of a metro, keeps machines apart, and drops what has one test only.
    """
    in_before, in_after = _.day.between(*before), _.day.between(*after)
    downloads = (
        _valid_downloads(tests, excluded_clients, mode)
        .filter(in_before | in_after)
        .mutate(period=ibis.ifelse(in_before, "before", "after"))
    )
    if mode is Mode.REPORT:
        origin = ["server_name", "logged", "client", "client_port", "server", "server_port"]
        kept = ["site", "machine", "period", "metro", "rate_bps"]
        downloads = downloads.mutate(metro=_.site.substr(0, 3).upper()).select(*origin, *kept).distinct()
    place = "metro" if mode is Mode.REPORT else "site"
    counts = downloads.group_by([place, "client"]).agg(
        tests_before=(_.period == "before").sum(), tests_after=(_.period == "after").sum()
    )
    cohort = counts.filter(_.tests_before >= minimum_tests, _.tests_after >= minimum_tests)
    chosen = downloads.semi_join(cohort, [place, "client"])
    keys = ["site", "machine", "period", "client"] if mode is Mode.REPORT else ["site", "period", "client"]
    statistics = chosen.group_by(keys).agg(
        tests=_.count(),
        max_bps=_.rate_bps.max(),
        min_bps=_.rate_bps.min(),
        mean_bps=_.rate_bps.mean(),
        stddev_bps=_.rate_bps.std(how="sample"),
    )
    if mode is Mode.REPORT:
        statistics = statistics.filter(_.tests > 1)
    medians = _middle(chosen.rename(median_bps="rate_bps"), keys, "median_bps", mode).drop("rows")
    return statistics.join(medians, keys)


def test_overlap(tests: Table, samples: Table, *, mode: Mode = Mode.CORRECT) -> Table:  # noqa: PT028
    """Give for each download what the uplink discarded while it ran.

    A test overlaps an interval if it begins before the interval ends and ends after the interval begins. Of the
    machines of the site, that which knows most of the test counts. ``overlap`` is ``non-zero``, ``zero`` where all of
    the test is known, else ``unknown``; ``coverage`` is the share of its time that is known.

    The report looks at two bins for each test of one machine, the second and the third, and takes unknown as zero. It
    has the tests of a million bytes and more that sent for 9 s and more, but less than 600 s.
    """
    downloads = tests.filter(_.direction == "download")
    if mode is Mode.REPORT:
        downloads = downloads.filter(_.machine == REPORT_MACHINE, _large_enough(), _long_enough(_.sending_s))
        downloads = downloads.mutate(day=_.logged.date(), rate_bps=_rate_of_sending(downloads))
        known = _known_in_the_report(downloads, samples)
    else:
        known = known_of_tests(downloads, samples.filter(_.metric == DISCARDS, _.usable))
    columns = ("test_id", "site", "day", "machine", "client", "start", "end", "rate_bps")
    rows = downloads.select(*columns).left_join(known, TEST)
    otherwise = "zero" if mode is Mode.REPORT else "unknown"
    return rows.select(
        *columns,
        intervals=_.intervals.coalesce(0),
        coverage=_.coverage.coalesce(0.0),
        intervals_with_discards=_.intervals_with_discards.coalesce(0),
        discards=_.discards.coalesce(0.0),
        worst_discards=_.worst_discards.coalesce(0.0),
        overlap=ibis.cases((_.discards > 0, "non-zero"), (_.coverage == 1, "zero"), else_=otherwise),
    )


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
    told = overlap.filter(_.overlap != "unknown", _.rate_bps > 0, _.client.notnull()).mutate(
        with_discards=_.overlap == "non-zero", log_rate=_.rate_bps.log10(), hour=_.start.hour()
    )
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


def counted_downloads(tests: Table, excluded_clients: Sequence[str] | None = None) -> Table:
    """Give the downloads that measured something: a million bytes, 9 s to under 600 s, not of the monitoring.

    Sources that do not say bytes or clients are believed; where they do not say how long was sent, the test lasted from
    its start to its end.
    """
    excluded = MONITORING_CLIENTS if excluded_clients is None else excluded_clients
    lasted_s = _.sending_s.coalesce((microseconds(_.end) - microseconds(_.start)) / 1e6)
    return tests.filter(
        _.direction == "download",
        _.client.isnull() | _.client.notin(list(excluded)),
        _.bytes.isnull() | _large_enough(),
        _long_enough(lasted_s),
    )


def _valid_downloads(tests: Table, excluded_clients: Sequence[str] | None, mode: Mode) -> Table:
    """Give the downloads that count and tell whose they are and how fast."""
    if mode is not Mode.REPORT:
        return counted_downloads(tests, excluded_clients).filter(_.client.notnull(), _.rate_bps.notnull())
    excluded = REPORT_MONITORING_CLIENTS if excluded_clients is None else excluded_clients
    valid = tests.filter(
        _.direction == "download",
        _.client.notnull(),
        _.client.notin(list(excluded)),
        _large_enough(),
        _long_enough(_.sending_s),
    )
    return valid.mutate(day=_.logged.date(), rate_bps=_rate_of_sending(valid))


def _large_enough() -> Value:
    return _.bytes >= 1_000_000


def _long_enough(lasted_s: Value) -> Value:
    return (lasted_s >= 9) & (lasted_s < 600)


def _rate_of_sending(tests: Table) -> Value:
    return tests.bytes * 8 / tests.sending_s.nullif(0)


def _delivered(samples: Table, *metrics: str) -> Table:
    """Give what the report summed up: the values of one machine as they were delivered, right or wrong."""
    rows = samples.filter(_.machine == REPORT_MACHINE, _.metric.isin(metrics))
    return rows.mutate(value=ibis.coalesce(_.reported.cast("float64"), _.value)).filter(_.value.notnull())


def _pieces(samples: Table) -> Table:
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
    pieces = cut.mutate(start=_.bin_start + (_.part * BIN_S).as_interval("s"))
    return pieces.select(
        "site",
        "machine",
        "metric",
        "start",
        day=_.start.date(),
        value=_.value / ibis.greatest(_.parts, 1),
        value_per_s=_.value / _.span_s,
        covered_s=_.span_s / ibis.greatest(_.parts, 1),
        in_bin=_.parts > 0,
    )


def _known_in_the_report(downloads: Table, samples: Table) -> Table:
    """Give what is known by samples labelled 10 s or 20 s after the start of a test, cut to 10 s."""
    delivered = _delivered(samples, DISCARDS).filter(seconds(_.bin_start) % BIN_S == 0)
    labelled = delivered.select("site", cell=seconds(_.bin_start) // BIN_S, value=_.value)
    timed = downloads.select(*TEST, first=seconds(_.start) // BIN_S)
    probes = timed.cross_join(small_numbers().filter(_.number.isin([1, 2]))).mutate(cell=_.first + _.number)
    hits = probes.join(labelled, ["site", "cell"])
    return hits.group_by(TEST).agg(
        coverage=ibis.least(_.count(), 2) / 2,
        intervals=_.count(),
        intervals_with_discards=(_.value > 0).sum(),
        discards=_.value.sum(),
        worst_discards=_.value.max(),
    )


def _middle(rows: Table, keys: list[str], column: str, mode: Mode) -> Table:
    """Give the median of a column, or the quantile 49/101 by nearest rank that the report has, and ``rows``.

    By rank, because the quantiles of engines are of different definitions or approximate.
    """
    known = rows.select(*keys, column).filter(_[column].notnull())
    ranked = known.mutate(
        rank=ibis.row_number().over(ibis.window(group_by=keys, order_by=column)) + 1,
        rows=ibis._.count().over(ibis.window(group_by=keys)),
    )
    if mode is Mode.REPORT:
        middle = ranked.filter(_["rank"] * 101 >= _.rows * 49, (_["rank"] - 1) * 101 < _.rows * 49)
    else:
        middle = ranked.filter(_["rank"] * 2 >= _.rows, _["rank"] * 2 <= _.rows + 2)
    return middle.group_by(keys).agg(**{column: _[column].mean(), "rows": _.rows.max()})


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
    return counted.mutate(place=ibis.row_number().over(order)).filter(_.place == 0).drop("place", "polls")


def _with_utilisation(rates: Table, capacities: Table) -> Table:
    """Add the share of the capacity that held on the day; nothing where none is known."""
    keys = ["site", "day"]
    candidates = rates.select(*keys).join(capacities, "site").filter(_.since <= _.day)
    latest = ibis.window(group_by=keys, order_by=ibis.desc("since"))
    holding = candidates.mutate(place=ibis.row_number().over(latest)).filter(_.place == 0)
    joined = rates.left_join(holding.select(*keys, "capacity_bps"), keys)
    return joined.select(*rates.columns, utilisation=_.rate_bps / _.capacity_bps)
