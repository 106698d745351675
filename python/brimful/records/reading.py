"""Files of records as they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from brimful.errors import RecordError
from brimful.files import read_file
from brimful.records.analysis import Finding, Fit, Series, Solution
from brimful.records.burst import Burst
from brimful.records.campaign import Member
from brimful.records.delay import Delay
from brimful.records.digest import broken_digests
from brimful.records.format import decode_lines
from brimful.records.loss import Loss
from brimful.records.paired import LossPairs, Ratio
from brimful.records.record import Record
from brimful.records.recovery import Recovery
from brimful.records.run import NOTHING_PASSES, SCHEMA, TESTER_CEILING, End, Run, Trial, Warning
from brimful.records.throughput import Bound, GoalResult

_Kind = TypeVar("_Kind", bound=Record)
_Plan = TypeVar("_Plan")
_LISTED = (Run, Trial, Bound, GoalResult, Warning, End, Series, Fit, Solution, Finding, Member, Delay)


_AT_AN_END = (GoalResult, Delay, Burst, Recovery, Loss, Ratio, LossPairs)
"""Kinds that are written at an end, and just before it."""


class RunFile(msgspec.Struct, frozen=True):
    """All records of one file."""

    path: Path
    run: Run
    trials: list[Trial]
    bounds: list[Bound]
    goal_results: list[GoalResult]
    warnings: list[Warning]
    ends: list[End]
    trials_before_ends: list[int] = []
    """For each end, how many trials stand before it."""
    series: list[Series] = []
    fits: list[Fit] = []
    solutions: list[Solution] = []
    findings: list[Finding] = []
    members: list[Member] = []
    """Of a campaign; of one that was tried again, the last line."""
    delays: list[Delay] = []
    others: list[Record] = []
    """Of kinds without a list of their own, in the order of the file."""
    broken_digests: list[int] = []
    """Numbers of the lines whose digest is not that of the file up to there."""
    lacks_end: bool = False
    """Whether results stand after the last trial and no end after them."""

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Give the records of a kind without a list of its own."""
        return [record for record in self.others if isinstance(record, kind)]

    def latest(self, kind: type[_Kind], *names: str) -> list[_Kind]:
        """Give the records of a kind that differ in fields, each the last: a resumed run has one for each end."""
        return list({tuple(getattr(record, name) for name in names): record for record in self.of(kind)}.values())

    def last(self, kind: type[_Kind]) -> _Kind | None:
        """Give the last record of a kind, if there is any."""
        return next(reversed(self.of(kind)), None)

    def planned(self, plan: _Plan | None) -> _Plan:
        """Give what the run set out to measure.

        Parameters
        ----------
        plan
            The field of the run that says so; null where it is not there, or not whole.

        Raises
        ------
        RecordError
            When the record does not say.
        """
        if plan is None:
            subject = self.run.subject
            message = f"{self.path}:1: the run is of the subject {subject!r}, but does not say what was measured"
            raise RecordError(message)
        return plan

    def checked(self) -> tuple[list[str], list[str]]:
        """Give what does not hold of any record with trials, and what is to be known of it beside."""
        unended = self.unended()
        found = (self.change(), self.disorder(), unended if self.lacks_end else None)
        notes = ("" if self.lacks_end else unended, self.unsigned())
        return [text for text in found if text], [text for text in notes if text]

    def lines(self) -> Iterator[Record]:
        """Give all records: each end behind the trials that it stood behind, what was found before the last one."""
        places = self.trials_before_ends or [len(self.trials)] * len(self.ends)
        lines: list[Record] = list(self.trials)
        found = list(self._found())
        for place, end in reversed(list(zip(places, self.ends, strict=True))):
            lines[place:place] = [*found, end]
            found = []
        yield from [self.run, *lines, *found]

    def _found(self) -> Iterator[Record]:
        fits = {fit.series: fit for fit in self.fits}
        for series in self.series:
            yield series
            if series.name in fits:
                yield fits.pop(series.name)
        yield from fits.values()
        yield from self.bounds
        yield from self.goal_results
        yield from self.delays
        yield from self.solutions
        yield from self.members
        yield from self.others
        yield from self.findings
        yield from self.warnings

    def counted(self) -> list[Trial]:
        """Give the trials that count: all but the invalid ones."""
        return [trial for trial in self.trials if trial.invalid is None]

    @property
    def passes_nothing(self) -> bool:
        """Whether the device let no frame of this size through, while it did others."""
        return self.is_done() and any(warning.code == NOTHING_PASSES for warning in self.warnings)

    @property
    def max_load(self) -> float:
        """The largest load of the run, unless the tester could not offer it."""
        return min(self.run.max_load, self.ceiling)

    @property
    def ceiling(self) -> float:
        """The least of the ceilings; infinite where the tester could offer all loads."""
        return min(self.ceilings, default=math.inf)

    @property
    def ceilings(self) -> list[float]:
        """What loads were lowered to that the tester could not offer, in their order."""
        loads = [each.load for each in self.warnings if each.code == TESTER_CEILING and each.load is not None]
        return [load for load in loads if load > 0]

    def is_ended(self) -> bool:
        """Whether the run ended after its last trial; otherwise it was killed, or goes on."""
        return bool(self.ends) and self.trials_before_ends[-1] == len(self.trials)

    def is_done(self) -> bool:
        """Whether the run came to its end, and was not interrupted, out of time or failed."""
        return bool(self.ends) and self.ends[-1].reason == "done"

    def unended(self) -> str:
        """Say what is to be known of a record that has no end after its last trial; empty: it has one."""
        if self.is_ended():
            return ""
        if self.lacks_end:
            return "results are recorded, but no end: it was removed, or the run was killed as it ended"
        return "no end is recorded: the run goes on, or was killed; --resume goes on with it"

    def unsigned(self) -> str:
        """Say what cannot be known of a record without digests; empty: it has them."""
        if self.run.digest:
            return ""
        return "it has no digests (older records have none): a change that no result depends on cannot be noticed"

    def change(self) -> str | None:
        """Say which line is not as it was written, if one is not."""
        if not self.broken_digests:
            return None
        line = self.broken_digests[0]
        what = "line 1 was changed" if line == 1 else f"line {line}, or one before it, was changed, added or removed"
        return f"{what} after it was written: its digest is another"

    def disorder(self) -> str | None:
        """Say where trials are not numbered from 0 upwards or began at the same time: lines were doubled or moved."""
        wrong = [(due, trial.seq) for due, trial in enumerate(self.trials) if trial.seq != due]
        if not wrong:
            return self._simultaneous()
        due, seq = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return f"trial {seq} stands where trial {due} belongs{more}: lines were doubled, added or removed"

    def _simultaneous(self) -> str | None:
        begun: dict[tuple[str | None, float], int] = {}
        for trial in self.trials:
            if trial.elapsed_s > 0:
                first = begun.setdefault((trial.path, trial.start_s), trial.seq)
                if first != trial.seq:
                    return f"trials {first} and {trial.seq} began at the same time: one is a copy of the other"
        return None


def iterate_records(path: Path) -> Iterator[Record]:
    """Give the records of a file in order; a torn last line is left out.

    Raises
    ------
    RecordError
        When the file cannot be read, or a line is no record.
    """
    yield from _decoded(path, read_file(path))


def _decoded(path: Path, content: bytes) -> Iterator[Record]:
    lines = enumerate(content.split(b"\n")[:-1], start=1)
    yield from decode_lines((line, f"{path}:{number}") for number, line in lines if line.strip())


def read_run(path: Path) -> RunFile:
    """Read a whole file (or the ``run.jsonl`` of a run directory).

    Raises
    ------
    RecordError
        When it is not a file of records that starts with a run of a known schema.
    """
    if path.is_dir():
        path = path / "run.jsonl"
    content = read_file(path)
    return collect(path, list(_decoded(path, content)), broken=list(broken_digests(content)))


def read_unchanged(path: Path) -> RunFile:
    """Read a whole file that something is to be built on: the lines that were written, and no others.

    Raises
    ------
    RecordError
        As `read_run`, and when its digests show that a line was changed, added or removed.
    """
    file = read_run(path)
    if (change := file.change()) is not None:
        message = f"{file.path}: {change}; nothing is built on it, see `brimful verify`"
        raise RecordError(message)
    return file


def collect(path: Path, records: list[Record], *, broken: Sequence[int] = ()) -> RunFile:
    """Sort the records of a run; ``path`` is named in errors, ``broken`` are lines whose digest does not hold.

    Raises
    ------
    RecordError
        When they do not start with a run of a known schema, or have more than one.
    """
    if not records or not isinstance(records[0], Run):
        message = f'{path}:1: a record file starts with a line of kind "run"; is this a trial log of another tool?'
        raise RecordError(message)
    run = records[0]
    if run.schema > SCHEMA:
        message = f"{path}:1: schema {run.schema} is newer than this brimful knows ({SCHEMA}); update brimful"
        raise RecordError(message)
    if any(isinstance(record, Run) for record in records[1:]):
        message = f'{path}: has more than one line of kind "run": the records of several runs were put together'
        raise RecordError(message)
    return RunFile(
        path=path,
        run=run,
        trials=[record for record in records if isinstance(record, Trial)],
        bounds=[record for record in records if isinstance(record, Bound)],
        goal_results=_latest_results(run, records),
        warnings=[record for record in records if isinstance(record, Warning)],
        ends=[record for record in records if isinstance(record, End)],
        trials_before_ends=list(_trials_before_ends(records)),
        series=[record for record in records if isinstance(record, Series)],
        fits=[record for record in records if isinstance(record, Fit)],
        solutions=[record for record in records if isinstance(record, Solution)],
        findings=[record for record in records if isinstance(record, Finding)],
        members=list({record.name: record for record in records if isinstance(record, Member)}.values()),
        delays=_latest_delays([record for record in records if isinstance(record, Delay)]),
        others=[record for record in records if not isinstance(record, _LISTED)],
        broken_digests=list(broken),
        lacks_end=_lacks_end(records),
    )


def _trials_before_ends(records: list[Record]) -> Iterator[int]:
    trials = 0
    for record in records:
        trials += isinstance(record, Trial)
        if isinstance(record, End):
            yield trials


def _lacks_end(records: list[Record]) -> bool:
    for record in reversed(records):
        if isinstance(record, _AT_AN_END):
            return True
        if isinstance(record, Trial | End):
            return False
    return False


def _latest_results(run: Run, records: list[Record]) -> list[GoalResult]:
    """Keep the last result of each goal (a resumed run has more than one) that an end follows, in the goals' order."""
    whole = max((index for index, record in enumerate(records) if isinstance(record, End)), default=0)
    latest = {result.goal: result for result in records[:whole] if isinstance(result, GoalResult)}
    return [latest[goal.name] for goal in run.goals if goal.name in latest]


def _latest_delays(results: list[Delay]) -> list[Delay]:
    """Keep the last result of each load and direction: a resumed run has more than one."""
    return list({(result.load, result.direction): result for result in results}.values())
