"""The Manager (MLRsearch-15): sets the measurer up, begins or resumes the record, runs one search, keeps its result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful import units
from brimful.alarm import alarm, undisturbed
from brimful.errors import MeasureError, UsageError, one_line, shown
from brimful.machine.figures import explain_unrest
from brimful.machine.watch import Watch
from brimful.managed import Begun, Note, Place, Sink, manage, new_run, parse_load
from brimful.measurers.base import Calibrating, Description, Measurer, checked_description
from brimful.policies import ON_ERROR, ON_INVALID, FailurePolicy, check_budget
from brimful.records import Goal, Run, RunFile, Warning, is_rate_of_units
from brimful.records.experiment import fingerprint_of
from brimful.session import DEAD_DIRECTION_CHECK, spoiled_warnings
from brimful.throughput.limits import check_delay_limits, check_limits, least_evidence_s, unit_difference
from brimful.throughput.result import SearchResult
from brimful.throughput.run_loop import WARM_UP, Plan, Progress, SearchLoop
from brimful.throughput.steadiness import steadiness_warnings
from brimful.throughput.verify import check_claims

NEAR_CEILING = 0.9
"""A result above this share of the tester's own ceiling may be the tester's, not the device's."""
_CALIBRATION_SHARE = 0.25
"""Of a time budget, where the search can do without the tester's own ceiling."""
_WITHOUT_CEILING = "results near it cannot be told from the device's"
_NEAR_ENOUGH = 2.0
"""A ceiling is measured in a few short trials: a load up to this many times as high is worth a try."""
_MIN_LOAD_SHARE = 1000
"""Without `--min-load` the search goes down to the max load divided by this."""


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for; loads may still be text, because a share of the max load needs the measurer."""

    measurer: str
    goals: list[Goal]
    strategy: str
    preset: str | None = None
    min_load: str | float | None = None
    max_load: str | float | None = None
    hint: str | float | None = None
    budget_s: float | None = None
    early_termination: bool = False
    warm_up_s: float = 0.0
    on_invalid: str = ON_INVALID
    on_error: str = ON_ERROR
    calibrate: bool = True
    traffic: dict[str, Any] = {}
    labels: dict[str, str] = {}

    def fingerprint(self) -> str:
        """Digest what makes two runs the same search; what may change when a run is resumed is left out."""
        return fingerprint_of(self, "budget_s", "on_invalid", "on_error", "labels", "calibrate", "hint")


class _CalibrationTooLongError(Exception):
    """The time for the tester's own ceiling is over."""


class SearchOutcome(msgspec.Struct, frozen=True):
    """A finished search and where its record is."""

    path: Path
    run: Run
    result: SearchResult
    warnings: list[Warning]


def run_search(
    request: SearchRequest,
    measurer: Measurer,
    *,
    out: Path | None = None,
    keep: bool = True,
    resume: bool = False,
    ceiling: float | None = None,
    set_up_s: float = 0.0,
    progress: Callable[[Run, Progress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> SearchOutcome:
    """Run one search, or go on with one that was interrupted, every trial on disk before the next begins.

    Parameters
    ----------
    request, measurer
        What to search for, and with whom.
    out
        Directory of the record; none: a new one under ``runs/``.
    keep
        Whether there is a record at all.
    resume
        Whether to go on with an earlier run of the same search.
    ceiling
        The tester's own ceiling, where it was measured before.
    set_up_s
        Time that opening the measurer took; unless time is virtual, it counts against a time budget.
    progress, note
        Get where the search stands, and what a user should know.

    Raises
    ------
    UsageError
        When the request cannot be carried out; nothing has been measured then.

    Notes
    -----
    An exception that ends the search after its start has the attribute ``result``: the trials and bounds so far.
    """
    search = _Search(request, measurer, ceiling, set_up_s, progress, note, keep=keep)
    return manage(
        "search",
        request.fingerprint(),
        Place(out=out, resume=resume, keep=keep),
        note,
        begin=search.begin,
        perform=search.perform,
        show=_shown,
        check=check_claims,
    )


def _shown(saved: RunFile) -> SearchOutcome:
    result = SearchResult(saved.goal_results, saved.trials, saved.ends[-1], saved.run.load_unit, saved.path)
    return SearchOutcome(saved.path, saved.run, result, saved.warnings)


class _Search:
    """What differs from other runs."""

    def __init__(
        self,
        request: SearchRequest,
        measurer: Measurer,
        ceiling: float | None,
        set_up_s: float,
        progress: Callable[[Run, Progress], None],
        note: Note,
        *,
        keep: bool,
    ) -> None:
        self._request, self._measurer, self._ceiling = request, measurer, ceiling
        self._progress, self._note, self._keep = progress, note, keep
        self._begun: list[Warning] = []
        self._description = checked_description(measurer.describe(), where="what the measurer says of itself")
        self._began_s = measurer.now() - (0.0 if self._description.virtual_time else set_up_s)

    def begin(self) -> Begun:
        """Give the begin of the record, once it is known that the request can be carried out."""
        request, description = self._request, self._description
        check_budget(request.budget_s)
        told = self._tell_of_little_time()
        if self._ceiling is None:
            self._ceiling = self._calibrate()
        run = _begin(request, description, self._ceiling)
        _plan(request, run, run.max_load).controller()  # it refuses what cannot be searched for
        check_limits(run.goals, run.max_load, description)
        if not told:
            self._tell_of_little_time()
        said = description.traffic.get("warnings", [])
        texts = said if isinstance(said, list) else []
        self._begun = [Warning(code="traffic", text=one_line(text)) for text in texts]
        for warning in self._begun:
            self._note(f"warning: {warning.text}")
        return Begun(run, self._begun)

    def perform(self, file: RunFile, sink: Sink) -> SearchOutcome:
        """Search, and write what a reader should know of the result."""
        run = file.run
        loop = SearchLoop(
            _plan(self._request, run, file.max_load),
            self._measurer,
            sink=sink,
            progress=lambda state: self._progress(run, state),
            watch=Watch() if self._description.on_this_machine else None,
            spent_s=self._measurer.now() - self._began_s,
        )
        loop.resume(file.trials, file.bounds)
        try:
            result = loop.run()
        except BaseException as error:
            with contextlib.suppress(AttributeError):  # some exceptions have a result of their own
                error.result = loop.end("measurement-failed", shown(error))  # type: ignore[attr-defined]
            raise
        warnings = _warnings(run, result)
        with undisturbed():
            for warning in warnings:
                sink(warning)
        path = file.path if self._keep else None
        result = msgspec.structs.replace(result, path=path)
        return SearchOutcome(file.path, run, result, [*self._begun, *loop.remarks, *warnings])

    def _calibrate(self) -> float | None:
        """Measure the tester's own ceiling, if that can be done in time."""
        request, description, measurer, note = self._request, self._description, self._measurer, self._note
        if not description.can_calibrate or not request.calibrate or not isinstance(measurer, Calibrating):
            return None
        note("measuring the tester's own ceiling")
        is_share = request.max_load is None or str(request.max_load)[-1:] == "%"
        limits_the_load = description.max_load is None and is_share
        limit_s = None
        if request.budget_s is not None:
            share_s = _CALIBRATION_SHARE * request.budget_s
            if limits_the_load:
                share_s = max(share_s, request.budget_s - _least_s(request))
            limit_s = share_s - (measurer.now() - self._began_s)
        try:
            with alarm(limit_s, _CalibrationTooLongError):
                ceiling = measurer.calibrate()
        except _CalibrationTooLongError:
            if limits_the_load:
                message = (
                    f"--budget {units.format_duration(request.budget_s or 0)} is over before the tester's own ceiling"
                    " is known, which is the max load, and bounds are found, which take"
                    f" {units.format_duration(_least_s(request))} of trials at least: give more time,"
                    " or --max-load"
                )
                raise UsageError(message) from None
            note(f"the budget is too short for the tester's own ceiling: {_WITHOUT_CEILING}")
            return None
        except MeasureError as error:
            if limits_the_load:
                raise
            note(f"{error}; {_WITHOUT_CEILING}")
            return None
        note(f"the tester alone reaches {units.format_load(ceiling, description.load_unit)}")
        return ceiling

    def _tell_of_little_time(self) -> bool:
        """Say before the first trial that the time budget is too short for bounds, if so."""
        budget_s = self._request.budget_s
        if budget_s is None:
            return False
        least_s, left_s = _least_s(self._request), budget_s - (self._measurer.now() - self._began_s)
        if left_s >= least_s:
            return False
        self._note(
            f"--budget {units.format_duration(budget_s)} is too short for bounds:"
            f" {units.format_duration(max(left_s, 0.0))} are left, and the trials that the goals ask for take"
            f" {units.format_duration(least_s)} at least; give more time, or goals with less (--preset quick)"
        )
        return True


def _least_s(request: SearchRequest) -> float:
    return least_evidence_s(request.goals, early_termination=request.early_termination)


def check_search(request: SearchRequest, measurer: Measurer) -> None:
    """Refuse what would be refused before the first trial, as far as it is known without measuring anything.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    """
    description = measurer.describe()
    check_delay_limits(request.goals, description)
    FailurePolicy.parse(request.on_invalid)
    FailurePolicy.parse(request.on_error)
    for option, text in (("--min-load", request.min_load), ("--max-load", request.max_load), ("--hint", request.hint)):
        if text is not None:
            parse_load(option, text, description, 1.0)  # a share is one of any max load
    if description.max_load is None and description.can_calibrate and request.calibrate:
        return  # the limits are not known until the ceiling is
    run = _begin(request, description, None)
    _plan(request, run, run.max_load).controller()
    check_limits(run.goals, run.max_load, description)


def _begin(request: SearchRequest, description: Description, ceiling: float | None) -> Run:
    max_load = _max_load(request, description, ceiling)
    shortest_s = min(goal.initial_trial_duration_s for goal in request.goals)
    if not shortest_s > 0:
        message = f"initial trial duration of {shortest_s:g} s: it must be above 0 s"
        raise UsageError(message)
    if request.min_load is None and max_load * shortest_s < 1:
        one = description.load_unit.removesuffix("/s").removesuffix("s")
        message = (
            f"a trial of {units.format_delay(shortest_s)} at max load"
            f" {units.stated_load(max_load, description.load_unit)} has less than one {one}; make the trials of the"
            " goals longer or raise --max-load"
        )
        raise UsageError(message)
    least = max(max_load / _MIN_LOAD_SHARE, 1 / shortest_s)
    min_load = least if request.min_load is None else parse_load("--min-load", request.min_load, description, max_load)
    return new_run(
        request.measurer,
        description,
        measurer={
            "ceiling": ceiling,
            "can_stop_early": description.can_stop_early,
            "tells_delay": description.tells_delay,
            "virtual_time": description.virtual_time,
        },
        goals=request.goals,
        min_load=min_load,
        max_load=max_load,
        strategy=request.strategy,
        preset=request.preset,
        hint=None if request.hint is None else parse_load("--hint", request.hint, description, max_load),
        budget_s=request.budget_s,
        early_termination=request.early_termination and description.can_stop_early,
        warm_up_s=request.warm_up_s,
        on_invalid=request.on_invalid,
        on_error=request.on_error,
        deviations=_deviations(request, description),
        labels=request.labels,
        fingerprint=request.fingerprint(),
    )


def _max_load(request: SearchRequest, description: Description, ceiling: float | None) -> float:
    limits = [limit for limit in (description.max_load, ceiling) if limit is not None]
    if request.max_load is not None:
        asked = parse_load("--max-load", request.max_load, description, min(limits) if limits else None)
        if ceiling is not None and asked > ceiling * _NEAR_ENOUGH:
            message = (
                f"--max-load {request.max_load} is far above what the tester alone reaches,"
                f" {units.format_load(ceiling, description.load_unit)}: every trial there would be spoiled; lower it"
            )
            raise UsageError(message)
        return asked
    if description.overload is not None:
        limits.append(description.overload)
    if not limits:
        message = f"measurer {request.measurer!r} does not say how much it can offer; give --max-load"
        raise UsageError(message)
    return min(limits)


def _plan(request: SearchRequest, run: Run, max_load: float) -> Plan:
    return Plan(
        goals=run.goals,
        min_load=run.min_load,
        max_load=max_load,
        strategy=run.strategy,
        hint=None if run.hint is not None and run.hint > max_load < run.max_load else run.hint,
        budget_s=request.budget_s,
        early_termination=run.early_termination,
        warm_up_s=run.warm_up_s,
        on_invalid=FailurePolicy.parse(request.on_invalid),
        on_error=FailurePolicy.parse(request.on_error),
    )


def _deviations(request: SearchRequest, description: Description) -> list[str]:
    """Say what is not as in RFC 2544 section 23 (MLRsearch-15 Trial: every deviation must be in the report)."""
    said = description.traffic.get("deviations", [])
    found = [str(text) for text in said] if isinstance(said, list) else []
    if request.early_termination and description.can_stop_early:
        found.append("a trial stops, and counts in full, once its loss is certain to exceed every goal that matters")
    if request.on_invalid == "loss" or request.on_error == "loss":
        found.append("trials without a usable result count as loss")
    return found


def _warnings(run: Run, result: SearchResult) -> list[Warning]:
    """Say what a reader of the result should know beyond the numbers."""
    warnings = list(_below_resolution(run, result))
    ceiling = run.measurer.known_ceiling
    for goal in result.goal_results:
        found = goal.upper_bound or goal.lower_bound
        if ceiling is not None and found is not None and found > NEAR_CEILING * ceiling:
            text = (
                f"goal {goal.goal}: the result is above {units.format_ratio(NEAR_CEILING)} of what the tester itself"
                f" can do ({units.format_load(ceiling, run.load_unit)}): it may be the tester's limit, not the device's"
            )
            warnings.append(Warning(code="near-tester-ceiling", text=text))
    warnings += spoiled_warnings(result.trials, "trial", but=(WARM_UP, DEAD_DIRECTION_CHECK))
    machine = result.end.machine
    if machine is not None and not machine.quiet:
        warnings.append(Warning(code="machine-not-quiet", text=explain_unrest(machine, run.goals)))
    warnings.extend(steadiness_warnings(run, result.trials))
    return warnings


def _below_resolution(run: Run, result: SearchResult) -> Iterator[Warning]:
    """Name bounds that are closer than trials at their loads can show: at max load these trials could."""
    unit = run.load_unit.removesuffix("/s")
    for goal, found in zip(run.goals, result.goal_results, strict=True):
        if found.lower_bound is None or found.upper_bound is None or not is_rate_of_units(run.load_unit):
            continue
        told = unit_difference(found.lower_bound, found.upper_bound, goal, run.conversion_factor)
        if told < 1:
            text = (
                f"goal {goal.name}: the bounds are {told:.2g} {unit} of a trial apart, and no trial can tell less than"
                " one: they are closer than they can be known; take longer trials or a larger width"
            )
            yield Warning(code="below-resolution", text=text)
