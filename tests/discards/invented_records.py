"""Invented records on discards, with the levels that the published figures have."""

import datetime
import math
from pathlib import Path

import numpy as np
from brimful.records import Finding, Run, RunFile, Series, Warning

FIRST, LAST = datetime.date(2016, 6, 1), datetime.date(2018, 7, 31)
SITES = [f"dfw0{n}" for n in range(1, 8)] + [f"{metro}0{n}" for metro in ("lga", "nuq") for n in range(2, 8)]
STOP = datetime.date(2018, 3, 8)
HOSTILE = "<script>alert('$x$')</script>&\u4e2d\u6587\x07 " + "wide" * 60


def unix(day):
    return (day - datetime.date(1970, 1, 1)).days * 86400.0


def days_of(first=FIRST, last=LAST):
    return [first + datetime.timedelta(days=number) for number in range((last - first).days + 1)]


def made_run(**source):
    facts = {
        "store": "store",
        "mode": "correct",
        "before": ["2018-02-11", "2018-02-25"],
        "after": ["2018-03-11", "2018-03-25"],
        "days": [FIRST.isoformat(), LAST.isoformat()],
        "sites": SITES,
        "samples": 389_000_000,
        "tests": 81_000_000,
        "capacities": {},
        "seed": 1,
    }
    return Run(
        schema=1,
        run_id="discards-made",
        started="2026-01-02T03:04:05+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful", "discards", "report", "--store", "store"],
        host={},
        subject="switch-discards",
        source=facts | source,
    )


def made(*, sites=SITES, days=None, tests=True, discards=True, names=None, findings=None, **source):
    """Make a record; ``names`` renames sites."""
    days = days or days_of()
    generator = np.random.default_rng(7)
    series, found = [], []
    for number, site in enumerate(sites):
        name = (names or {}).get(site, site)
        series += _telemetry(generator, site, name, days, number, discards=discards)
        if tests:
            series += _tests(generator, name, days, number, discards=discards)
            found += _comparisons(name, number)
        found += _changes(site, name, days, number, discards=discards)
    source = {
        "sites": [(names or {}).get(site, site) for site in sites],
        "days": [days[0].isoformat(), days[-1].isoformat()],
        "tests": 81_000_000 if tests else 0,
        **source,
    }
    return record(made_run(**source), series, found if findings is None else findings)


def record(run, series=(), findings=(), warnings=()):
    return RunFile(
        path=Path("run.jsonl"),
        run=run,
        trials=[],
        bounds=[],
        goal_results=[],
        warnings=list(warnings),
        ends=[],
        series=list(series),
        findings=list(findings),
    )


def series(name, points, unit=""):
    return Series(name=name, points=[(x, float(f"{y:.6g}")) for x, y in points], x_name="day", x_unit="s", y_unit=unit)


def _begin(site, number):
    if site == "nuq02":
        return datetime.date(2018, 2, 1)
    return datetime.date(2017, 6, 10) + datetime.timedelta(days=number % 4 * 9)


def _stop(site):
    return datetime.date(2018, 4, 15) if site == "nuq02" else STOP


def _telemetry(generator, site, name, days, number, *, discards):
    base = {"dfw": 1e7, "lga": 3e7, "nuq": 1e6}.get(site[:3], 1e7)
    top = 2e8
    rates, ratios, counts, shares = [], [], [], []
    for at, day in enumerate(days):
        grown = at / max(1, len(days) - 1)
        rates.append((unix(day), base * (top / base) ** grown * generator.lognormal(number / 20, 0.15)))
        active = discards and site != "dfw01" and _begin(site, number) <= day <= _stop(site)
        level = 3e-6 if site == "nuq02" else 4e-5 * (1 + number % 5) * (1 + 3 * grown)
        ratio = level * generator.lognormal(0, 0.2) if active else 0.0
        ratios.append((unix(day), ratio))
        counts.append((unix(day), round(ratio * 6e8)))
        shares.append((unix(day), min(0.3, ratio * 600)))
    return [
        series(f"uplink_rate/{name}", rates, "bit/s"),
        series(f"loss_ratio/{name}", ratios),
        series(f"discards/{name}", counts, "packets"),
        series(f"bins_with_discards/{name}", shares),
    ]


def _tests(generator, name, days, number, *, discards):
    with_, without, unknown, rates, clients, worst, total = [], [], [], [], [], [], []
    for at, day in enumerate(days):
        many = (1000 + 7 * at) * (2.4 if day > STOP else 1) * generator.lognormal(0, 0.1)
        hit = 0.4 if number == 1 else 0.1
        part = hit * at / 700 if discards and datetime.date(2017, 6, 10) <= day <= STOP else 0.0
        missing = 0.5 if at % 97 == 0 else 0.01
        with_.append((unix(day), round(many * part)))
        unknown.append((unix(day), round(many * missing)))
        without.append((unix(day), round(many * (1 - part - missing))))
        rates.append((unix(day), 1e6 * (20 + 6 * math.sin(at / 90) + generator.normal(0, 1.5))))
        clients.append((unix(day), round(many * 0.7)))
        worst.append((unix(day), 1.5e-3 * generator.lognormal(0, 0.1)))
        total.append((unix(day), 9e-4 * generator.lognormal(0, 0.1)))
    grid = np.linspace(6, 8.9, 30)
    density = [float(np.exp(-((x - 7.8) ** 2) / 0.4)) for x in grid]
    made_series = [
        series(f"tests/{name}/non-zero", [point for point in with_ if point[1]]),
        series(f"tests/{name}/zero", without),
        series(f"tests/{name}/unknown", unknown),
        series(f"download_rate/{name}", rates, "bit/s"),
        series(f"download_clients/{name}", clients),
        series(f"retransmission_ratio/{name}", worst),
        series(f"retransmission_ratio_total/{name}", total),
    ]
    for quantity in ("download_max", "download_mean", "download_median"):
        for variant in ("before", "after"):
            points = [(float(x), y * generator.lognormal(0, 0.1)) for x, y in zip(grid, density, strict=True)]
            made_series.append(series(f"{quantity}/{name}/{variant}", points))
    return made_series


def _comparisons(name, number):
    return [
        Finding(
            code="before-after",
            subject=name,
            text=f"{name}: no difference was found.",
            data={
                "quantity": quantity,
                "n_before": 410 + number,
                "n_after": 402,
                "ks_statistic": 0.04,
                "p_value": 0.92 - number / 30,
                "holm_p": 1.0,
                "ratio_of_medians": 1.011,
                "ratio_interval": [0.95, 1.07],
                "shift_ratio": 1.012,
                "shift_interval": [0.96, 1.067],
                "equivalent": number % 2 == 0,
                "equivalence_p": 0.02,
                "detectable_80": 0.09,
                "margin": 0.05,
            },
        )
        for quantity in ("download_max", "download_mean")
    ]


def _changes(site, name, days, number, *, discards):
    if not discards or site == "dfw01":
        return [Finding(code="discards-none", subject=name, text=f"{name}: no discards.", data={"days": len(days)})]
    begin, stop = _begin(site, number), _stop(site)
    found = []
    if days[0] < begin <= days[-1]:
        data = {"day": begin.isoformat()}
        found.append(Finding(code="discards-begin", subject=name, text=f"{name}: discards began {begin}.", data=data))
    if days[0] <= stop < days[-1]:
        data = {"day": stop.isoformat()}
        found.append(Finding(code="discards-stop", subject=name, text=f"{name}: discards stopped {stop}.", data=data))
    return found


__all__ = ["HOSTILE", "SITES", "Finding", "Warning", "days_of", "made", "made_run", "record", "series", "unix"]
