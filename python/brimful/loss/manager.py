"""Sets a run on the frame loss rate up: the loads, the plan and the record; begins it or goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import msgspec

from brimful import units
from brimful.errors import UsageError
from brimful.loss.loop import LossLoop, LossOutcome, LossProgress
from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run, parse_load
from brimful.measurers.base import Calibrating, Description, Measurer, checked_description
from brimful.policies import Policies
from brimful.records import LossPlan, Run, RunFile
from brimful.records.experiment import fingerprint_of
from brimful.records.stated import loss_plan, losses
from brimful.throughput.found import greatest_load
from brimful.throughput.manager import SearchRequest

SUBJECT = "loss"
TRIAL_S, REST_S, LOAD_STEP = 60.0, 5.0, 0.1
"""RFC 2544 sections 24, 23 and 26.3: a trial at least, the silence after it at least, a step at most."""
_MOST_LOADS = 10_000


class LossRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """Its measurer, max load, traffic, policies and labels are those of the trials; nothing is searched for."""
    loads: list[str] = []
    """Fixed loads; empty: from 100 % downwards until two trials lose nothing."""
    load_step: float = LOAD_STEP
    """Of the greatest load."""
    sweeps: int = 1
    duration_s: float = TRIAL_S
    rest_s: float = REST_S

    def fingerprint(self) -> str:
        """Digest what makes two runs the same."""
        return fingerprint_of(self, subject=SUBJECT, search=self.search.fingerprint())


def run_loss(
    request: LossRequest,
    measurer: Measurer,
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: Callable[[Run, LossProgress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[LossOutcome]:
    """Measure how much is lost at each load, or go on with a run that was interrupted.

    Parameters
    ----------
    request, measurer
        What to measure, and with what.
    out, resume
        Where the record is, and whether to go on with it.
    progress, note
        Are given where the run stands, and what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    """
    policies = _policies(request.search)
    description = checked_description(measurer.describe(), where="what the measurer says of itself")

    def begin() -> Begun:
        ceiling = None
        if request.search.max_load is None and description.can_calibrate and request.search.calibrate:
            ceiling = measurer.calibrate() if isinstance(measurer, Calibrating) else None
        return Begun(_run(request, description, _plan(request, description, ceiling), ceiling))

    def perform(file: RunFile, sink: Sink) -> Ended[LossOutcome]:
        loop = LossLoop(
            loss_plan(file),
            measurer,
            policies,
            sink=sink,
            progress=lambda state: progress(file.run, state),
            watch=Watch() if description.on_this_machine else None,
        )
        loop.resume(file.trials, file.ceiling)
        return Ended(file.path, loop.run())

    return manage(
        "run on the loss rate",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=begin,
        perform=perform,
        show=lambda saved: Ended(saved.path, LossOutcome(losses(saved), saved.warnings, saved.ends[-1])),
    )


def check_loss(request: LossRequest, description: Description) -> None:
    """Refuse what cannot be measured, as far as it is known without measuring anything.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    _policies(request.search)
    if request.search.max_load is not None or description.max_load is not None or not description.can_calibrate:
        _plan(request, description, None)


def _policies(search: SearchRequest) -> Policies:
    reason = "a trial that was not made says nothing of the device"
    return Policies.without_loss(search.on_invalid, search.on_error, reason=reason)


def _plan(request: LossRequest, description: Description, ceiling: float | None) -> LossPlan:
    greatest = greatest_load(request.search, description, ceiling)
    loads = [parse_load("--loads", text, description, greatest) for text in request.loads]
    for text, load in zip(request.loads, loads, strict=True):
        if not 0 < load <= greatest * (1 + 1e-12):
            most = units.format_load(greatest, description.load_unit)
            message = f"--loads: {text!r} is not above 0 and up to 100 %, which is {most}; see --max-load"
            raise UsageError(message)
    return LossPlan(
        loads=loads or sweep(greatest, request.load_step),
        reference=greatest,
        duration_s=request.duration_s,
        sweeps=request.sweeps,
        until_lossless=not loads,
        rest_s=request.rest_s,
    )


def sweep(greatest: float, step: float) -> list[float]:
    """Give loads from the greatest downwards in steps of a share of it.

    >>> sweep(1e6, 0.25)
    [1000000.0, 750000.0, 500000.0, 250000.0]

    Raises
    ------
    UsageError
        When the step is no share, or so small that there would be too many loads.
    """
    if not 1 / _MOST_LOADS <= step <= 1:
        message = (
            f"--load-step {units.format_ratio(step)}: it must be from {units.format_ratio(1 / _MOST_LOADS)} to 100 %"
        )
        raise UsageError(message)
    number = math.ceil(1 / step - 1e-9)
    return [greatest * (1 - place * step) for place in range(number)]


def _run(request: LossRequest, description: Description, plan: LossPlan, ceiling: float | None) -> Run:
    return new_run(
        request.search.measurer,
        description,
        measurer={"ceiling": ceiling, "virtual_time": description.virtual_time},
        subject=SUBJECT,
        loss=plan,
        min_load=min(plan.loads),
        max_load=plan.reference,
        on_invalid=request.search.on_invalid,
        on_error=request.search.on_error,
        deviations=_deviations(request, plan),
        labels=request.search.labels,
        fingerprint=request.fingerprint(),
    )


def _deviations(request: LossRequest, plan: LossPlan) -> list[str]:
    found = []
    if plan.duration_s < TRIAL_S:
        shown = units.format_duration(plan.duration_s)
        found.append(f"trials last {shown}; RFC 2544 section 24 asks for 60 s at least")
    if plan.rest_s < REST_S:
        shown = units.format_duration(plan.rest_s)
        found.append(f"the silence between trials is {shown}; RFC 2544 section 23 asks for 5 s at least")
    if plan.until_lossless and request.load_step > LOAD_STEP:
        shown = units.format_ratio(request.load_step)
        found.append(f"loads are {shown} apart; RFC 2544 section 26.3 asks for 10 % at most")
    return found
