"""Answers of the analysis as daily series, and what they say of each site."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ibis.expr.types import Table

from brimful.discards import findings
from brimful.discards.capacities import Capacities
from brimful.discards.expressions import (
    BIN_S,
    DISCARDS,
    FROM_MACHINES,
    INBOUND,
    OCTETS,
    PAUSES,
    TO_MACHINES,
    UNICAST,
)
from brimful.discards.schema import WIDTHS
from brimful.records import Finding, Record, Series
from brimful.statistics.change_points import change_points

BINS_A_DAY = 86400 // BIN_S
DIGITS = 6
"""The digits of a derived value that are kept."""
CLASSES = ("non-zero", "zero", "unknown")
WITH_VARIANTS = ("tests", "download_max", "download_mean", "download_median")
"""Quantities whose series have a variant after the site."""
PREFIX_OF_SPLITS = "split-"
"""What names of series begin with that are not of sites (`brimful.discards.splits`)."""

Rows = list[dict[str, Any]]


def flag_counts(samples: Table) -> Table:
    """Count the samples of uplinks by site, flags and whether they are used."""
    uplink = samples.filter(samples.metric.isin([OCTETS, UNICAST, DISCARDS]))
    return uplink.group_by(["site", "flags", "usable"]).agg(samples=uplink.count())


def uplink_rate(rows: Rows, capacities: Capacities) -> Iterator[Record]:
    """Give the daily median rates, and their share of the capacities that were given."""
    for site, of_site in by_site(rows):
        yield daily_series("uplink_rate", site, of_site, "rate_bps", unit="bit/s")
        shares = [
            {**row, "share": row["rate_bps"] / capacity}
            for row in of_site
            if (capacity := capacities.given(site, row["day"])) is not None
        ]
        if shares:
            yield daily_series("uplink_utilisation", site, shares, "share")


def losses(rows: Rows) -> Iterator[Record]:
    """Give the daily loss ratios, discards, and shares of bins with discards."""
    for site, of_site in by_site(rows):
        shares = [{**row, "share": row["bins_with_discards"] / row["bins"]} for row in of_site if row["bins"]]
        yield daily_series("loss_ratio", site, of_site, "loss_ratio")
        yield daily_series("discards", site, of_site, "discards", unit="packets")
        yield daily_series("bins_with_discards", site, shares, "share")
        if any(row["discards"] is not None for row in of_site) and all(row["loss_ratio"] is None for row in of_site):
            seen = any(row["packets"] is not None for row in of_site)
            why = "the counter of packets never moved" if seen else "no packets were counted"
            text = f"{site}: what share of its packets was discarded is not known, {why}: save ifHCOutUcastPkts."
            yield Finding(code="ratio-unknown", subject=site, text=text, data={"packets_seen": seen})


_OTHERS = {
    INBOUND: ("inbound_discards", "discards-inbound", "packets that came in on the uplink were discarded"),
    TO_MACHINES: ("machine_discards", "discards-machines", "packets to machines of the site were discarded (fan-in)"),
    FROM_MACHINES: ("machine_inbound_discards", "discards-from-machines", "packets from machines were discarded"),
    PAUSES[0]: ("pauses_received", "pauses-received", "pause frames were received on the uplink"),
    PAUSES[1]: ("pauses_sent", "pauses-sent", "pause frames were sent on the uplink"),
    PAUSES[2]: ("machine_pauses_received", "pauses-from-machines", "pause frames were received from machines"),
    PAUSES[3]: ("machine_pauses_sent", "pauses-to-machines", "pause frames were sent to machines"),
}
"""Metric: its series, the code of what it says, and what happened, in words."""


def others(rows: Rows) -> Iterator[Record]:
    """Give discards on other ways than out of the uplink, and pause frames; say of each way how many there were."""
    for site, of_site in by_site(rows):
        for metric, (quantity, code, what) in _OTHERS.items():
            days = _of_ports([row for row in of_site if row["metric"] == metric], is_shared=".uplink." in metric)
            if not days:
                continue
            yield daily_series(quantity, site, days, "counted", unit="packets" if "discards" in metric else "frames")
            counted, samples, hit = (sum(row[name] for row in days) for name in ("counted", "samples", "samples_with"))
            hits = sum(row["counted"] > 0 for row in days)
            data = {"counted": counted, "samples": samples, "samples_with": hit, "days": len(days), "days_with": hits}
            text = f"{site}: no {what}: none in {samples:,} samples."
            if counted:
                days_with = f"{hits:,} of {len(days):,} day{'' if len(days) == 1 else 's'}"
                text = (
                    f"{site}: {round(counted):,} {what}, on {days_with}, in "
                    f"{findings.percent(hit / samples)} of the samples."
                )
            if counted or metric == INBOUND:
                yield Finding(code=code if counted else f"{code}-none", subject=site, text=text, data=data)


def _of_ports(rows: Rows, *, is_shared: bool) -> Rows:
    """Add up the ports of a day; of a port that all machines poll, that which was polled most counts."""
    found: defaultdict[datetime.date, Rows] = defaultdict(list)
    for row in rows:
        found[row["day"]].append(row)
    days = []
    for day, of_day in sorted(found.items()):
        chosen = [min(of_day, key=lambda row: (-row["samples"], row["machine"]))] if is_shared else of_day
        sums = {name: sum(row[name] for row in chosen) for name in ("counted", "samples", "samples_with")}
        days.append({"day": day, **sums})
    return days


def changes(rows: Rows) -> Iterator[Record]:
    """Say when discards began, changed and stopped at each site."""
    for site, of_site in by_site(rows):
        days = [row["day"] for row in of_site]
        hits, bins = ([int(row[name]) for row in of_site] for name in ("bins_with_discards", "bins"))
        yield from findings.of_change_points(site, hits, bins, change_points(days, hits, bins))


def coverage(rows: Rows) -> Iterator[Record]:
    """Say how much of the time between its first and its last day the telemetry of a site covers."""
    for site, every in by_site(rows):
        # The bin of a first poll may begin on the day before, of which nothing is known.
        of_site = [row for row in every if row["bins"]] or every
        days = (max(row["day"] for row in of_site) - min(row["day"] for row in of_site)).days + 1
        bins, there = days * BINS_A_DAY, round(sum(row["covered_s"] for row in of_site) / BIN_S)
        share = _rounded(min(1.0, there / bins))
        data = {
            "coverage": share,
            "bins": bins,
            "covered_bins": there,
            "excluded_bins": sum(int(row["excluded_bins"]) for row in every),
            "days": days,
            "days_with_telemetry": len(of_site),
        }
        text = f"{site}: telemetry covers {findings.percent(share)} of {days:,} days."
        yield Finding(code="coverage", subject=site, text=text, data=data)


def exclusions(rows: Rows) -> Iterator[Record]:
    """Say how many samples of the uplink of each site were left out, and what was the matter with them."""
    for site, of_site in by_site(rows):
        total = sum(int(row["samples"]) for row in of_site)
        left_out = sum(int(row["samples"]) for row in of_site if not row["usable"])
        flagged = {
            flag.name.lower(): sum(int(row["samples"]) for row in of_site if int(row["flags"]) & flag)
            for flag in ~WIDTHS
            if flag.name is not None
        }
        conflicts = flagged.pop("conflict")
        data = {"samples": total, "left_out": left_out, **flagged}
        text = f"{site}: {left_out:,} of {total:,} samples of the uplink were left out."
        yield Finding(code="excluded", subject=site, text=text, data=data)
        if conflicts:
            text = (
                f"{site}: for {conflicts:,} samples another value was delivered as well; the one ingested last is used."
            )
            yield Finding(code="conflicts", subject=site, text=text, data={"conflicts": conflicts})


def download_rate(rows: Rows) -> Iterator[Record]:
    """Give the daily median rates of downloads, and the clients behind each."""
    for site, of_site in by_site(rows):
        yield daily_series("download_rate", site, of_site, "rate_bps", unit="bit/s")
        yield daily_series("download_clients", site, of_site, "clients", unit="clients")


def retransmission_ratio(rows: Rows) -> Iterator[Record]:
    """Give the daily retransmission ratios: medians of the worst of each client, and of all tests together."""
    for site, of_site in by_site(rows):
        yield daily_series("retransmission_ratio", site, of_site, "worst_ratio")
        yield daily_series("retransmission_ratio_total", site, of_site, "total_ratio")


def upload_overlaps(rows: Rows) -> Iterator[Record]:
    """Say how many uploads ran while the uplink discarded what it received; nothing where that is not known of any."""
    for site, of_site in by_site(rows):
        sums = {name: sum(int(row["tests"]) for row in of_site if row["overlap"] == name) for name in CLASSES}
        known = sums["non-zero"] + sums["zero"]
        if known:
            share = _rounded(sums["non-zero"] / known)
            text = (
                f"{site}: inbound discards overlapped {sums['non-zero']:,} of {known:,} uploads "
                f"({findings.percent(share)})."
            )
            data = {"tests": sum(sums.values()), "with_discards": sums["non-zero"], "share": share}
            yield Finding(code="affected-uploads", subject=site, text=text, data=data)


def overlaps(rows: Rows) -> Iterator[Record]:
    """Give the daily numbers of tests by what is known of discards in them."""
    for site, of_site in by_site(rows):
        sums = dict.fromkeys(CLASSES, 0)
        for name in CLASSES:
            of_class = [row for row in of_site if row["overlap"] == name]
            sums[name] = sum(int(row["tests"]) for row in of_class)
            if of_class:
                yield daily_series("tests", site, of_class, "tests", unit="tests", variant=name)
        total, known = sum(sums.values()), sums["non-zero"] + sums["zero"]
        data: dict[str, Any] = {
            "tests": total,
            "with_discards": sums["non-zero"],
            "without_discards": sums["zero"],
            "unknown": sums["unknown"],
        }
        text = f"{site}: what discards did to its {total:,} downloads is not known, telemetry is missing."
        if known:
            data["share"] = _rounded(sums["non-zero"] / known)
            text = (
                f"{site}: discards overlapped {sums['non-zero']:,} of {known:,} downloads "
                f"({findings.percent(data['share'])})"
            )
            text += f"; of {sums['unknown']:,} more it is not known." if sums["unknown"] else "."
        yield Finding(code="affected", subject=site, text=text, data=data)


def by_site(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Give the rows of each site, sorted, those of a site by day."""
    grouped: defaultdict[str, Rows] = defaultdict(list)
    for row in rows:
        grouped[row["site"]].append(row)
    for site in sorted(grouped):
        yield site, sorted(grouped[site], key=lambda row: row.get("day") or datetime.date.min)


def daily_series(
    quantity: str, site: str, rows: Sequence[dict[str, Any]], column: str, *, unit: str = "", variant: str = ""
) -> Series:
    """Give a column of daily rows as a series; what has no value is no point."""
    points = sorted((unix_day(row["day"]), _rounded(row[column])) for row in rows if row[column] is not None)
    name = f"{quantity}/{site}/{variant}" if variant else f"{quantity}/{site}"
    return Series(name=name, points=points, x_name="day", x_unit="s", y_unit=unit)


def site_of(name: str) -> str:
    """Give the site that a series is of.

    >>> site_of("loss_ratio/dfw02"), site_of("tests/xe-0/0/1/zero")
    ('dfw02', 'xe-0/0/1')
    """
    quantity, _, rest = name.partition("/")
    return rest.rpartition("/")[0] if quantity in WITH_VARIANTS else rest


def unix_day(day: datetime.date) -> float:
    """Give the start of a day in Unix seconds."""
    return (day - datetime.date(1970, 1, 1)).days * 86400.0


def day_of(seconds: float) -> datetime.date:
    """Give the day that begins at this number of Unix seconds."""
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=seconds // 86400)


def rounded_points(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Give points with as many digits as are kept."""
    return [(_rounded(x), _rounded(y)) for x, y in points]


def _rounded(value: float) -> float:
    # Whole numbers are counts and are kept whole.
    return float(value) if float(value).is_integer() else float(f"{value:.{DIGITS}g}")
