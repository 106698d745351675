"""From a store to a record: what reports, comparisons and other programs read."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ibis.expr.types import Table

from brimful import __version__, records
from brimful.discards import analysis, comparisons, daily, report_2018, splits, streams
from brimful.discards.capacities import Capacities
from brimful.discards.daily import Rows
from brimful.discards.engine import Engine, Follow, Question
from brimful.discards.expressions import FEWEST_TESTS, Days
from brimful.discards.modes import Mode
from brimful.discards.splits import Split
from brimful.records import Finding, Record, Series, Warning
from brimful.statistics.before_after import LEAST_CLIENTS

SUBJECT = "switch-discards"
WINDOW = datetime.timedelta(days=15)
"""Length of the windows that are offered, as in the report of 2018."""

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What to analyse, and how."""

    mode: Mode = Mode.CORRECT
    before: Days | None = None
    after: Days | None = None
    """None: nothing is compared before and after."""
    sites: Sequence[str] = ()
    """Empty: all."""
    minimum_tests: int = FEWEST_TESTS
    capacities: Capacities = field(default_factory=Capacities)
    seed: int = 1
    splits: Sequence[Split] = ()


def analyse(
    engine: Engine,
    settings: Settings,
    *,
    store: str,
    command: list[str],
    started: str,
    progress: Progress = lambda stage: None,
) -> records.RunFile:
    """Give the record of a store: series, findings and warnings.

    Parameters
    ----------
    engine
        On the store.
    settings
        What to analyse.
    store
        Path of the store, as it was given.
    command
        The command line that asked for it.
    started
        When, as RFC 3339.
    progress
        Gets the name of each stage as it begins.

    Raises
    ------
    BrimfulError
        When the engine cannot compute something.
    """
    asked = _Asked(engine, settings)
    found: list[Record] = []
    for stage, questions in (
        ("own splits", _splits),
        ("telemetry of uplinks", _telemetry),
        ("speed tests", _speed_tests),
        ("tests that discards overlap", _overlaps),
        ("before and after", _before_after),
    ):
        progress(stage)
        found += questions(asked, settings)
    run = _run(found, settings, store=store, command=command, started=started)
    return records.collect(Path(store), [run, *sorted(found, key=_order), *_warnings(found, settings)])


class _Questions(Protocol):
    """The questions, as one of the modes defines them."""

    def daily_uplink_rate(self, samples: Table) -> Table: ...

    def daily_loss_ratio(self, samples: Table) -> Table: ...

    def daily_download_rate(self, tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table: ...

    def daily_retransmission_ratio(self, tests: Table, *, excluded_clients: Sequence[str] | None = None) -> Table: ...

    def clients_before_after(
        self,
        tests: Table,
        before: Days,
        after: Days,
        minimum_tests: int = FEWEST_TESTS,
        *,
        excluded_clients: Sequence[str] | None = None,
    ) -> Table: ...

    def test_overlap(self, tests: Table, samples: Table) -> Table: ...


class _Asked:
    """An engine that is asked about the chosen sites only."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.sites = list(settings.sites)
        self.questions: _Questions = report_2018 if settings.mode is Mode.REPORT else analysis
        self.excluded_clients = engine.monitoring_clients

    def per_site(self, question: Question) -> Rows:
        """Answer a question of which every row is about one site."""
        return self._rows(self.engine.per_site(question, self.sites))

    def per_site_about(self, subject: Question, questions: Sequence[Follow]) -> list[Rows]:
        """Answer questions about one table of which every row is about one site."""
        return [self._rows(answer) for answer in self.engine.per_site_about(subject, questions, self.sites)]

    def whole(self, question: Question) -> Rows:
        """Answer a question that needs all sites at once."""
        answer = question(self.engine.samples(), self.engine.tests())
        return self._rows(self.engine.rows(answer.filter(answer.site.isin(self.sites)) if self.sites else answer))

    def together(self, question: Question) -> Rows:
        """Answer a question that adds up the chosen sites."""
        tables = (self.engine.samples(), self.engine.tests())
        if self.sites:
            tables = (
                tables[0].filter(tables[0].site.isin(self.sites)),
                tables[1].filter(tables[1].site.isin(self.sites)),
            )
        return self._rows(self.engine.rows(question(*tables)))

    def _rows(self, table: Any) -> Rows:  # noqa: ANN401
        rows: Rows = table.to_pylist()
        return rows


def _splits(asked: _Asked, settings: Settings) -> Iterable[Record]:
    windows = None if settings.before is None or settings.after is None else (settings.before, settings.after)
    for number, split in enumerate(settings.splits, start=1):
        # Only what is separated by site can be asked of one site after the other.
        ask = asked.per_site if "site" in split.columns.values() else asked.together

        def rows(samples: Table, tests: Table, split: Split = split) -> Table:
            return splits.keyed(split, samples, tests, windows=windows, excluded=asked.excluded_clients)

        splits.check_number(split, ask(lambda *tables, split=split, rows=rows: splits.values(split, rows(*tables))))
        found = ask(lambda *tables, split=split, rows=rows: splits.answer(split, rows(*tables)))
        yield from splits.series(number, split, found)


def _telemetry(asked: _Asked, settings: Settings) -> Iterable[Record]:
    rates = asked.per_site(lambda samples, _: asked.questions.daily_uplink_rate(samples))
    losses = asked.per_site(lambda samples, _: asked.questions.daily_loss_ratio(samples))
    flags = asked.per_site(lambda samples, _: daily.flag_counts(samples))
    yield from daily.uplink_rate(rates, settings.capacities)
    yield from daily.losses(losses)
    yield from daily.changes(losses)
    yield from daily.coverage(losses)
    yield from daily.exclusions(flags)
    yield from daily.others(asked.per_site(lambda samples, _: analysis.daily_other_counts(samples)))


def _speed_tests(asked: _Asked, settings: Settings) -> Iterable[Record]:
    questions, excluded = asked.questions, asked.excluded_clients
    rates = asked.per_site(lambda _, tests: questions.daily_download_rate(tests, excluded_clients=excluded))
    ratios = asked.per_site(lambda _, tests: questions.daily_retransmission_ratio(tests, excluded_clients=excluded))
    yield from daily.download_rate(rates)
    yield from daily.retransmission_ratio(ratios)


def _overlaps(asked: _Asked, settings: Settings) -> Iterable[Record]:
    is_correct = settings.mode is Mode.CORRECT
    questions: list[Follow] = [analysis.daily_test_counts]
    if is_correct:
        questions += [analysis.dose_response, lambda found: analysis.tests_of_few(found, LEAST_CLIENTS)]

    def overlap(samples: Table, tests: Table) -> Table:
        if is_correct:
            tests = analysis.counted_downloads(tests, asked.excluded_clients)
        return asked.questions.test_overlap(tests, samples)

    answers = asked.per_site_about(overlap, questions)
    yield from daily.overlaps(answers[0])
    if is_correct:
        within = list(comparisons.within_clients(answers[2], seed=settings.seed))
        told = {line.subject for line in within}
        # One comparison a site: of few clients it is the one within them.
        yield from (line for line in comparisons.doses(answers[1]) if line.subject not in told)
        yield from within

        def uploads(samples: Table, tests: Table) -> Table:
            counted = analysis.counted_downloads(tests, asked.excluded_clients, direction="upload")
            return analysis.upload_overlap(counted, samples)

        yield from daily.upload_overlaps(asked.per_site_about(uploads, [analysis.daily_test_counts])[0])
        if asked.per_site(lambda _, tests: streams.sites_with_several(tests)):
            found = {}
            for kind in streams.KINDS:

                def of_kind(samples: Table, tests: Table, kind: str = kind) -> Table:
                    return overlap(samples, streams.of_kind(tests, kind))

                found[kind] = asked.per_site_about(of_kind, questions[1:])
            yield from streams.findings(found, seed=settings.seed)


def _before_after(asked: _Asked, settings: Settings) -> Iterable[Record]:
    if settings.before is None or settings.after is None:
        return
    before, after = settings.before, settings.after
    # The cohort of the report is of a metro.
    ask = asked.whole if settings.mode is Mode.REPORT else asked.per_site
    clients = ask(
        lambda _, tests: asked.questions.clients_before_after(
            tests, before, after, settings.minimum_tests, excluded_clients=asked.excluded_clients
        )
    )
    yield from comparisons.before_after(clients, mode=settings.mode, seed=settings.seed)


def _run(found: Iterable[Record], settings: Settings, *, store: str, command: list[str], started: str) -> records.Run:
    series = [line for line in found if isinstance(line, Series) and not line.name.startswith(daily.PREFIX_OF_SPLITS)]
    days = sorted({x for line in series if line.x_name == "day" for x, _ in line.points})
    source: dict[str, Any] = {
        "store": store,
        "mode": settings.mode.value,
        "days": [daily.day_of(days[0]).isoformat(), daily.day_of(days[-1]).isoformat()] if days else [],
        "sites": sorted({daily.site_of(line.name) for line in series}),
        "samples": _total(found, "excluded", "samples"),
        "tests": _total(found, "affected", "tests"),
        "capacities": {
            f"{entry.site} since {entry.since.isoformat()}": f"{entry.bps:g} bit/s"
            for entry in settings.capacities.entries
        },
        "minimum_tests": settings.minimum_tests,
        "seed": settings.seed,
    }
    if settings.splits:
        source["splits"] = [{"quantity": split.quantity, **split.columns} for split in settings.splits]
    for name, window in (("before", settings.before), ("after", settings.after)):
        if window is not None:
            source[name] = [day.isoformat() for day in window]
    if settings.mode is Mode.CORRECT and settings.before is not None:
        source["primary_end_point"] = comparisons.PRIMARY_IN_WORDS
    return records.Run(
        schema=records.SCHEMA,
        run_id=f"discards-{''.join(filter(str.isalnum, started[:19]))}",
        started=started,
        tool={"name": "brimful", "version": __version__},
        command=command,
        host={},
        subject=SUBJECT,
        source=source,
        seed=settings.seed,
    )


def _total(found: Iterable[Record], code: str, key: str) -> int:
    return sum(line.data[key] for line in found if isinstance(line, Finding) and line.code == code)


def _offered(found: Iterable[Record]) -> str:
    """Give the options that compare before and after the clearest change, or say which options there are."""
    found = list(found)
    changes = [
        line
        for line in found
        if isinstance(line, Finding) and line.code in ("discards-begin", "discards-stop") and "day" in line.data
    ]
    days = [
        daily.day_of(x) for line in found if isinstance(line, Series) and line.x_name == "day" for x, _ in line.points
    ]
    if not changes or not days:
        return "--before and --after"
    clearest = max(changes, key=lambda line: float(line.data["evidence"]))
    change = datetime.date.fromisoformat(clearest.data["day"])
    first = max(min(days), change - WINDOW)
    last = min(max(days), change + WINDOW - datetime.timedelta(days=1))
    if first >= change:
        return "--before and --after"
    return f"--before {first}..{change - datetime.timedelta(days=1)} --after {change}..{last}"


def _order(line: Record) -> int:
    return 0 if isinstance(line, Series) else 1


def _warnings(found: Iterable[Record], settings: Settings) -> Iterable[Record]:
    """Say what the reader of the report might miss."""
    sites = {name: set[str]() for name in ("uplink_rate", "discards", "tests")}
    for line in found:
        if isinstance(line, Series) and (quantity := line.name.partition("/")[0]) in sites:
            sites[quantity].add(daily.site_of(line.name))
    for site in sorted(sites["tests"] - sites["discards"]):
        yield Warning("no-telemetry", f"{site}: there are speed tests, but no samples of its uplink")
    if sites["tests"] and settings.before is None:
        yield Warning("no-windows", f"nothing was compared before and after: give {_offered(found)}")
    for site in sorted(set(settings.sites) - set().union(*sites.values())):
        yield Warning("no-site", f"{site}: was asked for, but the store has nothing of it")
