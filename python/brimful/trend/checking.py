"""All series of a store judged together, and what was found put together by the run that brought it."""

from __future__ import annotations

from collections import Counter

import msgspec

from brimful.trend import detection
from brimful.trend.confirmation import Confirm, Suspicion, suspicion_of, with_verdict
from brimful.trend.findings import Finding, Found, found_in, grouped
from brimful.trend.judgement import EXIT_CODES, STATES, Judgement, Settings
from brimful.trend.judging import judge
from brimful.trend.store import Kept, Store


class Row(msgspec.Struct, frozen=True):
    """A series and its state."""

    name: str
    judgement: Judgement


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found."""

    rows: list[Row]
    """The worst states first."""
    findings: list[Finding]
    """Open changes of one run together, the largest first."""
    expected_false_alarms: float
    """Changes that a check of as many series without any reports falsely, on average."""

    @property
    def counts(self) -> dict[str, int]:
        """Give the number of series in each state that any is in, the worst first."""
        found = Counter(row.judgement.state for row in self.rows)
        return {state: found[state] for state in STATES if found[state]}

    @property
    def exit_code(self) -> int:
        """Give the exit code of the worst state."""
        return next((EXIT_CODES[state] for state in self.counts if state in EXIT_CODES), 0)


def check(
    store: Store,
    settings: Settings,
    *,
    now: float,
    today: str,
    only: frozenset[int] | None = None,
    confirm: Confirm | None = None,
) -> Checked:
    """Judge series and keep the judgements in the store.

    Parameters
    ----------
    store, settings
        What is judged, and how.
    now, today
        Time of day in seconds since 1970, and date as in ISO 8601.
    only
        Ids of the series to judge; null: all.
    confirm
        Measures a suspicion again; null: it stays one.

    Raises
    ------
    BrimfulError
        When the store cannot be read or written, or a suspicion cannot be measured.
    """
    all_series = store.count()
    names: list[str] = []
    kept: list[Kept] = []
    found: list[Found] = []
    suspicions: list[tuple[int, Suspicion]] = []
    for reading in store.read(only):
        series = reading.series
        judgement = judge(series, reading.words, settings, all_series=all_series, today=today)
        suspicion = suspicion_of(series, judgement)
        if suspicion is not None:
            suspicions.append((len(kept), suspicion))
        names.append(series.name)
        kept.append(Kept(reading.entries, len(reading.words), judgement))
        found += found_in(series, judgement.changes)
    if confirm is not None:
        answers = {suspicion: confirm(suspicion, settings) for suspicion in dict.fromkeys(s for _, s in suspicions)}
        for index, suspicion in suspicions:
            confirmed = with_verdict(kept[index].judgement, answers[suspicion])
            kept[index] = msgspec.structs.replace(kept[index], judgement=confirmed)
    store.keep(kept, now=now)
    rows = [Row(name, each.judgement) for name, each in zip(names, kept, strict=True)]
    return Checked(
        rows=sorted(rows, key=lambda row: STATES.index(row.judgement.state)),
        findings=grouped(found),
        expected_false_alarms=detection.expected_false_alarms(settings, max(1, all_series)),
    )
