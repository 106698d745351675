"""The throughput that other measurements build on: searched for first, or known already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from brimful.errors import RecordError, UsageError
from brimful.managed import parse_load
from brimful.measurers.base import Calibrating, Description, Measurer
from brimful.records import NONE_PASSES, NOTHING_PASSES, Goal, Run, RunFile, Warning, read_unchanged
from brimful.records.experiment import other_traffic
from brimful.run_index import RECORD_NAME
from brimful.runs import new_run_directory
from brimful.throughput.manager import SearchOutcome, SearchRequest, run_search
from brimful.throughput.run_loop import Progress
from brimful.throughput.verify import open_log, verify

THROUGHPUT = "throughput"
"""Directory, in that of a run, of the search that it begins with."""


class FoundThroughput(msgspec.Struct, frozen=True):
    """The throughput, and what found it."""

    load: float | None
    run_id: str | None = None
    goal: str | None = None
    ceiling: float | None = None
    """Of the tester itself, where it was measured."""
    warnings: list[Warning] = []

    @property
    def passes_nothing(self) -> bool:
        """Whether no frame of this size comes through."""
        return any(warning.code == NOTHING_PASSES for warning in self.warnings)


class ThroughputNotFoundError(Exception):
    """The search for the throughput ended before it had one; ``outcome`` has its bounds."""

    def __init__(self, outcome: SearchOutcome) -> None:
        super().__init__(outcome.result.end.reason)
        self.outcome = outcome


def check_lossless(goals: Sequence[Goal]) -> None:
    """Refuse goals none of which is a throughput, which is without loss (RFC 1242 section 3.17).

    Raises
    ------
    UsageError
        Saying what is missing.
    """
    if not any(goal.loss_ratio == 0 for goal in goals):
        message = "--find: begins with the throughput, which is without loss; give a goal with loss=0"
        raise UsageError(message)


def find_throughput(
    search: SearchRequest,
    given: str | None,
    measurer: Measurer,
    description: Description,
    out: Path | None,
    *,
    progress: Callable[[Run, Progress], None],
    note: Callable[[str], None],
) -> tuple[Path, FoundThroughput]:
    """Give the directory of a run, and the throughput: given, or searched for, or on with where that was interrupted.

    Parameters
    ----------
    search, given
        How to search, and what stands for it: a load, or the path of a run; null: search.
    measurer, description
        With whom, and what it says of itself.
    out
        Directory of the run, with that of the search in it; none: a new one under ``runs/``.
    progress, note
        Get where the search stands, and what to say once.

    Raises
    ------
    UsageError
        When what is given is no throughput.
    ThroughputNotFoundError
        When the search ended before it had one.
    """
    directory = out if out is not None and (out / THROUGHPUT).exists() else new_run_directory(out)
    if given is not None:
        found = given_throughput(given, description)
        if search.max_load is None and description.can_calibrate and search.calibrate:
            ceiling = measurer.calibrate() if isinstance(measurer, Calibrating) else None
            found = msgspec.structs.replace(found, ceiling=ceiling)
        return directory, found
    record = directory / THROUGHPUT
    resume = (record / RECORD_NAME).exists()
    outcome = run_search(search, measurer, out=record, resume=resume, progress=progress, note=note)
    if outcome.result.end.reason != "done":
        raise ThroughputNotFoundError(outcome)
    losses = {goal.name: goal.loss_ratio for goal in search.goals}
    result = next(result for result in outcome.result.goal_results if losses[result.goal] == 0)
    warnings = [warning for warning in outcome.warnings if warning.code == NOTHING_PASSES]
    if not result.regular and not warnings:
        text = f"the result of {result.goal} is irregular ({result.reason}): what builds on it builds on a bound"
        warnings.append(Warning(code="irregular-throughput", text=text))
    ceiling = outcome.run.measurer.known_ceiling
    load, run_id = result.conditional_throughput, outcome.run.run_id
    return directory, FoundThroughput(load, run_id, result.goal, ceiling, warnings)


def greatest_load(search: SearchRequest, description: Description, ceiling: float | None) -> float:
    """Give the load that was asked for, or the most that the measurer can offer.

    Raises
    ------
    UsageError
        When neither is known.
    """
    limits = [limit for limit in (description.max_load, ceiling) if limit is not None]
    most = min(limits) if limits else None
    if search.max_load is not None:
        return parse_load("--max-load", search.max_load, description, most)
    if most is None:
        message = f"measurer {search.measurer!r} does not say at which rate it sends back to back; give --max-load"
        raise UsageError(message)
    return most


def given_throughput(text: str, description: Description) -> FoundThroughput:
    """Read a throughput that is a load, or what the run at a path found.

    Raises
    ------
    UsageError
        When it is neither.
    """
    path = Path(text)
    if not path.exists():
        return FoundThroughput(parse_load("--throughput", text, description, description.max_load))
    file = read_unchanged(path)
    losses = {goal.name: goal.loss_ratio for goal in file.run.goals}
    results = [result for result in file.goal_results if losses.get(result.goal) == 0]
    known = next((result for result in results if result.conditional_throughput), None)
    if known is None or file.run.load_unit != description.load_unit:
        why = f": {NONE_PASSES}" if file.passes_nothing else ""
        message = f"--throughput {text}: the run has no throughput without loss in {description.load_unit}{why}"
        raise UsageError(message)
    warnings = _differing(file.run, description)
    return FoundThroughput(known.conditional_throughput, file.run.run_id, known.goal, None, warnings)


def _differing(run: Run, description: Description) -> list[Warning]:
    differing = other_traffic(run.traffic, description.traffic)
    if not differing:
        return []
    text = f"the throughput was found with other traffic, which makes the result wrong: {', '.join(differing)} differ"
    return [Warning(code="other-traffic", text=text)]


class FoundVerification(msgspec.Struct, frozen=True):
    """What became of the throughput that a run builds on."""

    findings: list[str] = []
    """What does not hold."""
    note: str = ""
    """What could not be looked at."""


def verify_found(directory: Path, load: float | None, run_id: str | None, goal: str | None) -> FoundVerification:
    """Recompute the search that a run began with, and hold it against what the run says of it.

    Parameters
    ----------
    directory
        Of the run.
    load, run_id, goal
        The throughput, and the run and the goal that it is of, as the run has them; null: it was given as a load.
    """
    record = directory / THROUGHPUT
    if not (record / RECORD_NAME).exists():
        note = f"the run that found the throughput, {run_id}, is not beside this record: it was not looked at"
        return FoundVerification(note="" if run_id is None else note)
    try:
        opened = open_log(record, None)
        found = verify(opened)
    except RecordError as error:
        return FoundVerification([f"{THROUGHPUT}: {error}"])
    findings = [finding.text for finding in found.findings]
    if found.unended:
        findings.append(found.unended)
    if opened.file is not None:
        results = {result.goal: result.conditional_throughput for result in opened.file.goal_results}
        said, has = (opened.file.run.run_id, results.get(goal or "")), (run_id, load)
        if said != has:
            findings.append(f"run {said[0]} found {said[1]!r}, but the run says that {has[0]} found {has[1]!r}")
    return FoundVerification([f"{THROUGHPUT}: {text}" for text in findings])


def common_findings(file: RunFile, throughput: FoundVerification) -> tuple[list[str], list[str]]:
    """Give what does not hold of any record with trials, and what is to be known of it beside.

    Parameters
    ----------
    file
        The record of a run.
    throughput
        What became of the search that it began with.
    """
    findings, notes = file.checked()
    return [*findings, *throughput.findings], [*notes, *filter(None, [throughput.note])]
