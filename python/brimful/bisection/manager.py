"""Sets a bisection up: the plan and the record; begins it or goes on with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from brimful import units
from brimful.bisection.bench import Bench
from brimful.bisection.log import Log, plan_of
from brimful.bisection.loop import BisectionLoop, BisectionOutcome, BisectionProgress
from brimful.errors import RecordError, UsageError
from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run, parse_load
from brimful.measurers.base import Description, checked_description
from brimful.paired.calibration import queue_of
from brimful.policies import ON_ERROR, ON_INVALID, Policies
from brimful.records import Bisected, BisectionPlan, Build, Run, RunFile, Version
from brimful.records.experiment import fingerprint_of

SUBJECT = "bisection"
CONFIDENCE, TOLERANCE, PAIRS, TRIAL_S, MOST_VISITS = 0.95, 0.01, 20, 0.5, 200
_LARGEST = 100.0
"""Of logarithms of ratios: far more than any device differs by."""


class BisectionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    measurer: str
    versions: list[Version]
    """From the good one to the bad one."""
    prepare: str | None = None
    git: str | None = None
    confidence: float = CONFIDENCE
    tolerance: float = TOLERANCE
    pairs: int = PAIRS
    trial_s: float = TRIAL_S
    seed: int = 1
    most_visits: int = MOST_VISITS
    budget_s: float | None = None
    max_load: str | float | None = None
    on_invalid: str = ON_INVALID
    on_error: str = ON_ERROR
    traffic: dict[str, Any] = {}
    labels: dict[str, str] = {}

    def fingerprint(self) -> str:
        """Digest what makes two runs the same; what may change when a run is resumed is left out."""
        return fingerprint_of(self, "on_invalid", "on_error", "labels", "budget_s", subject=SUBJECT)


def run_bisection(
    request: BisectionRequest,
    bench: Bench,
    *,
    place: Place | None = None,
    progress: Callable[[Run, BisectionProgress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[BisectionOutcome]:
    """Find the build that changed something, or go on with a run that was interrupted.

    Parameters
    ----------
    request, bench
        What to find, and what makes and starts the builds.
    place
        Where the record is, and whether to go on with it.
    progress, note
        Are called with where the run stands, and with what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out; nothing has been measured then.
    """
    check_request(request)
    policies = Policies.without_loss(
        request.on_invalid, request.on_error, reason="a trial that was not made says nothing of a build"
    )
    described: list[tuple[Description, Build]] = []

    def first() -> tuple[Description, Build]:
        if not described:
            described.append(_make_first(bench))
        return described[0]

    def begin() -> Begun:
        description, made = first()
        return Begun(_run(request, description, _plan(request, description, bench)), more=[made])

    def perform(file: RunFile, sink: Sink) -> Ended[BisectionOutcome]:
        description, _ = first()
        loop = BisectionLoop(
            plan_of(file),
            bench,
            description,
            policies,
            sink=sink,
            progress=lambda state: progress(file.run, state),
            watch=Watch() if description.on_this_machine else None,
            budget_s=request.budget_s,
        )
        loop.resume(file)
        return Ended(file.path, loop.run())

    def show(file: RunFile) -> Ended[BisectionOutcome]:
        log = Log.of(file)
        outcome = BisectionOutcome(file.last(Bisected), log.visits, log.builds, file.warnings, file.ends[-1])
        return Ended(file.path, outcome)

    return manage(
        SUBJECT,
        request.fingerprint(),
        place or Place(),
        note,
        begin=begin,
        perform=perform,
        show=show,
        check=check_record,
    )


def check_request(request: BisectionRequest) -> None:
    """Refuse what cannot be carried out, before anything is opened for it.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    if not 0.5 <= request.confidence < 1:
        message = f"--confidence is {units.format_ratio(request.confidence)}; it must be from 50 % to below 100 %"
        raise UsageError(message)
    if not 1e-4 <= request.tolerance <= 0.9:
        message = f"--tolerance is {units.format_ratio(request.tolerance)}; it must be from 0.01 % to 90 %"
        raise UsageError(message)
    if not 0.01 <= request.trial_s <= 3600:
        message = f"--trial is {units.format_delay(request.trial_s)}; it must be from 10 ms to an hour"
        raise UsageError(message)


def check_record(file: RunFile) -> None:
    """Refuse to build on a record whose builds and visits are not those of its plan.

    Raises
    ------
    RecordError
        Naming the first that is not.
    """
    log, builds = Log.of(file), len(plan_of(file).versions)
    numbers = [("build", build.build) for build in log.builds]
    numbers += [("visit of build", number) for visit in log.visits for number in (visit.build, visit.beside)]
    for what, number in numbers:
        if not 0 <= number < builds:
            message = f"{file.path}: there is a {what} {number}, but the builds are 0 to {builds - 1}"
            raise RecordError(message)
    for visit in log.visits:
        if visit.pairs < 1 or abs(visit.mean) > _LARGEST or not 0 <= visit.deviation <= _LARGEST:
            message = (
                f"{file.path}: visit {visit.visit} has {visit.pairs} pairs of mean {visit.mean:.4g}, which cannot be"
            )
            raise RecordError(message)


def _make_first(bench: Bench) -> tuple[Description, Build]:
    """Make the good build, and ask an instance of it what it is."""
    began_s = time.monotonic()
    output = bench.make(0)
    elapsed_s = time.monotonic() - began_s
    first = bench.start(0)
    try:
        description = checked_description(first.describe(), where="what the measurer says of itself")
    finally:
        first.close()
    taken_s = 0.0 if description.virtual_time else round(elapsed_s, 9)
    return description, Build(build=0, start_s=0.0, elapsed_s=taken_s, output=output)


def _plan(request: BisectionRequest, description: Description, bench: Bench) -> BisectionPlan:
    limits = [] if description.max_load is None else [description.max_load]
    if request.max_load is not None:
        limits.append(parse_load("--max-load", request.max_load, description, description.max_load))
    return BisectionPlan(
        versions=request.versions,
        confidence=request.confidence,
        tolerance=request.tolerance,
        pairs=request.pairs,
        trial_s=max(request.trial_s, description.min_duration_s or 0.0),
        seed=request.seed,
        most_visits=request.most_visits,
        side_by_side=bench.side_by_side,
        prepare=request.prepare,
        git=request.git,
        max_load=min(limits, default=None),
        first_load=description.overload,
        queue=queue_of(description),
    )


def _run(request: BisectionRequest, description: Description, plan: BisectionPlan) -> Run:
    return new_run(
        request.measurer,
        description,
        subject=SUBJECT,
        bisection=plan,
        max_load=plan.max_load or 0.0,
        seed=plan.seed,
        budget_s=request.budget_s,
        on_invalid=request.on_invalid,
        on_error=request.on_error,
        labels=request.labels,
        fingerprint=request.fingerprint(),
    )
