"""Sets a delay run up: loads, paths, the record; begins it or goes on with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful import units
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.loop import DelayLoop, DelayOutcome, DelayProgress
from brimful.errors import UsageError
from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run, parse_load
from brimful.measurers.base import Description, Measurer
from brimful.policies import ON_ERROR, ON_INVALID, Policies
from brimful.records import NONE_PASSES, DelayPlan, Run, RunFile, Trial, Warning, read_unchanged
from brimful.records.experiment import fingerprint_of, other_traffic

SUBJECT = "delay"
_MOST_PORTS = 2
"""A delay is that of a path between two."""
_SAME_LOAD = 1e-3
"""Loads that differ by no more, as a share, are the same one."""


class DelayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for; loads still as text, because some need the measurer."""

    measurer: str
    loads: list[str] = []
    of_run: str | None = None
    """Path of a run that found the throughput which shares are of."""
    shares: list[str] = []
    goal: str | None = None
    wire: str | None = None
    """A measurer or the path of a run; null: the total alone is stated."""
    rounds: int = 10
    trial_s: float = 1.0
    warm_up_s: float = 0.0
    on_invalid: str = ON_INVALID
    on_error: str = ON_ERROR
    traffic: dict[str, Any] = {}
    labels: dict[str, str] = {}

    def fingerprint(self) -> str:
        """Digest what makes two runs the same; what may change when a run is resumed is left out."""
        return fingerprint_of(self, "on_invalid", "on_error", "labels", subject=SUBJECT)


def run_delay(
    request: DelayRequest,
    measurers: Mapping[str, Measurer],
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: Callable[[Run, DelayProgress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[DelayOutcome]:
    """Measure the delay, or go on with a run that was interrupted, every trial on disk before the next begins.

    Parameters
    ----------
    request
        What to measure.
    measurers
        By path: ``device``, and ``wire`` where there is a bare wire to measure beside it.
    out, resume
        Where the record is, and whether to go on with it.
    progress, note
        Get where the run stands, and what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out; nothing has been measured then.
    """
    policies = _policies(request)

    def perform(file: RunFile, sink: Sink) -> Ended[DelayOutcome]:
        if file.run.delay is None:
            message = f"{out}: the run there is of no delay"
            raise UsageError(message)
        loop = DelayLoop(
            file.run.delay,
            measurers,
            policies,
            sink=sink,
            progress=lambda state: progress(file.run, state),
            watch=Watch() if measurers[DEVICE].describe().on_this_machine else None,
        )
        loop.resume(file.trials, file.ceiling)
        return Ended(file.path, loop.run())

    return manage(
        "measurement of delay",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=lambda: _begin(request, measurers),
        perform=perform,
        show=_shown,
    )


def why_no_delay(description: Description) -> str:
    """Say why a measurer can measure no delay, as what follows its name; empty: it can."""
    if not description.tells_delay:
        return "reports no delay"
    if description.virtual_time:
        return "reports no delay of single frames"
    ports = description.traffic.get("ports")
    if isinstance(ports, list) and len(ports) > _MOST_PORTS:
        return f"has {len(ports)} ports, and a delay is measured between two"
    return ""


def _shown(saved: RunFile) -> Ended[DelayOutcome]:
    outcome = DelayOutcome(delays=saved.delays, trials=saved.trials, warnings=saved.warnings, end=saved.ends[-1])
    return Ended(saved.path, outcome)


def _policies(request: DelayRequest) -> Policies:
    return Policies.without_loss(request.on_invalid, request.on_error, reason="a trial without frames has no delay")


def _begin(request: DelayRequest, measurers: Mapping[str, Measurer]) -> Begun:
    description = measurers[DEVICE].describe()
    for path, measurer in measurers.items():
        if why := why_no_delay(measurer.describe()):
            spec = request.measurer if path == DEVICE else request.wire
            message = f"measurer {spec!r} {why}; use lab:DEVICE, tester:PORT,PORT or disk:PATH"
            raise UsageError(message)
    plan, warnings = _plan(request, description)
    wire = measurers.get(WIRE)
    run = new_run(
        request.measurer,
        description,
        subject=SUBJECT,
        delay=plan,
        min_load=min(plan.loads),
        max_load=max(plan.loads),
        source={} if wire is None else {"wire": {"traffic": wire.describe().traffic, "device": wire.describe().device}},
        warm_up_s=request.warm_up_s,
        on_invalid=request.on_invalid,
        on_error=request.on_error,
        labels=request.labels,
        fingerprint=request.fingerprint(),
    )
    stored = [] if plan.wire_run is None else _stored_wire(request, plan)
    return Begun(run, [*warnings, *stored])


def _plan(request: DelayRequest, description: Description) -> tuple[DelayPlan, list[Warning]]:
    check_loads(request)
    loads = [parse_load("--load", text, description, description.max_load) for text in request.loads]
    throughput, found, warnings = None, None, list[Warning]()
    if request.of_run is not None:
        file = read_unchanged(Path(request.of_run))
        throughput, goal, warnings = _throughput(request, file, description)
        found = (file.run.run_id, goal)
        loads += [_share(text) * throughput for text in request.shares]
    wire_run = _read_wire(request.wire) if request.wire is not None and Path(request.wire).exists() else None
    plan = DelayPlan(
        loads=sorted(set(loads)),
        rounds=request.rounds,
        trial_s=request.trial_s,
        wire=request.wire,
        wire_run=None if wire_run is None else wire_run.run.run_id,
        throughput=throughput,
        throughput_run=None if found is None else found[0],
        throughput_goal=None if found is None else found[1],
        warm_up_s=request.warm_up_s,
    )
    return plan, warnings


def check_loads(request: DelayRequest) -> None:
    """Refuse a request without loads, before anything is opened for it.

    Raises
    ------
    UsageError
        Saying how to give them.
    """
    if not request.loads and not request.shares:
        message = "give the loads to measure at: --load 10kpps, or --of RUN --at 10%,50%,90%"
        raise UsageError(message)


def _share(text: str) -> float:
    share = units.parse_ratio(text)
    if share == 0:
        message = f"--at {text!r}: nothing is sent at no load"
        raise UsageError(message)
    return share


def _throughput(request: DelayRequest, file: RunFile, description: Description) -> tuple[float, str, list[Warning]]:
    """Give the conditional throughput that a search found, of the goal that was asked for or the first that has one."""
    where = f"--of {request.of_run}"
    results = {result.goal: result for result in file.goal_results if result.conditional_throughput}
    name = request.goal or next(iter(results), None)
    if name is None or name not in results:
        nothing = f": {NONE_PASSES}" if file.passes_nothing else ""
        known = f"; it has {', '.join(results)}" if results else nothing
        message = f"{where}: the run has no throughput{f' of goal {name!r}' if name else ''}{known}"
        raise UsageError(message)
    if file.run.load_unit != description.load_unit:
        message = f"{where}: its loads are in {file.run.load_unit}, those of the measurer in {description.load_unit}"
        raise UsageError(message)
    result = results[name]
    warnings = []
    if not result.regular:
        text = f"the result of {name} is irregular ({result.reason}): shares of it are shares of a bound"
        warnings.append(Warning(code="irregular-throughput", text=text))
    differing = other_traffic(file.run.traffic, description.traffic)
    if differing:
        text = f"the throughput was found with other traffic: {', '.join(differing)} differ"
        warnings.append(Warning(code="other-traffic", text=text))
    return result.conditional_throughput or 0.0, name, warnings


def _read_wire(path: str) -> RunFile:
    file = read_unchanged(Path(path))
    plan = file.run.delay
    if file.run.subject != SUBJECT or plan is None or plan.wire is not None:
        message = f"--wire {path}: not a run of brimful delay over the bare wire alone; make one with --wire none"
        raise UsageError(message)
    return file


def _stored_wire(request: DelayRequest, plan: DelayPlan) -> list[Trial]:
    """Give the trials of an earlier run over the bare wire as those of the wire of this one."""
    file = _read_wire(request.wire or "")
    taken: list[Trial] = []
    for load in plan.loads:
        near = [trial for trial in file.counted() if abs(trial.load - load) <= _SAME_LOAD * load]
        if not near:
            loads = ", ".join(units.format_load(other, file.run.load_unit) for other in _loads(file))
            message = (
                f"--wire {request.wire}: not measured at {units.format_load(load, file.run.load_unit)}, but at {loads}"
            )
            raise UsageError(message)
        taken += near
    return [
        msgspec.structs.replace(
            trial,
            seq=number,
            path=WIRE,
            load=min(plan.loads, key=lambda load: abs(load - trial.load)),
            start_s=0.0,
            elapsed_s=0.0,
        )
        for number, trial in enumerate(taken)
    ]


def _loads(file: RunFile) -> Sequence[float]:
    return file.run.delay.loads if file.run.delay is not None else []
