"""What the statistics say, in sentences for people, with all numbers beside them.

A sentence has no more digits than its interval supports. That a test does not reject is never called equality: that
needs a test of equivalence of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TypeVar

from brimful.records import Finding
from brimful.statistics.before_after import Comparison, DoseResponse, PairedComparison, holm
from brimful.statistics.change_points import ChangePoint
from brimful.statistics.ranks import Interval
from brimful.statistics.within import WithinClients

QUANTITIES = {
    "download_max": "best download of each client",
    "download_mean": "mean download of each client",
    "download_median": "median download of each client",
}
"""Name of a quantity: what it is in words; others are given by their names."""
NO_CAUSE = (
    "What discards do to a test cannot be told from this: fast tests fill queues, and full queues slow tests down."
)

_Key = TypeVar("_Key", bound=Hashable)


def of_change_points(
    site: str,
    bins_with_discards: Sequence[int],
    bins: Sequence[int],
    points: Sequence[ChangePoint],
) -> list[Finding]:
    """Say when a site began and stopped to discard.

    Parameters
    ----------
    site
        Which site.
    bins_with_discards, bins
        Of each day, as `change_points` got them.
    points
        What it found.
    """
    hits, whole = sum(bins_with_discards), sum(bins)
    data = {
        "days": sum(1 for number in bins if number > 0),
        "days_with_discards": sum(1 for number in bins_with_discards if number > 0),
        "bins": int(whole),
        "bins_with_discards": int(hits),
    }
    if not whole:
        text = f"Whether {site} discarded is not known: there is no telemetry."
        return [Finding(code="discards-unknown", subject=site, text=text, data=data)]
    if not hits:
        text = f"No discards at {site}: none in {whole:,} bins on {_counted(data['days'], 'day')}."
        return [Finding(code="discards-none", subject=site, text=text, data=data)]
    if not points:
        text = (
            f"Discards at {site} on {data['days_with_discards']:,} of {_counted(data['days'], 'day')}, in "
            f"{percent(hits / whole)} of the bins; no day stands out on which they began, stopped or changed."
        )
        return [Finding(code="discards-steady", subject=site, text=text, data=data)]
    return [_of_change_point(site, point) for point in points]


def _of_change_point(site: str, point: ChangePoint) -> Finding:
    when = f"{point.day} at {site} ({_between(point.first_day, point.last_day)})"
    if point.kind == "begin":
        text = f"Discards begin on {when}; {_none(point.before)}from then, {percent(point.after)} of the bins had some."
    elif point.kind == "stop":
        some = f"{point.bins_with_discards_after:,}" if point.bins_with_discards_after else "none"
        text = (
            f"Discards stop on {when}; before, {percent(point.before)} of the bins had discards, "
            f"from then to {point.until} {some} of {point.bins_after:,}"
        )
        if point.log10_chance is not None:
            text += f" (had they gone on, the chance of so long without any would be {_chance(point.log10_chance)})"
        text += "."
    else:
        direction = "rise" if point.after > point.before else "fall"
        text = f"Discards {direction} on {when}, from {percent(point.before)} to {percent(point.after)} of the bins."
    data = {key: str(value) if isinstance(value, date) else value for key, value in asdict(point).items()}
    return Finding(code=f"discards-{point.kind}", subject=site, text=text, data=data)


def of_comparisons(comparisons: Mapping[tuple[str, str], Comparison]) -> list[Finding]:
    """Say how each (site, quantity) compares before and after; their p values are corrected together."""
    adjusted = _adjusted({key: found.p_value for key, found in comparisons.items()})
    findings = []
    for (site, quantity), found in comparisons.items():
        data = {"quantity": quantity, "tests": len(adjusted), **asdict(found)}
        what = f"{site}: {QUANTITIES.get(quantity, quantity)}"
        if (
            found.median_before is None
            or found.median_after is None
            or found.ratio_of_medians is None
            or found.ratio_interval is None
            or found.shift_ratio is None
            or found.shift_interval is None
        ):
            text = f"{what}: not compared, {found.reason} ({found.n_before:,} and {found.n_after:,} values)."
            findings.append(Finding(code="before-after", subject=site, text=text, data=data))
            continue
        data["holm_p"] = adjusted[site, quantity]
        text = (
            f"{what}, median {_megabits(found.median_before)} -> {_megabits(found.median_after)} Mbit/s "
            f"({found.n_before:,} and {found.n_after:,} clients): ratio "
            f"{with_interval(found.ratio_of_medians, found.ratio_interval)}; typical shift "
            f"{with_interval(found.shift_ratio, found.shift_interval)}; "
            f"KS {_verdict(found, data['holm_p'], found.p_value)}."
        )
        findings.append(Finding(code="before-after", subject=site, text=text, data=data))
        findings.append(_of_detectable(site, quantity, what, found, len(adjusted)))
    return findings


def of_paired(comparisons: Mapping[tuple[str, str], PairedComparison]) -> list[Finding]:
    """Say how the same clients fared, for each (site, quantity); their p values are corrected together."""
    adjusted = _adjusted({key: found.p_value for key, found in comparisons.items()})
    findings = []
    for (site, quantity), found in comparisons.items():
        data = {"quantity": quantity, "tests": len(adjusted), **asdict(found)}
        what = f"{site}: {QUANTITIES.get(quantity, quantity)}, same clients before and after"
        if found.shift_ratio is None or found.shift_interval is None:
            text = f"{what}: not compared, {found.reason} ({_counted(found.pairs, 'pair')})."
            findings.append(Finding(code="before-after-paired", subject=site, text=text, data=data))
            continue
        data["holm_p"] = adjusted[site, quantity]
        text = (
            f"{what} ({found.pairs:,}): typical ratio {with_interval(found.shift_ratio, found.shift_interval)}; "
            f"signed-rank {_verdict(found, data['holm_p'], found.p_value)}."
        )
        findings.append(Finding(code="before-after-paired", subject=site, text=text, data=data))
        findings.append(_of_detectable(site, quantity, what, found, len(adjusted)))
    return findings


def _of_detectable(
    site: str, quantity: str, what: str, found: Comparison | PairedComparison, family_size: int
) -> Finding:
    paired = isinstance(found, PairedComparison)
    data = {
        "quantity": quantity,
        "paired": paired,
        "detectable_80": found.detectable_80,
        "detectable_95": found.detectable_95,
        "level": found.detectable_level,
        "tests": family_size,
    }
    test = "signed-rank" if paired else "KS"
    if found.detectable_95 is None:
        text = f"{what}: what the {test} test would have missed cannot be said."
    else:
        text = (
            f"{what}: a change of {_rounded_up(found.detectable_95)} or more would have been found with 95 % power"
            + (f", of {_rounded_up(found.detectable_80)} with 80 %" if found.detectable_80 is not None else "")
            + f" ({test} test, p < {found.detectable_level:.2g})."
        )
    return Finding(code="minimum-detectable", subject=site, text=text, data=data)


def of_dose_responses(responses: Mapping[str, Sequence[DoseResponse]]) -> list[Finding]:
    """Say for each site how tests that discards overlapped fared against tests of the same clients that none did.

    Parameters
    ----------
    responses
        For each site that of all clients, and after it those by discards per test. All p values are corrected together.
    """
    rows = [(site, number) for site, found in responses.items() for number in range(len(found))]
    adjusted = _adjusted({row: responses[row[0]][row[1]].p_value for row in rows})
    findings = []
    for site, found in responses.items():
        told = [{**asdict(response), "holm_p": adjusted.get((site, n))} for n, response in enumerate(found)]
        data = {**told[0], "tests": len(adjusted), "classes": told[1:]}
        text = f"{site}: {_of_dose_response(*found)}"
        findings.append(Finding(code="dose-response", subject=site, text=text, data=data))
    return findings


def of_within(site: str, found: WithinClients) -> Finding:
    """Say how tests with discards fared against those of the same client and hour, where clients are few."""
    assert found.ratio is not None
    assert found.interval is not None
    clients = _counted(found.clients, "client")
    text = (
        f"{site}: tests with discards have {with_interval(found.ratio, found.interval)} times the rate of tests "
        f"without, compared within {clients}, hour of the day by hour of the day ({found.tests_with:,} tests with and "
        f"{found.tests_without:,} without in {_counted(found.hours, 'hour')}; {_p(found.p_value)}, permutation within "
        f"hours). This speaks of {'this client' if found.clients == 1 else 'these clients'} only. {NO_CAUSE}"
    )
    return Finding(code="within-clients", subject=site, text=text, data=asdict(found))


def _of_dose_response(whole: DoseResponse, *classes: DoseResponse) -> str:
    if whole.ratio is None or whole.interval is None:
        return f"tests with and without discards are not compared, {whole.reason}."
    text = (
        f"tests with discards have {with_interval(whole.ratio, whole.interval)} times the rate of tests of the same "
        f"client in the same hour of the day without ({whole.clients:,} clients, {whole.tests_with:,} tests with and "
        f"{whole.tests_without:,} without)"
    )
    told = [
        f"{_dose(response)}: {with_interval(response.ratio, response.interval)}"
        for response in classes
        if response.ratio is not None and response.interval is not None
    ]
    text += f"; by discards per test, {', '.join(told)}." if told else "."
    return f"{text} {NO_CAUSE}"


def _adjusted(p_values: Mapping[_Key, float | None]) -> dict[_Key, float]:
    known = {key: value for key, value in p_values.items() if value is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _verdict(found: Comparison | PairedComparison, adjusted: float, p_value: float | None) -> str:
    """Say what the test and the test of equivalence mean together."""
    different = adjusted < found.significance
    text = f"{_p(p_value)} (Holm: {_p_number(adjusted)}), {'a change' if different else 'no change found'}"
    within = f"within {found.margin * 100:g} %"
    if found.equivalent:
        return f"{text}; equivalent {within} ({_p(found.equivalence_p)})"
    return f"{text}; not shown to be equivalent {within} ({_p(found.equivalence_p)})"


def with_interval(value: float, interval: Interval) -> str:
    """Write a value and its interval with the digits that the interval supports.

    >>> with_interval(1.0123, (0.9817, 1.0417)), with_interval(1.0004, (0.9991, 1.0016))
    ('1.01 [0.98, 1.04]', '1.0004 [0.9991, 1.0016]')
    >>> with_interval(23.4, (11.0, 47.0))
    '23 [11, 47]'
    """
    width = (interval[1] - interval[0]) / 2
    decimals = 3
    if width > 0:
        leading = width / 10 ** math.floor(math.log10(width))
        decimals = -math.floor(math.log10(width)) + (1 if leading < 2 else 0)
    decimals = min(max(decimals, 0), 6)
    return f"{value:.{decimals}f} [{interval[0]:.{decimals}f}, {interval[1]:.{decimals}f}]"


def percent(ratio: float) -> str:
    """Write a ratio in per cent, with two digits that count.

    >>> percent(0.284), percent(0.000123), percent(1.0), percent(0.0)
    ('28 %', '0.012 %', '100 %', '0 %')
    """
    return f"{_digits(ratio * 100, 2)} %"


def _rounded_up(ratio: float) -> str:
    """Write a ratio in per cent, rounded up to two digits: what is promised must be kept."""
    if ratio <= 0:
        return "0 %"
    step = 10.0 ** (math.floor(math.log10(ratio * 100)) - 1)
    return f"{_digits(math.ceil(round(ratio * 100 / step, 6)) * step, 2)} %"


def _digits(value: float, digits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def _megabits(rate_bps: float) -> str:
    return _digits(rate_bps / 1e6, 3)


def _p(p_value: float | None) -> str:
    number = _p_number(p_value)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def _p_number(p_value: float | None) -> str:
    if p_value is None:
        return "unknown"
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.2g}"


def _chance(log10_chance: float) -> str:
    """Write a chance; that of a model does not mean anything below what the model can be trusted in."""
    return f"{10**log10_chance:.2g}" if log10_chance > -6 else "less than 1e-6"


def _between(first: date, last: date) -> str:
    return "95 %: this very day" if first == last else f"95 %: between {first} and {last}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _dose(response: DoseResponse) -> str:
    if response.most_dose is None:
        return f"{response.least_dose:g} or more" if response.least_dose else "any"
    if not response.least_dose:
        return f"below {response.most_dose:g}"
    return f"{response.least_dose:g} to {response.most_dose:g}"


def _none(before: float) -> str:
    return "none before; " if before == 0 else f"before, {percent(before)} of the bins; "
