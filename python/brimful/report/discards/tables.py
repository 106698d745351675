"""The tables of the report on discards."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brimful.records import Finding
from brimful.report.blocks import Table
from brimful.report.discards import numbers
from brimful.report.discards.model import PLACES, Split, View, Window, format_day, number
from brimful.units import format_load

_COMPARED = {"download_max": "fastest", "download_mean": "mean", "download_median": "median"}


def make_tables(view: View) -> list[Table]:
    """Give all tables that the record has anything for.

    Parameters
    ----------
    view
        From `brimful.report.discards.model.build`.
    """
    tables = [_sites(view), _tests(view), _levels(view), _compared(view), _paired(view), _doses(view), _excluded(view)]
    tables += [_split(split) for split in view.splits if not split.is_distribution]
    return [table for table in tables if table.rows]


def _sites(view: View) -> Table:
    begins = {change.site: change.at_s for change in view.changes if change.kind == "begin"}
    stops = {change.site: change.at_s for change in reversed(view.changes) if change.kind == "stop"}
    coverage = {finding.subject: finding.data for finding in view.findings("coverage")}
    rows = []
    for site in view.sites:
        counts, ratios = view.of("discards", site), view.of("loss_ratio", site)
        if not (counts or ratios or site in coverage):
            continue
        worst = max(ratios, key=lambda point: point[1], default=None)
        rows.append(
            [
                site,
                numbers.count(len(counts or ratios)),
                numbers.share(coverage.get(site, {}).get("coverage")),
                numbers.count(sum(y for _, y in counts)) if counts else numbers.NOTHING,
                numbers.count(sum(y > 0 for _, y in counts or ratios)),
                f"{numbers.small(worst[1])} on {format_day(worst[0])}" if worst and worst[1] > 0 else numbers.NOTHING,
                _day(begins.get(site)),
                _day(stops.get(site)),
                _mean_share(view, site),
                _times_greater(view, site),
                *(
                    numbers.count(sum(y for _, y in view.of(quantity, site)))
                    if view.of(quantity, site)
                    else numbers.NOTHING
                    for quantity in _OTHERS.values()
                ),
            ]
        )
    columns = [True] * 10 + [
        any(row[place] != numbers.NOTHING for row in rows) for place in range(10, 10 + len(_OTHERS))
    ]
    rows = [[cell for cell, is_shown in zip(row, columns, strict=True) if is_shown] for row in rows]
    heads = [
        *("site", "days", "covered", "discards", "days with", "worst day", "begin", "stop", "bins with"),
        "retransmitted / discarded",
        *_OTHERS,
    ]
    return Table(
        key="sites",
        words=1,
        title="Discards by site",
        names=[head for head, is_shown in zip(heads, columns, strict=True) if is_shown],
        rows=rows,
        notes=[
            "Days: with telemetry of the uplink. Worst day: the one with the greatest loss ratio. "
            "Covered: share of their bins with usable samples. "
            "Begin and stop: where the daily series changes; none where discards never were or never ended. "
            "Bins with: mean over the days of the share of bins with discards. Retransmitted / discarded: median over "
            "days with both of the retransmission ratio over the loss ratio."
        ],
    )


_OTHERS = {
    "inbound": "inbound_discards",
    "to machines": "machine_discards",
    "pauses received": "pauses_received",
    "pauses sent": "pauses_sent",
}
"""Columns of the table by site that are there where something is known of them."""


def _mean_share(view: View, site: str) -> str:
    shares = [y for _, y in view.of("bins_with_discards", site)]
    return numbers.share(sum(shares) / len(shares)) if shares else numbers.NOTHING


def _times_greater(view: View, site: str) -> str:
    """Say how many times as much was retransmitted as was discarded."""
    lost = dict(view.of("loss_ratio", site))
    sent_again = dict(view.of("retransmission_ratio_total", site) or view.of("retransmission_ratio", site))
    ratios = sorted(sent_again[day] / lost[day] for day in lost.keys() & sent_again.keys() if lost[day] > 0)
    if not ratios:
        return numbers.NOTHING
    middle = len(ratios) // 2
    return f"{ratios[middle] if len(ratios) % 2 else (ratios[middle - 1] + ratios[middle]) / 2:.3g}"


def _tests(view: View) -> Table:
    rows = []
    for site in view.sites:
        sums = {
            variant: sum(y for _, y in view.of("tests", site, variant)) for variant in ("non-zero", "zero", "unknown")
        }
        total, known = sum(sums.values()), sums["non-zero"] + sums["zero"]
        if total:
            rows.append(
                [
                    site,
                    numbers.count(total),
                    *(numbers.count(count) for count in sums.values()),
                    numbers.share(sums["non-zero"] / known) if known else numbers.NOTHING,
                    _most_affected(view, site),
                ]
            )
    return Table(
        key="tests",
        words=1,
        title="Tests that discards overlap",
        names=["site", "tests", "with discards", "without", "unknown", "share of known", "most in a month"],
        rows=rows,
    )


def _most_affected(view: View, site: str) -> str:
    """Give the month with the greatest share of tests with discards."""
    months: dict[str, list[float]] = {}
    for place, variant in enumerate(("non-zero", "zero")):
        for x, y in view.of("tests", site, variant):
            months.setdefault(format_day(x)[:7], [0.0, 0.0])[place] += y
    shares = {month: hit / (hit + free) for month, (hit, free) in months.items() if hit + free > 0}
    month = max(shares, key=lambda name: shares[name], default=None)
    return f"{numbers.share(shares[month])} in {month}" if month and shares[month] else numbers.NOTHING


def _levels(view: View) -> Table:
    columns: list[tuple[str, str, Callable[[float | None], str]]] = [
        ("uplink", "uplink_rate", _rate),
        ("of its capacity", "uplink_utilisation", numbers.share),
        ("download", "download_rate", _rate),
        ("loss ratio", "loss_ratio", numbers.small),
        (
            "retransmission ratio",
            "retransmission_ratio" if view.mode == "report" else "retransmission_ratio_total",
            numbers.small,
        ),
    ]
    columns = [column for column in columns if view.has(column[1])]
    rows = []
    for site in view.sites:
        for window in view.windows:
            cells = [write(_mean(view, quantity, site, window)) for _, quantity, write in columns]
            if any(cell != numbers.NOTHING for cell in cells):
                rows.append([site, window.name, *cells])
    return Table(
        key="levels",
        title="Levels before and after",
        names=["site", "window", *(head for head, _, _ in columns)],
        rows=rows,
        words=2,
        notes=["Means of the daily values."],
    )


def _mean(view: View, quantity: str, site: str, window: Window) -> float | None:
    values = [y for x, y in view.of(quantity, site) if window.start_s <= x < window.end_s]
    return sum(values) / len(values) if values else None


def _compared(view: View) -> Table:
    rows = []
    for finding in view.findings("before-after"):
        data = finding.data
        rows.append(
            [
                finding.subject or "",
                _COMPARED.get(str(data.get("quantity")), str(data.get("quantity", ""))),
                f"{numbers.count(data.get('n_before'))} / {numbers.count(data.get('n_after'))}",
                *_verdict(data, data.get("shift_ratio"), data.get("shift_interval")),
            ]
        )
    return Table(
        key="before-after",
        title="Downloads before and after",
        names=["site", "of a client", "clients", *_VERDICT],
        rows=rows,
        words=2,
        notes=[f"{_margin(view.findings('before-after'))} Ratio: after to before, median over all pairs of clients."],
    )


def _paired(view: View) -> Table:
    rows = []
    for finding in view.findings("before-after-paired"):
        data = finding.data
        rows.append(
            [
                finding.subject or "",
                _COMPARED.get(str(data.get("quantity")), str(data.get("quantity", ""))),
                numbers.count(data.get("pairs")),
                *_verdict(data, data.get("shift_ratio"), data.get("shift_interval")),
            ]
        )
    return Table(
        key="before-after-paired",
        title="The same clients before and after",
        names=["site", "of a client", "clients", *_VERDICT],
        rows=rows,
        words=2,
        notes=["Signed-rank test on the ratios of clients that are in both windows at the same site."],
    )


_VERDICT = ("p", "Holm", "ratio (95 %)", "equivalent", "detectable")


def _verdict(data: Mapping[str, Any], ratio: object, interval: object) -> list[str]:
    detectable = number(data.get("detectable_80"))
    reason = data.get("reason")
    return [
        numbers.p_value(data.get("p_value")),
        numbers.p_value(data.get("holm_p")),
        numbers.ratio_with_interval(ratio, interval) if not reason else str(reason),
        numbers.NOTHING if data.get("p_value") is None else "yes" if data.get("equivalent") else "not shown",
        f"±{numbers.percent(detectable)}" if detectable is not None else numbers.NOTHING,
    ]


def _margin(findings: Sequence[Finding]) -> str:
    given = [number(finding.data.get("margin")) for finding in findings]
    margin = numbers.percent(next((each for each in given if each is not None), None))
    return (
        f"Equivalent: two one-sided tests show that rates differ by less than {margin}; “not shown” is no difference "
        "either. Detectable: the least change that the test would have found in 8 of 10 cases."
    )


def _doses(view: View) -> Table:
    rows = []
    for finding in view.findings("dose-response"):
        classes = finding.data.get("classes")
        for data in [finding.data, *(classes if isinstance(classes, list) else [])]:
            least, most = number(data.get("least_dose")), number(data.get("most_dose"))
            ratio = numbers.ratio_with_interval(data.get("ratio"), data.get("interval"))
            rows.append(
                [
                    finding.subject or "",
                    "any" if least is None else f"{least:g} and more" if most is None else f"{least:g} to {most:g}",
                    numbers.count(data.get("clients")),
                    f"{numbers.count(data.get('tests_with'))} / {numbers.count(data.get('tests_without'))}",
                    str(data["reason"]) if data.get("reason") else ratio,
                    numbers.p_value(data.get("p_value")),
                    numbers.p_value(data.get("holm_p")),
                ]
            )
    return Table(
        key="dose-response",
        title="Rates of tests with discards, against tests of the same client without",
        names=["site", "discards a test", "clients", "tests with / without", "ratio (95 %)", "p", "Holm"],
        rows=rows,
        words=2,
        notes=[
            "Within hours of the day, from the first day to the last with such tests. No effect of discards can be "
            "read from it: fast tests fill queues, and full queues slow tests down."
        ],
    )


def _split(split: Split) -> Table:
    small = numbers.share if split.quantity == "bins_with_discards" else numbers.small
    write = {"bit/s": _rate, "packets": numbers.count, "tests": numbers.count}.get(split.unit, small)
    rows = []
    for key, points in sorted(split.points.items()):
        days = [y for _, y in points]
        if days:
            texts = [text for place, text in zip(PLACES, key, strict=True) if place in split.columns]
            rows.append(
                [*texts, numbers.count(len(days)), *map(write, (min(days), statistics.median(days), max(days)))]
            )
    return Table(
        key=f"split-{split.number}",
        title=split.title,
        names=[*split.columns.values(), "days", "least", "median day", "most"],
        rows=rows,
        words=len(split.columns),
    )


def _excluded(view: View) -> Table:
    """Say for each site of which something was left out, or is not as it should be, how much of what."""
    kinds: dict[str, None] = {}
    counted: dict[str, dict[str, object]] = {}
    for finding in view.findings("excluded", "conflicts"):
        values = {"conflict": finding.data.get("conflicts")} if finding.code == "conflicts" else finding.data
        for name, value in values.items():
            if name != "samples" and number(value):
                kinds[name] = None
                counted.setdefault(finding.subject or "all", {})[name] = value
    rows = [[site, *(numbers.count(values.get(kind, 0)) for kind in kinds)] for site, values in counted.items()]
    return Table(
        key="excluded",
        words=1,
        title="What was left out, and why",
        names=["site", *(kind.replace("_", " ") for kind in kinds)],
        rows=rows,
        notes=["Samples of the uplink: those that are not used, and all by what is the matter with them."],
    )


def _day(seconds: float | None) -> str:
    return numbers.NOTHING if seconds is None else format_day(seconds)


def _rate(bps: float | None) -> str:
    return numbers.NOTHING if bps is None else format_load(bps, "bps")
