"""Recompute what a trial log says, and check it against what was claimed."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful import _core, units
from brimful.errors import RecordError, UsageError
from brimful.records import Bound, Goal, GoalResult, Run, RunFile, Sums, Trial, read_run
from brimful.throughput.engine import feed, goal_results, unsent_units
from brimful.throughput.foreign_log import is_run, read_foreign_log
from brimful.throughput.goals import moves_of_bounds, problem_json

_STOPPING_REASONS = frozenset({"time-budget", "interrupted", "measurement-failed"})
_NO_PROGRESS = "no-progress"
"""Why a strategy gives a goal up; an end does not say it."""
_TOLERANCE = 1e-9
_CLOCK_S = 1e-5
"""Times were once kept to the microsecond."""
_CLAIMS = (
    "regular",
    "reason",
    "lower_bound",
    "upper_bound",
    "conditional_throughput",
    "lower_bound_sums",
    "upper_bound_sums",
)
"""Fields of a goal result that the trials decide."""


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials at one load say for one goal (MLRsearch-15 Load Classification)."""

    verdict: str
    """``lower-bound``, ``upper-bound`` or ``undecided``."""
    trials: int
    sums: Sums
    effective_high_loss_s: float
    missing_s: float
    optimistic_exceed_ratio: float
    pessimistic_exceed_ratio: float
    conditional_throughput: float | None = None


class Finding(msgspec.Struct, frozen=True):
    """Something that does not hold."""

    code: str
    text: str


class Verification(msgspec.Struct, frozen=True):
    """Everything recomputed from a log."""

    goals: list[Goal]
    trials: int
    loads: list[float]
    assessments: dict[str, list[Assessment]]
    """For each goal, one assessment a load, ascending."""
    goal_results: list[GoalResult]
    findings: list[Finding]
    unsent: int = 0
    """Trials that sent less than was intended: what is unsent counts as loss."""
    rest_on_unsent: list[str] = []
    """Goals whose upper bound rests on such units alone."""
    unended: str = ""
    """What is to be known of a record that has no end after its last trial."""
    unsigned: str = ""
    """What is to be known of a record without digests."""
    lacks_end: bool = False
    """Whether it has results all the same."""


class Losses(msgspec.Struct, frozen=True):
    """Units of the trials at one load: what loss ratios are of."""

    lost: int = 0
    unsent: int = 0
    """That count as loss although they were never sent."""
    intended: int = 0
    """Or sent, where that is more."""

    def __add__(self, trial: Trial) -> Losses:
        """Add those of a trial."""
        expected = max(trial.intended, trial.sent)
        return Losses(self.lost + trial.lost, self.unsent + unsent_units(trial), self.intended + expected)


class TrialLog:
    """The trials of a finished search, classified."""

    def __init__(self, goals: list[Goal], trials: list[Trial], limits: tuple[float, float]) -> None:
        try:
            self._log = _core.TrialLog(problem_json(goals, *limits))
        except ValueError as error:
            raise UsageError(str(error)) from error
        self.goals = goals
        self.moves: list[Bound] = []
        """Every move of a relevant bound, with the trial that moved it."""
        self._delays_s: dict[float, list[float]] = collections.defaultdict(list)
        self._losses: dict[float, Losses] = {}
        bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(goals)
        for trial in trials:
            try:
                feed(self._log, trial)
            except (ValueError, OverflowError) as error:
                message = f"trial {trial.seq}: {error}"
                raise RecordError(message) from error
            self._losses[trial.load] = self._losses.get(trial.load, Losses()) + trial
            if trial.delay_p99_s is not None:
                self._delays_s[trial.load].append(trial.delay_p99_s)
            before, bounds = bounds, self._log.bounds()
            if bounds != before:
                self.moves.extend(moves_of_bounds(goals, before, bounds, trial.seq))

    def loads(self) -> list[float]:
        """Give every load that was measured, ascending."""
        return self._log.loads()

    def assess(self, load: float, goal: int) -> Assessment:
        """Classify one load for the goal with this index."""
        return msgspec.json.decode(self._log.assess_json(load, goal), type=Assessment)

    def delays_s(self, load: float) -> list[float]:
        """Give the 99th percentiles of the delay of the trials at a load, in seconds, as far as they are known."""
        return self._delays_s.get(load, [])

    def losses(self, load: float) -> Losses:
        """Give what the trials at a load lost and did not send."""
        return self._losses.get(load, Losses())

    def results(self, stopped: str | None = None) -> list[GoalResult]:
        """Give the goal results that the trials support; ``stopped`` says why the search ended early, if it did."""
        return goal_results(self._log.results_json(stopped), self.goals)


class OpenLog(msgspec.Struct, frozen=True):
    """A log that was read: a record of brimful with its claims, or one of another tool that claims nothing."""

    log: TrialLog
    trials: list[Trial]
    file: RunFile | None


def open_log(path: Path, goals: list[Goal] | None) -> OpenLog:
    """Open a record, or a log of another tool together with the goals to judge it by.

    Given goals replace those of a record; it then claims nothing.

    Raises
    ------
    UsageError
        When a log of another tool comes without goals.
    RecordError
        When it cannot be read, or the goals given limit a delay that it does not have.
    """
    if is_run(path):
        return open_run(read_run(path), goals)
    trials = read_foreign_log(path)
    if goals is None:
        message = f"{path}: a log of another tool names no goals; give --preset or --goal"
        raise UsageError(message)
    _check_delays(path, goals, trials)
    return OpenLog(TrialLog(goals, trials, _beyond(goals, trials)), trials, None)


def open_run(file: RunFile, goals: list[Goal] | None) -> OpenLog:
    """Open the record of a search; see `open_log`.

    Raises
    ------
    UsageError
        When the record is not of a search.
    RecordError
        When the goals given limit a delay that it does not have.
    """
    if file.run.subject != "search":
        message = f"{file.path}: the subject of this run is a {file.run.subject}: it has no trials to judge"
        raise UsageError(message)
    _check_run(file)
    trials, limits = file.counted(), (file.run.min_load, file.max_load)
    _check_delays(file.path, goals or [], trials)
    return OpenLog(TrialLog(goals or file.run.goals, trials, limits), trials, None if goals else file)


def _beyond(goals: list[Goal], trials: list[Trial]) -> tuple[float, float]:
    """Give limits that no load of the log is: it states none, and the largest load in it may be no max load."""
    shortest_s = min(goal.initial_trial_duration_s for goal in goals)
    beyond = 2 * max(*(trial.load for trial in trials), 1 / shortest_s)
    return beyond, beyond


def _check_run(file: RunFile) -> None:
    """Refuse goals and limits of a record that nothing can be judged by."""
    run = file.run
    try:
        TrialLog(run.goals, [], (run.min_load, run.max_load))
    except UsageError as error:
        message = f"{file.path}:1: {error}"
        raise RecordError(message) from error


def _check_delays(path: Path, goals: list[Goal], trials: list[Trial]) -> None:
    """Refuse to judge trials by delays that were not measured."""
    limited = [goal for goal in goals if goal.delay_limit_s is not None]
    for trial in trials if limited else []:
        if trial.delay_p99_s is None and trial.lost < trial.sent and not trial.stopped_early:
            message = (
                f"{path}: trial {trial.seq}: no delay_p99_s is recorded, but goal {limited[0].name!r} has a delay limit"
            )
            raise RecordError(message)


def verify(opened: OpenLog) -> Verification:
    """Recompute every verdict of a log, and check the claims and the compliance of a record."""
    log, file = opened.log, opened.file
    results = log.results(_stopped(file) if file is not None and file.is_ended() else None)
    loads = log.loads()
    return Verification(
        goals=log.goals,
        trials=len(opened.trials),
        loads=loads,
        assessments={goal.name: [log.assess(load, index) for load in loads] for index, goal in enumerate(log.goals)},
        goal_results=results,
        unsent=sum(unsent_units(trial) > 0 for trial in opened.trials),
        rest_on_unsent=rest_on_unsent(log.goals, opened.trials, results),
        findings=[] if file is None else _findings(file, log, results),
        unended="" if file is None else file.unended(),
        unsigned="" if file is None else file.unsigned(),
        lacks_end=file is not None and file.lacks_end,
    )


def rest_on_unsent(goals: Sequence[Goal], trials: Sequence[Trial], results: Sequence[GoalResult]) -> list[str]:
    """Name the goals whose upper bound would be none if only lost units counted as loss.

    Parameters
    ----------
    goals
        What was searched for.
    trials
        Of the search; those that do not count are left out.
    results
        One for each goal, in the same order.
    """
    loads = {found.upper_bound for found in results} - {None}
    at_bounds = [trial for trial in trials if trial.invalid is None and trial.load in loads]
    if not any(unsent_units(trial) for trial in at_bounds):
        return []
    ends = [trial.load for trial in at_bounds]
    log = TrialLog(list(goals), [_as_sent(trial) for trial in at_bounds], (min(ends), max(ends)))
    return [
        goal.name
        for index, (goal, found) in enumerate(zip(goals, results, strict=True))
        if found.upper_bound is not None and log.assess(found.upper_bound, index).verdict != "upper-bound"
    ]


def _as_sent(trial: Trial) -> Trial:
    return msgspec.structs.replace(trial, intended=trial.intended - unsent_units(trial))


def check_claims(file: RunFile) -> None:
    """Refuse to build on the record of a search of which something does not hold.

    Raises
    ------
    RecordError
        Naming the first thing.
    """
    opened = open_run(file, None)
    findings = _findings(file, opened.log, opened.log.results(_stopped(file) if file.is_ended() else None))
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        message = f"{file.path}: {findings[0].text}{more}; a search cannot go on from it, begin another"
        raise RecordError(message)


def _stopped(file: RunFile) -> str | None:
    """Give why the search last ended, where its strategy was not through."""
    reason = file.ends[-1].reason
    if reason in _STOPPING_REASONS:
        return reason
    return _NO_PROGRESS if any(result.reason == _NO_PROGRESS for result in file.goal_results) else None


def _findings(file: RunFile, log: TrialLog, results: list[GoalResult]) -> list[Finding]:
    went_on = bool(file.ends) and not file.is_ended()
    faults = (("line-changed", file.change()), ("trials-out-of-sequence", file.disorder()))
    return [
        *(Finding(code, text) for code, text in faults if text is not None),
        *_limit_findings(file.run, file.trials),
        *_bound_findings(file, log.moves),
        *_claim_findings(file, _results_at_the_end(file) if went_on else results),
        *_end_findings(file),
    ]


def _limit_findings(run: Run, trials: list[Trial]) -> list[Finding]:
    """MLRsearch-15 Max Load and Min Load: neither may be crossed."""
    return [
        Finding(
            "load-outside-limits",
            f"trial {trial.seq}: load {trial.load!r} is outside {run.min_load!r} to {run.max_load!r}",
        )
        for trial in trials
        if not run.min_load <= trial.load <= run.max_load
    ]


def _bound_findings(file: RunFile, moves: list[Bound]) -> list[Finding]:
    """Hold the recorded moves of the bounds against those of the trials: one finding a goal and side."""
    said = {(bound.goal, bound.side, bound.seq): bound.load for bound in file.bounds}
    found = {(bound.goal, bound.side, bound.seq): bound.load for bound in moves}
    if not file.is_ended() and file.trials:
        # A trial may be on disk before what it moved.
        last = file.trials[-1].seq
        said |= {key: load for key, load in found.items() if key[2] == last and key not in said}
    differing: dict[tuple[str, str], list[int]] = {}
    for goal, side, seq in sorted(said.keys() | found.keys()):
        key = (goal, side, seq)
        if key not in said or key not in found or not _equal(said[key], found[key]):
            differing.setdefault((goal, side), []).append(seq)
    findings = []
    for (goal, side), seqs in differing.items():
        recorded, moved = (_move(moves, (goal, side, seqs[0])) for moves in (said, found))
        more = f" (the first of {len(seqs)})" if len(seqs) > 1 else ""
        text = (
            f"goal {goal!r}: with trial {seqs[0]} the {side} bound is recorded {recorded},"
            f" but the trials have it {moved}{more}"
        )
        findings.append(Finding("bound-differs", text))
    return findings


def _results_at_the_end(file: RunFile) -> list[GoalResult]:
    """Give what the trials said when the run last ended: a run that went on since claims nothing new yet."""
    trials = [trial for trial in file.trials[: file.trials_before_ends[-1]] if trial.invalid is None]
    log = TrialLog(file.run.goals, trials, (file.run.min_load, file.max_load))
    return log.results(_stopped(file))


def _move(moves: dict[tuple[str, str, int], float | None], key: tuple[str, str, int]) -> str:
    if key not in moves:
        return "not to move"
    return "to go away" if moves[key] is None else f"to move to {moves[key]!r}"


def _claim_findings(file: RunFile, results: list[GoalResult]) -> list[Finding]:
    claimed = {result.goal: result for result in file.goal_results}
    findings = []
    for result in results:
        claim = claimed.get(result.goal)
        if claim is None:
            if file.ends:
                findings.append(Finding("missing-result", f"goal {result.goal!r}: the record has no result"))
            continue
        for field in _CLAIMS:
            said, found = getattr(claim, field), getattr(result, field)
            if not _equal(said, found):
                text = f"goal {result.goal!r}: {field} is recorded as {_said(said)}, but the trials give {_said(found)}"
                findings.append(Finding("result-differs", text))
    return findings


def _end_findings(file: RunFile) -> list[Finding]:
    """Hold what the ends say against the trials before them."""
    reached_s = list(itertools.accumulate((trial.start_s + trial.elapsed_s for trial in file.trials), max))
    early = [
        Finding(
            "end-differs", f"an end is recorded at {units.format_delay(end.search_s)}, before the end of its last trial"
        )
        for end, before in zip(file.ends, file.trials_before_ends, strict=True)
        if before and end.search_s < reached_s[before - 1] - _CLOCK_S
    ]
    return early + [
        Finding("end-differs", f"an end is recorded after {end.trials} trials, but {before} stand before it")
        for end, before in zip(file.ends, file.trials_before_ends, strict=True)
        if end.trials != before
    ]


def _equal(said: Any, found: Any) -> bool:  # noqa: ANN401 - any field of a result
    if isinstance(said, float) and isinstance(found, float):
        return math.isclose(said, found, rel_tol=_TOLERANCE)
    if isinstance(said, Sums) and isinstance(found, Sums):
        return all(map(_equal, msgspec.structs.astuple(said), msgspec.structs.astuple(found)))
    return bool(said == found)


def _said(value: Any) -> str:  # noqa: ANN401 - any field of a result
    if isinstance(value, Sums):
        return ", ".join(f"{name} {seconds!r}" for name, seconds in msgspec.structs.asdict(value).items())
    return "nothing" if value is None else repr(value)
