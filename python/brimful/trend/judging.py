"""The state of a series: what the detector found, and what people said. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brimful.trend import detection, standing
from brimful.trend.detection import Analysis
from brimful.trend.judgement import (
    ACCEPTED,
    ANOTHER_UNIT,
    NO_VALUE,
    NORMAL,
    OPEN,
    PROGRESSION,
    REGRESSION,
    SUSPECTED_PROGRESSION,
    SUSPECTED_REGRESSION,
    ChangeLine,
    Judgement,
    LevelLine,
    Settings,
    Word,
)
from brimful.trend.series import HIGHER, Series


def judge(
    series: Series, words: Sequence[Word], settings: Settings, *, all_series: int, today: str, upto: int | None = None
) -> Judgement:
    """Say what state a series is in after its newest version, or after the first ``upto`` versions.

    Parameters
    ----------
    series, words
        The history, and what people said of it.
    settings
        How to judge.
    all_series
        How many series are judged together: of more, more would be reported falsely.
    today
        Date, as in ISO 8601: acceptances may have lapsed.
    upto
        Number of versions; null: all.
    """
    count = len(series) if upto is None else upto
    places = [index for index in range(_first(series, words, count), count) if series.values[index] is not None]
    logs = [math.log(value) for index in places if (value := series.values[index]) is not None]
    errors = [series.errors[index] for index in places]
    penalty = detection.penalty_for(settings, all_series)
    analysis = Analysis(0.0, 0.0, [], [])
    if len(places) >= settings.fewest:
        analysis = detection.analyse(logs, errors, penalty, settings.cap)
    changes = standing.lines(series, analysis, places, words, settings, today)
    state, text = (
        _of_changes(changes)
        or _of_missing(series, count)
        or _of_newest(series, analysis, logs, errors, settings, all_series)
        or _of_news(changes, count, settings)
        or (NORMAL, _normal(len(places), settings))
    )
    return Judgement(
        series=series.id,
        version=series.versions[count - 1] if count else "",
        value=series.values[count - 1] if count else None,
        state=state,
        text=text,
        method=detection.METHOD,
        settings=settings,
        all_series=all_series,
        penalty=penalty,
        deviation=analysis.deviation,
        correlation=analysis.correlation,
        levels=[
            LevelLine(places[level.start], places[level.end - 1] + 1, math.exp(level.mean)) for level in analysis.levels
        ],
        changes=changes,
    )


def _first(series: Series, words: Sequence[Word], count: int) -> int:
    """Give the index of the first version that counts: the last to which somebody reset the series."""
    resets = {word.version for word in words if word.kind == "reset"}
    return max((index for index in range(count) if series.versions[index] in resets), default=0) if resets else 0


_Said = tuple[str, str] | None


def _of_changes(changes: list[ChangeLine]) -> _Said:
    """Say what stands of changes for the worse, the largest first, and of units."""
    found = [change for change in changes if change.kind == REGRESSION and change.standing == OPEN]
    if found:
        return REGRESSION, describe(max(found, key=_size))
    for change in changes:
        if change.standing == ANOTHER_UNIT:
            text = f"{describe(change)}: has the unit changed? Accept it, or reset the series"
            return NO_VALUE, text
    return None


def _of_missing(series: Series, count: int) -> _Said:
    if count == 0:
        return NO_VALUE, "it has no versions"
    if series.values[count - 1] is None:
        return NO_VALUE, f"{series.versions[count - 1]} has no value: {series.problems[count - 1]}"
    return None


def _of_newest(
    series: Series, analysis: Analysis, logs: list[float], errors: list[float], settings: Settings, all_series: int
) -> _Said:
    """Say whether the newest value is far from its level."""
    if not analysis.levels:
        return None
    difference = logs[-1] - analysis.levels[-1].mean
    distance = abs(difference) / max(analysis.deviation, errors[-1])
    if distance <= detection.suspected_at(settings, all_series) or abs(math.expm1(difference)) <= settings.tolerance:
        return None
    worse = difference > 0 if series.worse == HIGHER else difference < 0
    text = f"the newest is {_percent(math.exp(difference))} than its level, {distance:.1f} standard deviations"
    return (SUSPECTED_REGRESSION if worse else SUSPECTED_PROGRESSION), text


def _of_news(changes: list[ChangeLine], count: int, settings: Settings) -> _Said:
    """Say what stands otherwise: a progression while it is new, and changes that were accepted."""
    last = changes[-1] if changes else None
    if last is not None and (last.kind, last.standing) == (PROGRESSION, OPEN) and count - last.index < settings.fewest:
        return PROGRESSION, describe(last)
    accepted = [change for change in changes if change.standing == ACCEPTED and change.kind == REGRESSION]
    return (ACCEPTED, describe(accepted[-1])) if accepted else None


def _normal(values: int, settings: Settings) -> str:
    if values < settings.fewest:
        return f"{values} of the {settings.fewest} versions that a verdict needs"
    return "at its level"


def describe(change: ChangeLine) -> str:
    """Say how much, and since when.

    The interval is of the size, with 95 % confidence.
    """
    low, high = sorted((abs(change.ratio_low - 1), abs(change.ratio_high - 1)))
    where = f"since {change.first_bad}, last good {change.last_good}"
    if change.earliest_version != change.latest_version:
        where = f"since {change.earliest_version} to {change.latest_version}, last good {change.last_good}"
    return f"{_percent(change.ratio)} ({100 * low:.3g} % to {100 * high:.3g} %) {where}"


def _percent(ratio: float) -> str:
    if ratio >= 10:
        return f"{ratio:.4g} times higher"
    return f"{100 * abs(ratio - 1):.3g} % {'higher' if ratio > 1 else 'lower'}"


def _size(change: ChangeLine) -> float:
    return abs(math.log(change.ratio))
