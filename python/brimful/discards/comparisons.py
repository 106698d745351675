"""Answers of the analysis as comparisons: before and after, with discards and without."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from brimful.discards import findings
from brimful.discards.daily import Rows, by_site, rounded_points
from brimful.discards.modes import Mode
from brimful.records import Finding, Record, Series
from brimful.statistics.before_after import compare_paired, compare_samples, dose_classes, dose_response
from brimful.statistics.density import Density, common_densities, density
from brimful.statistics.ranks import Values
from brimful.statistics.within import compare_within

STATISTICS = {"download_max": "max_bps", "download_mean": "mean_bps", "download_median": "median_bps"}
"""Quantity: the column that it is of each client."""
PRIMARY = "download_median"
"""The one quantity that is tested outside report mode, on the same clients: the fastest and the mean of a client change
with how many tests it has, and each further test takes power from all."""
PRIMARY_IN_WORDS = "median download of each client that is in both windows at the site; signed rank, Holm over sites"
PERIODS = ("before", "after")
SAME_DIGITS = 12
"""The digits of a value that are the same each time it is computed."""


def before_after(rows: Rows, *, mode: Mode, seed: int) -> Iterator[Record]:
    """Compare what clients saw before and after: distributions, and one test a site.

    Parameters
    ----------
    rows
        From `brimful.discards.analysis.clients_before_after`.
    mode
        The report tests two statistics of all clients; else `PRIMARY` of the same clients is tested.
    seed
        Of the bootstrap.
    """
    chosen = {
        name: column for name, column in STATISTICS.items() if mode is not Mode.REPORT or name != "download_median"
    }
    values = {
        (site, quantity): _of_clients(of_site, column)
        for site, of_site in by_site(rows)
        for quantity, column in chosen.items()
    }
    for (site, quantity), (before, after) in values.items():
        yield from _densities(site, quantity, _known(before), _known(after), mode=mode)
    if mode is Mode.REPORT:
        family = {"seed": seed, "family_size": len(values)}
        yield from findings.of_comparisons(
            {key: compare_samples(_known(before), _known(after), **family) for key, (before, after) in values.items()}
        )
    else:
        tested = {key: found for key, found in values.items() if key[1] == PRIMARY}
        family = {"seed": seed, "family_size": len(tested)}
        yield from findings.of_paired(
            {key: compare_paired(before, after, **family) for key, (before, after) in tested.items()}
        )


def doses(rows: Rows) -> Iterator[Finding]:
    """Compare the tests of each client with discards and without.

    Parameters
    ----------
    rows
        From `brimful.discards.analysis.dose_response`.
    """
    found = {}
    for site, of_any_order in by_site(rows):
        of_site = sorted(of_any_order, key=lambda row: str(row["client"]))
        rates = [_column(row[f"mean_log10_bps_{kind}"] for row in of_site) for kind in ("with", "without")]
        tests = [_column(row[f"tests_{kind}"] for row in of_site) for kind in ("with", "without")]
        per_test = _column(row["discards_per_test_with"] for row in of_site)
        whole = dose_response(rates[0], rates[1], tests[0], tests[1])
        found[site] = [whole, *dose_classes(rates[0], rates[1], tests[0], tests[1], per_test)]
    yield from findings.of_dose_responses(found)


def within_clients(rows: Rows, *, seed: int) -> Iterator[Finding]:
    """Compare tests with discards and without of sites with few clients.

    Parameters
    ----------
    rows
        From `brimful.discards.analysis.tests_of_few`.
    seed
        Of permutations and bootstrap.
    """
    for site, of_site in by_site(rows):
        found = compare_within(of_site, seed=seed)
        if found.ratio is not None:
            yield findings.of_within(site, found)


def _of_clients(rows: Rows, column: str) -> tuple[Values, Values]:
    """Give a value of each client before and after, not a number where there is none.

    In the report a client that uses two machines of a site is two.
    """
    periods = [
        {(row["client"], row.get("machine")): row[column] for row in rows if row["period"] == period}
        for period in PERIODS
    ]
    clients = dict.fromkeys(key for values in periods for key in sorted(values, key=str))
    before, after = (_column(values.get(client) for client in clients) for values in periods)
    return before, after


def _known(values: Values) -> Values:
    return values[~np.isnan(values)]


def _column(values: Iterable[float | None]) -> Values:
    # Engines add in any order, so the last digits of a mean differ from one time to the next.
    return np.array([math.nan if value is None else float(f"{value:.{SAME_DIGITS}g}") for value in values])


def _densities(site: str, quantity: str, before: Values, after: Values, *, mode: Mode) -> Iterator[Record]:
    both = (density(before), density(after)) if mode is Mode.REPORT else common_densities(before, after)
    for period, found in zip(PERIODS, both, strict=True):
        if found.edges:
            yield _series(f"{quantity}/{site}/{period}", found)


def _series(name: str, found: Density) -> Series:
    points = rounded_points(zip(found.edges, found.density, strict=True))
    return Series(name=name, points=points, x_name="rate", x_unit="log10 bit/s", y_unit="per decade")
